//! Stops when the agents have cost as much as allowed, as soon as they say so.

use super::{Asked, Guard, GuardDef, Reading, Unit};
use crate::state::RunState;
use crate::stop::{StopDef, StopKind};
use crate::time::Timestamp;

pub(super) const DEF: GuardDef = GuardDef {
    stop: StopDef {
        key: "max_cost",
        kind: StopKind::Limit,
        summary: "Stop when this many US dollars are spent, as agents report it.",
    },
    setting: "event_loop.max_cost_usd",
    asked: &[Asked::BeforeIteration, Asked::OnUsage],
    build: |plan| plan.event_loop.max_cost_usd.map(|max| Box::new(MaxCost { max }) as Box<dyn Guard>),
};

struct MaxCost {
    max: f64,
}

impl Guard for MaxCost {
    fn reading(&self, state: &RunState, _now: Timestamp) -> Reading {
        Reading { used: state.cost_now().unwrap_or(0.0), limit: self.max, unit: Unit::Dollars }
    }

    fn message(&self, state: &RunState) -> String {
        format!("${:.2} of ${:.2} spent", state.cost_now().unwrap_or(0.0), self.max)
    }
}
