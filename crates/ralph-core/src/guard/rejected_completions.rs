//! Stops when claims of completion are refused again and again for the same reason.

use super::{Asked, Guard, GuardDef, Reading};
use crate::event::GateFinished;
use crate::hat::HatsPlan;
use crate::plan::AgentPlan;
use crate::state::RunState;
use crate::stop::{StopDef, StopKind};
use crate::time::Timestamp;

pub(super) const DEF: GuardDef = GuardDef {
    stop: StopDef {
        key: "rejected_completions",
        kind: StopKind::Failed,
        summary: "Stop when this many claims in a row are refused for the same reason.",
    },
    setting: "stop.max_rejected_completions",
    asked: &[Asked::AfterRejection],
    build: |plan| {
        let tools_told = std::iter::once(&plan.agent).chain(&plan.fallback).any(AgentPlan::shows_work);
        let guard =
            || Box::new(RejectedCompletions { max: plan.stop.max_rejected_completions }) as Box<dyn Guard>;
        let by_hat = plan.hats.as_deref().is_some_and(HatsPlan::can_refuse);
        (by_hat || plan.can_refuse(tools_told)).then(guard)
    },
};

/// Of a gate's output, in the sentence of the stop.
const SHOWN: usize = 600;

struct RejectedCompletions {
    max: u32,
}

impl Guard for RejectedCompletions {
    fn reading(&self, state: &RunState, _now: Timestamp) -> Reading {
        Reading::count(state.proof.same_rejected, self.max)
    }

    fn message(&self, state: &RunState) -> String {
        let names: Vec<&str> = state.proof.same_reasons().collect();
        let gate = state.proof.results.iter().find(|result| names.contains(&result.name.as_str()));
        let tail = gate.map(end_of).filter(|tail| !tail.is_empty());
        let tail = tail.map(|tail| format!("; it said:\n{tail}")).unwrap_or_default();
        format!("{} claims in a row were refused by {}{tail}", state.proof.same_rejected, names.join(", "))
    }
}

fn end_of(result: &GateFinished) -> &str {
    let tail = result.tail.trim();
    let from = tail.char_indices().rev().nth(SHOWN).map_or(0, |(at, _)| at);
    &tail[from..]
}
