//! The net under the code: checkpoints, the iteration whose gates passed best, and the worktree.

use std::collections::BTreeMap;

use ralph_core::event::{CheckpointReason, Event};
use ralph_core::ids::IterationNumber;
use ralph_core::plan::{Plan, WorktreePlan};
use ralph_core::record::Record;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::cut;

/// Of a message, at most this many characters are shown.
const TEXT: usize = 500;
/// Different sets of gates that are compared, each with itself.
const SETS: usize = 20;

/// What can be brought back, and where the work is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NetNow {
    /// How many times the tree was saved, as far as the records at hand tell.
    pub checkpoints: u32,
    /// Why it could not be saved the last time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Files that the last checkpoint does not have, and why: the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// An iteration after which more gates passed than after the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<BestSoFar>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<WorktreeNow>,
}

/// The tree was better once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BestSoFar {
    pub iteration: IterationNumber,
    pub passed: u32,
    pub of: u32,
    /// The last iteration that the same gates ran after, and how many of them passed.
    pub last: IterationNumber,
    pub last_passed: u32,
    /// No iteration has worked since then: the tree now passes as many.
    pub is_now: bool,
}

/// The worktree that the run works in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorktreeNow {
    pub branch: String,
    pub path: String,
    /// The checkout that it was made from.
    pub main: String,
}

impl WorktreeNow {
    fn of(plan: &WorktreePlan) -> Self {
        let text = |path: &std::path::Path| path.to_string_lossy().into_owned();
        Self { branch: plan.branch.clone(), path: text(&plan.path), main: text(&plan.main) }
    }
}

/// Folds records into what is told of the net.
#[derive(Debug, Clone, Default)]
pub(crate) struct Net {
    checkpoints: u32,
    failed: Option<String>,
    left_out: Vec<String>,
    /// The last iteration that has a checkpoint of its own.
    saved: Option<IterationNumber>,
    /// The gates of the last round, and those of them that passed.
    round: Vec<String>,
    passed: u32,
    iteration: Option<IterationNumber>,
    /// The best of each set of gates, of iterations that have a checkpoint.
    best: BTreeMap<Vec<String>, (u32, IterationNumber)>,
    last: Option<(Vec<String>, u32, IterationNumber)>,
    worked: Option<IterationNumber>,
}

impl Net {
    pub(crate) fn apply(&mut self, record: &Record) {
        match &record.event {
            Event::CheckpointSaved(saved) => {
                self.checkpoints = self.checkpoints.saturating_add(1);
                self.failed = None;
                self.left_out = saved.left_out.iter().map(|text| cut(text, TEXT)).collect();
                if matches!(saved.why, CheckpointReason::Iteration | CheckpointReason::Restored) {
                    self.saved = Some(saved.iteration);
                }
            }
            Event::CheckpointFailed(failed) => self.failed = Some(cut(&failed.message, TEXT)),
            // What was counted is of a tree that is no longer there.
            Event::CheckpointRestored(_) => self.last = None,
            Event::IterationStarted(started) => self.worked = Some(started.iteration),
            Event::GatesStarted(started) => {
                self.round.clone_from(&started.gates);
                self.round.sort_unstable();
                (self.passed, self.iteration) = (0, Some(started.iteration));
            }
            Event::GateFinished(gate) => self.passed = self.passed.saturating_add(u32::from(gate.passed)),
            Event::GatesFinished(_) => self.compare(),
            _ => {}
        }
    }

    fn compare(&mut self) {
        let Some(iteration) = self.iteration else { return };
        self.last = Some((self.round.clone(), self.passed, iteration));
        let is_known = self.best.contains_key(&self.round);
        if self.saved != Some(iteration) || self.best.len() >= SETS && !is_known {
            return;
        }
        let best = self.best.entry(self.round.clone()).or_insert((self.passed, iteration));
        // Of two that are as good the later one has more of the work in it.
        if self.passed >= best.0 {
            *best = (self.passed, iteration);
        }
    }

    pub(crate) fn now(&self, plan: &Plan) -> NetNow {
        NetNow {
            checkpoints: self.checkpoints,
            failed: self.failed.clone(),
            left_out: self.left_out.clone(),
            best: self.best_so_far(),
            worktree: plan.worktree.as_ref().map(WorktreeNow::of),
        }
    }

    fn best_so_far(&self) -> Option<BestSoFar> {
        let (round, last_passed, last) = self.last.as_ref()?;
        let (passed, iteration) = *self.best.get(round)?;
        let is_worse = passed > *last_passed && iteration != *last;
        is_worse.then(|| BestSoFar {
            iteration,
            passed,
            of: u32::try_from(round.len()).unwrap_or(u32::MAX),
            last: *last,
            last_passed: *last_passed,
            is_now: Some(*last) == self.worked,
        })
    }
}
