//! What the checks that an agent ran came to: the last result of each, folded from the calls of its tools.

use super::{CheckResult, CheckRun, Kind};
use crate::event::{ToolCalled, ToolFinished};

/// Distinct commands that are remembered. The oldest that did not fail goes first.
const MAX_ENTRIES: usize = 64;
/// A longer command is cut where it is told.
const MAX_TOLD: usize = 200;

/// How the checks of one kind stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// At least one was run, and the last result of each is a pass.
    Passed,
    Failed,
    /// None failed, but of some nobody knows: piped, in the background, or still running.
    Unknown,
    /// None was run.
    None,
}

/// A check that was left failing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failing {
    pub kind: Kind,
    pub command: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    check: CheckRun,
    /// The number of the call that gave the result.
    at: u64,
    /// The kinds of all checks of that call: if it failed, one of them did.
    company: Vec<Kind>,
    /// In the iteration that runs now, or ran last.
    current: bool,
}

/// The last result of each distinct check. Bounded whatever the agent runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    entries: Vec<Entry>,
    calls: u64,
    /// The call that passed last, by kind.
    passed_at: [u64; Kind::ALL.len()],
    failed_call: Option<String>,
}

impl Ledger {
    /// A new iteration, or a new attempt at one: what passed before says nothing about the tree it will leave. What failed
    /// stays known until something of its kind passes.
    pub fn next_iteration(&mut self) {
        self.entries.retain(|entry| entry.check.result == CheckResult::Failed);
        self.entries.iter_mut().for_each(|entry| entry.current = false);
        self.failed_call = None;
    }

    pub fn called(&mut self, call: &ToolCalled) {
        // Until a check has ended nobody knows its result: a claim may come before that.
        self.note(&call.checks);
    }

    pub fn finished(&mut self, end: &ToolFinished) {
        if end.has_failed() == Some(true) && !end.only_looks {
            let kind = end.kind.map_or("a tool", |kind| kind.name());
            self.failed_call = Some(shortened(end.command.as_deref().unwrap_or(kind)));
        }
        self.note(&end.checks);
    }

    fn note(&mut self, checks: &[CheckRun]) {
        self.calls += 1;
        let company: Vec<Kind> = checks.iter().map(|check| check.kind).collect();
        for check in checks {
            let passed = check.result == CheckResult::Passed;
            if passed {
                self.passed_at[check.kind as usize] = self.calls;
            }
            // All of it passed: so did each part that was tried before.
            self.entries.retain(|entry| {
                let again = entry.check.kind == check.kind && entry.check.command == check.command;
                !(again || passed && (check.covers(&entry.check) || settled(check, entry)))
            });
            self.make_room();
            let (check, company) = (check.clone(), company.clone());
            self.entries.push(Entry { check, at: self.calls, company, current: true });
        }
    }

    fn make_room(&mut self) {
        if self.entries.len() < MAX_ENTRIES {
            return;
        }
        let harmless = self.entries.iter().position(|entry| entry.check.result != CheckResult::Failed);
        self.entries.remove(harmless.unwrap_or(0));
    }

    /// How the checks of this kind stand that this iteration ran.
    pub fn passing(&self, kind: Kind) -> Settled {
        let mut of_kind =
            self.entries.iter().filter(|entry| entry.current && entry.check.kind == kind).peekable();
        if of_kind.peek().is_none() {
            return Settled::None;
        }
        let mut all = Settled::Passed;
        for entry in of_kind {
            match entry.check.result {
                CheckResult::Failed if entry.company.len() == 1 => return Settled::Failed,
                CheckResult::Passed => {}
                // One of several failed, and which is not known.
                CheckResult::Failed | CheckResult::Unknown => all = Settled::Unknown,
            }
        }
        all
    }

    /// Checks whose last result failed while nothing of their kind passed after it. Of those that failed together one is to
    /// blame: a pass of any of their kinds clears them.
    pub fn left_failing(&self) -> Vec<Failing> {
        let left = self.entries.iter().filter_map(|entry| {
            let cleared = entry.company.iter().any(|kind| self.passed_at[*kind as usize] > entry.at);
            let left = entry.check.result == CheckResult::Failed && !cleared;
            let command = || shortened(&entry.check.command);
            left.then(|| Failing { kind: entry.check.kind, command: command() })
        });
        left.collect()
    }

    /// The commands of this kind whose result is not known, for the words to the agent.
    pub fn unknown(&self, kind: Kind) -> Vec<String> {
        let unknown = self.entries.iter().filter(|entry| {
            entry.current && entry.check.kind == kind && entry.check.result != CheckResult::Passed
        });
        unknown.map(|entry| shortened(&entry.check.command)).collect()
    }

    /// The checks that this iteration ran, and what the last run of each came to, in a word.
    pub fn results(&self) -> impl Iterator<Item = (String, &'static str)> {
        self.entries.iter().filter(|entry| entry.current).map(|entry| {
            let word = match entry.check.result {
                CheckResult::Passed => "passed",
                CheckResult::Failed => "failed",
                CheckResult::Unknown => "unknown",
            };
            (shortened(&entry.check.command), word)
        })
    }

    /// The last call of this iteration that failed, other than looking around: for `strict`.
    pub fn any_failed_call(&self) -> Option<&str> {
        self.failed_call.as_deref()
    }
}

/// It had failed by itself, and is shown to be right now.
fn settled(check: &CheckRun, entry: &Entry) -> bool {
    entry.check.result == CheckResult::Failed && entry.company.len() == 1 && check.settles(&entry.check)
}

fn shortened(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(MAX_TOLD) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}
