//! The rules of waiting for the agents' services, written a second time: limits, outages, fallbacks.

use std::time::Duration;

use ralph_core::event::{
    AgentExited, AgentSwitched, DelayReason, Exit, InterruptCause, IterationInterrupted, KillCause, LimitHit,
    Outcome,
};
use ralph_core::failure::FailureClass;
use ralph_core::plan::{Backoff, EventLoop, Pace};
use ralph_core::testing::RunState;
use ralph_core::time::Timestamp;

use super::model::{Check, ensure};

/// What has to follow from the way an attempt ended.
#[derive(Debug, PartialEq)]
pub enum Cure {
    /// It is finished, well or not.
    Finish(Outcome),
    /// It says nothing about the task, and the run stops.
    Stop(InterruptCause, Option<String>),
    Limit {
        until: Timestamp,
        known: bool,
    },
    Outage,
}

pub struct Patience {
    /// How many agents there are, and who is at work.
    agents: usize,
    pub agent: usize,
    /// Still to be waited for.
    pub limit: Option<Timestamp>,
    pub outage: bool,
    /// In a row.
    limits: u32,
    outages: u32,
    long: u32,
    /// One limit is one wait, also if a pause cuts it in two.
    counted: bool,
    first_back: Option<Timestamp>,
    /// What the next prompt has to say.
    pub too_long: bool,
}

/// Up to the rounding of powers.
pub fn close(a: Duration, b: Duration) -> bool {
    a.abs_diff(b) <= Duration::from_millis(1)
}

/// The wait after the `nth` time in a row.
pub fn backoff(b: &Backoff, nth: u32) -> Duration {
    let mut millis = b.initial.as_millis() as f64;
    for _ in 1..nth {
        millis *= b.factor;
    }
    Duration::from_millis(millis.min(b.max.as_millis() as f64).round() as u64)
}

fn is_of_service(reason: DelayReason) -> bool {
    matches!(reason, DelayReason::Limit | DelayReason::Outage)
}

impl Patience {
    pub fn new(agents: usize) -> Self {
        Self {
            agents,
            agent: 0,
            limit: None,
            outage: false,
            limits: 0,
            outages: 0,
            long: 0,
            counted: false,
            first_back: None,
            too_long: false,
        }
    }

    pub fn cure(
        &self,
        at: Timestamp,
        exited: &AgentExited,
        killed: Option<&KillCause>,
        rules: (&EventLoop, &Pace),
    ) -> Cure {
        let (limits, pace) = rules;
        let class = exited.failure.as_ref().map(|failure| failure.class);
        let stop = |why, reason: &str| Cure::Stop(why, Some(reason.to_owned()));
        match (&exited.exit, killed) {
            (Exit::Missing { .. }, _) => return stop(InterruptCause::NotStarted, "agent_missing"),
            (Exit::NotStarted { .. }, _) => return stop(InterruptCause::NotStarted, "error"),
            (_, Some(KillCause::Guard(key))) => {
                return stop(InterruptCause::Guard(key.clone()), key.as_str());
            }
            (_, Some(KillCause::Stop | KillCause::Escalated)) => {
                return Cure::Stop(InterruptCause::Stop, None);
            }
            (_, Some(KillCause::Person)) => return Cure::Finish(Outcome::Failed),
            (_, Some(KillCause::Timeout)) => return Cure::Finish(Outcome::TimedOut),
            (_, Some(KillCause::Silence)) if class != Some(FailureClass::Limit) => {
                return Cure::Finish(Outcome::Silent);
            }
            (_, Some(KillCause::Hung)) => return Cure::Finish(Outcome::Hung),
            (Exit::Code(0), None) if exited.error.is_none() => return Cure::Finish(Outcome::Ok),
            (_, None | Some(KillCause::Silence | KillCause::Stranded)) => {}
        }
        let Some(failure) = &exited.failure else { return Cure::Finish(Outcome::Failed) };
        match failure.class {
            FailureClass::Limit => self.limit_cure(at, failure.resets_at, limits, pace),
            FailureClass::Outage if self.outages < limits.max_outages => Cure::Outage,
            FailureClass::SignIn => stop(InterruptCause::Person, "sign_in"),
            FailureClass::Billing => stop(InterruptCause::Person, "billing"),
            FailureClass::ModelNotFound => stop(InterruptCause::Person, "model_not_found"),
            FailureClass::Outage
            | FailureClass::ContextTooLong
            | FailureClass::Breach
            | FailureClass::Other => Cure::Finish(Outcome::Failed),
        }
    }

    fn limit_cure(&self, at: Timestamp, reset: Option<Timestamp>, limits: &EventLoop, pace: &Pace) -> Cure {
        let minute = Duration::from_secs(60);
        let (until, known) = match reset {
            Some(reset) if reset > at => (reset.plus(minute), true),
            // A limit whose end has passed is over; unless it was said before, and was wrong.
            Some(_) if self.limits == 0 => (at.plus(minute), true),
            _ => (at.plus(backoff(&pace.limit_backoff, self.limits + 1)), false),
        };
        if self.worth_waiting(until).since(at) > limits.max_wait {
            return Cure::Stop(InterruptCause::Limit, Some("usage_limit".into()));
        }
        Cure::Limit { until, known }
    }

    /// The first agent may be back before the limit of a fallback ends.
    fn worth_waiting(&self, until: Timestamp) -> Timestamp {
        match self.first_back {
            Some(back) if self.agent > 0 => back.min(until),
            _ => until,
        }
    }

    pub fn limit_hit(&mut self, hit: &LimitHit, cure: &Cure) -> Check {
        let Cure::Limit { until, known } = cure else { return Err(format!("a limit for {cure:?}")) };
        ensure!(hit.known == *known, "known: {} is wrong", hit.known);
        let (early, late) = (until.since(hit.until), hit.until.since(*until));
        ensure!(close(early, late), "until {} instead of {until}", hit.until);
        ensure!(hit.agent == self.agent, "a limit of agent {}, {} is at work", hit.agent, self.agent);
        self.limits += 1;
        (self.limit, self.counted) = (Some(hit.until), false);
        if hit.agent == 0 {
            self.first_back = Some(hit.until);
        }
        Ok(())
    }

    pub fn interrupted(&mut self, i: &IterationInterrupted) {
        if i.why == InterruptCause::Outage {
            self.outages += 1;
            self.outage = true;
        }
    }

    pub fn finished(&mut self, class: Option<FailureClass>) {
        (self.limits, self.outages, self.long) = (0, 0, 0);
        self.too_long = class == Some(FailureClass::ContextTooLong);
    }

    /// Nothing more is to be waited for.
    pub fn forget(&mut self) {
        (self.limit, self.outage) = (None, false);
    }

    /// The wait that is due.
    pub fn wait_due(&self, at: Timestamp, pace: &Pace) -> Option<(DelayReason, Duration)> {
        if self.limit.is_some() && self.is_fallback_due(pace) {
            return None;
        }
        match self.limit.map(|until| self.worth_waiting(until)) {
            Some(until) if until > at => Some((DelayReason::Limit, until.since(at))),
            _ if self.outage => Some((DelayReason::Outage, backoff(&pace.outage_backoff, self.outages))),
            _ => None,
        }
    }

    pub fn waits(&mut self, reason: DelayReason, wait: Duration, pace: &Pace) {
        self.outage = false;
        let again = reason == DelayReason::Limit && self.counted;
        if is_of_service(reason) && wait > pace.fallback_wait && !again {
            self.long += 1;
            self.counted = true;
        }
    }

    fn is_fallback_due(&self, pace: &Pace) -> bool {
        self.long >= pace.fallback_after.max(1) && self.agent + 1 < self.agents
    }

    /// Whether a wait for this reason is no use, since another agent can work.
    pub fn ends_at_once(&self, reason: DelayReason, pace: &Pace) -> bool {
        is_of_service(reason) && self.is_fallback_due(pace)
    }

    /// Who has to take over before the next iteration.
    pub fn switch_due(&self, at: Timestamp, pace: &Pace) -> Option<usize> {
        if self.agent > 0 && self.first_back.is_none_or(|back| back <= at) {
            return Some(0);
        }
        self.is_fallback_due(pace).then_some(self.agent + 1)
    }

    pub fn switched(&mut self, at: Timestamp, switched: &AgentSwitched, pace: &Pace) -> Check {
        let due = self.switch_due(at, pace);
        ensure!(switched.from == self.agent, "a switch from {}, not {}", switched.from, self.agent);
        ensure!(due == Some(switched.to), "a switch to {} instead of {due:?}", switched.to);
        ensure!(switched.to < self.agents, "there is no agent {}", switched.to);
        ensure!(switched.name == format!("agent{}", switched.to), "{} is another", switched.name);
        if self.agent == 0 && self.first_back.is_none_or(|back| back <= at) {
            self.first_back = Some(at.plus(pace.outage_backoff.max));
        }
        self.agent = switched.to;
        (self.limits, self.outages, self.long) = (0, 0, 0);
        self.forget();
        Ok(())
    }

    pub fn agrees(&self, state: &RunState) -> Check {
        let p = &state.patience;
        let theirs = (p.agent, p.limits, p.outages, p.long_waits, p.first_back_at, p.context_too_long);
        let mine = (self.agent, self.limits, self.outages, self.long, self.first_back, self.too_long);
        ensure!(theirs == mine, "patience {theirs:?} instead of {mine:?}");
        ensure!((p.limited_until, p.outage) == (self.limit, self.outage), "another wait is due: {p:?}");
        Ok(())
    }
}
