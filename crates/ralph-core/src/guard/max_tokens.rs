//! Stops when the agents have used as many tokens as allowed: a limit for when prices are not known.

use super::{Asked, Guard, GuardDef, Reading, Unit};
use crate::state::RunState;
use crate::stop::{StopDef, StopKind};
use crate::time::Timestamp;

pub(super) const DEF: GuardDef = GuardDef {
    stop: StopDef {
        key: "max_tokens",
        kind: StopKind::Limit,
        summary: "Stop when this many tokens are used, of all kinds.",
    },
    setting: "event_loop.max_tokens",
    asked: &[Asked::BeforeIteration, Asked::OnUsage],
    build: |plan| plan.event_loop.max_tokens.map(|max| Box::new(MaxTokens { max }) as Box<dyn Guard>),
};

struct MaxTokens {
    max: u64,
}

impl Guard for MaxTokens {
    fn reading(&self, state: &RunState, _now: Timestamp) -> Reading {
        // Both far below what a float counts exactly.
        Reading { used: state.tokens_now() as f64, limit: self.max as f64, unit: Unit::Count }
    }

    fn message(&self, state: &RunState) -> String {
        format!("{} of {} tokens used", state.tokens_now(), self.max)
    }
}
