//! The journal against what the agents wrote down themselves.

use crate::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What a journal says, as far as it matters here.
#[derive(Debug, Default)]
pub struct Journal {
    /// Each start of an attempt: iteration and attempt.
    pub started: Vec<(u64, u64)>,
    pub finished: Vec<(u64, u64)>,
    /// Why attempts were cut short.
    pub interrupted: Vec<String>,
    pub stop_requests: usize,
    /// The reason, if the last word is a stop.
    pub stopped: Option<String>,
    pub records: usize,
}

/// Reads the journal of a run. Nothing if it has no whole record yet.
pub fn read(run: &Path) -> Result<Option<Journal>> {
    let text = match std::fs::read(run.join("journal.jsonl")) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("{}: {error}", run.display())),
    };
    parse(&text)
}

fn parse(text: &str) -> Result<Option<Journal>> {
    let mut journal = Journal::default();
    for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
        let record: serde_json::Value =
            serde_json::from_str(line).map_err(|error| format!("a record is no JSON: {error}: {line}"))?;
        let attempt = || {
            let number = |key: &str| record[key].as_u64().unwrap_or_default();
            (number("iteration"), number("attempt"))
        };
        journal.records += 1;
        journal.stopped = None;
        match record["type"].as_str().unwrap_or_default() {
            "iteration.started" => journal.started.push(attempt()),
            "iteration.finished" => journal.finished.push(attempt()),
            "iteration.interrupted" => journal.interrupted.push(record["why"].to_string()),
            "stop.requested" => journal.stop_requests += 1,
            "run.stopped" => journal.stopped = record["reason"].as_str().map(str::to_owned),
            _ => {}
        }
    }
    Ok((journal.records > 0).then_some(journal))
}

/// Everything that is wrong with a run that has come to its end.
pub fn audit(run: &str, journal: &Journal, ledger: &str, iterations: u64) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut finished: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (iteration, attempt) in &journal.finished {
        finished.entry(*iteration).or_default().push(*attempt);
    }
    for iteration in 1..=iterations {
        match finished.get(&iteration).map_or(0, Vec::len) {
            1 => {}
            0 => wrong.push(format!("{run}: iteration {iteration} is lost")),
            many => wrong.push(format!("{run}: iteration {iteration} finished {many} times")),
        }
    }
    wrong.extend(
        finished.range(iterations + 1..).map(|(more, _)| format!("{run}: iteration {more} is too many")),
    );

    let recorded: BTreeSet<&(u64, u64)> = journal.started.iter().collect();
    let mut executed = BTreeSet::new();
    for (iteration, attempt) in starts(run, ledger) {
        let this = format!("{run}: iteration {iteration} attempt {attempt}");
        if !executed.insert((iteration, attempt)) {
            wrong.push(format!("{this} was executed twice"));
        }
        if !recorded.contains(&(iteration, attempt)) {
            wrong.push(format!("{this} was executed without a record of it"));
        }
        if finished.get(&iteration).is_some_and(|attempts| attempts.iter().any(|last| attempt > *last)) {
            wrong.push(format!("{this} was executed after the iteration had finished"));
        }
    }
    for pair in journal.finished.iter().filter(|pair| !executed.contains(*pair)) {
        wrong.push(format!("{run}: iteration {} attempt {} finished without being executed", pair.0, pair.1));
    }
    wrong
}

fn starts(run: &str, ledger: &str) -> Vec<(u64, u64)> {
    let lines = ledger.lines().filter_map(|line| {
        let mut words = line.strip_prefix("start ")?.strip_prefix(run)?.split_whitespace();
        Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal(started: &[(u64, u64)], finished: &[(u64, u64)]) -> Journal {
        Journal { started: started.to_vec(), finished: finished.to_vec(), ..Journal::default() }
    }

    const LEDGER: &str = "start r 1 1 s\nend r 1 1 s\nstart r 2 1 s\nstart r 2 2 s\nstart other 1 1 s\n";

    #[test]
    fn honest_books_pass() {
        let journal = journal(&[(1, 1), (2, 1), (2, 2)], &[(1, 1), (2, 2)]);
        assert_eq!(audit("r", &journal, LEDGER, 2), [""; 0]);
    }

    #[test]
    fn every_kind_of_wrong_is_found() {
        let wrong = |started: &[(u64, u64)], finished: &[(u64, u64)], ledger: &str| {
            audit("r", &journal(started, finished), ledger, 2).join("; ")
        };
        let all = [(1, 1), (2, 1), (2, 2)];
        assert!(wrong(&all, &[(1, 1)], LEDGER).contains("iteration 2 is lost"));
        assert!(wrong(&all, &[(1, 1), (2, 2), (2, 2)], LEDGER).contains("finished 2 times"));
        assert!(wrong(&all, &[(1, 1), (2, 2), (3, 1)], LEDGER).contains("iteration 3 is too many"));
        assert!(wrong(&all, &[(1, 1), (2, 1)], LEDGER).contains("after the iteration had finished"));
        assert!(wrong(&all[..2], &[(1, 1), (2, 2)], LEDGER).contains("without a record"));
        assert!(
            wrong(&all, &[(1, 1), (2, 2)], &format!("{LEDGER}start r 1 1 s\n")).contains("executed twice")
        );
        assert!(wrong(&all, &[(1, 1), (2, 2)], "start r 1 1 s\n").contains("without being executed"));
    }

    #[test]
    fn a_journal_is_read_up_to_its_last_whole_line() {
        assert!(parse("").unwrap().is_none());
        assert!(parse("{\"type\":\"run.st").unwrap().is_none());
        let text = concat!(
            "{\"type\":\"run.started\"}\n{\"type\":\"iteration.started\",\"iteration\":1,\"attempt\":2}\n",
            "{\"type\":\"run.stopped\",\"reason\":\"x\"}\n{\"ty"
        );
        let journal = parse(text).unwrap().unwrap();
        assert_eq!((journal.records, journal.started, journal.stopped), (3, vec![(1, 2)], Some("x".into())));
        assert!(parse("nonsense\n").is_err());
    }
}
