//! Stops after a number of iterations.

use super::{Asked, Guard, GuardDef, Reading};
use crate::state::RunState;
use crate::stop::StopKind;
use crate::time::Timestamp;

pub(super) const DEF: GuardDef = GuardDef {
    key: "max_iterations",
    setting: "event_loop.max_iterations",
    summary: "Stop after this many iterations.",
    kind: StopKind::Limit,
    asked: &[Asked::BeforeIteration],
    build: |plan| plan.limits.max_iterations.map(|max| Box::new(MaxIterations { max }) as Box<dyn Guard>),
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
