//! Waits: that they are the ones that were due, and what may end them.

use ralph_core::event::{DelayReason, DelayStarted};
use ralph_core::time::Timestamp;

use super::{Check, Model, close, ensure};

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
}
