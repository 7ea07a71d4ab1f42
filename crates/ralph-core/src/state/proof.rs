//! Where the proof of the last iteration's claim stands.

use std::collections::BTreeSet;

use crate::event::{
    CompletionAccepted, CompletionRejected, GateFinished, GatesFinished, GatesKilled, GatesStarted,
    Inference, KillCause,
};
use crate::ids::IterationNumber;
use crate::time::Timestamp;

/// Gates at work.
#[derive(Debug, Clone, PartialEq)]
pub struct Checking {
    pub iteration: IterationNumber,
    pub round: u32,
    pub epoch: u64,
    pub started_at: Timestamp,
    /// When they were last known to work.
    pub last_seen: Timestamp,
    pub killed: Option<KillCause>,
}

impl Checking {
    pub(super) fn of(started: &GatesStarted, epoch: u64, at: Timestamp) -> Self {
        let (iteration, round) = (started.iteration, started.round);
        Self { iteration, round, epoch, started_at: at, last_seen: at, killed: None }
    }

    pub(super) fn apply_killed(&mut self, killed: &GatesKilled) {
        self.killed.get_or_insert_with(|| killed.why.clone());
    }
}

/// What is known about the iteration that was finished last, and how often claims were refused.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProofState {
    pub stage: Stage,
    /// The required gates that proved the accepted claim, and the tree that they saw.
    pub proved_by: Vec<String>,
    pub tree: Option<String>,
    /// Other hats come before the claim: it is none for now.
    pub deferred: bool,
    /// What the claim follows from, where nobody has made it.
    pub inferred: Option<Inference>,
    /// What the gates said, in the order they ended.
    pub results: Vec<GateFinished>,
    /// The last claim's fate, until the next iteration is finished.
    pub rejected: Option<CompletionRejected>,
    pub total_rejected: u32,
    /// Claims in a row that were refused, each for at least one of the same reasons.
    pub same_rejected: u32,
    /// The reasons that all of those share.
    same_reasons: BTreeSet<String>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub enum Stage {
    /// Nothing has been decided about it.
    #[default]
    Open,
    /// A round of gates is over.
    Ran(GatesFinished),
    Accepted,
    /// Refused, or there was nothing to prove.
    Settled,
}

impl ProofState {
    /// A claim is to be judged that nobody has made.
    pub(super) fn infer(&mut self, from: Inference) {
        self.begin();
        self.inferred = Some(from);
    }

    /// A new iteration is to be judged.
    pub(super) fn begin(&mut self) {
        (self.stage, self.inferred, self.deferred) = (Stage::Open, None, false);
        self.results.clear();
        self.rejected = None;
    }

    /// A run that was complete goes on: what proved it is of a tree that is about to change.
    pub(super) fn reopen(&mut self) {
        if self.is_accepted() {
            (self.stage, self.tree) = (Stage::Settled, None);
            self.proved_by.clear();
        }
    }

    /// What was cut short says nothing, and a new round begins with nothing.
    pub(super) fn forget_results(&mut self) {
        self.results.clear();
    }

    pub(super) fn apply_result(&mut self, result: &GateFinished) {
        self.results.push(result.clone());
    }

    /// Without a claim the results are for the next prompt, and nothing is left to decide.
    pub(super) fn apply_ran(&mut self, ran: &GatesFinished, claims: bool) {
        self.stage = if claims { Stage::Ran(ran.clone()) } else { Stage::Settled };
    }

    pub(super) fn apply_accepted(&mut self, accepted: &CompletionAccepted) {
        self.stage = Stage::Accepted;
        self.proved_by = accepted.proved_by.clone();
        self.tree = accepted.tree.as_ref().map(|tree| tree.hash.clone());
        (self.same_rejected, self.same_reasons) = (0, BTreeSet::new());
    }

    pub(super) fn apply_rejected(&mut self, rejected: &CompletionRejected) {
        self.stage = Stage::Settled;
        self.rejected = Some(rejected.clone());
        self.total_rejected = self.total_rejected.saturating_add(1);
        let reasons: BTreeSet<String> = rejected.missing.iter().map(|one| one.name.clone()).collect();
        let shared: BTreeSet<String> = self.same_reasons.intersection(&reasons).cloned().collect();
        if shared.is_empty() {
            (self.same_rejected, self.same_reasons) = (1, reasons);
        } else {
            (self.same_rejected, self.same_reasons) = (self.same_rejected.saturating_add(1), shared);
        }
    }

    pub fn is_accepted(&self) -> bool {
        self.stage == Stage::Accepted
    }

    /// The reasons that the refused claims in a row share, for a person to read.
    pub fn same_reasons(&self) -> impl Iterator<Item = &str> {
        self.same_reasons.iter().map(String::as_str)
    }
}
