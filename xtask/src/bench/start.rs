//! What it costs to start ralph at all.

use super::report::{Row, median, ms, ratio};
use crate::Result;
use crate::lab::{Lab, empty, timed};
use std::process::{Command, Stdio};

const ROUNDS: usize = 100;
const PASSES: usize = 15;

pub fn run(lab: &Lab) -> Result<Vec<Row>> {
    let state = lab.path("state");
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        theirs.push(timed(Command::new("/bin/true").stdin(Stdio::null()).stdout(Stdio::null()), &[0])?);
        ours.push(timed(lab.ralph(&state).arg("--version").stdout(Stdio::null()), &[0])?);
    }
    let (ours, theirs) = (median(ours), median(theirs));
    let times = ratio(ours, theirs);
    let version = Row::new("start: `ralph --version`", ms(ours))
        .against(format!("`/bin/true` {}, {times:.2}x", ms(theirs)))
        .goal("within 2x", times <= 2.0);

    let workspace = lab.folder("workspace")?;
    let mut passes = Vec::new();
    for _ in 0..PASSES {
        let mut once = lab.ralph(&empty(state.clone())?);
        once.args(["run", "--once", "-q", "-p", "task", "-a", "/bin/true", "-C"]).arg(&workspace);
        passes.push(timed(once.stdout(Stdio::null()), &[0])?);
    }
    let once = Row::new("start: `ralph run --once` of `/bin/true`", ms(median(passes)));
    Ok(vec![version, once])
}
