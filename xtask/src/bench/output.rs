//! A gigabyte of output: how fast it gets through ralph, and how much memory that takes.

use super::flood::KINDS;
use super::report::{Row, ratio};
use crate::Result;
use crate::lab::{Lab, empty, only_run, proc_status, timed};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const BYTES: u64 = 1_000_000_000;
const ROUNDS: usize = 3;
const MOST_MEMORY: u64 = 32 * 1024;
const LOOK_EVERY: Duration = Duration::from_millis(5);

pub fn run(lab: &Lab) -> Result<Vec<Row>> {
    let flood = std::env::current_exe().map_err(|error| format!("cannot find xtask: {error}"))?;
    // A copy under a short name without spaces: the agent is a command line.
    let flood = std::fs::copy(flood, lab.path("flood")).map(|_| lab.path("flood"));
    let flood = flood.map_err(|error| format!("cannot copy xtask: {error}"))?;
    let flood = flood.display().to_string();
    KINDS.iter().map(|kind| measure(lab, &flood, kind)).collect()
}

fn measure(lab: &Lab, flood: &str, kind: &str) -> Result<Row> {
    let (mut file, mut ours, mut peak) = (Duration::MAX, Duration::MAX, 0);
    for _ in 0..ROUNDS {
        file = file.min(to_file(lab, flood, kind)?);
        let (took, memory) = through_ralph(lab, flood, kind)?;
        ours = ours.min(took);
        peak = peak.max(memory);
    }
    let speed = |time: Duration| BYTES as f64 / 1e6 / time.as_secs_f64();
    let share = ratio(file, ours);
    Ok(Row::new(format!("output: 1 GB, {kind}"), format!("{:.0} MB/s, peak RSS {peak} KiB", speed(ours)))
        .against(format!("file {:.0} MB/s, {share:.2}x", speed(file)))
        .goal("half the file's speed, under 32 MB", share >= 0.5 && peak < MOST_MEMORY))
}

fn to_file(lab: &Lab, flood: &str, kind: &str) -> Result<Duration> {
    let path = lab.path("flooded");
    let file = || std::fs::File::create(&path).map_err(|error| format!("{}: {error}", path.display()));
    let mut command = Command::new(flood);
    command.args(["__flood", kind, &BYTES.to_string()]).stdin(Stdio::null());
    match kind {
        "stderr" => command.stderr(file()?),
        _ => command.stdout(file()?),
    };
    let took = timed(&mut command, &[0])?;
    let size = path.metadata().map_err(|error| error.to_string())?.len();
    let _ = std::fs::remove_file(&path);
    match size {
        BYTES => Ok(took),
        other => Err(format!("the flood wrote {other} bytes, not {BYTES}")),
    }
}

fn through_ralph(lab: &Lab, flood: &str, kind: &str) -> Result<(Duration, u64)> {
    let workspace = lab.folder("workspace")?;
    let state = empty(lab.path("state"))?;
    let mut ralph = lab.ralph(&state);
    let agent = format!("{flood} __flood {kind} {BYTES}");
    ralph.args(["run", "--once", "-q", "-p", "task", "-a", &agent, "-C"]).arg(workspace);
    let start = Instant::now();
    let mut child = ralph.stdout(Stdio::null()).spawn().map_err(|error| format!("{ralph:?}: {error}"))?;
    let pid = child.id();
    let watcher = std::thread::spawn(move || {
        let mut peak = 0;
        // Ends with the process. The mark never falls, so only what comes in the last moment can be missed.
        while let Some(now) = proc_status(pid, "VmHWM") {
            peak = now;
            std::thread::sleep(LOOK_EVERY);
        }
        peak
    });
    let status = child.wait().map_err(|error| error.to_string())?;
    let took = start.elapsed();
    let peak = watcher.join().map_err(|_| "the watcher of the memory panicked".to_owned())?;
    if !status.success() || peak == 0 {
        return Err(format!("{ralph:?} ended with {status}, memory {peak} KiB"));
    }
    let journal = only_run(&state)?.join("journal.jsonl");
    let journal = std::fs::read_to_string(journal).map_err(|error| error.to_string())?;
    match journal.contains(&format!("\"output_bytes\":{BYTES},"))
        || journal.contains(&format!("\"output_bytes\":{BYTES}}}"))
    {
        true => Ok((took, peak)),
        false => Err(format!("ralph did not see {BYTES} bytes of {kind}")),
    }
}
