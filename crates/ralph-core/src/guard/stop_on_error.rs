//! Stops after the first failed iteration, for those who asked.

use super::{Asked, Guard, GuardDef, Reading};
use crate::state::RunState;
use crate::stop::{StopDef, StopKind};
use crate::time::Timestamp;

pub(super) const DEF: GuardDef = GuardDef {
    stop: StopDef {
        key: "stop_on_error",
        kind: StopKind::Failed,
        summary: "Stop after the first failed iteration.",
    },
    setting: "event_loop.stop_on_error",
    asked: &[Asked::AfterFailure],
    build: |plan| plan.event_loop.stop_on_error.then(|| Box::new(StopOnError) as Box<dyn Guard>),
};

struct StopOnError;

impl Guard for StopOnError {
    fn reading(&self, state: &RunState, _now: Timestamp) -> Reading {
        Reading::count(state.consecutive_failures, 1)
    }

    fn message(&self, state: &RunState) -> String {
        format!("iteration {} failed", state.iterations_finished)
    }
}
