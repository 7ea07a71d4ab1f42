//! What a claim lacks because of what the run did to its own checks, and the words for it.

use super::Turn;
use crate::event::{Event, GateFinished, Missing, ProofNarrowed};
use crate::ids::IterationNumber;
use crate::plan::{ProtectPolicy, TamperingPolicy};
use crate::state::{ChangedFile, Found};
use crate::tampering::Finding;

/// Files that are named in one sentence.
const NAMED: usize = 3;
/// Lines of a difference that are told in it.
const LINES: usize = 6;

impl Turn<'_> {
    /// Protected files that an iteration changed, where that refuses a claim.
    pub(super) fn missing_by_protection(&self) -> Option<Missing> {
        let state = self.state();
        let changed: Vec<String> = state.trust.differing().take(NAMED).map(change_words).collect();
        let refuses = state.plan.protect_policy != ProtectPolicy::Warn && !changed.is_empty();
        let more = state.trust.differing().count().saturating_sub(NAMED);
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        refuses.then(|| Missing { name: "protect".to_owned(), why: format!("{}{more}", changed.join("; ")) })
    }

    /// Tampering with tests, where that refuses a claim.
    pub(super) fn missing_by_tampering(&self) -> Option<Missing> {
        let state = self.state();
        self.tampering(state.trust.findings.iter().map(|found| {
            let Found { finding, since } = found;
            format!("{finding} (iteration {since})")
        }))
    }

    /// The same of gates that counted fewer tests than before.
    pub(super) fn missing_by_counts(&self) -> Option<Missing> {
        let results = self.state().proof.results.iter();
        self.tampering(results.filter(|gate| !self.is_hidden(gate)).filter_map(|gate| {
            gate.tampering.as_ref().map(|finding| format!("gate {}: {finding}", gate.name))
        }))
    }

    /// Whether the agent may not learn what this gate said.
    pub(super) fn is_hidden(&self, result: &GateFinished) -> bool {
        self.state().plan.gates.iter().any(|gate| gate.hidden && gate.name == result.name)
    }

    fn tampering(&self, mut found: impl Iterator<Item = String>) -> Option<Missing> {
        if self.state().plan.stop.tampering != TamperingPolicy::Refuse {
            return None;
        }
        let named: Vec<String> = found.by_ref().take(NAMED).collect();
        let more = match found.count() {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        let missing = || Missing { name: "tampering".to_owned(), why: format!("{}{more}", named.join("; ")) };
        (!named.is_empty()).then(missing)
    }

    /// For the next prompt: what looks like tampering with tests.
    pub(super) fn tampering_warnings(&self) -> Vec<String> {
        let state = self.state();
        let counts = state.proof.results.iter().filter(|gate| !self.is_hidden(gate));
        let counts = counts.filter_map(|gate| gate.tampering.as_ref());
        let found = state.trust.findings.iter().map(|found| &found.finding).chain(counts);
        let words = |finding: &Finding| {
            format!("{finding}. Tests have to prove the work: put this right, or say why it has to be so")
        };
        found.take(2 * NAMED).map(words).collect()
    }

    /// For the next prompt: what has to be put back, or was.
    pub(super) fn protection_warnings(&self) -> Vec<String> {
        let trust = &self.state().trust;
        let words = |changed: &ChangedFile| match changed.change.restored {
            true => format!(
                "{} is protected. Iteration {} changed it, and it was put back as it was",
                changed.change.place(),
                changed.since
            ),
            false => format!("{}. It is protected: put it back as it was", change_words(changed)),
        };
        trust.changed.iter().map(words).collect()
    }

    /// Names files that are no part of the proof, each once.
    pub(super) fn tell_left_out(&mut self, iteration: IterationNumber, left_out: &[String]) {
        let paths: Vec<String> = self.state().trust.unnamed(left_out).into_iter().cloned().collect();
        if !paths.is_empty() {
            self.emit(Event::ProofNarrowed(ProofNarrowed { iteration, paths }));
        }
    }
}

/// `check.sh was changed by iteration 2: -exit 1, +exit 0`
fn change_words(changed: &ChangedFile) -> String {
    let lines = changed.change.diff.iter().take(LINES).map(String::as_str).collect::<Vec<_>>().join(", ");
    let lines = if lines.is_empty() { lines } else { format!(": {lines}") };
    format!("{} was changed by iteration {}{lines}", changed.change.place(), changed.since)
}
