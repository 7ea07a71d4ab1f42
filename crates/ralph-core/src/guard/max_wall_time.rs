//! Stops after an amount of time, whatever it was spent on: work, waits and pauses.

use std::time::Duration;

use super::{Alarm, Asked, Guard, GuardDef, Reading, Scope};
use crate::effect::When;
use crate::state::RunState;
use crate::stop::{StopDef, StopKind};
use crate::time::Timestamp;

pub(super) const DEF: GuardDef = GuardDef {
    stop: StopDef {
        key: "max_wall_time",
        kind: StopKind::Limit,
        summary: "Stop after this much time, waits and pauses included.",
    },
    setting: "event_loop.max_wall_time",
    asked: &[Asked::BeforeIteration],
    build: |plan| Some(Box::new(MaxWallTime { max: plan.event_loop.max_wall_time })),
};

struct MaxWallTime {
    max: Duration,
}

impl Guard for MaxWallTime {
    fn reading(&self, state: &RunState, now: Timestamp) -> Reading {
        Reading::time(state.wall_time(now), self.max)
    }

    fn message(&self, _state: &RunState) -> String {
        format!("{} passed since the start, waits included", crate::duration::format(self.max))
    }

    fn alarm(&self, state: &RunState, now: Timestamp) -> Option<Alarm> {
        let left = self.max.saturating_sub(state.wall_time(now));
        Some(Alarm { scope: Scope::Session, when: When::At(now.plus(left)) })
    }
}
