//! Stop when all runs of the state folder together have spent what a day or a week may cost.

use super::{Asked, Guard, GuardDef, Reading, Unit};
use crate::plan::{Plan, WhenSpent};
use crate::state::RunState;
use crate::stop::{StopDef, StopKind};
use crate::time::Timestamp;

pub(super) const DAY: GuardDef = GuardDef {
    stop: StopDef {
        key: "budget_day",
        kind: StopKind::Limit,
        summary: "Stop when all runs together have spent the budget of the day.",
    },
    setting: "budget.day",
    asked: &[Asked::BeforeIteration, Asked::OnUsage],
    build: |plan| Some(Box::new(Spending { window: Window::Day, max: plan.budget.day?, waits: waits(plan) })),
};

pub(super) const WEEK: GuardDef = GuardDef {
    stop: StopDef {
        key: "budget_week",
        kind: StopKind::Limit,
        summary: "Stop when all runs together have spent the budget of the week.",
    },
    setting: "budget.week",
    asked: &[Asked::BeforeIteration, Asked::OnUsage],
    build: |plan| {
        Some(Box::new(Spending { window: Window::Week, max: plan.budget.week?, waits: waits(plan) }))
    },
};

fn waits(plan: &Plan) -> bool {
    plan.budget.then == WhenSpent::Wait
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Window {
    Day,
    Week,
}

struct Spending {
    window: Window,
    max: f64,
    waits: bool,
}

impl Spending {
    fn used(&self, state: &RunState, now: Timestamp) -> f64 {
        let spent = match self.window {
            Window::Day => state.spent_today(now),
            Window::Week => state.spent_this_week(now),
        };
        spent.unwrap_or(0.0)
    }
}

impl Guard for Spending {
    fn reading(&self, state: &RunState, now: Timestamp) -> Reading {
        Reading { used: self.used(state, now), limit: self.max, unit: Unit::Dollars }
    }

    /// One that is waited for stops a run only where the wait would be too long.
    fn is_spent(&self, state: &RunState, now: Timestamp) -> bool {
        let spent = self.reading(state, now).is_spent();
        let max_wait = state.plan.event_loop.max_wait;
        let is_near = || state.budget_wait(now).is_some_and(|until| until.since(now) <= max_wait);
        spent && !(self.waits && (state.running().is_some() || is_near()))
    }

    fn message(&self, state: &RunState) -> String {
        let (what, used) = match self.window {
            Window::Day => ("today", state.ledger_day()),
            Window::Week => ("this week", state.ledger_week()),
        };
        format!("${:.2} of the budget of ${:.2} spent {what}, by all runs", used.unwrap_or(0.0), self.max)
    }
}
