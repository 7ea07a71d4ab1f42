//! Stops when the agent has had nothing to do for too long. Asked before a wait, which is what would be too much.

use std::time::Duration;

use super::{Asked, Guard, GuardDef, Reading};
use crate::plan::{Plan, Reaction};
use crate::state::RunState;
use crate::stop::{StopDef, StopKind};
use crate::time::Timestamp;

pub(super) const DEF: GuardDef = GuardDef {
    stop: StopDef {
        key: "max_idle",
        kind: StopKind::Limit,
        summary: "Stop before a wait that would bring the idle time past this.",
    },
    setting: "idle.max",
    asked: &[Asked::BeforeIteration],
    build: |plan| Some(Box::new(MaxIdle { max: longest(plan)? })),
};

struct MaxIdle {
    /// Shown while the agent is in none of the states that are limited.
    max: Duration,
}

/// The limit of the idle state, or else of one of the others.
fn longest(plan: &Plan) -> Option<Duration> {
    let others = [&plan.on_state.waiting_for_review, &plan.on_state.blocked].map(Reaction::wait);
    let limits = others.into_iter().flatten().filter_map(|wait| wait.max);
    plan.idle.wait().and_then(|wait| wait.max).or_else(|| limits.max())
}

impl Guard for MaxIdle {
    fn reading(&self, state: &RunState, _now: Timestamp) -> Reading {
        Reading::time(state.idle.waited, state.max_idle().unwrap_or(self.max))
    }

    /// Not when the limit is reached, but when the next wait would go past it.
    fn is_spent(&self, state: &RunState, _now: Timestamp) -> bool {
        let Some((reason, wait)) = state.idle_wait() else { return false };
        let limit = state.max_idle().filter(|_| reason.is_idle());
        limit.is_some_and(|max| state.idle.waited.saturating_add(wait) > max)
    }

    fn message(&self, state: &RunState) -> String {
        let waited = crate::duration::format(state.idle.waited);
        let max = crate::duration::format(state.max_idle().unwrap_or(self.max));
        format!("idle for {waited}, and the next wait would go past {max}")
    }
}
