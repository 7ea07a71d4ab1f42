//! The parsers of agents' output, each over its own format: how fast on one core, and whether memory stays flat.

use super::report::Row;
use crate::lab::Lab;
use crate::{Result, repo};

/// Megabytes of a stream in a second.
const GOAL: u64 = 200;
/// A few pages come and go.
const SLACK: u64 = 1024;

pub fn run(_: &Lab) -> Result<Vec<Row>> {
    let mut cargo = repo::cargo(&repo::root());
    cargo.args(["run", "--quiet", "--release", "-p", "ralph-agents", "--example", "throughput"]);
    let printed = repo::stdout_of(&mut cargo)?;
    let rows: Vec<Row> = printed.lines().map(row).collect::<Result<_>>()?;
    match rows.is_empty() {
        true => Err("no parser was measured".into()),
        false => Ok(rows),
    }
}

fn row(line: &str) -> Result<Row> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [agent, what, speed, signals, early, late] = fields[..] else {
        return Err(format!("not a figure: {line}"));
    };
    let number = |text: &str| text.parse::<u64>().map_err(|_| format!("not a number: {text}"));
    let (speed, early, late) = (number(speed)?, number(early)?, number(late)?);
    let flat = late <= early + early / 10 + SLACK;
    Ok(Row::new(format!("parsers: {agent}, {what}"), format!("{speed} MB/s, {signals} signals in 200 MB"))
        .against(format!("{late} KiB at the end, {early} KiB after a tenth"))
        .goal("200 MB/s, flat memory", speed >= GOAL && flat))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_judged_by_speed_and_memory() {
        let met = |line: &str| row(line).unwrap().to_string().contains(": met");
        assert!(met("claude\trecorded session\t200\t5\t3000\t3100"));
        assert!(!met("claude\trecorded session\t199\t5\t3000\t3100"));
        assert!(!met("claude\trecorded session\t900\t5\t3000\t30000"));
        assert!(row("claude").is_err_and(|why| why.contains("not a figure")));
    }
}
