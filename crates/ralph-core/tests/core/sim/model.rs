//! What a journal must mean, written a second time: every synced record is checked against the rules as the definition
//! states them, and the counters are counted again.

mod agreement;
mod attempts;
mod proving;
mod stopping;
mod waiting;
mod wearing;

use std::time::Duration;

use ralph_core::event::{
    AgentExited, DelayReason, Event, IterationFinished, KillCause, LimitHit, RunStarted, RunStopped,
    UsageUpdated,
};
use ralph_core::plan::{EventLoop, EventLoopChange, Pace};
use ralph_core::stop::Interrupt;
use ralph_core::time::Timestamp;
use ralph_core::usage::Usage;

use super::hats::Hats;
use super::idle::Idle;
use super::patience::{Cure, Patience, backoff, close};
use super::proof::{Due, Proof};
use super::stuck::Stuck;

pub type Check = Result<(), String>;

macro_rules! ensure {
    ($cond:expr, $($arg:tt)+) => {
        if !$cond {
            return Err(format!($($arg)+));
        }
    };
}
pub(super) use ensure;

pub struct Model {
    pub limits: EventLoop,
    pace: Pace,
    once: bool,
    pub finished: u32,
    attempts: u32,
    /// Attempts of the next iteration that ended in a crash.
    crashes: u32,
    streak: u32,
    failures: u32,
    runtime: Duration,
    cost: Option<f64>,
    usage: Usage,
    pub patience: Patience,
    idle: Idle,
    pub proof: Proof,
    pub hats: Option<Hats>,
    stuck: Stuck,
    /// How many records there are.
    records: u64,
    pub running: Option<Attempt>,
    waiting: Option<(DelayReason, Timestamp)>,
    paused: bool,
    pause_requested: bool,
    stop_request: Option<Interrupt>,
    /// One of the requests was to end at once.
    stop_now: bool,
    /// Finished, and nothing decided about it yet.
    last: Option<IterationFinished>,
    /// The only reason for which the run may stop now.
    must_stop: Option<String>,
    pub stopped: Option<RunStopped>,
    /// Guidance that no finished iteration has carried.
    pub guidance: Vec<String>,
    pub guidance_added: usize,
    session: Timestamp,
    wall_before: Duration,
    last_at: Timestamp,
    previous: &'static str,
    /// What has to come next, unless ralph is killed first.
    must_follow: Option<&'static str>,
}

pub struct Attempt {
    pub iteration: u32,
    pub attempt: u32,
    started: Timestamp,
    last_seen: Timestamp,
    carried: usize,
    killed: Option<KillCause>,
    /// Whether it had said its last word.
    silent: Option<bool>,
    stranded: bool,
    killed_at_once: bool,
    cost: Option<f64>,
    usage: Usage,
    exited: Option<AgentExited>,
}

impl Model {
    pub fn new(at: Timestamp, started: &RunStarted) -> Self {
        Self {
            limits: started.plan.event_loop.clone(),
            pace: started.plan.pace.clone(),
            once: started.plan.once,
            finished: 0,
            attempts: 0,
            crashes: 0,
            streak: 0,
            failures: 0,
            runtime: Duration::ZERO,
            cost: None,
            usage: Usage::default(),
            patience: Patience::new(1 + started.plan.fallback.len()),
            idle: Idle::new(&started.plan),
            proof: Proof::new(&started.plan),
            hats: started.plan.hats.as_deref().map(|hats| Hats::new(hats, "t")),
            stuck: Stuck::new(&started.plan.stuck),
            records: 1,
            running: None,
            waiting: None,
            paused: false,
            pause_requested: false,
            stop_request: None,
            stop_now: false,
            last: None,
            must_stop: None,
            stopped: None,
            guidance: Vec::new(),
            guidance_added: 0,
            session: at,
            wall_before: Duration::ZERO,
            last_at: at,
            previous: "run.started",
            must_follow: None,
        }
    }

    pub fn apply(&mut self, at: Timestamp, event: &Event) -> Check {
        self.records += 1;
        ensure!(at >= self.last_at, "time goes backwards");
        ensure!(
            self.stopped.is_none() || matches!(event, Event::RunResumed(_)) || is_word(event),
            "something happens after the stop"
        );
        self.nothing_overtakes_topics(event)?;
        if let (Some(wanted), false) = (self.must_follow.take(), matches!(event, Event::RunResumed(_))) {
            ensure!(event.name() == wanted, "{} is not followed by {wanted}", self.previous);
        }
        match event.is_decision() {
            false => self.apply_input(at, event)?,
            true => self.apply_decision(at, event)?,
        }
        if let (Some(running), false) = (&mut self.running, matches!(event, Event::RunResumed(_))) {
            running.last_seen = at;
        }
        self.proof.seen(at);
        if !(self.stopped.is_some() && is_word(event)) {
            self.last_at = at;
        }
        self.previous = event.name();
        Ok(())
    }

    fn apply_input(&mut self, at: Timestamp, event: &Event) -> Check {
        match event {
            Event::RunResumed(resumed) => self.resumed(at, &resumed.settings.event_loop),
            Event::StopRequested(request) => self.stop_requested(request),
            Event::IterationEndRequested {} => self.must_follow = Some("agent.killed"),
            Event::PauseRequested {} => self.pause_requested = true,
            Event::UnpauseRequested { now } => self.unpause_requested(*now),
            Event::GuidanceAdded(guidance) => {
                self.guidance.push(guidance.text.clone());
                self.guidance_added += 1;
                if self.stopped.is_none() {
                    self.stuck.start_over();
                }
                self.is_not_kept_waiting();
            }
            Event::HatReset(_) | Event::TopicEmitted(_) => self.hat_input(event)?,
            Event::AgentSpawned(e) => drop(self.attempt(e.iteration.0, e.attempt)?),
            Event::AgentText(e) => drop(self.attempt(e.iteration.0, e.attempt)?),
            Event::ToolCalled(e) => {
                self.attempt(e.iteration.0, e.attempt)?;
                self.proof.input(event, None)?;
            }
            Event::ToolFinished(e) => {
                self.attempt(e.iteration.0, e.attempt)?;
                self.proof.input(event, None)?;
            }
            Event::GateStarted(_) | Event::GateFinished(_) => drop(self.proof.input(event, None)?),
            Event::GatesFinished(ran) => self.gates_finished(event, ran)?,
            Event::AgentRetrying(e) => drop(self.attempt(e.iteration.0, e.attempt)?),
            Event::UsageUpdated(e) => self.told_usage(at, e)?,
            Event::AgentSilent(e) => self.attempt(e.iteration.0, e.attempt)?.silent = Some(e.ended),
            Event::AgentStranded(e) => self.attempt(e.iteration.0, e.attempt)?.stranded = true,
            Event::AgentExited(e) => {
                self.attempt(e.iteration.0, e.attempt)?.exited = Some((**e).clone());
                self.hats.as_mut().map_or(Ok(()), |hats| hats.exited(e))?;
            }
            Event::TimerFired(timer) => self.timer_fired(timer),
            Event::JournalFailed(_) => {
                self.runtime += self.proof.ended(at);
                self.must_stop = Some("journal_error".into());
            }
            Event::WaitSkipped {} | Event::WakeTriggered(_) => {
                if let Event::WakeTriggered(woken) = event {
                    self.idle.woken(woken)?;
                }
                ensure!(self.waiting.is_some(), "the end of no wait is asked for");
                self.must_follow = Some("delay.ended");
            }
            other => return Err(format!("{} is no input that may come here", other.name())),
        }
        Ok(())
    }

    fn apply_decision(&mut self, at: Timestamp, event: &Event) -> Check {
        match event {
            Event::IterationStarted(started) => self.started(at, started)?,
            Event::GuidanceDelivered { iteration, count } => {
                let here = self.running.as_ref().is_some_and(|r| r.iteration == iteration.0);
                ensure!(here && *count as usize == self.guidance.len(), "delivery of what is not carried");
            }
            Event::AgentKilled(kill) => self.killed(at, kill)?,
            Event::CompletionClaimed { .. } => {
                let exited = self.running.as_ref().and_then(|r| r.exited.as_ref());
                let promised = self.hats.as_ref().is_some_and(Hats::has_promised);
                ensure!(promised || exited.is_some_and(|e| e.claims_complete), "a claim that was not made");
            }
            Event::TopicPublished(_)
            | Event::TopicRejected(_)
            | Event::HatActivated(_)
            | Event::HatExhausted(_) => self.hat_decision(at, event)?,
            Event::GatesStarted(_)
            | Event::GatesKilled(_)
            | Event::CompletionDeferred(_)
            | Event::CompletionInferred(_)
            | Event::CompletionAccepted(_)
            | Event::CompletionRejected(_) => self.proving(at, event)?,
            Event::LimitHit(hit) => self.limit_hit(at, hit)?,
            Event::AgentSwitched(switched) => {
                self.may_go_on(at)?;
                self.hats_go_on()?;
                ensure!(self.wait_due(at).is_none(), "switched without the wait that was due");
                self.patience.switched(at, switched, &self.pace)?;
            }
            Event::IterationIdle(idle) => {
                let exited = self.running.as_ref().and_then(|running| running.exited.as_ref());
                self.idle.announced(idle, exited)?;
                self.must_follow = Some("iteration.finished");
            }
            Event::IterationFinished(finished) => self.iteration_finished(at, finished)?,
            Event::IterationInterrupted(interrupted) => self.interrupted(at, interrupted)?,
            Event::DelayStarted(delay) => self.delay_started(at, delay)?,
            Event::DelayEnded { early } => self.delay_ended(at, *early)?,
            Event::RunPaused {} => {
                self.may_go_on(at)?;
                ensure!(self.pause_requested, "paused though nobody asked");
                (self.last, self.paused, self.patience.outage) = (None, true, false);
            }
            Event::LoopSuspected(e) => self.stuck.suspected(e, self.last.as_ref())?,
            Event::LoopDetected(e) => {
                self.stuck.detected(e)?;
                self.pause_requested |= self.stuck.asking;
            }
            Event::RunUnpaused {} => {
                ensure!(self.paused, "unpaused but not paused");
                (self.paused, self.pause_requested, self.stuck.asking) = (false, false, false);
            }
            Event::RunStopped(stopped) => self.run_stopped(at, stopped)?,
            other => return Err(format!("{} is no decision", other.name())),
        }
        Ok(())
    }

    fn unpause_requested(&mut self, now: bool) {
        self.pause_requested = false;
        if now {
            self.patience.limit = None;
            self.must_follow = match (self.waiting.is_some(), self.paused) {
                (true, _) => Some("delay.ended"),
                (_, true) => Some("run.unpaused"),
                _ => None,
            };
        }
    }

    fn told_usage(&mut self, at: Timestamp, e: &UsageUpdated) -> Check {
        let attempt = self.attempt(e.iteration.0, e.attempt)?;
        let grown = e.usage.total() > attempt.usage.total() || e.cost_usd > attempt.cost;
        attempt.cost = e.cost_usd.or(attempt.cost);
        attempt.usage = e.usage;
        let told = matches!(attempt.killed, Some(KillCause::Guard(_))) && !attempt.killed_at_once;
        let alive = attempt.killed.is_none() || (told && grown);
        let spent = self.spent(at);
        if alive && (spent.contains(&"max_cost") || spent.contains(&"max_tokens")) {
            self.must_follow = Some("agent.killed");
        }
        Ok(())
    }

    fn limit_hit(&mut self, at: Timestamp, hit: &LimitHit) -> Check {
        let running = self.running.as_ref().ok_or("a limit of nobody")?;
        let exited = running.exited.as_ref().ok_or("a limit before the agent was gone")?;
        ensure!(hit.iteration.0 == running.iteration, "a limit of another iteration");
        let message = exited.failure.as_ref().map(|failure| &failure.message);
        ensure!(message == Some(&hit.message), "the message changed");
        let cure = self.cure(at, running, exited);
        self.patience.limit_hit(hit, &cure)?;
        self.must_follow = Some("iteration.interrupted");
        Ok(())
    }

    fn cure(&self, at: Timestamp, running: &Attempt, exited: &AgentExited) -> Cure {
        self.patience.cure(at, exited, running.killed.as_ref(), (&self.limits, &self.pace))
    }

    fn resumed(&mut self, at: Timestamp, change: &EventLoopChange) {
        self.wall_before += self.last_at.since(self.session);
        self.session = at;
        change.apply(&mut self.limits);
        (self.stop_request, self.must_stop, self.pause_requested) = (None, None, false);
        self.stuck.asking = false;
        self.stop_now = false;
        self.runtime += self.proof.resumed();
        if self.stopped.take().is_some() {
            // A person wants it to go on. Only what was claimed and never settled is still to be looked at.
            self.last = self.last.take().filter(|last| self.proof.is_open(last));
            self.patience.forget();
            self.idle.forget();
            self.stuck.start_over();
            self.hats.iter_mut().for_each(Hats::resumed_after_stop);
        }
        if self.paused {
            (self.last, self.paused) = (None, false);
        }
        if self.waiting.is_some_and(|(reason, _)| self.patience.ends_at_once(reason, &self.pace)) {
            self.must_follow = Some("delay.ended");
        }
    }

    fn spend(&mut self, duration: Duration, cost: Option<f64>, usage: &Usage) {
        self.runtime += duration;
        self.usage.add(usage);
        if let Some(cost) = cost {
            self.cost = Some(self.cost.unwrap_or(0.0) + cost);
        }
    }

    /// How long the running attempt may still work.
    pub fn time_left(&self) -> Option<Duration> {
        Some(self.work_left().map_or(self.iteration_timeout(), |left| left.min(self.iteration_timeout())))
    }

    /// How long the gates may still work.
    pub fn work_left(&self) -> Option<Duration> {
        self.limits.max_runtime.map(|max| max.saturating_sub(self.runtime))
    }
}

impl Attempt {
    /// Its final account, or what it had told before.
    fn used(&self, exited: &AgentExited) -> Usage {
        if exited.usage.is_zero() { self.usage } else { exited.usage }
    }
}

/// What a person says also to a run that has stopped.
fn is_word(event: &Event) -> bool {
    matches!(event, Event::GuidanceAdded(_) | Event::HatReset(_))
}

/// What counts against the limit. Reasoning is part of the output.
fn tokens(usage: &Usage) -> u64 {
    usage.input + usage.cache_read + usage.cache_write + usage.output
}
