//! What happens between iterations: judge the last one, then stop, pause, wait or start the next. A list of steps, asked
//! in one fixed order; the first that has something to say settles it.

use std::time::Duration;

use super::Turn;
use crate::effect::{Effect, SpawnAgent, When};
use crate::event::{
    AgentSwitched, DelayReason, DelayStarted, Event, IterationStarted, LedgerRead, TimerSlot,
};
use crate::guard::{Asked, Scope};
use crate::state::Phase;
use crate::stop::{self, StopReason};
use crate::time::Timestamp;

/// Whether the steps behind this one are still to be asked.
pub(super) enum Flow {
    Next,
    /// Something was decided on which the steps before this one may hang: they are asked again.
    Again,
    /// This turn is decided: the run has stopped, waits, or is at work.
    Settled,
}

impl Turn<'_> {
    /// Decides from the state alone what comes next. This is the one order in which everything is asked.
    pub(super) fn decide(&mut self) {
        let steps: &[fn(&mut Self) -> Flow] = &[
            Self::publish_due,
            Self::heed_state,
            Self::prove,
            Self::heed_single_pass,
            Self::heed_stuck,
            Self::heed_failure,
            Self::heed_stop_request,
            Self::heed_ledger,
            Self::heed_limits,
            Self::heed_quota,
            Self::heed_pause,
            Self::hear_bus,
            Self::wait_if_due,
            Self::start_next,
        ];
        let mut left = steps.iter();
        while let Some(step) = left.next() {
            match step(self) {
                Flow::Next => {}
                Flow::Again => left = steps.iter(),
                Flow::Settled => return,
            }
        }
    }

    pub(super) fn stop_if(&mut self, reason: Option<StopReason>) -> Flow {
        match reason {
            Some(reason) => {
                self.stop(reason);
                Flow::Settled
            }
            None => Flow::Next,
        }
    }

    fn heed_single_pass(&mut self) -> Flow {
        let last = self.state().unjudged.as_ref().filter(|_| self.state().plan.once);
        let refused = self.state().proof.rejected.as_ref();
        let reason = last.map(|last| match (last.outcome.is_failure(), refused) {
            (true, _) => stop::ONCE_FAILED.because("the single pass failed"),
            (false, Some(claim)) => {
                let message =
                    format!("the single pass claimed to be complete, and was refused: {}", claim.why);
                stop::ONCE_FAILED.because(message)
            }
            (false, None) => stop::ONCE.because("the single pass is done"),
        });
        self.stop_if(reason)
    }

    fn heed_failure(&mut self) -> Flow {
        let failed = self.state().unjudged.as_ref().is_some_and(|last| last.outcome.is_failure());
        let reason = failed.then(|| self.first_spent(Asked::AfterFailure)).flatten();
        self.stop_if(reason)
    }

    pub(super) fn heed_stop_request(&mut self) -> Flow {
        let asked = self.state().stop_request.as_ref();
        let reason = asked.map(|request| StopReason::interrupted(request.by));
        self.stop_if(reason)
    }

    /// What others have spent is read anew before every iteration, where it matters.
    fn heed_ledger(&mut self) -> Flow {
        if !self.state().needs_ledger() || self.state().phase != Phase::Ready || self.state().pause_requested
        {
            return Flow::Next;
        }
        self.effect(Effect::ReadLedger);
        Flow::Settled
    }

    pub(super) fn ledger_read(&mut self, read: LedgerRead) {
        if !self.state().needs_ledger() {
            return;
        }
        let sound = [read.day_usd, read.week_usd].iter().all(|usd| usd.is_finite() && *usd >= 0.0);
        if !sound {
            return self.stop(stop::ERROR.because("what was spent cannot be told from the journals"));
        }
        self.emit(Event::LedgerRead(read));
        if self.state().phase == Phase::Ready {
            self.decide();
        }
    }

    fn heed_limits(&mut self) -> Flow {
        let reason = self.first_spent(Asked::BeforeIteration);
        self.stop_if(reason)
    }

    /// A window that is full for too long is a usage limit that nobody waits for.
    fn heed_quota(&mut self) -> Flow {
        let full = self.state().quota_full(self.now);
        let max_wait = self.state().plan.event_loop.max_wait;
        let reason = full.filter(|(_, until)| until.since(self.now) > max_wait).map(|(one, until)| {
            let left = Duration::from_secs(until.since(self.now).as_secs());
            let (percent, left) = ((one.used * 100.0).round(), crate::duration::format(left));
            let max = crate::duration::format(max_wait);
            let message = format!(
                "{percent}% of the window {} is used; it begins anew in {left}, and max_wait is {max}",
                one.window
            );
            stop::USAGE_LIMIT.because(message)
        });
        self.stop_if(reason)
    }

    fn heed_pause(&mut self) -> Flow {
        if self.state().phase == Phase::Paused {
            return Flow::Settled;
        }
        if self.state().pause_requested {
            self.emit(Event::RunPaused {});
            return Flow::Settled;
        }
        Flow::Next
    }

    fn wait_if_due(&mut self) -> Flow {
        match self.wait_before_next() {
            Some((reason, wait)) => {
                self.wait(reason, wait);
                Flow::Settled
            }
            None => Flow::Next,
        }
    }

    fn start_next(&mut self) -> Flow {
        self.choose_agent();
        self.start_iteration();
        Flow::Settled
    }

    /// The first agent comes back as soon as it may; else a fallback takes over once the waits were too many.
    fn choose_agent(&mut self) {
        let state = self.state();
        let (from, patience) = (state.patience.agent, &state.patience);
        let to = if from > 0 && patience.first_back_at.is_none_or(|back| back <= self.now) {
            0
        } else if self.is_fallback_due() {
            from + 1
        } else {
            return;
        };
        let name = if to == 0 { &state.plan.agent.name } else { &state.plan.fallback[to - 1].name };
        self.emit(Event::AgentSwitched(AgentSwitched { from, to, name: name.clone() }));
    }

    fn is_fallback_due(&self) -> bool {
        let state = self.state();
        state.patience.long_waits >= state.plan.pace.fallback_after.max(1)
            && state.patience.agent < state.plan.fallback.len()
    }

    fn wait_before_next(&self) -> Option<(DelayReason, Duration)> {
        let state = self.state();
        let (event_loop, pace, patience) = (&state.plan.event_loop, &state.plan.pace, &state.patience);
        // A limit is not waited for where another agent can work.
        let limited = patience.limited_until.filter(|_| !self.is_fallback_due());
        let until = limited.map(|until| self.worth_waiting(until));
        if let Some(until) = until.filter(|until| *until > self.now) {
            return Some((DelayReason::Limit, until.since(self.now)));
        }
        if let Some(until) = state.budget_wait(self.now).filter(|until| *until > self.now) {
            return Some((DelayReason::Budget, until.since(self.now)));
        }
        if let Some((_, until)) = state.quota_full(self.now) {
            return Some((DelayReason::Quota, until.since(self.now)));
        }
        if patience.outage {
            return Some((DelayReason::Outage, pace.outage_backoff.delay(patience.outages)));
        }
        // What the agent says about the next wait takes the place of the pace.
        if let Some((reason, wait)) = state.idle_wait() {
            return Some((reason, wait)).filter(|_| !wait.is_zero());
        }
        let last = state.unjudged.as_ref()?;
        // An agent that says so in its own words and ends well is not told from one that works by its exit code.
        if state.stuck.outages > 0 {
            return Some((DelayReason::Outage, pace.outage_backoff.delay(state.stuck.outages)));
        }
        if last.outcome.is_failure() {
            let backoff = event_loop.failure_backoff.delay(state.consecutive_failures);
            if backoff > event_loop.delay {
                return Some((DelayReason::Failure, backoff));
            }
        }
        (!event_loop.delay.is_zero()).then_some((DelayReason::Delay, event_loop.delay))
    }

    /// The first agent may be back before the limit of a fallback ends.
    pub(super) fn worth_waiting(&self, until: Timestamp) -> Timestamp {
        let patience = &self.state().patience;
        match patience.first_back_at {
            Some(back) if patience.agent > 0 => back.min(until),
            _ => until,
        }
    }

    fn wait(&mut self, reason: DelayReason, wait: Duration) {
        let until = self.now.plus(wait);
        self.emit(Event::DelayStarted(DelayStarted { reason, until, wait }));
        self.go_on_waiting();
    }

    pub(super) fn go_on_waiting(&mut self) {
        let Phase::Waiting(waiting) = &self.state().phase else { return };
        let (epoch, until) = (waiting.epoch, waiting.until);
        if waiting.reason.is_service() && self.is_fallback_due() {
            // Enough waited: somebody else can work now.
            self.end_wait(true);
            return self.decide();
        }
        self.start_timer(TimerSlot::Wait, epoch, When::At(until));
        self.watch_for_work();
    }

    fn start_iteration(&mut self) {
        let iteration = self.state().next_iteration();
        let attempt = self.state().attempts.saturating_add(1);
        let agent = self.state().patience.agent;
        let turn = self.next_hat();
        let hat = turn.as_ref().map(|turn| turn.hat.clone());
        self.emit(Event::IterationStarted(IterationStarted { iteration, attempt, agent, hat }));
        turn.into_iter().for_each(|turn| self.tell_activation(turn));
        let Some(epoch) = self.state().running().map(|running| running.epoch) else { return };
        let count = u32::try_from(self.state().guidance.len()).unwrap_or(u32::MAX);
        if count > 0 {
            self.emit(Event::GuidanceDelivered { iteration, count });
        }
        let silence_timeout = self.state().plan.event_loop.silence();
        let prompt = Box::new(self.draft());
        self.effect(Effect::SpawnAgent(SpawnAgent { iteration, attempt, agent, prompt, silence_timeout }));
        if self.state().plan.commands.is_empty() {
            self.start_iteration_timeout();
        }
        self.start_alarms(Scope::Iteration, epoch);
    }

    /// The agent's time begins.
    pub(super) fn start_iteration_timeout(&mut self) {
        let timeout = self.iteration_timeout();
        let epoch = self.state().running().map(|running| running.epoch);
        if let Some(epoch) = epoch {
            self.start_timer(TimerSlot::IterationTimeout, epoch, When::After(timeout));
        }
    }
}
