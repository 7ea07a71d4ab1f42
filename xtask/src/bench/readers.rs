//! A flood of records, with nobody reading along and with eight readers of which one is stopped.

use super::report::{Row, ms, ratio};
use crate::Result;
use crate::lab::{Lab, WATCHED, empty, only_run};
use serde_json::{Value, json};
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const BYTES: usize = 100_000_000;
/// As many calls of one attempt as are recorded.
const CALLS: usize = 5000;
const READERS: usize = 8;
const ROUNDS: usize = 3;
/// The reader that is stopped stays so for this long.
const STOPPED: Duration = Duration::from_secs(30);
const PATIENCE: Duration = Duration::from_secs(60);

pub fn run(lab: &Lab) -> Result<Vec<Row>> {
    let agent = agent(lab)?;
    let (mut alone, mut read, mut records) = (Duration::MAX, Duration::MAX, 0);
    for _ in 0..ROUNDS {
        alone = alone.min(measure(lab, &agent, 0)?.0);
        let (took, seen) = measure(lab, &agent, READERS)?;
        read = read.min(took);
        records = seen;
    }
    let slower = ratio(read, alone);
    let what = format!("readers: 100 MB, {records} records, {READERS} readers, one stopped");
    Ok(vec![
        Row::new(what, ms(read))
            .against(format!("no reader {}, {slower:.2}x", ms(alone)))
            .goal("at most 1.05x", slower <= 1.05),
    ])
}

/// A known agent whose every line is a record: it calls a tool, and the tool prints much. It waits for a file, so that all
/// readers are there before the flood.
fn agent(lab: &Lab) -> Result<PathBuf> {
    let (command, output) = ("x".repeat(2000), "y".repeat(BYTES / CALLS - 2400));
    let line = |kind: &str, part: Value| json!({ "type": kind, "message": { "content": [part] } });
    let calls = (0..CALLS).map(|n| {
        let id = format!("t{n}");
        let call = json!({ "type": "tool_use", "id": id, "name": "Bash", "input": { "command": command } });
        let result = json!({ "type": "tool_result", "tool_use_id": id, "content": output });
        format!("{}\n{}\n", line("assistant", call), line("user", result))
    });
    let stream = lab.file("stream", &calls.collect::<String>())?.display().to_string();
    let go = lab.path("go").display().to_string();
    let script = format!("#!/bin/sh\nuntil [ -e {go} ]; do sleep 0.01; done\ncat {stream}\n");
    let path = lab.file("claude", &script)?;
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o700)).map_err(|error| error.to_string())?;
    Ok(path)
}

/// How long the flood takes, and how many records it makes.
fn measure(lab: &Lab, agent: &Path, readers: usize) -> Result<(Duration, usize)> {
    let failed = |error: std::io::Error| format!("readers: {error}");
    let (state, workspace) = (empty(lab.path("state"))?, lab.folder("workspace")?);
    let _ = std::fs::remove_file(lab.path("go"));
    let mut ralph = lab.ralph(&state);
    ralph
        .args(["run", "-q", "-n", "1", "-p", "task"])
        .args(WATCHED)
        .arg("-a")
        .arg(agent)
        .arg("-C")
        .arg(workspace);
    let mut child = ralph.stdout(Stdio::null()).stderr(Stdio::null()).spawn().map_err(failed)?;
    let socket = socket(&state)?;
    let run = only_run(&state)?;
    let mut them: Vec<Child> = (0..readers).map(|n| reader(lab, &socket, n)).collect::<Result<_>>()?;
    if let Some(stopped) = them.first() {
        signal("-STOP", stopped)?;
    }
    let start = Instant::now();
    lab.file("go", "")?;
    child.wait().map_err(failed)?;
    let took = start.elapsed();
    if let Some(stopped) = them.first() {
        std::thread::sleep(STOPPED.saturating_sub(took));
        signal("-CONT", stopped)?;
    }
    let journal = std::fs::read_to_string(run.join("journal.jsonl")).map_err(failed)?;
    let records = journal.lines().count();
    for (n, reader) in them.iter_mut().enumerate() {
        reader.wait().map_err(failed)?;
        let seen = std::fs::read_to_string(lab.path(&format!("reader-{n}"))).map_err(failed)?;
        check(&seen, records, n == 0).map_err(|error| format!("reader {n}: {error}"))?;
    }
    Ok((took, records))
}

/// The socket of the only run, once it is there.
fn socket(state: &Path) -> Result<PathBuf> {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if let Some(socket) = only_run(state).ok().map(|run| run.join("control")).filter(|path| path.exists())
        {
            return Ok(socket);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Err("the run opened no socket".into())
}

/// `cat`, with the socket as its standard input: a reader that can be stopped.
fn reader(lab: &Lab, socket: &Path, number: usize) -> Result<Child> {
    let failed = |error: std::io::Error| format!("reader {number}: {error}");
    let mut stream = UnixStream::connect(socket).map_err(failed)?;
    stream.write_all(b"{\"request\":\"subscribe\"}\n").map_err(failed)?;
    let file = File::create(lab.path(&format!("reader-{number}"))).map_err(failed)?;
    Command::new("cat").stdin(Stdio::from(OwnedFd::from(stream))).stdout(file).spawn().map_err(failed)
}

fn signal(signal: &str, child: &Child) -> Result<()> {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status();
    status
        .map_err(|error| error.to_string())?
        .success()
        .then_some(())
        .ok_or_else(|| format!("kill {signal} failed"))
}

/// Every record once, in order; one that was stopped may have been left behind, but has no gap.
fn check(seen: &str, records: usize, may_end_early: bool) -> Result<()> {
    let lines = seen.lines().skip(1);
    let mut next = 1;
    for line in lines {
        if !line.starts_with(&format!("{{\"seq\":{next},")) {
            return Err(format!("record {next} is missing: {}", line.chars().take(60).collect::<String>()));
        }
        next += 1;
    }
    match next - 1 == records || may_end_early {
        true => Ok(()),
        false => Err(format!("{} of {records} records", next - 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_a_repetition_and_an_early_end_are_seen() {
        let text = |seqs: &[u32]| {
            let lines: String = seqs.iter().map(|seq| format!("{{\"seq\":{seq},\"at\":1}}\n")).collect();
            format!("{{\"reply\":\"subscribed\"}}\n{lines}")
        };
        assert!(check(&text(&[1, 2, 3]), 3, false).is_ok());
        assert!(check(&text(&[1, 2]), 3, true).is_ok());
        for bad in [&[1, 2][..], &[1, 3], &[1, 2, 2, 3], &[2, 3]] {
            assert!(check(&text(bad), 3, false).is_err(), "{bad:?}");
        }
    }
}
