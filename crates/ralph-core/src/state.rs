//! What a run is at this moment. It changes only by applying events, so the journal alone rebuilds it.

use std::time::Duration;

use crate::event::{DelayReason, UsageUpdated};
use crate::event::{
    Event, InterruptCause, IterationFinished, IterationInterrupted, KillCause, RunResumed, RunStopped,
    StopRequest,
};
use crate::ids::{IterationNumber, RunId};
use crate::plan::Plan;
use crate::time::Timestamp;
use crate::usage::Usage;

#[derive(Debug, Clone, PartialEq)]
pub struct RunState {
    pub run: RunId,
    /// The plan in force: the one of `run.started` with the limits of the last `run.resumed`.
    pub plan: Plan,
    pub phase: Phase,
    /// How many events made this state; also the epoch of timers.
    pub events: u64,
    pub started_at: Timestamp,
    /// When the run was last seen at work.
    pub last_at: Timestamp,
    /// ralph's own process id, as of the last start or resume.
    pub pid: u32,

    pub iterations_finished: u32,
    pub consecutive_failures: u32,
    pub total_failures: u32,
    /// Attempts of the iteration that comes next, so far.
    pub attempts: u32,
    /// The iteration that was finished last, until something was decided about it.
    pub unjudged: Option<IterationFinished>,
    /// How many of those were cut short by a crash.
    pub crashes: u32,

    /// Time that agents worked.
    pub runtime: Duration,
    pub session: Session,
    pub usage: Usage,
    /// Money known to be spent, without the attempt that is running. `None` until an agent reports any.
    pub cost_usd: Option<f64>,

    /// Guidance that no finished iteration has carried yet.
    pub guidance: Vec<String>,
    pub stop_request: Option<StopRequest>,
    pub pause_requested: bool,
    pub stopped: Option<RunStopped>,
}

/// A session lasts from a start or resume to the next stop or crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Session {
    pub epoch: u64,
    pub started_at: Timestamp,
    /// Wall time of the sessions before this one.
    pub before: Duration,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Phase {
    /// Between iterations, about to decide.
    Ready,
    Running(Running),
    Waiting(Waiting),
    Paused,
    Stopped,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Running {
    pub iteration: IterationNumber,
    pub attempt: u32,
    pub epoch: u64,
    pub started_at: Timestamp,
    /// When it was last known to work. A resume that finds it cut short says nothing about that.
    pub last_seen: Timestamp,
    pub killed: Option<KillCause>,
    /// How many pieces of guidance its prompt carries.
    pub guidance: usize,
    pub usage: Usage,
    pub cost_usd: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    pub epoch: u64,
    pub reason: DelayReason,
    pub until: Timestamp,
}

impl RunState {
    /// The state after the first event of a journal; nothing if that is not `run.started`.
    pub fn first(event: &Event, at: Timestamp) -> Option<RunState> {
        let Event::RunStarted(started) = event else { return None };
        Some(RunState {
            run: started.run.clone(),
            plan: started.plan.clone(),
            phase: Phase::Ready,
            events: 1,
            started_at: at,
            last_at: at,
            pid: started.pid,
            iterations_finished: 0,
            consecutive_failures: 0,
            total_failures: 0,
            attempts: 0,
            unjudged: None,
            crashes: 0,
            runtime: Duration::ZERO,
            session: Session { epoch: 1, started_at: at, before: Duration::ZERO },
            usage: Usage::default(),
            cost_usd: None,
            guidance: Vec::new(),
            stop_request: None,
            pause_requested: false,
            stopped: None,
        })
    }

    pub fn apply(&mut self, event: &Event, at: Timestamp) {
        self.events = self.events.saturating_add(1);
        match event {
            Event::RunResumed(resumed) => self.apply_resumed(resumed, at),
            Event::StopRequested(request) => self.stop_request = Some(request.clone()),
            Event::PauseRequested {} => self.pause_requested = true,
            Event::UnpauseRequested {} => self.pause_requested = false,
            Event::GuidanceAdded(guidance) => self.guidance.push(guidance.text.clone()),
            Event::UsageUpdated(update) => self.apply_usage(update),
            Event::IterationStarted(started) => {
                self.attempts = started.attempt;
                self.unjudged = None;
                self.phase = Phase::Running(Running {
                    iteration: started.iteration,
                    attempt: started.attempt,
                    epoch: self.events,
                    started_at: at,
                    last_seen: at,
                    killed: None,
                    guidance: self.guidance.len(),
                    usage: Usage::default(),
                    cost_usd: None,
                });
            }
            Event::AgentKilled(kill) => {
                if let Phase::Running(running) = &mut self.phase {
                    running.killed.get_or_insert_with(|| kill.why.clone());
                }
            }
            Event::IterationFinished(finished) => self.apply_finished(finished),
            Event::IterationInterrupted(interrupted) => self.apply_interrupted(interrupted),
            Event::DelayStarted(delay) => {
                self.unjudged = None;
                self.phase =
                    Phase::Waiting(Waiting { epoch: self.events, reason: delay.reason, until: delay.until });
            }
            Event::DelayEnded { .. } | Event::RunUnpaused {} => self.phase = Phase::Ready,
            Event::RunPaused {} => {
                self.unjudged = None;
                self.phase = Phase::Paused;
            }
            Event::RunStopped(stopped) => {
                self.phase = Phase::Stopped;
                self.stopped = Some(stopped.clone());
            }
            Event::RunStarted(_)
            | Event::AgentSpawned(_)
            | Event::AgentText(_)
            | Event::AgentSilent(_)
            | Event::AgentExited(_)
            | Event::TimerFired(_)
            | Event::JournalFailed { .. }
            | Event::GuidanceDelivered { .. }
            | Event::CompletionClaimed { .. } => {}
        }
        // Guidance for a stopped run does not make it one that was at work until then.
        if !matches!((&self.phase, event), (Phase::Stopped, Event::GuidanceAdded(_))) {
            self.last_at = self.last_at.max(at);
        }
        if let (Phase::Running(running), false) = (&mut self.phase, matches!(event, Event::RunResumed(_))) {
            running.last_seen = running.last_seen.max(at);
        }
    }

    fn apply_resumed(&mut self, resumed: &RunResumed, at: Timestamp) {
        self.session = Session { epoch: self.events, started_at: at, before: self.wall_time(self.last_at) };
        self.plan.limits = resumed.limits.clone();
        self.pid = resumed.pid;
        self.stop_request = None;
        self.pause_requested = false;
        self.stopped = None;
        if matches!(self.phase, Phase::Paused | Phase::Stopped) {
            // A person wants it to go on: what it stopped for has been dealt with.
            self.unjudged = None;
            self.phase = Phase::Ready;
        }
    }

    fn apply_usage(&mut self, update: &UsageUpdated) {
        if let Phase::Running(running) = &mut self.phase {
            running.usage = update.usage;
            running.cost_usd = update.cost_usd.or(running.cost_usd);
        }
    }

    fn apply_finished(&mut self, finished: &IterationFinished) {
        let carried = self.running().map_or(0, |running| running.guidance);
        self.guidance.drain(..carried.min(self.guidance.len()));
        self.iterations_finished = finished.iteration.0;
        self.attempts = 0;
        self.crashes = 0;
        self.unjudged = Some(finished.clone());
        if finished.outcome.is_failure() {
            self.consecutive_failures = self.consecutive_failures.saturating_add(1);
            self.total_failures = self.total_failures.saturating_add(1);
        } else {
            self.consecutive_failures = 0;
        }
        self.spend(finished.duration, &finished.usage, finished.cost_usd);
        self.phase = Phase::Ready;
    }

    fn apply_interrupted(&mut self, interrupted: &IterationInterrupted) {
        if interrupted.why == InterruptCause::Crash {
            self.crashes = self.crashes.saturating_add(1);
        }
        self.spend(interrupted.duration, &interrupted.usage, interrupted.cost_usd);
        self.phase = Phase::Ready;
    }

    fn spend(&mut self, duration: Duration, usage: &Usage, cost_usd: Option<f64>) {
        self.runtime = self.runtime.saturating_add(duration);
        self.usage.add(usage);
        if let Some(cost) = cost_usd {
            self.cost_usd = Some(self.cost_usd.unwrap_or(0.0) + cost);
        }
    }

    pub fn running(&self) -> Option<&Running> {
        match &self.phase {
            Phase::Running(running) => Some(running),
            _ => None,
        }
    }

    pub fn next_iteration(&self) -> IterationNumber {
        IterationNumber(self.iterations_finished).next()
    }

    /// Everything between starts and stops, waits and pauses included; not the time the run was down.
    pub fn wall_time(&self, now: Timestamp) -> Duration {
        self.session.before.saturating_add(now.since(self.session.started_at))
    }

    /// Time worked, the running attempt included.
    pub fn runtime_now(&self, now: Timestamp) -> Duration {
        let running = self.running().map_or(Duration::ZERO, |running| now.since(running.started_at));
        self.runtime.saturating_add(running)
    }

    /// Money spent, the running attempt included. `None`: no agent has told.
    pub fn cost_now(&self) -> Option<f64> {
        match (self.cost_usd, self.running().and_then(|running| running.cost_usd)) {
            (None, None) => None,
            (before, running) => Some(before.unwrap_or(0.0) + running.unwrap_or(0.0)),
        }
    }
}
