//! Stops after a number of iterations.

use super::{Asked, Guard, GuardDef, Reading};
use crate::state::RunState;
use crate::stop::{StopDef, StopKind};
use crate::time::Timestamp;

pub(super) const DEF: GuardDef = GuardDef {
    stop: StopDef {
        key: "max_iterations",
        kind: StopKind::Limit,
        summary: "Stop after this many iterations.",
    },
    setting: "event_loop.max_iterations",
    asked: &[Asked::BeforeIteration],
    build: |plan| plan.event_loop.max_iterations.map(|max| Box::new(MaxIterations { max }) as Box<dyn Guard>),
};

struct MaxIterations {
    max: u32,
}

impl Guard for MaxIterations {
    fn reading(&self, state: &RunState, _now: Timestamp) -> Reading {
        Reading::count(state.iterations_finished, self.max)
    }

    fn message(&self, state: &RunState) -> String {
        format!("{} of {} iterations done", state.iterations_finished, self.max)
    }
}
