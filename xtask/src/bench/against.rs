//! `cargo xtask bench --against REV`: the same benchmarks of another commit, each by its own `xtask`, in turn with those of
//! this tree. What is slower here than there is seen as a ratio of one run.

use super::report::load;
use crate::{Result, repo};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Each side is measured so often, and again while this time lasts; the better figure counts. Short benchmarks need it most.
const ROUNDS: usize = 2;
const PATIENCE: Duration = Duration::from_secs(60);

/// A clone of another commit, and where it is built.
struct Other {
    dir: PathBuf,
}

impl Other {
    fn check_out(rev: &str) -> Result<Other> {
        let root = repo::root();
        let mut parse = Command::new("git");
        parse.current_dir(&root).args(["rev-parse", "--verify", "--quiet"]).arg(format!("{rev}^{{commit}}"));
        let commit = repo::stdout_of(&mut parse).map_err(|_| format!("there is no commit `{rev}`"))?;
        let commit = commit.trim();
        let dir = root.join("target").join("against").join(commit.get(..12).unwrap_or(commit));
        if !dir.is_dir() {
            let mut clone = Command::new("git");
            clone.args(["clone", "--quiet", "--shared", "--no-checkout"]).arg(&root).arg(&dir);
            repo::stdout_of(&mut clone)?;
            let mut checkout = Command::new("git");
            repo::stdout_of(checkout.current_dir(&dir).args(["checkout", "--quiet", "--detach", commit]))?;
        }
        Ok(Other { dir })
    }
}

/// One benchmark of one side, as the figures in its table.
fn measure(dir: &Path, name: &str) -> Result<BTreeMap<String, Figure>> {
    let mut bench = repo::cargo(dir);
    bench.args(["run", "--quiet", "--package", "xtask", "--", "bench", name]);
    // The other side has a target folder of its own, wherever this one has been put.
    bench.env_remove("CARGO_TARGET_DIR").env_remove("CARGO_MANIFEST_DIR");
    Ok(figures(&repo::stdout_of(&mut bench)?))
}

pub fn run(rev: &str, names: &[&'static str]) -> Result<()> {
    let other = Other::check_out(rev)?;
    println!("| what | at {rev} | here | ratio |\n|---|---|---|---|");
    let mut worst = Vec::new();
    for name in names {
        let (mut before, mut now) = (BTreeMap::new(), BTreeMap::new());
        let start = Instant::now();
        for round in 0.. {
            if round >= ROUNDS && start.elapsed() > PATIENCE {
                break;
            }
            match measure(&other.dir, name) {
                Ok(found) => keep_better(&mut before, found),
                Err(error) if error.contains("unknown benchmark") => {}
                Err(error) => return Err(format!("{name} at {rev}: {error}")),
            }
            keep_better(&mut now, measure(&repo::root(), name)?);
        }
        for (what, figure) in &now {
            let Some(old) = before.get(what).filter(|old| old.unit == figure.unit) else {
                println!("| {what} | - | {figure} | new |");
                continue;
            };
            let ratio = figure.cost_against(old);
            println!("| {what} | {old} | {figure} | {ratio:.2}x |");
            worst.push((ratio, what.clone()));
        }
    }
    worst.sort_by(|a, b| b.0.total_cmp(&a.0));
    println!("\nload average {} at the end; a ratio above 1 is slower or larger here", load());
    if let Some((ratio, what)) = worst.first() {
        println!("worst: {ratio:.2}x, {what}");
    }
    Ok(())
}

fn keep_better(all: &mut BTreeMap<String, Figure>, found: BTreeMap<String, Figure>) {
    for (what, figure) in found {
        match all.get_mut(&what) {
            Some(best) if figure.unit == best.unit && figure.cost_against(best) < 1.0 => *best = figure,
            Some(_) => {}
            None => drop(all.insert(what, figure)),
        }
    }
}

/// A number with its unit, as it stands in a table.
#[derive(Debug, Clone, PartialEq)]
struct Figure {
    number: f64,
    unit: String,
}

impl Figure {
    /// The first number of a cell. `None` for what is no measurement.
    fn read(cell: &str) -> Option<Figure> {
        let mut words = cell.split([' ', ',']).filter(|word| !word.is_empty());
        let number = words.next()?.parse().ok()?;
        let unit = words.next()?.to_owned();
        ["ms", "s", "KiB", "MB/s"].contains(&unit.as_str()).then_some(Figure { number, unit })
    }

    /// How many times the time or the memory of the other one. More megabytes a second cost less.
    fn cost_against(&self, other: &Figure) -> f64 {
        let (mine, theirs) = (self.number.max(1e-9), other.number.max(1e-9));
        if self.unit == "MB/s" { theirs / mine } else { mine / theirs }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.number, self.unit)
    }
}

/// The measurements of a printed table, by what was measured. A second figure of a cell, the peak of memory, is one more.
fn figures(table: &str) -> BTreeMap<String, Figure> {
    let mut all = BTreeMap::new();
    for line in table.lines().filter(|line| line.starts_with('|')) {
        let mut cells = line.trim_matches('|').split('|').map(str::trim);
        let (Some(what), Some(cell)) = (cells.next(), cells.next()) else { continue };
        if what.ends_with("load average") {
            continue;
        }
        all.extend(Figure::read(cell).map(|figure| (what.to_owned(), figure)));
        if let Some((_, peak)) = cell.split_once("peak RSS ") {
            all.extend(Figure::read(peak).map(|figure| (format!("{what}, peak RSS"), figure)));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "### today\n\n| what | figure | against | goal |\n|---|---|---|---|\n\
        | start: x | 0.79 ms | `/bin/true` 0.56 ms | met |\n\
        | output: lines | 3197 MB/s, peak RSS 11704 KiB | file | |\n\
        | events: the journal | 1000000 records, 159 MB | | |\n\
        | start: load average | 0.36 before, 0.36 after | | |\n";

    #[test]
    fn a_table_is_read_by_what_was_measured() {
        let read = figures(TABLE);
        let shown: Vec<_> = read.iter().map(|(what, figure)| format!("{what}: {figure}")).collect();
        assert_eq!(
            shown,
            ["output: lines: 3197 MB/s", "output: lines, peak RSS: 11704 KiB", "start: x: 0.79 ms"]
        );
    }

    #[test]
    fn the_better_figure_of_the_rounds_counts_and_more_throughput_is_better() {
        let mut best = figures(TABLE);
        keep_better(&mut best, figures(&TABLE.replace("0.79", "0.70").replace("3197", "3000")));
        assert_eq!((best["start: x"].number, best["output: lines"].number), (0.70, 3197.0));
        let slower = Figure { number: 1598.5, unit: "MB/s".into() };
        assert_eq!(slower.cost_against(&best["output: lines"]), 2.0);
    }
}
