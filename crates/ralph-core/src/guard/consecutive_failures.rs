//! Stops when one iteration after the other fails.

use super::{Asked, Guard, GuardDef, Reading};
use crate::state::RunState;
use crate::stop::{StopDef, StopKind};
use crate::time::Timestamp;

pub(super) const DEF: GuardDef = GuardDef {
    stop: StopDef {
        key: "consecutive_failures",
        kind: StopKind::Failed,
        summary: "Stop when this many iterations in a row have failed.",
    },
    setting: "event_loop.max_consecutive_failures",
    asked: &[Asked::AfterFailure],
    build: |plan| Some(Box::new(ConsecutiveFailures { max: plan.event_loop.max_consecutive_failures })),
};

struct ConsecutiveFailures {
    max: u32,
}

impl Guard for ConsecutiveFailures {
    fn reading(&self, state: &RunState, _now: Timestamp) -> Reading {
        Reading::count(state.consecutive_failures, self.max)
    }

    fn message(&self, state: &RunState) -> String {
        format!("{} iterations in a row failed", state.consecutive_failures)
    }
}
