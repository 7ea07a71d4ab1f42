//! What the keeper costs: 200 times `/bin/true` plain, under a cold keeper and under a warm one, and the speed of output.
//!
//! `cargo run --release -p ralph-runtime --example spawn_latency`

use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use ralph_core::plan::Contain;
use ralph_runtime::process::{Spec, Supervisor, keeper_exe, run_keeper_if_asked};

const ROUNDS: usize = 200;
const BYTES: usize = 1 << 30;
/// Between two runs, so that the next keeper is up as it would be after any real agent.
const PAUSE: Duration = Duration::from_millis(5);

fn main() {
    run_keeper_if_asked();
    let exe = keeper_exe().expect("this program");
    let plain = measure(PAUSE, plain_spawn);
    report("plain std::process::Command, pipes read", &plain, &plain);
    let cold = Supervisor::new(&exe, 0, Contain::Auto);
    report("keeper, cold", &measure(PAUSE, || kept_command(&cold, "/bin/true", &[])), &plain);
    let warm = Supervisor::new(&exe, 1, Contain::Auto);
    warm.prewarm();
    report("keeper, warm", &measure(PAUSE, || kept_command(&warm, "/bin/true", &[])), &plain);
    report(
        "keeper, warm, back to back",
        &measure(Duration::ZERO, || kept_command(&warm, "/bin/true", &[])),
        &plain,
    );

    let start = Instant::now();
    kept_command(&warm, "/usr/bin/head", &["-c", &BYTES.to_string(), "/dev/zero"]);
    println!("{:<42} {:.2} GB/s", "1 GiB of output", BYTES as f64 / 1e9 / start.elapsed().as_secs_f64());
}

fn measure(pause: Duration, mut once: impl FnMut()) -> Vec<Duration> {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            std::thread::sleep(pause);
            let start = Instant::now();
            once();
            start.elapsed()
        })
        .collect();
    times.sort();
    times
}

fn report(name: &str, times: &[Duration], plain: &[Duration]) {
    let at =
        |times: &[Duration], percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f64() * 1e3;
    let added = at(times, 50) - at(plain, 50);
    let [p5, p50, p95] = [5, 50, 95].map(|percent| at(times, percent));
    println!("{name:<42} p5 {p5:.2} ms, median {p50:.2} ms, p95 {p95:.2} ms, median added {added:+.2} ms");
}

fn plain_spawn() {
    let mut child = Command::new("/bin/true")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("/bin/true");
    let mut output = Vec::new();
    child.stdout.take().expect("a pipe").read_to_end(&mut output).expect("output");
    child.wait().expect("an exit");
}

fn kept_command(supervisor: &Supervisor, program: &str, args: &[&str]) {
    let (ended, exit) = channel();
    let spec = Spec { args: args.iter().map(Into::into).collect(), ..Spec::new(program, "/") };
    supervisor.spawn(spec, None, |_, _| {}, move |exit| ended.send(exit).expect("a listener"));
    exit.recv().expect("an exit");
}
