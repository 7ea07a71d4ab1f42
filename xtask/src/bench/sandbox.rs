//! What containment and sandbox cost each start of a program.

use super::report::{Row, median, ms};
use crate::Result;
use crate::lab::{Lab, empty, timed};
use std::process::Stdio;
use std::time::Duration;

const ITERATIONS: u32 = 40;
const ROUNDS: usize = 7;

/// Runs of many iterations that do nothing, so that what is paid once does not count; one after the other, so that a load hits
/// all of them.
const WAYS: [(&str, &str, &str); 4] = [
    ("keeper alone", "keeper", "off"),
    ("namespace", "auto", "off"),
    ("namespace, sandbox: workspace", "auto", "workspace"),
    ("namespace, sandbox: strict", "auto", "strict"),
];

pub fn run(lab: &Lab) -> Result<Vec<Row>> {
    let workspace = lab.folder("workspace")?;
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); WAYS.len()];
    for _ in 0..ROUNDS {
        for ((_, contain, sandbox), times) in WAYS.iter().zip(&mut times) {
            let mut ralph = lab.ralph(&empty(lab.path("state"))?);
            ralph.args(["run", "-q", "-p", "task", "-a", "/bin/true", "-n", &ITERATIONS.to_string()]);
            ralph.args(["--set", &format!("contain={contain}"), "--set", &format!("sandbox={sandbox}")]);
            ralph.args(["--set", "loop_detection.enabled=false", "-C"]).arg(&workspace).stdout(Stdio::null());
            times.push(timed(&mut ralph, &[3])? / ITERATIONS);
        }
    }
    let medians: Vec<Duration> = times.into_iter().map(median).collect();
    let bare = medians[0];
    let row = |((name, _, _), took): (&(&str, &str, &str), &Duration)| {
        let more = took.saturating_sub(bare);
        let row = Row::new(format!("sandbox: an iteration, {name}"), ms(*took));
        row.against(format!("{} more than a keeper alone", ms(more)))
            .goal("at most 3 ms more", more <= Duration::from_millis(3))
    };
    Ok(WAYS.iter().zip(&medians).map(row).collect())
}
