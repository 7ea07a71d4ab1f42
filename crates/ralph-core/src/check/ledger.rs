//! What the checks that an agent ran came to: the last result of each, folded from the calls of its tools.

use std::collections::VecDeque;

use super::{ExtraPattern, Kind, Recognised, explore, output, recognise};
use crate::event::{ToolCalled, ToolFinished};

/// Distinct commands that are remembered. The oldest that did not fail goes first.
const MAX_ENTRIES: usize = 64;
/// Calls that may be open at once.
const MAX_OPEN: usize = 64;
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
    pub exit_code: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Result3 {
    Passed,
    Failed(Option<i64>),
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    check: Recognised,
    result: Result3,
    /// The number of the call that gave the result.
    at: u64,
    /// The kinds of all checks of that call: if it failed, one of them did.
    company: Vec<Kind>,
    /// In the iteration that runs now, or ran last.
    current: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Open {
    id: String,
    kind: String,
    command: Option<String>,
}

/// The last result of each distinct check. Bounded whatever the agent runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    extra: Vec<ExtraPattern>,
    workspace: String,
    pub(super) entries: Vec<Entry>,
    pub(super) open: VecDeque<Open>,
    calls: u64,
    /// The call that passed last, by kind.
    passed_at: [u64; Kind::ALL.len()],
    failed_call: Option<String>,
}

impl Ledger {
    pub fn new(workspace: &str, extra: Vec<ExtraPattern>) -> Self {
        Self { extra, workspace: workspace.trim_end_matches('/').to_owned(), ..Self::default() }
    }

    /// A new iteration, or a new attempt at one: what passed before says nothing about the tree it will leave. What failed
    /// stays known until something of its kind passes.
    pub fn next_iteration(&mut self) {
        self.entries.retain(|entry| matches!(entry.result, Result3::Failed(_)));
        self.entries.iter_mut().for_each(|entry| entry.current = false);
        self.open.clear();
        self.failed_call = None;
    }

    pub fn called(&mut self, call: &ToolCalled) {
        if self.open.len() == MAX_OPEN {
            self.open.pop_front();
        }
        let command = call.command.clone();
        // Until it has ended nobody knows: a claim may come before that.
        if let Some(command) = command.as_deref().filter(|_| runs(&call.kind)) {
            self.calls += 1;
            self.note(command, |_| Result3::Unknown);
        }
        self.open.push_back(Open { id: call.id.clone(), kind: call.kind.clone(), command });
    }

    pub fn finished(&mut self, end: &ToolFinished) {
        let at = self.open.iter().position(|open| open.id == end.id);
        let open = at.and_then(|at| self.open.remove(at));
        let command = end.command.as_deref().or(open.as_ref().and_then(|open| open.command.as_deref()));
        let kind = open.as_ref().map_or("shell", |open| open.kind.as_str());
        let failed = match (end.exit_code, end.ok) {
            (Some(code), ok) => Some(code != 0 || ok == Some(false)),
            (None, ok) => ok.map(|ok| !ok),
        };
        let looked = matches!(kind, "read" | "search") || command.is_some_and(explore::is_exploration);
        if failed == Some(true) && !looked {
            let what = command.or(open.as_ref().map(|open| open.kind.as_str())).unwrap_or("a tool");
            self.failed_call = Some(shortened(what));
        }
        let Some(command) = command.filter(|_| runs(kind)).map(str::to_owned) else { return };
        let background = output::says_background(&end.output);
        // The program is not there, or may not be run: nothing was checked.
        let missing = matches!(end.exit_code, Some(126 | 127));
        self.calls += 1;
        self.note(&command, |check| match failed {
            _ if background || missing => Result3::Unknown,
            Some(false) if check.sure => Result3::Passed,
            Some(true) if check.sure => Result3::Failed(end.exit_code),
            _ if output::says_failed(&end.output) => Result3::Failed(None),
            _ => Result3::Unknown,
        });
    }

    fn note(&mut self, command: &str, result: impl Fn(&Recognised) -> Result3) {
        let mut checks = recognise(command, &self.extra);
        for check in &mut checks {
            check.dir = self.relative(&check.dir);
        }
        let company: Vec<Kind> = checks.iter().map(|check| check.kind).collect();
        for check in checks {
            let result = result(&check);
            if result == Result3::Passed {
                self.passed_at[check.kind as usize] = self.calls;
            }
            // All of it passed: so did each part that was tried before.
            self.entries.retain(|entry| {
                let again = entry.check.kind == check.kind && entry.check.key() == check.key();
                !(again || result == Result3::Passed && check.covers(&entry.check))
            });
            self.make_room();
            let company = company.clone();
            self.entries.push(Entry { check, result, at: self.calls, company, current: true });
        }
    }

    fn make_room(&mut self) {
        if self.entries.len() < MAX_ENTRIES {
            return;
        }
        let harmless = self.entries.iter().position(|entry| !matches!(entry.result, Result3::Failed(_)));
        self.entries.remove(harmless.unwrap_or(0));
    }

    /// `cd /path/of/the/workspace && npm test` is `npm test`.
    fn relative(&self, dir: &str) -> String {
        match dir.strip_prefix(&self.workspace) {
            Some(rest) if !self.workspace.is_empty() && (rest.is_empty() || rest.starts_with('/')) => {
                rest.trim_start_matches('/').to_owned()
            }
            _ => dir.to_owned(),
        }
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
            match entry.result {
                Result3::Failed(_) if entry.company.len() == 1 => return Settled::Failed,
                Result3::Passed => {}
                // One of several failed, and which is not known.
                Result3::Failed(_) | Result3::Unknown => all = Settled::Unknown,
            }
        }
        all
    }

    /// Checks whose last result failed while nothing of their kind passed after it. Of those that failed together one is to
    /// blame: a pass of any of their kinds clears them.
    pub fn left_failing(&self) -> Vec<Failing> {
        let left = self.entries.iter().filter_map(|entry| {
            let Result3::Failed(exit_code) = entry.result else { return None };
            let cleared = entry.company.iter().any(|kind| self.passed_at[*kind as usize] > entry.at);
            let command = shortened(&entry.check.key());
            (!cleared).then_some(Failing { kind: entry.check.kind, command, exit_code })
        });
        left.collect()
    }

    /// The commands of this kind whose result is not known, for the words to the agent.
    pub fn unknown(&self, kind: Kind) -> Vec<String> {
        let unknown = self.entries.iter().filter(|entry| {
            entry.current && entry.check.kind == kind && !matches!(entry.result, Result3::Passed)
        });
        unknown.map(|entry| shortened(&entry.check.key())).collect()
    }

    /// The checks that this iteration ran, and what the last run of each came to, in a word.
    pub fn results(&self) -> impl Iterator<Item = (String, &'static str)> {
        self.entries.iter().filter(|entry| entry.current).map(|entry| {
            let word = match entry.result {
                Result3::Passed => "passed",
                Result3::Failed(_) => "failed",
                Result3::Unknown => "unknown",
            };
            (shortened(&entry.check.key()), word)
        })
    }

    /// The last call of this iteration that failed, other than looking around: for `strict`.
    pub fn any_failed_call(&self) -> Option<&str> {
        self.failed_call.as_deref()
    }
}

fn runs(kind: &str) -> bool {
    matches!(kind, "shell" | "other")
}

fn shortened(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(MAX_TOLD) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}
