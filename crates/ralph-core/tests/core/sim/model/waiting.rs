//! Waits: that they are the ones that were due, and what may end them.

use std::time::Duration;

use ralph_core::event::{DelayReason, DelayStarted};
use ralph_core::time::Timestamp;

use super::{Check, Model, backoff, close, ensure};

impl Model {
    pub(super) fn delay_started(&mut self, at: Timestamp, delay: &DelayStarted) -> Check {
        self.may_go_on(at)?;
        self.hats_go_on()?;
        ensure!(!self.pause_requested, "waits though a pause was asked for");
        let (reason, wait) = self.wait_due(at).ok_or("a wait that nothing asks for")?;
        let right = delay.reason == reason && close(delay.wait, wait);
        ensure!(right, "waits {delay:?} instead of {wait:?} for {reason:?}");
        ensure!(delay.until == at.plus(delay.wait), "a wait to another time");
        self.last = None;
        self.waiting = Some((reason, delay.until));
        self.idle.delay_started(reason, delay.wait, at, self.records);
        self.patience.waits(reason, delay.wait, &self.pace);
        if self.patience.ends_at_once(reason, &self.pace) {
            self.must_follow = Some("delay.ended");
        }
        Ok(())
    }

    pub(super) fn delay_ended(&mut self, at: Timestamp, early: bool) -> Check {
        let (reason, until) = self.waiting.take().ok_or("the end of no wait")?;
        self.idle.delay_ended(at, early);
        if early {
            let asked = match self.previous {
                "stop.requested" | "pause.requested" | "unpause.requested" => true,
                // A limit or a full disk ends the run, and the wait with it.
                "timer.fired" | "journal.failed" => self.must_stop.is_some(),
                "guidance.added" | "hat.reset" | "wait.skipped" => reason != DelayReason::Limit,
                "wake.triggered" => reason.can_wake(),
                "delay.started" | "run.resumed" => self.patience.ends_at_once(reason, &self.pace),
                _ => false,
            };
            ensure!(asked, "a wait for {reason:?} ended early after {}", self.previous);
        } else {
            ensure!(at >= until, "a wait ended before its time");
            self.patience.limit = None;
        }
        Ok(())
    }

    pub(super) fn wait_due(&self, at: Timestamp) -> Option<(DelayReason, Duration)> {
        if let Some(due) = self.patience.wait_due(at, &self.pace) {
            return Some(due);
        }
        let last = self.last.as_ref()?;
        if let Some((reason, wait)) = self.idle_wait(last) {
            return Some((reason, wait)).filter(|_| !wait.is_zero());
        }
        let delay = self.limits.delay;
        let failed = last.outcome.is_failure();
        let after = if failed { backoff(&self.limits.failure_backoff, self.streak) } else { Duration::ZERO };
        match (after > delay, delay.is_zero()) {
            (true, _) => Some((DelayReason::Failure, after)),
            (false, false) => Some((DelayReason::Delay, delay)),
            (false, true) => None,
        }
    }
}
