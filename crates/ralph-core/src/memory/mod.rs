//! What one iteration tells the next, whose context is fresh: a summary of the run and what has to be known first.
//!
//! Folded from events and bounded: the last iterations in full, those before in a line each, the oldest as a count. So
//! neither its size nor its cost grows with the run. Everything an agent or a gate said is quoted ([`quote`]): it can
//! neither pass for a section nor be a signal when an agent repeats its prompt.

mod feedback;
mod iteration_file;
mod quote;
mod stop_note;
mod summary;
#[cfg(test)]
mod tests;
mod tools;

use std::collections::VecDeque;
use std::time::Duration;

pub use feedback::{FailedGate, Feedback};
pub use iteration_file::IterationFile;
pub use stop_note::StopNote;
pub use tools::{ToolFailure, ToolLog, ToolNote};

use crate::event::{FilesChanged, LoopDetected, Outcome};
use crate::ids::IterationNumber;
use crate::marker::Misheard;
use quote::{cut_end, cut_start};

/// Bytes of the summary, where nothing else is set.
pub const SUMMARY_BUDGET: usize = 8 * 1024;
/// Bytes of the feedback.
pub const FEEDBACK_BUDGET: usize = 8 * 1024;
/// A smaller budget could not hold the newest iteration.
pub const LEAST_BUDGET: usize = 1024;
/// Characters of the end of an output, where nothing else is set.
pub const OUTPUT_TAIL: usize = 1200;

/// Iterations that are remembered in full.
const FULL: usize = 3;
/// No setting keeps more of them.
const MOST_FULL: usize = 20;
/// Iterations before those, in a line each.
const LINES: usize = 60;
const MOST_FILES: usize = 20;
/// Characters of a message, a path or a command.
const MOST_TEXT: usize = 300;

/// The budget of this prompt: half of it after an iteration whose context grew too long.
pub fn budget(configured: usize, context_too_long: bool) -> usize {
    let budget = if context_too_long { configured / 2 } else { configured };
    budget.max(LEAST_BUDGET)
}

/// What became of the claim that the task is complete.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Claim {
    /// No completion marker was found.
    #[default]
    None,
    /// Not judged yet.
    Claimed,
    /// It waits for these hats.
    Waits {
        hats: Vec<String>,
    },
    /// Nobody made it: everything that is required was published, and nobody had anything left to do.
    Inferred,
    Rejected {
        why: String,
    },
    Accepted,
}

/// What is worth knowing of one iteration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IterationNote {
    pub number: IterationNumber,
    pub outcome: Outcome,
    pub duration: Duration,
    /// What went wrong, in words.
    pub error: Option<String>,
    pub claim: Claim,
    /// The reason for which the run might have stopped then, or did.
    pub stop: Option<StopNote>,
    /// How the run was found to go in circles after it.
    pub stuck: Option<String>,
    /// `None`: nobody looked.
    pub files: Option<FilesChanged>,
    pub tool_calls: u32,
    pub failed_calls: u32,
    /// The commands that matter, and the calls that were left failing.
    pub tools: ToolLog,
    /// The end of what the agent said.
    pub tail: String,
    /// What was perhaps meant as a signal.
    pub misheard: Vec<Misheard>,
}

impl IterationNote {
    pub fn new(number: IterationNumber, outcome: Outcome) -> Self {
        Self {
            number,
            outcome,
            duration: Duration::ZERO,
            error: None,
            claim: Claim::None,
            stop: None,
            stuck: None,
            files: None,
            tool_calls: 0,
            failed_calls: 0,
            tools: ToolLog::default(),
            tail: String::new(),
            misheard: Vec::new(),
        }
    }

    fn says_something(&self) -> bool {
        !self.tail.trim().is_empty()
    }

    /// Whatever it was made of, this is all that is kept.
    fn bounded(mut self, tail: usize) -> Self {
        self.tail = cut_end(&self.tail, tail).into_owned();
        self.error = self.error.map(|error| cut_start(&error, MOST_TEXT).into_owned());
        if let Claim::Rejected { why } = &mut self.claim {
            *why = cut_start(why, MOST_TEXT).into_owned();
        }
        if let Some(files) = &mut self.files {
            files.paths.truncate(MOST_FILES);
            files.paths.iter_mut().for_each(|path| *path = cut_start(path, MOST_TEXT).into_owned());
        }
        self.stop = self.stop.map(StopNote::bounded);
        self
    }
}

/// One line of an iteration that is long gone.
#[derive(Debug, Clone, PartialEq, Eq)]
struct OldNote {
    number: IterationNumber,
    outcome: Outcome,
    rejected: bool,
    files: Option<u32>,
    error: Option<String>,
}

impl OldNote {
    fn of(note: &IterationNote) -> Self {
        let why = match &note.claim {
            Claim::Rejected { why } => Some(why),
            _ => note.error.as_ref(),
        };
        Self {
            number: note.number,
            outcome: note.outcome,
            rejected: matches!(note.claim, Claim::Rejected { .. }),
            files: note.files.as_ref().map(|files| files.count),
            error: why.map(|why| quote::inline(why, 100)),
        }
    }
}

/// The iterations that not even a line is left of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Tally {
    first: Option<IterationNumber>,
    last: Option<IterationNumber>,
    ok: u32,
    failed: u32,
    rejected: u32,
}

impl Tally {
    fn add(&mut self, note: &OldNote) {
        self.first = Some(self.first.map_or(note.number, |first| first.min(note.number)));
        self.last = self.last.max(Some(note.number));
        let count = if note.outcome.is_failure() { &mut self.failed } else { &mut self.ok };
        *count = count.saturating_add(1);
        self.rejected = self.rejected.saturating_add(u32::from(note.rejected));
    }
}

/// `iterations 3, 4, 5`
fn numbers(detected: &LoopDetected) -> String {
    let numbers: Vec<String> = detected.iterations.iter().map(|one| one.iteration.to_string()).collect();
    format!("iterations {}", numbers.join(", "))
}

/// What a run remembers of its iterations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    /// Characters of the end of an output, in the summary.
    tail: usize,
    /// And as many as are kept: more where the last outputs are asked for.
    kept: usize,
    full: usize,
    /// Newest last.
    recent: VecDeque<IterationNote>,
    older: VecDeque<OldNote>,
    oldest: Tally,
}

impl Default for Memory {
    fn default() -> Self {
        Self::new(OUTPUT_TAIL, 0, 0)
    }
}

impl Memory {
    /// `tail`: characters of the end of an output. `outputs`: how many last outputs the prompt may ask for, in `room` bytes.
    pub fn new(tail: usize, outputs: usize, room: usize) -> Self {
        Self {
            tail,
            kept: if outputs > 0 { tail.max(room) } else { tail },
            full: outputs.clamp(FULL, MOST_FULL),
            recent: VecDeque::new(),
            older: VecDeque::new(),
            oldest: Tally::default(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.recent.is_empty()
    }

    /// An iteration has finished.
    pub fn add(&mut self, note: IterationNote) {
        self.recent.push_back(note.bounded(self.kept));
        while self.recent.len() > self.full {
            self.older.extend(self.recent.pop_front().as_ref().map(OldNote::of));
        }
        while self.older.len() > LINES {
            if let Some(note) = self.older.pop_front() {
                self.oldest.add(&note);
            }
        }
    }

    /// What became of the claim of an iteration that has finished.
    pub fn settle(&mut self, number: IterationNumber, claim: Claim) {
        let kept = self.kept;
        if let Some(note) = self.recent.iter_mut().find(|note| note.number == number) {
            note.claim = claim;
            *note = note.clone().bounded(kept);
        }
    }

    /// After an iteration the run was found to go in circles.
    pub fn stuck(&mut self, detected: &LoopDetected) {
        let same = detected.unchanged.iter().map(|same| format!("; {same}")).collect::<String>();
        let text = format!("{} ({}{same})", detected.pattern, numbers(detected));
        if let Some(note) = self.recent.iter_mut().find(|note| note.number == detected.iteration) {
            note.stuck = Some(cut_start(&text, MOST_TEXT).into_owned());
        }
    }

    pub fn last(&self) -> Option<&IterationNote> {
        self.recent.back()
    }

    /// The run has stopped after the last iteration.
    pub fn stopped(&mut self, key: &str, message: &str) {
        if let Some(note) = self.recent.back_mut() {
            note.stop = Some(StopNote::new(key, Some(message)).bounded());
        }
    }

    /// The last outputs, oldest first, each quoted under a line that says whose it is; empty if there are none. Where they
    /// do not fit, each has its share, and of a longer one the end.
    pub fn outputs(&self, count: usize, budget: usize) -> String {
        summary::outputs(self.recent.iter().rev().filter(|note| note.says_something()).take(count), budget)
    }

    /// The summary of the run, in at most so many bytes (but never fewer than [`LEAST_BUDGET`]). Empty before the first
    /// iteration has finished.
    pub fn summary(&self, objective: &str, budget: usize) -> String {
        summary::render(self, objective, budget.max(LEAST_BUDGET), 0)
    }

    /// The same beside the last outputs, which are not told twice.
    pub fn summary_beside_outputs(&self, outputs: usize, budget: usize) -> String {
        summary::render(self, "", budget.max(LEAST_BUDGET), outputs)
    }
}
