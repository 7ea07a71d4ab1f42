//! What gates cost: all of a round take about as long as the slowest, and looking at the tree is cheap the second time.

use super::report::{Row, median, ms, ratio};
use crate::Result;
use crate::lab::{Lab, only_run, timed};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const GATES: usize = 8;
/// Of the slowest; the others are a little quicker.
const SLOWEST: f64 = 0.6;
const ROUNDS: usize = 5;
const FILES: usize = 20_000;
/// A file that was written a moment ago is read again by the next look, so they are left alone for longer than that.
const SETTLED: Duration = Duration::from_secs(3);

pub fn run(lab: &Lab) -> Result<Vec<Row>> {
    let mut rows = parallel(lab)?;
    rows.extend(looks(lab)?);
    Ok(rows)
}

fn parallel(lab: &Lab) -> Result<Vec<Row>> {
    let (mut all, mut slowest, mut one_by_one) = (vec![], vec![], vec![]);
    for _ in 0..ROUNDS {
        let events = claim(lab, &sleeping(GATES), 1)?;
        all.push(durations(&events, "gates.finished").iter().sum());
        slowest.push(durations(&events, "gate.finished").into_iter().max().unwrap_or_default());
    }
    let events = claim(lab, &sleeping(1), 1)?;
    one_by_one.push(durations(&events, "gates.finished").iter().sum());
    let (all, slowest, serial) = (median(all), median(slowest), median(one_by_one));
    let row = Row::new(format!("gates: {GATES} at once"), ms(all)).against(format!(
        "the slowest {}, {:.2}x; one by one {}",
        ms(slowest),
        ratio(all, slowest),
        ms(serial)
    ));
    Ok(vec![row.goal("about the slowest: at most 1.2x", ratio(all, slowest) <= 1.2)])
}

/// Gates that sleep, so many of them at the same time.
fn sleeping(jobs: usize) -> String {
    let gate = |n: usize| format!("{{name: g{n}, run: sleep {:.2}}}", SLOWEST - 0.02 * n as f64);
    let gates: Vec<String> = (0..GATES).map(gate).collect();
    format!("gate_jobs: {jobs}\ngates: [{}]\n", gates.join(", "))
}

/// Each claim looks at the tree twice. The first reads all files; the others read what has changed.
fn looks(lab: &Lab) -> Result<Vec<Row>> {
    let workspace = lab.folder("workspace")?;
    let failed = |error: std::io::Error| format!("cannot make files: {error}");
    for n in 0..FILES {
        let folder = workspace.join(format!("d{}", n % 200));
        std::fs::create_dir_all(&folder).map_err(failed)?;
        std::fs::write(folder.join(format!("{n}.txt")), format!("{n}\n").repeat(400)).map_err(failed)?;
    }
    std::thread::sleep(SETTLED);
    let mut sums = Command::new("sh");
    let script = "find . -type f -print0 | xargs -0 sha256sum > /dev/null";
    let sums = timed(sums.args(["-c", script]).current_dir(&workspace), &[0])?;
    let events = claim_in(lab, &workspace, "gates: [{name: no, run: 'false'}]\n", 4)?;
    let rounds = durations(&events, "gates.finished");
    let [first, later @ ..] = rounds.as_slice() else { return Err("no gates ran".into()) };
    let later = median(later.to_vec());
    Ok(vec![
        Row::new(format!("gates: first claim among {FILES} files, read once"), ms(*first))
            .against(format!("sha256sum of them {}", ms(sums))),
        Row::new("gates: later claim, two looks", ms(later))
            .against(format!("{:.2}x of the first", ratio(later, *first))),
    ])
}

fn claim(lab: &Lab, definition: &str, iterations: u32) -> Result<Vec<Value>> {
    let workspace = lab.folder("workspace")?;
    claim_in(lab, &workspace, definition, iterations)
}

/// The events of a run whose agent claims each time.
fn claim_in(lab: &Lab, workspace: &Path, definition: &str, iterations: u32) -> Result<Vec<Value>> {
    let agent = lab.file("claims.sh", "echo '<ralph>COMPLETE</ralph>'\n")?;
    let text = format!("prompt: task\nagent: sh {}\n{definition}", agent.display());
    let file = lab.file("ralph.yml", &text)?;
    let state = lab.folder("state")?;
    let mut ralph = lab.ralph(&state);
    ralph.args(["run", "-q", "-n", &iterations.to_string(), "-C"]).arg(workspace).arg(file);
    timed(ralph.stdout(Stdio::null()), &[0, 3])?;
    let path = only_run(&state)?.join("journal.jsonl");
    let journal = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(journal.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

fn durations(events: &[Value], kind: &str) -> Vec<Duration> {
    let of_kind = events.iter().filter(|event| event["type"] == kind);
    of_kind.filter_map(|event| event["duration_ms"].as_u64()).map(Duration::from_millis).collect()
}
