//! What it costs to watch an output for loops: the sketch that is made while it streams, and the check of similarity.

use super::report::Row;
use crate::lab::Lab;
use crate::{Result, repo};

/// Megabytes a second of a flood through the sketcher. The output's way through ralph has to be no slower for it.
const FLOOD_GOAL: f64 = 1_000.0;
/// Milliseconds and KiB that the check of 10 MB may take beyond the text itself.
const CHECK_GOAL: f64 = 150.0;
const CHECK_MEMORY: u64 = 8 * 1024;
/// A few pages come and go.
const SLACK: u64 = 4 * 1024;

pub fn run(_lab: &Lab) -> Result<Vec<Row>> {
    let mut cargo = repo::cargo(&repo::root());
    cargo.args(["run", "--quiet", "--release", "--package", "ralph-evidence", "--example", "stuck"]);
    let text = repo::stdout_of(&mut cargo)?;
    let figures = text.lines().map(Figure::of).collect::<Result<Vec<_>>>()?;
    Ok(figures.iter().map(|figure| figure.row(&figures)).collect())
}

/// One line of the example.
struct Figure {
    what: String,
    megabytes: u32,
    seconds: f64,
    before: u64,
    most: u64,
}

impl Figure {
    fn of(line: &str) -> Result<Figure> {
        let wrong = || format!("not a figure: {line}");
        let fields: Vec<&str> = line.split('\t').collect();
        let [what, megabytes, seconds, before, most] = fields[..] else { return Err(wrong()) };
        Ok(Figure {
            what: what.to_owned(),
            megabytes: megabytes.parse().map_err(|_| wrong())?,
            seconds: seconds.parse().map_err(|_| wrong())?,
            before: before.parse().map_err(|_| wrong())?,
            most: most.parse().map_err(|_| wrong())?,
        })
    }

    fn row(&self, all: &[Figure]) -> Row {
        let megabytes = f64::from(self.megabytes);
        let speed = megabytes / self.seconds.max(1e-6);
        let memory = self.most.saturating_sub(self.before);
        let row = Row::new(
            format!("stuck: {}, {} MB", self.what, self.megabytes),
            format!("{:.1} ms, {speed:.0} MB/s, {memory} KiB", self.seconds * 1000.0),
        );
        let tenth =
            all.iter().find(|other| other.what == self.what && other.megabytes * 10 == self.megabytes);
        let row = match tenth {
            Some(tenth) => {
                let ratio = self.seconds / tenth.seconds.max(1e-6);
                row.against(format!("{ratio:.1}x the time of {} MB", tenth.megabytes))
            }
            None => row,
        };
        let sketch = self.what.starts_with("sketch");
        match (sketch, self.megabytes) {
            (true, 1000) => row.goal("1 GB/s, flat memory", speed >= FLOOD_GOAL && memory <= SLACK),
            (false, 10) => {
                row.goal("150 ms, 8 MB", self.seconds * 1000.0 <= CHECK_GOAL && memory <= CHECK_MEMORY)
            }
            _ => row,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floods_are_judged_by_speed_and_checks_by_time_and_both_by_memory() {
        let row = |line: &str| Figure::of(line).map(|figure| figure.row(&[]).to_string());
        assert!(
            row("sketch, x\t1000\t0.9\t100\t200")
                .is_ok_and(|row| row.contains("1111 MB/s, 100 KiB") && row.contains(": met"))
        );
        assert!(row("sketch, x\t1000\t1.1\t100\t200").is_ok_and(|row| row.contains("missed")));
        assert!(row("sketch, x\t1000\t0.1\t100\t9000").is_ok_and(|row| row.contains("missed")));
        assert!(row("similarity, x\t10\t0.14\t100\t200").is_ok_and(|row| row.contains(": met")));
        assert!(row("similarity, x\t10\t0.16\t100\t200").is_ok_and(|row| row.contains("missed")));
        assert!(row("nonsense").is_err_and(|why| why.contains("not a figure")));
    }

    #[test]
    fn a_figure_is_compared_with_a_tenth_of_it() {
        let figures =
            ["a\t10\t0.5\t0\t0", "b\t1\t9\t0\t0", "a\t100\t1\t0\t0"].map(|line| Figure::of(line).unwrap());
        assert!(figures[2].row(&figures).to_string().contains("2.0x the time of 10 MB"));
        assert!(!figures[0].row(&figures).to_string().contains("the time of"));
    }
}
