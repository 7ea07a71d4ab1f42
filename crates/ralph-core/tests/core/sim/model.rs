//! What a journal must mean, written a second time: every synced record is checked against the rules as the definition
//! states them, and the counters are counted again.

use std::time::Duration;

use ralph_core::event::{
    AgentExited, AgentKilled, DelayReason, DelayStarted, Event, Exit, InterruptCause, IterationFinished,
    IterationInterrupted, IterationStarted, KillCause, Outcome, RunStarted, RunStopped, TimerSlot,
};
use ralph_core::plan::{Limits, Pace};
use ralph_core::state::{Phase, RunState};
use ralph_core::stop::{Interrupt, StopKind};
use ralph_core::time::Timestamp;

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
    pub limits: Limits,
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
    pub running: Option<Attempt>,
    pub waiting: Option<Timestamp>,
    paused: bool,
    pause_requested: bool,
    stop_request: Option<Interrupt>,
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
}

pub struct Attempt {
    pub iteration: u32,
    pub attempt: u32,
    started: Timestamp,
    last_seen: Timestamp,
    carried: usize,
    killed: Option<KillCause>,
    silent: bool,
    cost: Option<f64>,
    exited: Option<AgentExited>,
}

impl Model {
    pub fn new(at: Timestamp, started: &RunStarted) -> Self {
        Self {
            limits: started.plan.limits.clone(),
            pace: started.plan.pace.clone(),
            once: started.plan.once,
            finished: 0,
            attempts: 0,
            crashes: 0,
            streak: 0,
            failures: 0,
            runtime: Duration::ZERO,
            cost: None,
            running: None,
            waiting: None,
            paused: false,
            pause_requested: false,
            stop_request: None,
            last: None,
            must_stop: None,
            stopped: None,
            guidance: Vec::new(),
            guidance_added: 0,
            session: at,
            wall_before: Duration::ZERO,
            last_at: at,
            previous: "run.started",
        }
    }

    pub fn apply(&mut self, at: Timestamp, event: &Event) -> Check {
        ensure!(at >= self.last_at, "time goes backwards");
        ensure!(
            self.stopped.is_none() || matches!(event, Event::RunResumed(_) | Event::GuidanceAdded(_)),
            "something happens after the stop"
        );
        match event {
            Event::RunStarted(_) => return Err("a second start".into()),
            Event::RunResumed(resumed) => self.resumed(at, &resumed.limits),
            Event::StopRequested(request) => self.stop_request = Some(request.by),
            Event::PauseRequested {} => self.pause_requested = true,
            Event::UnpauseRequested {} => self.pause_requested = false,
            Event::GuidanceAdded(guidance) => {
                self.guidance.push(guidance.text.clone());
                self.guidance_added += 1;
            }
            Event::AgentSpawned(e) => drop(self.attempt(e.iteration.0, e.attempt)?),
            Event::AgentText(e) => drop(self.attempt(e.iteration.0, e.attempt)?),
            Event::UsageUpdated(e) => {
                let attempt = self.attempt(e.iteration.0, e.attempt)?;
                attempt.cost = e.cost_usd.or(attempt.cost);
            }
            Event::AgentSilent(e) => self.attempt(e.iteration.0, e.attempt)?.silent = true,
            Event::AgentExited(e) => {
                self.attempt(e.iteration.0, e.attempt)?.exited = Some((**e).clone());
            }
            Event::TimerFired(timer) => {
                if let (TimerSlot::Guard(key), None) = (&timer.slot, &self.running) {
                    self.must_stop = Some(key.clone());
                }
            }
            Event::JournalFailed { .. } => self.must_stop = Some("journal_error".into()),
            Event::IterationStarted(started) => self.started(at, started)?,
            Event::GuidanceDelivered { iteration, count } => {
                let here = self.running.as_ref().is_some_and(|r| r.iteration == iteration.0);
                ensure!(here && *count as usize == self.guidance.len(), "delivery of what is not carried");
            }
            Event::AgentKilled(kill) => self.killed(at, kill)?,
            Event::CompletionClaimed { .. } => {
                let exited = self.running.as_ref().and_then(|r| r.exited.as_ref());
                ensure!(exited.is_some_and(|e| e.claims_complete), "a claim that was not made");
            }
            Event::IterationFinished(finished) => self.iteration_finished(finished)?,
            Event::IterationInterrupted(interrupted) => self.interrupted(interrupted)?,
            Event::DelayStarted(delay) => self.delay_started(at, delay)?,
            Event::DelayEnded { early } => self.delay_ended(at, *early)?,
            Event::RunPaused {} => {
                self.may_go_on(at)?;
                ensure!(self.pause_requested, "paused though nobody asked");
                (self.last, self.paused) = (None, true);
            }
            Event::RunUnpaused {} => {
                ensure!(self.paused, "unpaused but not paused");
                self.paused = false;
            }
            Event::RunStopped(stopped) => self.run_stopped(at, stopped)?,
        }
        if let (Some(running), false) = (&mut self.running, matches!(event, Event::RunResumed(_))) {
            running.last_seen = at;
        }
        if !(self.stopped.is_some() && matches!(event, Event::GuidanceAdded(_))) {
            self.last_at = at;
        }
        self.previous = event.name();
        Ok(())
    }

    fn attempt(&mut self, iteration: u32, attempt: u32) -> Result<&mut Attempt, String> {
        let found = self.running.as_mut().filter(|r| r.iteration == iteration && r.attempt == attempt);
        found.ok_or_else(|| {
            format!("a report about {iteration}.{attempt}, which is not running, was recorded")
        })
    }

    fn resumed(&mut self, at: Timestamp, limits: &Limits) {
        self.wall_before += self.last_at.since(self.session);
        self.session = at;
        self.limits = limits.clone();
        (self.stop_request, self.must_stop, self.pause_requested) = (None, None, false);
        if self.stopped.take().is_some() || self.paused {
            // A person wants it to go on.
            (self.last, self.paused) = (None, false);
        }
    }

    fn started(&mut self, at: Timestamp, started: &IterationStarted) -> Check {
        let IterationStarted { iteration, attempt } = *started;
        ensure!(iteration.0 > self.finished, "iteration {iteration} is run again though it is finished");
        ensure!(iteration.0 == self.finished + 1, "iteration {iteration} after {} finished", self.finished);
        ensure!(attempt == self.attempts + 1, "attempt {attempt} after {}", self.attempts);
        ensure!(self.running.is_none(), "two iterations at once");
        ensure!(self.waiting.is_none() && !self.paused, "started while waiting or paused");
        ensure!(self.crashes < self.limits.max_attempts, "started again after {} crashes", self.crashes);
        ensure!(self.wait_due().is_none(), "started without the wait that was due");
        ensure!(!self.pause_requested, "started though a pause was asked for");
        self.may_go_on(at)?;
        self.attempts = attempt;
        self.last = None;
        self.running = Some(Attempt {
            iteration: iteration.0,
            attempt,
            started: at,
            last_seen: at,
            carried: self.guidance.len(),
            killed: None,
            silent: false,
            cost: None,
            exited: None,
        });
        Ok(())
    }

    fn killed(&mut self, at: Timestamp, kill: &AgentKilled) -> Check {
        let running = self.running.as_ref().ok_or("a kill without an agent")?;
        let worked = at.since(running.started);
        let justified = match &kill.why {
            KillCause::Timeout => self.limits.iteration_timeout.is_some_and(|limit| worked >= limit),
            KillCause::Silence => running.silent,
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

    fn iteration_finished(&mut self, f: &IterationFinished) -> Check {
        ensure!(f.iteration.0 > self.finished, "iteration {} is finished twice", f.iteration);
        ensure!(f.iteration.0 == self.finished + 1, "iteration {} is skipped", self.finished + 1);
        ensure!(f.attempt == self.attempts, "attempt {} finished, not {}", self.attempts, f.attempt);
        match self.running.take() {
            None => {
                ensure!(self.crashes >= self.limits.max_attempts, "finished without an agent");
                ensure!(f.outcome == Outcome::Failed, "given up is a failure");
            }
            Some(running) => {
                let exited = running.exited.as_ref().ok_or("finished before the agent was gone")?;
                let ok = running.killed.is_none() && exited.exit == Exit::Code(0);
                ensure!(ok != f.outcome.is_failure(), "{:?} for {:?}", f.outcome, exited.exit);
                let complete = ok && exited.claims_complete && exited.blocked.is_none();
                ensure!(f.claims_complete == complete, "a wrong claim is believed, or a right one is not");
                ensure!(f.blocked == exited.blocked.clone().filter(|_| ok), "blocked is not as said");
                ensure!(f.duration == exited.duration, "the duration changed");
                ensure!(f.cost_usd == exited.cost_usd.or(running.cost), "the cost changed");
                self.guidance.drain(..running.carried);
            }
        }
        self.finished += 1;
        (self.attempts, self.crashes) = (0, 0);
        self.streak = if f.outcome.is_failure() { self.streak + 1 } else { 0 };
        self.failures += u32::from(f.outcome.is_failure());
        self.spend(f.duration, f.cost_usd);
        self.last = Some(f.clone());
        Ok(())
    }

    fn interrupted(&mut self, i: &IterationInterrupted) -> Check {
        let running = self.running.take().ok_or("an interruption of nothing")?;
        ensure!(
            (i.iteration.0, i.attempt) == (running.iteration, running.attempt),
            "another was interrupted"
        );
        match (&running.exited, &i.why) {
            (Some(exited), why) => {
                let not_started = matches!(exited.exit, Exit::Missing { .. } | Exit::NotStarted { .. });
                match (why, &running.killed) {
                    (InterruptCause::NotStarted, _) if not_started => {
                        let missing = matches!(exited.exit, Exit::Missing { .. });
                        self.must_stop = Some(if missing { "agent_missing" } else { "error" }.into());
                    }
                    (InterruptCause::Guard(key), Some(KillCause::Guard(by))) if key == by => {
                        self.must_stop = Some(key.clone());
                    }
                    (InterruptCause::Stop, Some(KillCause::Stop)) => {}
                    // The exit is recorded, but ralph died before it could say what it meant.
                    (InterruptCause::Crash, _) if self.previous == "run.resumed" => self.crashes += 1,
                    _ => return Err(format!("interrupted by {why:?}, but {:?}", running.killed)),
                }
                ensure!(
                    i.duration == exited.duration || i.why == InterruptCause::Crash,
                    "the duration changed"
                );
            }
            (None, InterruptCause::Crash) => {
                ensure!(self.previous == "run.resumed", "a crash without a resume");
                self.crashes += 1;
            }
            (None, InterruptCause::Stop) => ensure!(self.must_stop.is_some(), "stopped without cause"),
            (None, why) => return Err(format!("interrupted by {why:?} before the agent was gone")),
        }
        if i.why == InterruptCause::Crash {
            let worked = running.last_seen.since(running.started);
            ensure!(i.duration == worked, "a crash after {worked:?} counts as {:?}", i.duration);
            ensure!(i.cost_usd == running.cost, "the cost of a crashed attempt changed");
        }
        self.spend(i.duration, i.cost_usd);
        Ok(())
    }

    fn delay_started(&mut self, at: Timestamp, delay: &DelayStarted) -> Check {
        self.may_go_on(at)?;
        let (reason, wait) = self.wait_due().ok_or("a wait that nothing asks for")?;
        // To the millisecond: the two ways to compute a power round differently.
        let close = delay.wait.abs_diff(wait) <= Duration::from_millis(1);
        ensure!(delay.reason == reason && close, "waits {delay:?} instead of {wait:?}");
        ensure!(delay.until == at.plus(delay.wait), "a wait to another time");
        self.last = None;
        self.waiting = Some(delay.until);
        Ok(())
    }

    fn delay_ended(&mut self, at: Timestamp, early: bool) -> Check {
        let until = self.waiting.take().ok_or("the end of no wait")?;
        if early {
            let asked = ["guidance.added", "stop.requested", "pause.requested"].contains(&self.previous);
            ensure!(asked, "a wait ended early though nobody asked");
        } else {
            ensure!(at >= until, "a wait ended before its time");
        }
        Ok(())
    }

    fn wait_due(&self) -> Option<(DelayReason, Duration)> {
        let last = self.last.as_ref()?;
        let delay = self.pace.delay;
        let mut backoff = Duration::ZERO;
        if last.outcome.is_failure() {
            let b = &self.pace.failure_backoff;
            let mut millis = b.initial.as_millis() as f64;
            for _ in 1..self.streak {
                millis *= b.factor;
            }
            backoff = Duration::from_millis(millis.min(b.max.as_millis() as f64).round() as u64);
        }
        match (backoff > delay, delay.is_zero()) {
            (true, _) => Some((DelayReason::Failure, backoff)),
            (false, false) => Some((DelayReason::Delay, delay)),
            (false, true) => None,
        }
    }

    /// The limits that are used up.
    fn spent(&self, at: Timestamp) -> Vec<&'static str> {
        let l = &self.limits;
        let running = self.running.as_ref();
        let runtime = self.runtime + running.map_or(Duration::ZERO, |r| at.since(r.started));
        let wall = self.wall_before + at.since(self.session);
        let cost = self.cost.unwrap_or(0.0) + running.and_then(|r| r.cost).unwrap_or(0.0);
        let mut spent = Vec::new();
        for (key, is_spent) in [
            ("max_iterations", l.max_iterations.is_some_and(|max| self.finished >= max)),
            ("max_runtime", l.max_runtime.is_some_and(|max| runtime >= max)),
            ("max_wall_time", wall >= l.max_wall_time),
            ("max_cost", l.max_cost_usd.is_some_and(|max| cost >= max)),
        ] {
            if is_spent {
                spent.push(key);
            }
        }
        spent
    }

    /// The reason for which the run has to stop now, if there is one.
    fn reason(&self, at: Timestamp) -> Option<String> {
        if self.must_stop.is_some() {
            return self.must_stop.clone();
        }
        let last = self.last.as_ref();
        let failed = last.is_some_and(|last| last.outcome.is_failure());
        let reasons = [
            ("blocked", last.is_some_and(|last| last.blocked.is_some())),
            ("complete", last.is_some_and(|last| last.claims_complete)),
            ("once", last.is_some() && self.once),
            ("stop_on_error", failed && self.limits.stop_on_error),
            ("consecutive_failures", failed && self.streak >= self.limits.max_consecutive_failures),
            ("interrupted", self.stop_request.is_some()),
        ];
        let first = reasons.iter().find(|(_, holds)| *holds).map(|(key, _)| *key);
        first.or_else(|| self.spent(at).first().copied()).map(str::to_owned)
    }

    fn may_go_on(&self, at: Timestamp) -> Check {
        match self.reason(at) {
            Some(reason) => Err(format!("goes on although it has to stop: {reason}")),
            None => Ok(()),
        }
    }

    fn run_stopped(&mut self, at: Timestamp, s: &RunStopped) -> Check {
        let reason = self.reason(at);
        ensure!(reason.as_ref() == Some(&s.reason), "stops for {} instead of {reason:?}", s.reason);
        ensure!(self.running.is_none(), "stops with an iteration open");
        let failed = self.last.as_ref().is_some_and(|last| last.outcome.is_failure());
        let (kind, code) = match s.reason.as_str() {
            "complete" => (StopKind::Done, 0),
            "once" if !failed => (StopKind::Done, 0),
            "once" | "stop_on_error" | "consecutive_failures" | "error" | "journal_error" => {
                (StopKind::Failed, 1)
            }
            "blocked" | "agent_missing" => (StopKind::Blocked, 4),
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
        self.waiting = None;
        self.stopped = Some(s.clone());
        Ok(())
    }

    fn spend(&mut self, duration: Duration, cost: Option<f64>) {
        self.runtime += duration;
        if let Some(cost) = cost {
            self.cost = Some(self.cost.unwrap_or(0.0) + cost);
        }
    }

    /// How long the running attempt may still work.
    pub fn time_left(&self) -> Option<Duration> {
        let left = self.limits.max_runtime.map(|max| max.saturating_sub(self.runtime));
        [left, self.limits.iteration_timeout].into_iter().flatten().min()
    }

    /// Whether a state that was folded from the same records says the same.
    pub fn agrees(&self, state: &RunState) -> Check {
        let mine = (self.finished, self.attempts, self.streak, self.failures, self.crashes);
        let s = state;
        let theirs = (s.iterations_finished, s.attempts, s.consecutive_failures, s.total_failures, s.crashes);
        ensure!(mine == theirs, "counters {theirs:?} instead of {mine:?}");
        ensure!(s.runtime == self.runtime, "runtime {:?} instead of {:?}", s.runtime, self.runtime);
        ensure!(s.cost_usd == self.cost, "cost {:?} instead of {:?}", s.cost_usd, self.cost);
        ensure!(s.guidance == self.guidance, "guidance {:?} instead of {:?}", s.guidance, self.guidance);
        ensure!(
            s.wall_time(self.last_at) == self.wall_before + self.last_at.since(self.session),
            "wall time"
        );
        let phase = match &s.phase {
            Phase::Running(r) => self.running.as_ref().is_some_and(|mine| mine.attempt == r.attempt),
            Phase::Waiting(w) => self.waiting == Some(w.until),
            Phase::Paused => self.paused,
            Phase::Stopped => self.stopped.is_some(),
            Phase::Ready => self.running.is_none() && self.waiting.is_none() && !self.paused,
        };
        ensure!(phase, "phase {:?}", s.phase);
        Ok(())
    }
}
