//! What the run waits for, and for how long it has.

use super::ledger::Ledger;
use super::{Phase, RunState, Waiting};
use crate::event::{AgentSwitched, DelayReason, DelayStarted, Event, LimitHit};
use crate::time::Timestamp;

impl RunState {
    pub(super) fn apply_wait(&mut self, event: &Event, at: Timestamp) {
        match event {
            Event::LimitHit(limit) => self.apply_limit(limit),
            Event::LedgerRead(read) => self.spending = Ledger { read: Some(read.clone()), stale: false },
            Event::AgentSwitched(switched) => {
                // Another agent has another plan.
                self.quotas.clear();
                self.apply_switched(switched, at);
            }
            Event::DelayStarted(delay) => self.apply_delay(delay, at),
            Event::DelayEnded { early } => self.apply_delay_ended(*early, at),
            _ => {}
        }
    }

    fn apply_delay(&mut self, delay: &DelayStarted, at: Timestamp) {
        self.unjudged = None;
        let patience = &mut self.patience;
        patience.outage = false;
        let again = delay.reason == DelayReason::Limit && patience.counted;
        if delay.reason.is_service() && delay.wait > self.plan.pace.fallback_wait && !again {
            patience.long_waits = patience.long_waits.saturating_add(1);
            patience.counted = true;
        }
        let (reason, until, wait) = (delay.reason, delay.until, delay.wait);
        self.phase = Phase::Waiting(Waiting { epoch: self.events, reason, until, wait, since: at });
    }

    fn apply_delay_ended(&mut self, early: bool, at: Timestamp) {
        if let Phase::Waiting(Waiting { reason, wait, since, .. }) = &self.phase {
            // A wait to its end has taken what it was meant to, whatever the clock says.
            let time = if early { at.since(*since).min(*wait) } else { *wait };
            self.idle.waited(*reason, time, early);
        }
        if !early {
            self.patience.limited_until = None;
        }
        self.spending.stale = true;
        self.phase = Phase::Ready;
    }

    fn apply_limit(&mut self, limit: &LimitHit) {
        let patience = &mut self.patience;
        patience.limits = patience.limits.saturating_add(1);
        (patience.limited_until, patience.counted) = (Some(limit.until), false);
        if limit.agent == 0 {
            patience.first_back_at = Some(limit.until);
        }
    }

    fn apply_switched(&mut self, switched: &AgentSwitched, at: Timestamp) {
        let patience = &mut self.patience;
        patience.agent = switched.to;
        (patience.limits, patience.outages, patience.long_waits) = (0, 0, 0);
        (patience.limited_until, patience.outage) = (None, false);
        // An outage does not say when it ends.
        if switched.from == 0 && patience.first_back_at.is_none_or(|back| back <= at) {
            patience.first_back_at = Some(at.plus(self.plan.pace.outage_backoff.max));
        }
    }
}
