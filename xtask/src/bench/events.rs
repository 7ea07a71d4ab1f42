//! Reading a journal of a million records.

use super::report::{Row, median, ms};
use crate::Result;
use crate::lab::{Lab, empty, only_run, timed};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

const ITERATIONS: u32 = 50_000;
/// Records of one iteration: started, spawned, exited, finished, and what the agent said.
const SAID: usize = 16;
const RECORDS: usize = 1_000_000;
const ROUNDS: usize = 5;

pub fn run(lab: &Lab) -> Result<Vec<Row>> {
    let state = empty(lab.path("state"))?;
    let workspace = lab.folder("workspace")?;
    let size = make(lab, &state, &workspace)?;
    let time = |args: &[&str], codes: &[i32], rounds: usize| {
        let times = (0..rounds).map(|_| {
            let mut ralph = lab.ralph(&state);
            ralph.args(args).arg("-C").arg(&workspace).stdout(Stdio::null()).stderr(Stdio::null());
            timed(&mut ralph, codes)
        });
        Ok::<Duration, String>(median(times.collect::<Result<Vec<_>>>()?))
    };
    // It would be no journal if this failed: every decision is derived again.
    let verify = time(&["replay", "--verify"], &[0], 1)?;
    let row = |what: &str, took: Duration| Row::new(format!("events: `ralph {what}`"), ms(took));
    let mut rows = vec![
        Row::new("events: the journal", format!("{RECORDS} records, {:.0} MB", size as f64 / 1e6)),
        row("replay --verify", verify),
    ];
    let last = time(&["events", "--last", "100"], &[0], ROUNDS)?;
    rows.push(row("events --last 100", last).goal("under 50 ms", last < Duration::from_millis(50)));
    for args in [["events", "--type", "iteration.finished"], ["events", "--iteration", "5"]] {
        let took = time(&args, &[0], ROUNDS)?;
        rows.push(row(&args.join(" "), took).goal("under 1.5 s", took < Duration::from_millis(1500)));
    }
    rows.push(row("events --json", time(&["events", "--json"], &[0], ROUNDS)?));
    rows.push(row("status", time(&["status"], &[0], ROUNDS)?));
    // All iterations are done, so it reads everything and stops at the limit.
    rows.push(row("resume", time(&["resume", "-q"], &[3], ROUNDS)?));
    Ok(rows)
}

/// Makes the journal of a run that was killed after its last iteration: a real run of three, its second iteration
/// repeated under other numbers.
fn make(lab: &Lab, state: &Path, workspace: &Path) -> Result<u64> {
    let agent = "sh -c 'echo working on it; test $RALPH_ITERATION -lt 3 || echo \"<ralph>COMPLETE</ralph>\"'";
    let mut ralph = lab.ralph(state);
    ralph.args(["run", "-q", "-p", "task", "-a", agent, "-n", &ITERATIONS.to_string()]);
    // An iteration that is repeated fifty thousand times would be called stuck.
    ralph.args(["--set", "loop_detection.enabled=false", "-C"]).arg(workspace);
    timed(ralph.stdout(Stdio::null()), &[0])?;
    let run = only_run(state)?;
    let failed = |error: std::io::Error| format!("{}: {error}", run.display());
    let path = run.join("journal.jsonl");
    let real = std::fs::read_to_string(&path).map_err(failed)?;
    let text = synthesise(&real)?;
    std::fs::write(&path, &text).map_err(failed)?;
    // It speaks of the shorter journal.
    std::fs::remove_file(run.join("journal.mark")).map_err(failed)?;
    Ok(text.len() as u64)
}

fn synthesise(real: &str) -> Result<String> {
    let find = |kind: &str, iteration: u32| {
        let (kind, number) = (format!("\"type\":\"{kind}\""), format!("\"iteration\":{iteration},"));
        let mut lines = real.lines();
        lines
            .find(|line| line.contains(&kind) && (iteration == 0 || line.contains(&number)))
            .ok_or_else(|| format!("the journal has no {kind} of iteration {iteration}"))
    };
    let started = find("run.started", 0)?;
    let mut block = vec![find("iteration.started", 2)?, find("agent.spawned", 2)?];
    block.extend([find("agent.text", 2)?; SAID]);
    block.extend([find("agent.exited", 2)?, find("iteration.finished", 2)?]);
    let block: Vec<Template> = block.iter().map(|line| Template::of(line)).collect::<Result<_>>()?;

    let mut out = Writer::default();
    out.push(&Template::of(started)?, 0);
    for iteration in 1..=ITERATIONS {
        // The first record is the start of the run; one text less makes it a round number.
        let skip = usize::from(iteration == ITERATIONS);
        block[..2 + SAID - skip].iter().chain(&block[2 + SAID..]).for_each(|line| out.push(line, iteration));
    }
    match out.seq {
        RECORDS => Ok(out.text),
        other => Err(format!("made {other} records, not {RECORDS}")),
    }
}

/// A stored line, without its number, its iteration and its checksum.
struct Template {
    before: String,
    /// Behind the number of the iteration, if the line has one.
    after: Option<String>,
}

impl Template {
    fn of(line: &str) -> Result<Template> {
        let body = line.rsplit_once(",\"crc\":").map(|(body, _)| body);
        let body = body.and_then(|body| body.strip_prefix("{\"seq\":")?.split_once(','));
        let (_, body) = body.ok_or_else(|| format!("not a stored line: {line}"))?;
        Ok(match body.split_once("\"iteration\":2,") {
            Some((before, after)) => Template { before: before.to_owned(), after: Some(after.to_owned()) },
            None => Template { before: body.to_owned(), after: None },
        })
    }
}

#[derive(Default)]
struct Writer {
    text: String,
    seq: usize,
    chain: u32,
}

impl Writer {
    fn push(&mut self, line: &Template, iteration: u32) {
        self.seq += 1;
        let start = self.text.len();
        // Writing to a string cannot fail.
        let _ = write!(self.text, "{{\"seq\":{},{}", self.seq, line.before);
        if let Some(after) = &line.after {
            let _ = write!(self.text, "\"iteration\":{iteration},{after}");
        }
        let mut hasher = crc32fast::Hasher::new_with_initial(self.chain);
        hasher.update(&self.text.as_bytes()[start..]);
        self.chain = hasher.finalize();
        let _ = writeln!(self.text, ",\"crc\":\"{:08x}\"}}", self.chain);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_and_chained_anew() {
        let first = Template::of(r#"{"seq":1,"at":"x","type":"run.started","crc":"00000000"}"#).unwrap();
        let text = r#"{"seq":9,"at":"x","type":"agent.text","iteration":2,"attempt":1,"crc":"00000000"}"#;
        let text = Template::of(text).unwrap();
        let mut out = Writer::default();
        out.push(&first, 0);
        out.push(&text, 7);
        let lines: Vec<&str> = out.text.lines().collect();
        let body = r#"{"seq":1,"at":"x","type":"run.started""#;
        assert_eq!(lines[0], format!("{body},\"crc\":\"{:08x}\"}}", crc32fast::hash(body.as_bytes())));
        let body = r#"{"seq":2,"at":"x","type":"agent.text","iteration":7,"attempt":1"#;
        let mut hasher = crc32fast::Hasher::new_with_initial(crc32fast::hash(
            lines[0].rsplit_once(",\"crc").unwrap().0.as_bytes(),
        ));
        hasher.update(body.as_bytes());
        assert_eq!(lines[1], format!("{body},\"crc\":\"{:08x}\"}}", hasher.finalize()));
        assert!(Template::of("{}").is_err());
    }
}
