//! What it costs to route events among many hats.

use super::report::Row;
use crate::lab::Lab;
use crate::{Result, repo};

/// Seconds.
const GOAL: f64 = 1.0;

pub fn run(_lab: &Lab) -> Result<Vec<Row>> {
    let root = repo::root();
    let mut cargo = repo::cargo(&root);
    let args = ["run", "--quiet", "--release", "--package", "ralph-core", "--example", "routing"];
    let text = repo::stdout_of(cargo.args(args))?;
    let rows = text.lines().map(|line| row(line).ok_or_else(|| format!("the example printed `{line}`")));
    rows.collect()
}

/// `routing 0.0213 100000`
fn row(line: &str) -> Option<Row> {
    let mut words = line.split(' ');
    let (what, seconds, count) = (words.next()?, words.next()?.parse::<f64>().ok()?, words.next()?);
    let name = match what {
        "routing" => "routing: 100,000 events among 1,000 hats",
        "bus" => "routing: the same, published and taken through the bus",
        _ => return None,
    };
    let row = Row::new(name, format!("{:.0} ms", seconds * 1000.0)).against(format!("{count} deliveries"));
    Some(row.goal("under a second", seconds < GOAL))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_example_prints_becomes_a_row() {
        let shown = row("routing 0.0213 100000").map(|row| row.to_string());
        assert!(shown.is_some_and(|row| row.contains("| 21 ms | 100000 deliveries | under a second: met |")));
        assert!(row("bus 1.5 3").is_some_and(|row| row.to_string().contains("missed")));
        assert!(row("nonsense").is_none() && row("other 1 2").is_none());
    }
}
