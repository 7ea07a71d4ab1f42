//! Labelled cases, and what the detector that decides knows of their iterations.

use std::fs;

use ralph_evidence::detector::model::Evidence;
use ralph_evidence::detector::{Case, CaseIteration, Ignore, NoProgress};
use serde::Deserialize;

#[derive(Deserialize)]
struct Label {
    label: String,
    class: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    repo: String,
    onset: Option<usize>,
    period: Option<usize>,
    #[serde(default)]
    natural: bool,
}

/// A case and how much of it is known.
pub struct Labelled {
    pub set: String,
    pub id: String,
    pub class: String,
    pub kind: String,
    pub repo: String,
    pub natural: bool,
    pub stuck: Option<Stuck>,
    /// Of each iteration; nothing for an outage.
    pub seen: Vec<Option<Evidence>>,
    /// The same where only the text is known.
    pub text: Vec<Option<Evidence>>,
}

#[derive(Clone, Copy)]
pub struct Stuck {
    pub onset: usize,
    pub period: usize,
}

impl Stuck {
    /// The first iteration in which a repetition has been seen.
    pub fn seen_at(self) -> usize {
        self.onset + self.period
    }

    /// Where a careful person would call it.
    pub fn due(self) -> usize {
        self.onset + 2 * self.period
    }
}

pub fn read(path: &str) -> Result<Vec<Labelled>, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let set = path.rsplit('/').next().unwrap_or(path).split(['_', '.']).next().unwrap_or(path).to_owned();
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| one(line, &set).map_err(|error| format!("{path}: {error}"))).collect()
}

fn one(line: &str, set: &str) -> Result<Labelled, serde_json::Error> {
    let label: Label = serde_json::from_str(line)?;
    let case: Case = serde_json::from_str(line)?;
    let (onset, period) = (label.onset.unwrap_or(0), label.period.unwrap_or(1).max(1));
    let stuck = (label.label == "stuck").then_some(Stuck { onset, period });
    let told = case
        .iterations
        .iter()
        .map(|it| CaseIteration { output: it.output.clone(), ..CaseIteration::default() });
    let text = evidence(told.collect::<Vec<_>>().iter());
    Ok(Labelled {
        set: set.to_owned(),
        id: case.id,
        class: label.class,
        kind: label.kind,
        repo: if label.repo.is_empty() { set.to_owned() } else { label.repo },
        natural: label.natural,
        stuck,
        seen: evidence(case.iterations.iter()),
        text,
    })
}

fn evidence<'a>(iterations: impl Iterator<Item = &'a CaseIteration>) -> Vec<Option<Evidence>> {
    let mut detector = NoProgress::default();
    let ignore = Ignore::default();
    iterations
        .map(|iteration| detector.observe(&iteration.sketch(&ignore)).evidence.map(|evidence| *evidence))
        .collect()
}
