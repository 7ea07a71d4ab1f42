//! What an iteration costs more than the same agent in a plain shell loop.

use super::report::{Row, median, ms, ratio, shm};
use crate::Result;
use crate::lab::{Lab, WATCHED, empty, only_run, timed};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ITERATIONS: u32 = 300;
const ROUNDS: usize = 5;
const AGENT: &str = "/bin/true";

pub fn run(lab: &Lab) -> Result<Vec<Row>> {
    lab.file("prompt", "task\n")?;
    let tmpfs = shm().map(|shm| shm.join(format!("ralph-bench-{}", std::process::id())));
    let (mut shell, mut disk, mut memory, mut syncs) = (vec![], vec![], vec![], vec![]);
    // In turn, so that a busy moment hits all of them.
    for _ in 0..ROUNDS {
        shell.push(shell_loop(lab)?);
        disk.push(ralph_loop(lab, &lab.path("state"))?);
        syncs.push(sync_again(&lab.path("state"), &lab.path("again"))?);
        if let Some(tmpfs) = &tmpfs {
            memory.push(ralph_loop(lab, tmpfs)?);
        }
    }
    tmpfs.iter().for_each(|tmpfs| drop(std::fs::remove_dir_all(tmpfs)));
    let (shell, disk, syncs) = (median(shell), median(disk), median(syncs));
    let row = |what: &str, time: Duration| {
        let added = time.saturating_sub(shell);
        let row = Row::new(format!("iteration: {what}"), ms(time));
        (
            row.against(format!("shell loop {}, added {}, {:.1}x", ms(shell), ms(added), ratio(time, shell))),
            added,
        )
    };
    let mut rows = vec![row("with fdatasync", disk).0];
    rows.push(
        Row::new("iteration: cost of the syncs", ms(syncs))
            .against("the same journal, appended and synced by one thread"),
    );
    if !memory.is_empty() {
        let (line, added) = row("without the cost of fdatasync (state on tmpfs)", median(memory));
        rows.push(line.goal("at most 2 ms added", added <= Duration::from_millis(2)));
    }
    Ok(rows)
}

fn shell_loop(lab: &Lab) -> Result<Duration> {
    lab.folder("logs")?;
    let script =
        format!("i=0; while [ $i -lt {ITERATIONS} ]; do {AGENT} < prompt > logs/$i; i=$((i+1)); done");
    let mut sh = Command::new("sh");
    let took = timed(sh.args(["-c", &script]).current_dir(lab.path(".")).stdin(Stdio::null()), &[0])?;
    Ok(took / ITERATIONS)
}

fn ralph_loop(lab: &Lab, state: &Path) -> Result<Duration> {
    let workspace = lab.folder("workspace")?;
    let mut ralph = lab.ralph(&empty(state.to_owned())?);
    ralph.args(["run", "-q", "-p", "task", "-a", AGENT, "-n", &ITERATIONS.to_string()]);
    ralph.args(WATCHED).arg("-C").arg(workspace);
    // 3: the limit of iterations was reached.
    Ok(timed(ralph.stdout(Stdio::null()), &[3])? / ITERATIONS)
}

/// Writes the journal of that run again as it was written, a batch up to each start of an iteration, and syncs each.
fn sync_again(state: &Path, to: &Path) -> Result<Duration> {
    let failed = |error: std::io::Error| format!("cannot write the journal again: {error}");
    let journal = std::fs::read_to_string(only_run(state)?.join("journal.jsonl")).map_err(failed)?;
    let mut file = std::fs::File::create(to).map_err(failed)?;
    let start = Instant::now();
    let mut batch = String::new();
    for line in journal.split_inclusive('\n') {
        batch.push_str(line);
        if line.contains("\"type\":\"iteration.started\"") {
            file.write_all(batch.as_bytes()).and_then(|()| file.sync_data()).map_err(failed)?;
            batch.clear();
        }
    }
    Ok(start.elapsed() / ITERATIONS)
}
