//! What is remembered of an iteration and of the tools it used.

use super::RunState;
use crate::event::{IterationFinished, ToolFinished};
use crate::memory::{Claim, IterationNote, Memory, StopNote};
use crate::plan::Plan;

impl RunState {
    pub(super) fn apply_tool_end(&mut self, end: &ToolFinished) {
        self.ledger.finished(end);
        let failed = u32::from(end.result.ok == Some(false));
        self.notice(|running| {
            running.failed_calls = running.failed_calls.saturating_add(failed);
            running.tools.finished(end);
        });
    }

    /// What is worth remembering of an iteration.
    pub(super) fn note(&self, finished: &IterationFinished) -> IterationNote {
        let running = self.running();
        let exited = running.and_then(|running| running.exited.as_ref());
        IterationNote {
            duration: finished.duration,
            error: finished.error.clone(),
            claim: if finished.claims_complete { Claim::Claimed } else { Claim::None },
            files: exited.and_then(|exited| exited.files.clone()),
            tool_calls: running.map_or(0, |running| running.tool_calls),
            failed_calls: running.map_or(0, |running| running.failed_calls),
            stop: StopNote::of(finished),
            tools: running.map(|running| running.tools.clone()).unwrap_or_default(),
            tail: exited.map(|exited| exited.tail.clone()).unwrap_or_default(),
            misheard: exited.map(|exited| exited.misheard.clone()).unwrap_or_default(),
            ..IterationNote::new(finished.iteration, finished.outcome)
        }
    }
}

pub(super) fn memory_of(plan: &Plan) -> Memory {
    let size = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
    Memory::new(size(plan.memory.tail), plan.repeated_outputs(), plan.repeated_outputs_budget())
}
