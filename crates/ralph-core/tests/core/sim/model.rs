//! What a journal must mean, written a second time: every synced record is checked against the rules as the definition
//! states them, and the counters are counted again.

mod proving;
mod stopping;
mod waiting;
mod wearing;

use std::time::Duration;

use ralph_core::event::{
    AgentExited, AgentKilled, DelayReason, Event, InterruptCause, IterationFinished, IterationInterrupted,
    IterationStarted, KillCause, LimitHit, Outcome, RunStarted, RunStopped, UsageUpdated,
};
use ralph_core::plan::{EventLoop, EventLoopChange, Pace};
use ralph_core::state::{Phase, RunState};
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
            idle: Idle::new(&started.plan.idle),
            proof: Proof::new(&started.plan.proof),
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
        attempt.cost = e.cost_usd.or(attempt.cost);
        attempt.usage = e.usage;
        let alive = attempt.killed.is_none();
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

    fn attempt(&mut self, iteration: u32, attempt: u32) -> Result<&mut Attempt, String> {
        let found = self.running.as_mut().filter(|r| r.iteration == iteration && r.attempt == attempt);
        found.ok_or_else(|| {
            format!("a report about {iteration}.{attempt}, which is not running, was recorded")
        })
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

    fn started(&mut self, at: Timestamp, started: &IterationStarted) -> Check {
        let IterationStarted { iteration, attempt, agent, .. } = *started;
        ensure!(iteration.0 > self.finished, "iteration {iteration} is run again though it is finished");
        ensure!(iteration.0 == self.finished + 1, "iteration {iteration} after {} finished", self.finished);
        ensure!(attempt == self.attempts + 1, "attempt {attempt} after {}", self.attempts);
        ensure!(self.running.is_none(), "two iterations at once");
        ensure!(self.proof.checking.is_none(), "an agent starts while gates are at work");
        ensure!(self.waiting.is_none() && !self.paused, "started while waiting or paused");
        ensure!(self.crashes < self.limits.max_attempts, "started again after {} crashes", self.crashes);
        ensure!(self.wait_due(at).is_none(), "started without the wait that was due");
        ensure!(agent == self.patience.agent, "agent {agent} instead of {}", self.patience.agent);
        let due = self.patience.switch_due(at, &self.pace);
        ensure!(self.previous == "agent.switched" || due.is_none(), "agent {due:?} had to take over");
        ensure!(!self.pause_requested, "started though a pause was asked for");
        self.may_go_on(at)?;
        self.hat_is_put_on(started.hat.as_deref())?;
        self.attempts = attempt;
        self.last = None;
        self.proof.attempt_started();
        self.patience.forget();
        self.idle.unanswered = false;
        self.running = Some(Attempt {
            iteration: iteration.0,
            attempt,
            started: at,
            last_seen: at,
            carried: self.guidance.len(),
            killed: None,
            silent: None,
            cost: None,
            usage: Usage::default(),
            exited: None,
        });
        Ok(())
    }

    fn killed(&mut self, at: Timestamp, kill: &AgentKilled) -> Check {
        let running = self.running.as_ref().ok_or("a kill without an agent")?;
        let worked = at.since(running.started);
        let justified = match &kill.why {
            KillCause::Timeout => worked >= self.iteration_timeout(),
            KillCause::Silence => running.silent == Some(false),
            KillCause::Hung => running.silent == Some(true),
            KillCause::Guard(key) => self.spent(at).contains(&key.as_str()),
            KillCause::Stop => self.stop_request.is_some() && running.killed.is_none(),
            KillCause::Escalated => self.stop_request.is_some() && running.killed.is_some(),
        };
        ensure!(justified, "killed without cause: {:?}", kill.why);
        if let Some(running) = &mut self.running {
            running.killed.get_or_insert(kill.why.clone());
        }
        Ok(())
    }

    fn iteration_finished(&mut self, at: Timestamp, f: &IterationFinished) -> Check {
        ensure!(f.iteration.0 > self.finished, "iteration {} is finished twice", f.iteration);
        ensure!(f.iteration.0 == self.finished + 1, "iteration {} is skipped", self.finished + 1);
        ensure!(f.attempt == self.attempts, "attempt {} finished, not {}", self.attempts, f.attempt);
        let running = self.running.take();
        let exited = running.as_ref().and_then(|running| running.exited.clone());
        self.idle.finished(f, exited.as_ref(), self.previous)?;
        self.stuck.finished(f, exited.as_ref())?;
        match running {
            None => {
                ensure!(self.crashes >= self.limits.max_attempts, "finished without an agent");
                ensure!(f.outcome == Outcome::Failed, "given up is a failure");
            }
            Some(running) => {
                let exited = running.exited.as_ref().ok_or("finished before the agent was gone")?;
                let cure = self.cure(at, &running, exited);
                ensure!(cure == Cure::Finish(f.outcome), "{:?} for {:?}: {cure:?}", f.outcome, exited.exit);
                let ok = f.outcome == Outcome::Ok;
                let class = exited.failure.as_ref().filter(|_| !ok).map(|failure| failure.class);
                ensure!(f.class == class, "the class changed");
                let promised = self.hats.as_ref().is_some_and(Hats::has_promised);
                let complete = ok && (exited.claims_complete || promised) && exited.blocked.is_none();
                ensure!(f.claims_complete == complete, "a wrong claim is believed, or a right one is not");
                ensure!(f.blocked == exited.blocked.clone().filter(|_| ok), "blocked is not as said");
                ensure!(f.duration == exited.duration, "the duration changed");
                ensure!(f.cost_usd == exited.cost_usd.or(running.cost), "the cost changed");
                ensure!(f.usage == running.used(exited), "the usage changed");
                self.guidance.drain(..running.carried);
            }
        }
        self.finished += 1;
        (self.attempts, self.crashes) = (0, 0);
        self.streak = if f.outcome.is_failure() { self.streak + 1 } else { 0 };
        self.failures += u32::from(f.outcome.is_failure());
        self.spend(f.duration, f.cost_usd, &f.usage);
        self.patience.finished(f.class);
        self.proof.iteration_finished();
        self.hats.as_mut().map_or(Ok(()), |hats| hats.finished(f))?;
        self.last = Some(f.clone());
        Ok(())
    }

    fn interrupted(&mut self, at: Timestamp, i: &IterationInterrupted) -> Check {
        let running = self.running.take().ok_or("an interruption of nothing")?;
        ensure!(
            (i.iteration.0, i.attempt) == (running.iteration, running.attempt),
            "another was interrupted"
        );
        if self.previous == "run.resumed" {
            self.found_cut_short(&running, i)?;
        } else {
            match &running.exited {
                Some(exited) => self.cut_short(at, &running, exited, i)?,
                None => {
                    let by_journal = i.why == InterruptCause::Stop && self.must_stop.is_some();
                    ensure!(by_journal, "interrupted by {:?} before the agent was gone", i.why);
                }
            }
        }
        self.spend(i.duration, i.cost_usd, &i.usage);
        self.hats.iter_mut().for_each(Hats::interrupted);
        self.patience.interrupted(i);
        Ok(())
    }

    /// ralph died before it could say what the end of the attempt meant, if it had ended at all.
    fn found_cut_short(&mut self, running: &Attempt, i: &IterationInterrupted) -> Check {
        // A limit that is on disk is no crash of this iteration.
        let why = if self.patience.limit.is_some() { InterruptCause::Limit } else { InterruptCause::Crash };
        ensure!(i.why == why, "found cut short by {:?} instead of {why:?}", i.why);
        self.crashes += u32::from(why == InterruptCause::Crash);
        let worked = running.last_seen.since(running.started);
        ensure!(i.duration == worked, "a crash after {worked:?} counts as {:?}", i.duration);
        ensure!(i.cost_usd == running.cost, "the cost of a crashed attempt changed");
        ensure!(i.usage == running.usage, "the usage of a crashed attempt changed");
        Ok(())
    }

    fn cut_short(
        &mut self,
        at: Timestamp,
        running: &Attempt,
        exited: &AgentExited,
        i: &IterationInterrupted,
    ) -> Check {
        // The hit itself has moved the counters that the cure stands on.
        let right = if self.previous == "limit.hit" {
            i.why == InterruptCause::Limit
        } else {
            match self.cure(at, running, exited) {
                Cure::Stop(why, reason) => {
                    self.must_stop = reason;
                    why == i.why
                }
                Cure::Outage => i.why == InterruptCause::Outage,
                Cure::Finish(_) | Cure::Limit { .. } => false,
            }
        };
        ensure!(right, "interrupted by {:?}, but {:?}, {:?}", i.why, running.killed, exited.failure);
        ensure!(i.duration == exited.duration, "the duration changed");
        ensure!(i.cost_usd == exited.cost_usd.or(running.cost), "the cost changed");
        ensure!(i.usage == running.used(exited), "the usage changed");
        Ok(())
    }

    fn wait_due(&self, at: Timestamp) -> Option<(DelayReason, Duration)> {
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

    /// Whether a state that was folded from the same records says the same.
    pub fn agrees(&self, state: &RunState) -> Check {
        let mine = (self.finished, self.attempts, self.streak, self.failures, self.crashes);
        let s = state;
        let theirs = (s.iterations_finished, s.attempts, s.consecutive_failures, s.total_failures, s.crashes);
        ensure!(mine == theirs, "counters {theirs:?} instead of {mine:?}");
        ensure!(s.runtime == self.runtime, "runtime {:?} instead of {:?}", s.runtime, self.runtime);
        ensure!(s.usage == self.usage, "usage {:?} instead of {:?}", s.usage, self.usage);
        self.patience.agrees(s)?;
        self.idle.agrees(s)?;
        self.proof.agrees(s)?;
        self.stuck.agrees(s)?;
        self.hats.as_ref().map_or(Ok(()), |hats| hats.agrees(s))?;
        ensure!(s.cost_usd == self.cost, "cost {:?} instead of {:?}", s.cost_usd, self.cost);
        ensure!(s.guidance == self.guidance, "guidance {:?} instead of {:?}", s.guidance, self.guidance);
        ensure!(
            s.wall_time(self.last_at) == self.wall_before + self.last_at.since(self.session),
            "wall time"
        );
        let phase = match &s.phase {
            Phase::Running(r) => self.running.as_ref().is_some_and(|mine| mine.attempt == r.attempt),
            Phase::Checking(c) => {
                let mine = self.proof.checking.as_ref();
                mine.is_some_and(|mine| (mine.iteration, mine.round) == (c.iteration.0, c.round))
            }
            Phase::Waiting(w) => self.waiting == Some((w.reason, w.until)),
            Phase::Paused => self.paused,
            Phase::Stopped => self.stopped.is_some(),
            Phase::Ready => {
                self.running.is_none()
                    && self.proof.checking.is_none()
                    && self.waiting.is_none()
                    && !self.paused
            }
        };
        ensure!(phase, "phase {:?}", s.phase);
        Ok(())
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
