//! The rules of waiting for work, written a second time: what an agent says about itself, and what that costs in time.

use std::time::Duration;

use ralph_core::event::{AgentExited, DelayReason, IterationFinished, IterationIdle, Outcome, WakeTriggered};
use ralph_core::marker::AgentState;
use ralph_core::plan::{Act, EventLoop, Plan, Wait};
use ralph_core::testing::RunState;
use ralph_core::time::Timestamp;

use super::model::{Check, ensure};
use super::patience::backoff;

pub struct Idle {
    idle: Option<Wait>,
    on_review: (Act, Option<Wait>),
    on_blocked: (Act, Option<Wait>),
    state: Option<AgentState>,
    streak: u32,
    waited: Duration,
    /// Nobody answered in time.
    pub unanswered: bool,
    /// The wait that goes on: how long it is, and since when.
    wait: Option<(DelayReason, Duration, Timestamp)>,
    /// Which record began it.
    epoch: u64,
}

/// What an iteration came to besides its outcome.
fn said(f: &IterationFinished) -> Option<AgentState> {
    match f.outcome == Outcome::Ok && !f.claims_complete {
        true if f.blocked.is_some() => Some(AgentState::Blocked),
        true => f.state.filter(|state| *state != AgentState::Working),
        false => None,
    }
}

impl Idle {
    pub fn new(plan: &Plan) -> Self {
        let (review, blocked) = (&plan.on_state.waiting_for_review, &plan.on_state.blocked);
        Self {
            idle: plan.idle.wait(),
            on_review: (review.r#do, review.wait()),
            on_blocked: (blocked.r#do, blocked.wait()),
            state: None,
            streak: 0,
            waited: Duration::ZERO,
            unanswered: false,
            wait: None,
            epoch: 0,
        }
    }

    pub fn announced(&self, idle: &IterationIdle, exited: Option<&AgentExited>) -> Check {
        let exited = exited.ok_or("idle before the agent was gone")?;
        ensure!(exited.state == Some(AgentState::Idle), "idle though it did not say so");
        let before = if self.state == Some(AgentState::Idle) { self.streak } else { 0 };
        ensure!(idle.streak == before + 1, "idle for the {}th time after {before}", idle.streak);
        Ok(())
    }

    pub fn finished(&mut self, f: &IterationFinished, exited: Option<&AgentExited>, previous: &str) -> Check {
        let ok = f.outcome == Outcome::Ok;
        if let Some(exited) = exited {
            ensure!(f.state == exited.state.filter(|_| ok), "the state changed");
            ensure!(f.delay == exited.delay.filter(|_| ok), "the delay changed");
        }
        let state = said(f);
        let announced = previous == "iteration.idle";
        ensure!(announced == (state == Some(AgentState::Idle)), "idle is told, or not, against what it is");
        if state != self.state {
            (self.streak, self.waited) = (0, Duration::ZERO);
        }
        self.streak += u32::from(state.is_some());
        self.state = state;
        Ok(())
    }

    fn waiting(&self, state: AgentState) -> Option<&Wait> {
        match state {
            AgentState::Idle => self.idle.as_ref(),
            AgentState::WaitingForReview => self.on_review.1.as_ref(),
            AgentState::Blocked => self.on_blocked.1.as_ref(),
            AgentState::Working => None,
        }
    }

    fn asks(&self, state: AgentState) -> bool {
        match state {
            AgentState::WaitingForReview => self.on_review.0 == Act::Ask,
            AgentState::Blocked => self.on_blocked.0 == Act::Ask,
            _ => false,
        }
    }

    fn stops(&self, state: AgentState) -> bool {
        match state {
            AgentState::WaitingForReview => self.on_review.0 == Act::Stop,
            AgentState::Blocked => self.on_blocked.0 == Act::Stop,
            _ => false,
        }
    }

    /// The wait that the agent's words ask for. No time at all is a wait too: it takes the place of others.
    pub fn wait_due(&self, last: &IterationFinished, limits: &EventLoop) -> Option<(DelayReason, Duration)> {
        if last.outcome != Outcome::Ok {
            return None;
        }
        let state = said(last);
        let plan = state.and_then(|state| self.waiting(state));
        let longest = plan.or(self.idle.as_ref()).map_or(Duration::from_secs(300), |wait| wait.backoff.max);
        let chosen = last.delay.map(|delay| if delay < longest { delay } else { longest });
        let Some(state) = state else { return chosen.map(|delay| (DelayReason::Agent, delay)) };
        if self.stops(state) {
            return None;
        }
        if self.asks(state) {
            return Some((DelayReason::Question, limits.max_wait));
        }
        let reason = match state {
            AgentState::Idle => DelayReason::Idle,
            AgentState::Blocked => DelayReason::Blocked,
            _ => DelayReason::Review,
        };
        let wait = chosen.or(plan.map(|plan| backoff(&plan.backoff, self.streak)));
        wait.map(|wait| (reason, wait))
    }

    /// Whether this wait would be too much.
    pub fn is_spent(&self, wait: Option<(DelayReason, Duration)>) -> bool {
        let Some((reason, wait)) = wait else { return false };
        let max = self.state.and_then(|state| self.waiting(state)).and_then(|plan| plan.max);
        let counts = !matches!(reason, DelayReason::Agent | DelayReason::Question);
        counts && max.is_some_and(|max| self.waited + wait > max)
    }

    /// The state for which the run has to stop, by its name.
    pub fn reason(&self, last: Option<&IterationFinished>) -> Option<&'static str> {
        let said = last.and_then(said).filter(|state| self.stops(*state));
        said.or(self.state.filter(|_| self.unanswered)).map(AgentState::name)
    }

    /// Whether the agent said that somebody else has to do something.
    pub fn needs_person(&self) -> bool {
        matches!(self.state, Some(AgentState::Blocked | AgentState::WaitingForReview))
    }

    pub fn delay_started(&mut self, reason: DelayReason, wait: Duration, at: Timestamp, epoch: u64) {
        self.wait = Some((reason, wait, at));
        self.epoch = epoch;
    }

    pub fn woken(&self, woken: &WakeTriggered) -> Check {
        ensure!(self.wait.is_some() && woken.epoch == self.epoch, "work of another wait ends this one");
        Ok(())
    }

    pub fn delay_ended(&mut self, at: Timestamp, early: bool) {
        let Some((reason, wait, since)) = self.wait.take() else { return };
        if matches!(reason, DelayReason::Idle | DelayReason::Review | DelayReason::Blocked) {
            self.waited += if early { wait.min(at.since(since)) } else { wait };
        }
        self.unanswered = reason == DelayReason::Question && !early;
    }

    pub fn forget(&mut self) {
        self.state = None;
        (self.streak, self.waited) = (0, Duration::ZERO);
        (self.unanswered, self.wait, self.epoch) = (false, None, 0);
    }

    pub fn agrees(&self, state: &RunState) -> Check {
        let theirs = (state.idle.state, state.idle.streak, state.idle.waited, state.idle.unanswered);
        let mine = (self.state, self.streak, self.waited, self.unanswered);
        ensure!(theirs == mine, "idle {theirs:?} instead of {mine:?}");
        Ok(())
    }
}
