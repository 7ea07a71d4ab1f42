//! Stops after an amount of work. Waits and pauses do not count; the deadline also holds inside an iteration.

use std::time::Duration;

use super::{Alarm, Asked, Guard, GuardDef, Reading, Scope};
use crate::effect::When;
use crate::state::RunState;
use crate::stop::{StopDef, StopKind};
use crate::time::Timestamp;

pub(super) const DEF: GuardDef = GuardDef {
    stop: StopDef {
        key: "max_runtime",
        kind: StopKind::Limit,
        summary: "Stop after this much work, also inside an iteration.",
    },
    setting: "event_loop.max_runtime",
    asked: &[Asked::BeforeIteration],
    build: |plan| plan.event_loop.max_runtime.map(|max| Box::new(MaxRuntime { max }) as Box<dyn Guard>),
};

struct MaxRuntime {
    max: Duration,
}

impl Guard for MaxRuntime {
    fn reading(&self, state: &RunState, now: Timestamp) -> Reading {
        Reading::time(state.runtime_now(now), self.max)
    }

    fn message(&self, _state: &RunState) -> String {
        format!("{} of work used", crate::duration::format(self.max))
    }

    fn alarm(&self, state: &RunState, _now: Timestamp) -> Option<Alarm> {
        Some(Alarm { scope: Scope::Iteration, when: When::After(self.max.saturating_sub(state.runtime)) })
    }
}
