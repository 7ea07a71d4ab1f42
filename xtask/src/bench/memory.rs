//! Memory of a long run: as much after 10,000 iterations as after 1,000.

use super::report::Row;
use crate::Result;
use crate::lab::{Lab, WATCHED, empty, only_run, proc_status};
use std::process::Stdio;
use std::time::{Duration, Instant};

const ITERATIONS: u32 = 10_000;
const EARLY: u32 = 1_000;
const LOOK_EVERY: Duration = Duration::from_millis(10);

pub fn run(lab: &Lab) -> Result<Vec<Row>> {
    let workspace = lab.folder("workspace")?;
    let state = empty(lab.path("state"))?;
    let mut ralph = lab.ralph(&state);
    ralph.args(["run", "-q", "-p", "task", "-a", "/bin/true", "-n", &ITERATIONS.to_string()]);
    ralph.args(WATCHED).arg("-C");
    let start = Instant::now();
    let mut child =
        ralph.arg(workspace).stdout(Stdio::null()).spawn().map_err(|error| format!("{ralph:?}: {error}"))?;
    let (mut early, mut last, mut peak) = (None, 0, 0);
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            break status;
        }
        let rss = proc_status(child.id(), "VmRSS");
        last = rss.unwrap_or(last);
        peak = proc_status(child.id(), "VmHWM").unwrap_or(peak);
        if early.is_none()
            && only_run(&state).is_ok_and(|run| run.join(format!("logs/{EARLY}-1.log")).exists())
        {
            early = rss;
        }
        std::thread::sleep(LOOK_EVERY);
    };
    if status.code() != Some(3) {
        return Err(format!("{ralph:?} ended with {status}"));
    }
    let seconds = start.elapsed().as_secs_f64();
    let early = early.ok_or("the run was over before its memory was looked at")?;
    let flat = last <= early + early / 10;
    let growth = last as f64 / early as f64;
    Ok(vec![
        Row::new(format!("memory: RSS at the end of {ITERATIONS} iterations"), format!("{last} KiB"))
            .against(format!("{early} KiB after {EARLY}, {growth:.2}x; peak {peak} KiB"))
            .goal("flat", flat),
        Row::new(format!("memory: wall time of {ITERATIONS} iterations"), format!("{seconds:.1} s")),
    ])
}
