//! Whether there is a claim to be judged: made by an iteration, waiting for other hats, or following from their topics.

use super::RunState;
use crate::event::{CompletionInferred, IterationFinished, Outcome};
use crate::memory::Claim;

impl RunState {
    /// The last iteration is to be judged as if it had made the claim.
    pub(super) fn apply_inferred(&mut self, inferred: &CompletionInferred) {
        let iteration = inferred.iteration;
        let last = self.unjudged.take().filter(|last| last.iteration == iteration);
        let last = last.unwrap_or_else(|| IterationFinished::new(iteration, 1, Outcome::Ok));
        self.unjudged = Some(IterationFinished { claims_complete: true, hat: inferred.hat.clone(), ..last });
        self.proof.infer(inferred.from);
        self.memory.settle(iteration, Claim::Inferred);
    }

    /// Whether a claim of the iteration that was finished last is to be judged.
    pub fn claims_complete(&self) -> bool {
        !self.proof.deferred && self.unjudged.as_ref().is_some_and(|last| last.claims_complete)
    }
}
