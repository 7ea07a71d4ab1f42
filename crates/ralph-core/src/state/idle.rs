//! What the agent says about itself from iteration to iteration: idle, blocked, waiting for review.

use std::time::Duration;

use super::RunState;
use crate::event::{DelayReason, IterationFinished};
use crate::hat::Hat;
use crate::marker::AgentState;
use crate::plan::Act;

/// Nobody starts an agent more often than this: of one that takes no time, thousands would be told after a moment.
const LEAST_ITERATION: Duration = Duration::from_secs(1);

/// An agent that says so often in its own words that there is nothing to do is taken at its word, marker or not.
const NOTHINGS: u32 = 3;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Idle {
    /// What the agent said it was when it last worked; nothing while there is work.
    pub state: Option<AgentState>,
    /// How many iterations in a row have said so.
    pub streak: u32,
    /// Time waited since the first of them.
    pub waited: Duration,
    /// Why it is blocked, in its words.
    pub why: Option<String>,
    /// A person was asked, and nobody has answered in time.
    pub unanswered: bool,
    pub totals: IdleTotals,
}

/// Over the whole run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct IdleTotals {
    /// Iterations that came to nothing but a wait.
    pub iterations: u32,
    /// What they took.
    pub worked: Duration,
    pub waited: Duration,
}

/// What would have been spent on looking again and again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Saved {
    pub iterations: u64,
    /// At the run's average cost of an iteration, where that is known.
    pub cost_usd: Option<f64>,
    pub waited: Duration,
}

impl IterationFinished {
    /// The state in which somebody else has to act. An agent that fails, or that has finished, is in none.
    pub fn waits_as(&self) -> Option<AgentState> {
        if self.outcome.is_failure() || self.claims_complete {
            return None;
        }
        let said = self.state.filter(|state| *state != AgentState::Working);
        if self.blocked.is_some() { Some(AgentState::Blocked) } else { said }
    }
}

impl Idle {
    pub(super) fn finished(&mut self, finished: &IterationFinished) {
        let state = finished.waits_as();
        if state != self.state {
            self.forget();
        }
        let Some(state) = state else { return };
        self.state = Some(state);
        self.streak = self.streak.saturating_add(1);
        self.why = finished.blocked.clone();
        self.totals.iterations = self.totals.iterations.saturating_add(1);
        self.totals.worked = self.totals.worked.saturating_add(finished.duration);
    }

    pub(super) fn waited(&mut self, reason: DelayReason, time: Duration, early: bool) {
        if reason.is_idle() {
            self.waited = self.waited.saturating_add(time);
            self.totals.waited = self.totals.waited.saturating_add(time);
        }
        self.unanswered = reason == DelayReason::Question && !early;
    }

    /// There is work again, or a person wants it to go on.
    pub(super) fn forget(&mut self) {
        *self = Self { totals: self.totals, ..Self::default() };
    }
}

impl RunState {
    /// The wait that the agent's own words ask for before the next iteration. It may be no time at all.
    pub fn idle_wait(&self) -> Option<(DelayReason, Duration)> {
        let last = self.unjudged.as_ref().filter(|last| !last.outcome.is_failure())?;
        // One hat has nothing to do; another may.
        let waits =
            |hat: &Hat| !hat.exhausted && !hat.pending.is_empty() && Some(&hat.id) != last.hat.as_ref();
        if self.bus.as_ref().is_some_and(|bus| bus.hats().iter().any(waits)) {
            return None;
        }
        let plan = &self.plan;
        let state = last.waits_as().unwrap_or(AgentState::Working);
        let chosen = last.delay.map(|delay| delay.min(plan.max_delay(state)));
        let reason = match state {
            AgentState::Working => {
                let chosen = chosen.map(|delay| (DelayReason::Agent, delay));
                return chosen.or_else(|| self.wait_in_own_words());
            }
            AgentState::Idle => DelayReason::Idle,
            AgentState::WaitingForReview => DelayReason::Review,
            AgentState::Blocked => DelayReason::Blocked,
        };
        match plan.reaction(state).map(|reaction| reaction.r#do) {
            Some(Act::Stop) => None,
            Some(Act::Ask) => Some((DelayReason::Question, self.plan.event_loop.max_wait)),
            Some(Act::Wait) | None => {
                let grown = || Some(plan.wait_in(state)?.backoff.delay(self.idle.streak));
                chosen.or_else(grown).map(|delay| (reason, delay))
            }
        }
    }

    /// The wait for an agent that says again and again, in its own words, that there is nothing to do.
    fn wait_in_own_words(&self) -> Option<(DelayReason, Duration)> {
        let times = self.stuck.nothings.checked_sub(NOTHINGS)?.saturating_add(1);
        let wait = self.plan.idle.wait()?;
        Some((DelayReason::Idle, wait.backoff.delay(times)))
    }

    /// How many iterations in a row had nothing to do, by marker or by word.
    pub fn idle_streak(&self) -> u32 {
        match self.idle.state {
            Some(_) => self.idle.streak,
            None => Some(self.stuck.nothings).filter(|times| *times >= NOTHINGS).unwrap_or_default(),
        }
    }

    /// The time that may be spent waiting in the agent's present state.
    pub fn max_idle(&self) -> Option<Duration> {
        let state = self.idle.state.unwrap_or(AgentState::Idle);
        self.plan.wait_in(state).and_then(|wait| wait.max)
    }

    /// What waiting has saved: in that time an agent without it would have been started again and again.
    pub fn idle_saved(&self) -> Option<Saved> {
        let IdleTotals { iterations, worked, waited } = self.idle.totals;
        if iterations == 0 || waited.is_zero() {
            return None;
        }
        let each = worked.as_secs_f64() / f64::from(iterations) + self.plan.event_loop.delay.as_secs_f64();
        let iterations = (waited.as_secs_f64() / each.max(LEAST_ITERATION.as_secs_f64())).floor() as u64;
        let average = |cost: f64| cost / f64::from(self.iterations_finished.max(1));
        let cost_usd = self.cost_usd.map(|cost| average(cost) * iterations as f64);
        Some(Saved { iterations, cost_usd, waited })
    }
}
