//! Runs without a terminal, and screens that come and go.

use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;

use rustix::io::ioctl_fionread;
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::tcgetattr;

use crate::harness::*;
use crate::pty::{Pty, Seated};

const PATIENT: &str = "say working\nwait-for go\nsay <ralph>COMPLETE</ralph>";

/// The same, but it goes on until it is stopped.
const UNDECIDED: &str = "say working\nwait-for go\nsay done";

/// Starts a run in the background and returns its id.
fn detached(world: &World, script: &str, args: &[&str]) -> String {
    let agent = world.agent(script);
    let given = ["run", "--detach", "-p", "x", "-a", &agent].into_iter().chain(args.iter().copied());
    let done = world.ralph(given).expect(0);
    let id = world.run_id();
    assert!(done.stdout.contains(&format!("ralph attach {id}")), "{}", done.stdout);
    id
}

#[test]
fn a_run_in_the_background_has_a_session_of_its_own_and_is_waited_for() {
    let world = World::new();
    let id = detached(&world, PATIENT, &[]);
    let pid = world.wait_for("agent.text", 1).last("run.started")["pid"].as_u64().expect("a pid");
    let stat = read(std::path::Path::new(&format!("/proc/{pid}/stat")));
    let fields: Vec<&str> = stat.rsplit_once(')').expect("a stat").1.split_whitespace().collect();
    assert_eq!(fields[3], pid.to_string(), "it leads a session");
    assert_eq!(fields[4], "0", "it has no terminal");
    let waiting = world.start(["wait", &id]);
    world.write("go", "");
    let waited = waiting.wait().expect(0);
    assert!(waited.stdout.contains("complete") || waited.stdout.contains("unproved"), "{}", waited.stdout);
    assert_eq!(world.stopped().0, "complete");
    world.expect_no_survivors();
    world.verify();
}

#[test]
fn what_is_wrong_with_a_run_in_the_background_is_told_before_it_starts() {
    let world = World::new();
    let done = world.ralph(["run", "--detach", "-p", "x", "-a", "./no-such-agent"]).expect(2);
    assert!(done.stderr.contains("no-such-agent"), "{}", done.stderr);
    assert!(world.run_dirs().is_empty());
}

#[test]
fn a_run_in_the_background_is_resumed_in_the_background() {
    let world = World::new();
    let id = detached(&world, "say one", &["-n", "1"]);
    world.ralph(["wait", &id]).expect(3);
    world.ralph(["resume", "--detach", &id, "-n", "2"]).expect(0);
    world.ralph(["wait", &id]).expect(3);
    assert_eq!(world.events().finished(), [1, 2]);
}

#[test]
fn a_hangup_that_nohup_ignores_is_ignored() {
    let world = World::new();
    let agent = world.agent(PATIENT);
    let mut command = world.command("nohup");
    command.args([RALPH, "run", "-p", "x", "-a", &agent]);
    let live = world.spawn(command);
    world.wait_for("agent.text", 1);
    live.signal(Signal::HUP);
    world.write("go", "");
    live.wait().expect(0);
    assert_eq!(world.events().of("stop.requested").len(), 0);
}

#[test]
fn an_attached_screen_sees_what_was_and_what_comes_and_ends_as_the_run_does() {
    let world = World::new();
    let id = detached(&world, "on 2: wait-for go\nsay here", &["-n", "2"]);
    world.wait_for("iteration.started", 2);
    let screen = world.start(["attach", &id]);
    wait_until("the screen has begun", || screen.stdout().contains("#1 "));
    world.write("go", "");
    let seen = screen.wait().expect(3).stdout;
    assert!(seen.contains("#1 ok") && seen.contains("#2 ok") && seen.contains("max_iterations"), "{seen}");
    let again = world.ralph(["attach", &id]).expect(3).stdout;
    assert!(again.contains("max_iterations") && !again.contains("#1 ok"), "the end of it alone: {again}");
}

#[test]
fn a_screen_is_left_without_stopping_the_run_and_gives_the_terminal_back() {
    let world = World::new();
    let id = detached(&world, PATIENT, &[]);
    world.wait_for("agent.text", 1);
    for keys in [&b"d"[..], b"q", b"\x03"] {
        let pty = Pty::new();
        let before = tcgetattr(pty.open()).expect("its modes").local_modes;
        let mut person = Seated::start(&world, pty, &["attach", &id], "it goes on");
        person.await_screen("? keys");
        keys.iter().chain(keys).for_each(|key| person.press(*key));
        let seen = person.ends(0);
        assert!(seen.contains("attached to run"), "{seen:?}");
        assert_eq!(tcgetattr(&person.terminal).expect("its modes").local_modes, before);
    }
    assert_eq!(world.events().of("stop.requested").len(), 0);
    world.write("go", "");
    world.ralph(["wait", &id]).expect(0);
}

/// The records that a screen has shown, without a last one that was cut by a kill.
fn shown(screen: &Live) -> Vec<Value> {
    let text = screen.stdout();
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole.lines().map(|line| serde_json::from_str(line).expect("a record")).collect()
}

/// More of them with `RALPH_SCREENS=200 cargo test -p ralph-cli --test cli screens_that_come_and_go`.
#[test]
fn screens_that_come_and_go_are_nothing_to_the_run_and_each_shows_every_record_once() {
    let rounds = std::env::var("RALPH_SCREENS").ok().and_then(|n| n.parse().ok()).unwrap_or(5);
    let world = World::new();
    let endless = ["-n", "100000", "--set", "loop_detection.enabled=false"];
    let id = detached(&world, "say one\nsleep 5ms\nsay two", &endless);
    let (mut killed, mut kept) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let [one, other] = [0, 1].map(|_| world.start(["attach", "--json", &id]));
        wait_until("both have begun", || !shown(&one).is_empty() && !shown(&other).is_empty());
        one.signal(Signal::KILL);
        killed.push(one);
        kept.push(other);
        // A handful stay to the end.
        if kept.len() > 5 {
            let screen = kept.remove(0);
            screen.signal(Signal::TERM);
            killed.push(screen);
        }
    }
    world.ralph(["stop", &id]).expect(0);
    world.ralph(["wait", &id]).expect(130);
    let events = world.events().0;
    let last = events.len() as u64;
    let check = |screen: Live, to_the_end: bool| {
        let code = screen.wait();
        let seen: Vec<Value> =
            code.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let first = seen[0]["seq"].as_u64().expect("a number") as usize;
        assert_eq!(seen, events[first - 1..first - 1 + seen.len()], "none is missed, none comes twice");
        assert!(!to_the_end || seen.last().is_some_and(|record| record["seq"] == last));
    };
    killed.into_iter().for_each(|screen| check(screen, false));
    kept.into_iter().for_each(|screen| check(screen, true));
    assert_eq!(events.iter().filter(|event| event["type"] == "stop.requested").count(), 1);
    world.verify();
}

/// Types a command at a run, whatever it does, and lets it end.
fn typed_at(world: &World, args: &[&str], comes: impl Fn(), goes_on: impl Fn(&mut Seated)) {
    let pty = Pty::new();
    let before = tcgetattr(pty.open()).expect("its modes").local_modes;
    let mut person = Seated::start(world, pty, &[&["run", "-p", "x"], args].concat(), "ralph replay");
    person.await_screen("? keys");
    comes();
    b"echo it > owned\n\x1b[A\n".iter().for_each(|key| person.press(*key));
    // Read by now: what is typed comes in its order.
    person.press(b'?');
    person.await_screen_times("? keys", 2);
    goes_on(&mut person);
    person.ends(0);
    assert_eq!(ioctl_fionread(person.terminal.as_fd()).expect("a count"), 0, "bytes are left for the shell");
    assert_eq!(tcgetattr(&person.terminal).expect("its modes").local_modes, before);
    assert!(!world.work("owned").exists());
    world.expect_no_survivors();
}

#[test]
fn what_is_typed_while_an_agent_or_a_gate_works_is_not_left_for_the_shell() {
    let world = World::new();
    let agent = world.agent(PATIENT);
    let comes = || drop(world.wait_for("agent.text", 1));
    typed_at(&world, &["-a", &agent], comes, |_| world.write("go", ""));
    let world = World::new();
    world.write("slow.sh", "until [ -e go ]; do sleep 0.02; done\n");
    world.write("ralph.yml", "gates:\n  - {name: slow, run: sh slow.sh}\n");
    let agent = world.agent("say <ralph>COMPLETE</ralph>");
    let comes = || drop(world.wait_for("gates.started", 1));
    typed_at(&world, &["-a", &agent], comes, |_| world.write("go", ""));
}

#[test]
fn what_is_typed_in_a_wait_or_a_pause_is_not_left_for_the_shell() {
    let world = World::new();
    let agent = world.agent("on 1: say <!-- ralph:state idle -->\non 2: say <ralph>COMPLETE</ralph>");
    let comes = || drop(world.wait_for("delay.started", 1));
    typed_at(&world, &["-a", &agent, "--set", "idle.delay=1h"], comes, |person| person.press(b'r'));
    let world = World::new();
    let agent = world.agent("on 1: wait-for go\non 2: say <ralph>COMPLETE</ralph>");
    let comes = || {
        world.wait_for("iteration.started", 1);
        world.ralph(["pause"]).expect(0);
        world.write("go", "");
        world.wait_for("run.paused", 1);
    };
    typed_at(&world, &["-a", &agent], comes, |person| person.press(b'p'));
}

#[test]
fn what_is_typed_at_a_run_is_not_left_for_the_shell() {
    let world = World::new();
    let pty = Pty::new();
    let before = tcgetattr(pty.open()).expect("its modes").local_modes;
    let agent = world.agent("on 1: wait-for go\nsay <ralph>COMPLETE</ralph>");
    let mut person = Seated::start(&world, pty, &["run", "-p", "x", "-a", &agent], "unproved");
    person.await_screen("? keys");
    b"touch pwned\n\x1b[A\nls\n".iter().for_each(|key| person.press(*key));
    world.write("go", "");
    person.ends(0);
    let left = ioctl_fionread(person.terminal.as_fd()).expect("a count");
    assert_eq!(left, 0, "bytes are left for the shell");
    assert_eq!(tcgetattr(&person.terminal).expect("its modes").local_modes, before);
    assert!(!world.work("pwned").exists());
}

#[test]
fn a_person_kills_an_iteration_by_a_key_and_says_something() {
    let world = World::new();
    let agent = world.agent("save-prompt prompt-%i.txt\non 1: sleep 60s\nsay <ralph>COMPLETE</ralph>");
    let mut person = Seated::start(&world, Pty::new(), &["run", "-p", "x", "-a", &agent], "unproved");
    person.await_screen("? keys");
    world.wait_for("agent.spawned", 1);
    b"guse the small parser\n".iter().for_each(|key| person.press(*key));
    world.wait_for("guidance.added", 1);
    b"ky".iter().for_each(|key| person.press(*key));
    person.ends(0);
    let finished = world.events();
    assert_eq!(finished.of("iteration.finished")[0]["error"], "ended by a person");
    assert!(world.read("prompt-2.txt").contains("use the small parser"));
    world.verify();
}

/// A PATH with a program of this name, and a shell.
fn with_program(world: &World, name: &str, script: &str) -> String {
    let bin = world.path("bin");
    std::fs::create_dir_all(&bin).expect("a folder");
    let program = bin.join(name);
    std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("write");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("chmod");
    // The system's own must not be found.
    let _ = std::os::unix::fs::symlink("/bin/sh", bin.join("sh"));
    bin.display().to_string()
}

const AWAKE: [&str; 2] = ["--set", "keep_awake=true"];

#[test]
fn the_machine_is_held_awake_from_the_start_of_a_run_to_its_end_however_that_comes() {
    let world = World::new();
    let told = world.path("told");
    let script = format!(
        "echo \"$$ $0 $*\" >> {}; while [ \"${{1##*/}}\" != sh ]; do shift; done; exec \"$@\"",
        told.display()
    );
    let path = with_program(&world, "systemd-inhibit", &script) + ":/usr/bin:/bin";
    let agent = world.agent(PATIENT);
    let start = |command: &str| {
        let mut command_line = world.command(RALPH);
        command_line.env("PATH", &path);
        match command {
            "run" => command_line.args(["run", "-p", "x", "-a", &agent]).args(AWAKE),
            other => command_line.arg(other),
        };
        world.spawn(command_line)
    };
    let times = || read(&told).lines().count();
    // By its command line: in a namespace of its own it has another number.
    let is_held = || world.survivors().iter().any(|process| process.contains("sleep 2000000000"));
    let live = start("run");
    let events = world.wait_for("agent.text", 1);
    let started = events.last("run.started");
    let program = format!("{}/systemd-inhibit", world.path("bin").display());
    assert_eq!(started["containment"]["kept_awake_by"], program.as_str());
    let line = read(&told);
    assert!(line.contains("--what=idle:sleep --mode=block --who=ralph --why=run "), "{line}");
    assert!(is_held(), "as long as the run works");
    assert!(world.ralph(["status"]).expect(0).stdout.contains(&format!("kept awake by {program}")));
    live.kill();
    wait_until("nobody holds it awake for a run that was killed", || !is_held());
    let live = start("resume");
    wait_until("it is held again", || times() == 2 && is_held());
    world.write("go", "");
    live.wait().expect(0);
    assert!(!is_held(), "it may sleep again");
    world.expect_no_survivors();
}

#[test]
fn a_machine_that_cannot_be_held_awake_is_told_of_and_the_run_goes_on() {
    let world = World::new();
    let agent = world.agent("say hi");
    let run = |path: &str| {
        let mut command = world.command(RALPH);
        command.env("PATH", path).args(["run", "-p", "x", "-a", &agent, "--once"]).args(AWAKE);
        let shown = world.spawn(command).wait().expect(0).stdout;
        shown.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let empty = with_program(&world, "other", "true");
    let none = run(&empty);
    assert!(
        none.contains("`keep_awake` needs systemd-inhibit or caffeinate, and neither is on PATH"),
        "{none}"
    );
    let path = with_program(&world, "caffeinate", "echo 'no power at all' >&2; exit 3");
    let refused = run(&path);
    assert!(refused.contains("bin/caffeinate does not hold it awake: no power at all"), "{refused}");
}

/// The processes of this world that run this very command line.
fn ralphs(world: &World) -> Vec<u32> {
    let is_run = |line: &&String| line.contains("/ralph run ") && !line.contains("setsid");
    let pid = |line: &String| line.split(' ').next()?.rsplit('/').next()?.parse().ok();
    world.survivors().iter().filter(is_run).filter_map(pid).collect()
}

/// A run on a terminal, whose agent has begun to work.
fn seated(world: &World, script: &str, last: &'static str) -> Seated {
    let agent = world.agent(script);
    let person = Seated::start(world, Pty::new(), &["run", "-p", "x", "-a", &agent], last);
    person.await_screen("? keys");
    world.wait_for("agent.text", 1);
    person
}

#[test]
fn a_run_leaves_its_terminal_and_goes_on_in_a_session_of_its_own() {
    let world = World::new();
    let mut person = seated(&world, PATIENT, "ralph stop");
    let plain = tcgetattr(Pty::new().open()).expect("the modes of a new terminal").local_modes;
    let pid = world.events().last("run.started")["pid"].as_u64().expect("a pid");
    b"dn".iter().for_each(|key| person.press(*key));
    person.await_screen("let the run go on in the background?");
    b"dy".iter().for_each(|key| person.press(*key));
    let seen = person.ends(0);
    let id = world.run_id();
    assert!(seen.contains(&format!("run {id} is at work in the background")), "{seen}");
    assert_eq!(tcgetattr(&person.terminal).expect("its modes").local_modes, plain);
    assert_eq!(ioctl_fionread(person.terminal.as_fd()).expect("a count"), 0, "bytes are left for the shell");
    let stat = read(std::path::Path::new(&format!("/proc/{pid}/stat")));
    let fields: Vec<&str> = stat.rsplit_once(')').expect("a stat").1.split_whitespace().collect();
    assert_eq!((fields[3], fields[4]), (&*pid.to_string(), "0"), "a session of its own, and no terminal");
    assert_eq!(ralphs(&world), [pid as u32], "nobody stands in front of it any more");
    // The terminal goes away, as that of an ssh session does.
    drop(person);
    let screen = world.start(["attach", &id]);
    wait_until("the screen has begun", || screen.stdout().contains(&id));
    world.write("go", "");
    let shown = screen.wait().expect(0).stdout;
    assert!(shown.contains("#1 ok") && shown.contains("complete"), "{shown}");
    assert_eq!(world.events().of("stop.requested").len(), 0);
    world.expect_no_survivors();
    world.verify();
}

#[test]
fn a_signal_to_the_process_in_front_of_a_run_reaches_the_run_once() {
    for (signal, code, how) in [
        (Signal::INT, 130, "after_iteration"),
        (Signal::TERM, 143, "terminate"),
        // It cannot pass that on: the run ends as if its terminal had gone. The code is that of `setsid --wait`.
        (Signal::KILL, 9, "terminate"),
    ] {
        let world = World::new();
        let mut person = seated(&world, UNDECIDED, "ralph resume");
        let pid = world.events().last("run.started")["pid"].as_u64().expect("a pid") as u32;
        let front = ralphs(&world).into_iter().find(|found| *found != pid).expect("a process in front");
        kill_process(Pid::from_raw(front as i32).expect("a pid"), signal).expect("a signal");
        assert_eq!(world.wait_for("stop.requested", 1).last("stop.requested")["how"], how, "{signal:?}");
        world.write("go", "");
        person.ends(code);
        world.wait_for("run.stopped", 1);
        assert_eq!(world.events().of("stop.requested").len(), 1, "{signal:?}");
        world.expect_no_survivors();
    }
}

#[test]
fn ctrl_c_at_a_terminal_counts_once_though_two_processes_hear_it() {
    let world = World::new();
    let mut person = seated(&world, UNDECIDED, "ralph resume");
    person.press(0x03);
    let events = world.wait_for("stop.requested", 1);
    assert_eq!(events.last("stop.requested")["how"], "after_iteration");
    world.write("go", "");
    person.ends(130);
    assert_eq!(world.events().finished(), [1], "the iteration was let finish");
    assert_eq!(world.events().of("stop.requested").len(), 1);
}
