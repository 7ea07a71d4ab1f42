//! For which reasons a run has to stop, and how it then says so.

use std::time::Duration;

use ralph_core::event::RunStopped;
use ralph_core::stop::{Interrupt, StopKind};
use ralph_core::time::Timestamp;

use super::{Check, Due, Model, ensure, tokens};

impl Model {
    /// The limits that are used up.
    pub(super) fn spent(&self, at: Timestamp) -> Vec<&'static str> {
        let l = &self.limits;
        let running = self.running.as_ref();
        let gates = self.proof.checking.as_ref().map(|gates| gates.started);
        let since = running.map(|running| running.started).or(gates);
        let runtime = self.runtime + since.map_or(Duration::ZERO, |since| at.since(since));
        let wall = self.wall_before + at.since(self.session);
        let cost = self.cost.unwrap_or(0.0) + running.and_then(|r| r.cost).unwrap_or(0.0);
        let tokens = tokens(&self.usage) + running.map_or(0, |r| tokens(&r.usage));
        let mut spent = Vec::new();
        for (key, is_spent) in [
            ("max_iterations", l.max_iterations.is_some_and(|max| self.finished >= max)),
            ("max_runtime", l.max_runtime.is_some_and(|max| runtime >= max)),
            ("max_wall_time", wall >= l.max_wall_time),
            ("max_cost", l.max_cost_usd.is_some_and(|max| cost >= max)),
            ("max_tokens", l.max_tokens.is_some_and(|max| tokens >= max)),
            ("max_idle", self.idle.is_spent(self.last.as_ref().and_then(|last| self.idle_wait(last)))),
        ] {
            if is_spent {
                spent.push(key);
            }
        }
        spent
    }

    /// The reason for which the run has to stop now, if there is one.
    pub(super) fn reason(&self, at: Timestamp) -> Option<String> {
        if self.must_stop.is_some() {
            return self.must_stop.clone();
        }
        let last = self.last.as_ref();
        let failed = last.is_some_and(|last| last.outcome.is_failure());
        let reasons = [
            ("complete", last.is_some() && self.proof.is_accepted()),
            ("rejected_completions", last.is_some() && self.proof.too_often()),
            ("interrupted", self.stop_now && last.is_some_and(|last| self.proof.is_open(last))),
            ("once", last.is_some() && self.once),
            (self.stuck.ends.unwrap_or_default(), self.stuck.ends.is_some()),
            ("stop_on_error", failed && self.limits.stop_on_error),
            ("consecutive_failures", failed && self.streak >= self.limits.max_consecutive_failures),
            ("interrupted", self.stop_request.is_some()),
        ];
        if let Some(state) = self.idle.reason(last) {
            return Some(state.to_owned());
        }
        let first = reasons.iter().find(|(_, holds)| *holds).map(|(key, _)| *key);
        first.or_else(|| self.spent(at).first().copied()).map(str::to_owned)
    }

    pub(super) fn may_go_on(&self, at: Timestamp) -> Check {
        if let Some(reason) = self.reason(at) {
            return Err(format!("goes on although it has to stop: {reason}"));
        }
        ensure!(self.stuck.is_told(), "goes on although it goes in circles");
        let due = self.due();
        ensure!(due == Due::Nothing, "goes on although due is {due:?}");
        ensure!(self.proof.checking.is_none(), "goes on although gates are at work");
        Ok(())
    }

    pub(super) fn run_stopped(&mut self, at: Timestamp, s: &RunStopped) -> Check {
        let reason = self.reason(at).or_else(|| self.nobody_left());
        ensure!(reason.as_deref() == Some(s.reason.as_str()), "stops for {} instead of {reason:?}", s.reason);
        ensure!(self.running.is_none(), "stops with an iteration open");
        ensure!(self.proof.checking.is_none(), "stops while gates are at work");
        self.nothing_forgotten()?;
        let failed = self.last.as_ref().is_some_and(|last| last.outcome.is_failure());
        let refused = self.last.is_some() && self.proof.is_rejected();
        let (kind, code) = match s.reason.as_str() {
            "complete" => (StopKind::Done, 0),
            "once" if !failed && !refused => (StopKind::Done, 0),
            "once"
            | "stop_on_error"
            | "consecutive_failures"
            | "rejected_completions"
            | "output_similarity"
            | "repeated_signature"
            | "loop_detected"
            | "error"
            | "no_handoff"
            | "loop_thrashing"
            | "journal_error" => (StopKind::Failed, 1),
            "no_subscriber" | "hat_exhausted" => (StopKind::Blocked, 4),
            "blocked" | "waiting_for_review" | "agent_missing" | "usage_limit" | "sign_in" | "billing"
            | "model_not_found" => (StopKind::Blocked, 4),
            "interrupted" => match self.stop_request {
                Some(Interrupt::Term) => (StopKind::Interrupted, 143),
                Some(Interrupt::Hup) => (StopKind::Interrupted, 129),
                _ => (StopKind::Interrupted, 130),
            },
            _ => (StopKind::Limit, 3),
        };
        ensure!((s.kind, s.exit_code) == (kind, code), "{} is {:?}, {}", s.reason, s.kind, s.exit_code);
        ensure!(
            (s.iterations, s.cost_usd, s.duration) == (self.finished, self.cost, self.runtime),
            "the closing totals are wrong"
        );
        ensure!(self.waiting.is_none(), "a wait that has no end");
        self.stopped = Some(s.clone());
        Ok(())
    }

    /// Nothing but the end of everything, or of the time, comes before a claim is settled.
    fn nothing_forgotten(&self) -> Check {
        let due = self.due();
        let cut_short = self.must_stop.is_some() || self.stop_now;
        ensure!(due == Due::Nothing || cut_short, "stops although due is {due:?}");
        Ok(())
    }
}
