//! What a checkpoint costs in a repository of 20,000 files, against `git add -A && git write-tree` with a warm index.

use super::report::{Row, median, ms, ratio};
use crate::Result;
use crate::lab::{Lab, only_run, timed};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const FILES: usize = 20_000;
/// Files that change between two checkpoints.
const CHANGED: usize = 10;
const ROUNDS: usize = 9;
/// A file that was written a moment ago is read again, so they are left alone for longer than that.
const SETTLED: Duration = Duration::from_secs(3);

pub fn run(lab: &Lab) -> Result<Vec<Row>> {
    let repository = lab.folder("repository")?;
    let failed = |error: std::io::Error| format!("cannot make files: {error}");
    for n in 0..FILES {
        let folder = repository.join(format!("d{}/e{}", n % 20, n % 200));
        std::fs::create_dir_all(&folder).map_err(failed)?;
        std::fs::write(folder.join(format!("{n}.txt")), format!("{n}\n").repeat(200)).map_err(failed)?;
    }
    shell(
        &repository,
        "git init -q && git config gc.auto 0 && git config maintenance.auto false && git add -A && git -c user.name=a -c user.email=a@b commit -qm all && git gc -q",
    )?;
    std::thread::sleep(SETTLED);
    let theirs = git(&repository)?;
    std::thread::sleep(SETTLED);
    let (first, ours, read) = ralph(lab, &repository)?;
    let against = format!("git add -A && git write-tree {}, {:.2}x", ms(theirs), ratio(ours, theirs));
    Ok(vec![
        Row::new(format!("checkpoints: the first among {FILES} files, all read"), ms(first)),
        Row::new(format!("checkpoints: a later one, {read} files read"), ms(ours))
            .against(against)
            .goal("at most 1.3x", ratio(ours, theirs) <= 1.3),
    ])
}

fn shell(folder: &Path, script: &str) -> Result<Duration> {
    let mut command = Command::new("sh");
    timed(command.args(["-c", script]).current_dir(folder).stdout(Stdio::null()), &[0])
}

/// What changes some files.
fn change() -> String {
    let names = (0..CHANGED).map(|n| format!("d{0}/e{0}/{0}.txt", n)).collect::<Vec<_>>().join(" ");
    format!("for f in {names}; do date +%N >> $f; done")
}

fn git(repository: &Path) -> Result<Duration> {
    shell(repository, "git status > /dev/null && cp .git/index .git/bench-index")?;
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        shell(repository, &change())?;
        times
            .push(shell(repository, "export GIT_INDEX_FILE=.git/bench-index; git add -A && git write-tree")?);
    }
    Ok(median(times))
}

/// The first checkpoint, the median of those after iterations, and how many files such a one read.
fn ralph(lab: &Lab, repository: &Path) -> Result<(Duration, Duration, u64)> {
    let agent = lab.file("changes.sh", &format!("cat > /dev/null\n{}\necho done\n", change()))?;
    let state = lab.folder("state")?;
    let mut ralph = lab.ralph(&state);
    ralph.args(["run", "-q", "-p", "task", "--set", "loop_detection.action=warn"]);
    ralph.args(["-n", &ROUNDS.to_string(), "-a", &format!("sh {}", agent.display()), "-C"]).arg(repository);
    timed(ralph.stdout(Stdio::null()).stderr(Stdio::null()), &[0, 1, 3])?;
    let path = only_run(&state)?.join("journal.jsonl");
    let journal = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let events = journal.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let saved: Vec<Value> = events.filter(|event| event["type"] == "checkpoint.saved").collect();
    let took = |event: &Value| Duration::from_millis(event["duration_ms"].as_u64().unwrap_or_default());
    let [first, later @ ..] = saved.as_slice() else { return Err("there is no checkpoint".into()) };
    if later.len() < 3 {
        return Err("there are too few checkpoints".into());
    }
    let read = later.last().and_then(|event| event["read"].as_u64()).unwrap_or_default();
    Ok((took(first), median(later.iter().map(took).collect()), read))
}
