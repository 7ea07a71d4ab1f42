//! `cargo xtask bench [NAME…] [--write | --against REV]`: what ralph costs, against a plain shell loop or file in the same
//! run, or against another commit. Nothing here fails for being slow: figures are for people, and for the history in
//! docs/benchmarks.md.

mod against;
mod checkpoints;
mod events;
mod flood;
mod gates;
mod iteration;
mod list;
mod memory;
mod output;
mod parsers;
mod readers;
mod report;
mod routing;
mod sandbox;
mod start;
mod stuck;

use crate::lab::Lab;
use crate::{Result, repo};
pub use flood::flood;
use report::{Row, about, entry, load};

struct Benchmark {
    name: &'static str,
    run: fn(&Lab) -> Result<Vec<Row>>,
}

const BENCHMARKS: &[Benchmark] = &[
    Benchmark { name: "start", run: start::run },
    Benchmark { name: "iteration", run: iteration::run },
    Benchmark { name: "memory", run: memory::run },
    Benchmark { name: "output", run: output::run },
    Benchmark { name: "events", run: events::run },
    Benchmark { name: "list", run: list::run },
    Benchmark { name: "readers", run: readers::run },
    Benchmark { name: "gates", run: gates::run },
    Benchmark { name: "checkpoints", run: checkpoints::run },
    Benchmark { name: "routing", run: routing::run },
    Benchmark { name: "parsers", run: parsers::run },
    Benchmark { name: "stuck", run: stuck::run },
    Benchmark { name: "sandbox", run: sandbox::run },
];

const HISTORY: &str = "docs/benchmarks.md";

pub fn run(args: &[String]) -> Result<()> {
    if let Some(at) = args.iter().position(|arg| arg == "--against") {
        let rev = args.get(at + 1).ok_or("--against takes a commit, such as HEAD~1")?;
        let names = chosen(&[&args[..at], &args[at + 2..]].concat())?;
        return against::run(rev, &names.iter().map(|one| one.name).collect::<Vec<_>>());
    }
    let write = args.iter().any(|arg| arg == "--write");
    let chosen = chosen(args)?;
    let lab = Lab::new("bench")?;
    let about = about(&lab)?;
    println!("{about}\n\n{}", Row::HEAD);
    let mut rows = Vec::new();
    for benchmark in chosen {
        let before = load();
        let mut found = (benchmark.run)(&lab)?;
        found.push(Row::new(
            format!("{}: load average", benchmark.name),
            format!("{before} before, {} after", load()),
        ));
        found.iter().for_each(|row| println!("{row}"));
        rows.extend(found);
    }
    if write {
        let path = repo::root().join(HISTORY);
        let old = std::fs::read_to_string(&path).map_err(|error| format!("{HISTORY}: {error}"))?;
        let new = format!("{}\n\n{}", old.trim_end(), entry(&about, &rows));
        std::fs::write(&path, new).map_err(|error| format!("{HISTORY}: {error}"))?;
        println!("\nadded to {HISTORY}");
    }
    Ok(())
}

fn chosen(args: &[String]) -> Result<Vec<&'static Benchmark>> {
    let names: Vec<&String> = args.iter().filter(|arg| *arg != "--write").collect();
    let unknown = names.iter().find(|name| !BENCHMARKS.iter().any(|known| known.name == **name));
    if let Some(unknown) = unknown {
        let known: Vec<_> = BENCHMARKS.iter().map(|known| known.name).collect();
        return Err(format!("unknown benchmark `{unknown}`; the benchmarks are: {}", known.join(", ")));
    }
    let all = BENCHMARKS.iter();
    Ok(all.filter(|known| names.is_empty() || names.iter().any(|name| *name == known.name)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn benchmarks_are_chosen_by_name() {
        let names = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
            chosen(&words).map(|them| them.iter().map(|one| one.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&["--write"]).unwrap().len(), BENCHMARKS.len());
        assert_eq!(names(&["output", "start"]).unwrap(), ["start", "output"]);
        assert!(names(&["nope"]).unwrap_err().contains("the benchmarks are: start, iteration"));
    }
}
