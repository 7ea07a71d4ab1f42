//! `ralph list` and finding a run, where there are ten thousand of them.

use super::report::{Row, median, ms};
use crate::Result;
use crate::lab::{Lab, empty, only_run, timed};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

const RUNS: usize = 10_000;
const ROUNDS: usize = 7;

pub fn run(lab: &Lab) -> Result<Vec<Row>> {
    let state = empty(lab.path("state"))?;
    let workspace = lab.folder("workspace")?;
    make(lab, &state, &workspace)?;
    let time = |args: &[&str], rounds: usize| {
        let times = (0..rounds).map(|_| {
            let mut ralph = lab.ralph(&state);
            ralph.args(args).arg("-C").arg(&workspace).stdout(Stdio::null());
            timed(&mut ralph, &[0])
        });
        Ok::<Duration, String>(median(times.collect::<Result<Vec<_>>>()?))
    };
    let mut rows = vec![Row::new(format!("list: {RUNS} runs, without an index"), ms(time(&["list"], 1)?))];
    for args in [&["list"][..], &["list", "--all"], &["status"]] {
        let took = time(args, ROUNDS)?;
        let row = Row::new(format!("list: {RUNS} runs, `ralph {}`", args.join(" ")), ms(took));
        rows.push(row.goal("under 100 ms", took < Duration::from_millis(100)));
    }
    Ok(rows)
}

/// A real run that has stopped, ten thousand times.
fn make(lab: &Lab, state: &Path, workspace: &Path) -> Result<()> {
    let mut ralph = lab.ralph(state);
    ralph.args(["run", "-q", "--once", "-p", "task", "-a", "true", "-C"]).arg(workspace);
    timed(ralph.stdout(Stdio::null()), &[0])?;
    let run = only_run(state)?;
    let failed = |error: std::io::Error| format!("{}: {error}", run.display());
    let journal = std::fs::read(run.join("journal.jsonl")).map_err(failed)?;
    // A journal that was written to this very second is not noted in the index.
    let then = std::time::SystemTime::now() - Duration::from_secs(60);
    for number in 1..RUNS {
        let folder = state.join("runs").join(format!("20260118-100000-{number:06x}"));
        std::fs::create_dir(&folder).map_err(failed)?;
        let path = folder.join("journal.jsonl");
        std::fs::write(&path, &journal).map_err(failed)?;
        std::fs::File::open(&path).and_then(|file| file.set_modified(then)).map_err(failed)?;
    }
    Ok(())
}
