//! What all runs of the state folder have spent, as far as this run was told.

use super::RunState;
use crate::event::LedgerRead;
use crate::plan::WhenSpent;
use crate::time::Timestamp;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ledger {
    pub read: Option<LedgerRead>,
    /// Something was spent since, here or elsewhere: it has to be read again before the next iteration.
    pub stale: bool,
}

impl RunState {
    /// Nothing is decided about a budget before it is known what is left of it.
    pub fn needs_ledger(&self) -> bool {
        self.plan.budget.is_set() && (self.spending.read.is_none() || self.spending.stale)
    }

    pub fn spent_today(&self, now: Timestamp) -> Option<f64> {
        let read = self.spending.read.as_ref()?;
        Some(if now < read.day_ends { read.day_usd + self.in_flight() } else { self.in_flight() })
    }

    pub fn spent_this_week(&self, now: Timestamp) -> Option<f64> {
        let read = self.spending.read.as_ref()?;
        Some(if now < read.week_ends { read.week_usd + self.in_flight() } else { self.in_flight() })
    }

    pub fn ledger_day(&self) -> Option<f64> {
        self.spent_today(self.last_at)
    }

    pub fn ledger_week(&self) -> Option<f64> {
        self.spent_this_week(self.last_at)
    }

    /// Until when the budget is spent.
    pub fn budget_until(&self, now: Timestamp) -> Option<Timestamp> {
        let read = self.spending.read.as_ref()?;
        let over =
            |spent: Option<f64>, max: Option<f64>| spent.zip(max).is_some_and(|(spent, max)| spent >= max);
        let day = over(self.spent_today(now), self.plan.budget.day).then_some(read.day_ends);
        let week = over(self.spent_this_week(now), self.plan.budget.week).then_some(read.week_ends);
        day.max(week)
    }

    /// The same, where it is to be waited for.
    pub fn budget_wait(&self, now: Timestamp) -> Option<Timestamp> {
        self.budget_until(now).filter(|_| self.plan.budget.then == WhenSpent::Wait)
    }

    /// What the attempt that is running has cost since the ledger was read.
    fn in_flight(&self) -> f64 {
        self.running().and_then(|running| running.cost_usd).unwrap_or(0.0)
    }
}
