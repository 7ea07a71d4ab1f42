//! What a run is at this moment. It changes only by applying events, so the journal alone rebuilds it.

mod claims;
mod failing;
mod idle;
mod ledger;
mod notes;
mod proof;
mod quota;
mod stuck;
mod trust;
mod waits;

use std::time::Duration;

pub use failing::FailingGates;
pub use idle::{Idle, Saved};

use crate::check::Ledger;
use crate::event::{
    AgentExited, AgentKilled, DelayReason, Event, Exit, GatesFinished, InterruptCause, IterationFinished,
    IterationInterrupted, IterationStarted, KillCause, LoopDetected, QuotaSeen, RunContinued, RunResumed,
    RunStopped, StopRequest, UsageUpdated,
};
use crate::failure::FailureClass;
use crate::hat::Bus;
use crate::ids::{IterationNumber, RunId};
use crate::memory::{Claim, Memory, ToolLog};
use crate::plan::Plan;
use crate::time::Timestamp;
use crate::usage::Usage;

use notes::memory_of;
pub use proof::{Checking, ProofState, Stage};
pub use stuck::{Stuck, UndecidedAlarm};
pub use trust::{ChangedFile, Found, Trust};

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

    pub patience: Patience,
    pub proof: ProofState,
    pub failing_gates: FailingGates,
    /// What the tests, linters and type checkers that the agent ran came to.
    pub ledger: Ledger,
    pub memory: Memory,
    /// Whether programs and files are still what they were.
    pub trust: Trust,
    pub idle: Idle,
    /// Whether the run goes in circles.
    pub stuck: Stuck,

    /// Time that agents worked.
    pub runtime: Duration,
    pub session: Session,
    pub usage: Usage,
    /// Money known to be spent, without the attempt that is running. `None` until an agent reports any.
    pub cost_usd: Option<f64>,
    /// Tokens whose cost nobody knows, without the attempt that is running.
    pub unpriced: u64,

    /// What the agent at work has told of its plan's windows.
    pub quotas: Vec<QuotaSeen>,
    /// What all runs have spent.
    pub spending: ledger::Ledger,

    /// The hats and what they have to say to each other, where there are hats.
    pub bus: Option<Bus>,

    /// Guidance that no finished iteration has carried yet.
    pub guidance: Vec<String>,
    pub stop_request: Option<StopRequest>,
    pub pause_requested: bool,
    /// What a person has to mend before the run can go on.
    pub paused_for: Option<String>,
    pub stopped: Option<RunStopped>,
}

/// How often and how long the run has been kept waiting by its agents' services, and who is at work instead.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Patience {
    /// Which of the plan's agents is at work.
    pub agent: usize,
    /// A usage limit that has not been waited for to its end.
    pub limited_until: Option<Timestamp>,
    /// An outage that has not been waited for yet.
    pub outage: bool,
    /// In a row, without a finished iteration between them.
    pub limits: u32,
    pub outages: u32,
    /// Of those waits, the ones that were longer than `fallback_wait`.
    pub long_waits: u32,
    /// The last limit is among them. A pause cuts its wait in two, and it is still one.
    pub counted: bool,
    /// When the first agent may be tried again.
    pub first_back_at: Option<Timestamp>,
    /// The last iteration ended because its context was too long.
    pub context_too_long: bool,
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
    /// Gates are at work on the iteration that was finished last.
    Checking(Checking),
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
    /// How long it has from then on until it is killed: the shortest of all orders.
    pub grace: Duration,
    /// How many pieces of guidance its prompt carries.
    pub guidance: usize,
    pub usage: Usage,
    pub cost_usd: Option<f64>,
    pub tool_calls: u32,
    pub failed_calls: u32,
    pub tools: ToolLog,
    /// How it ended, as soon as that is known.
    pub exited: Option<Box<AgentExited>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    pub epoch: u64,
    pub reason: DelayReason,
    pub until: Timestamp,
    /// How long it was meant to be, and since when it is.
    pub wait: Duration,
    pub since: Timestamp,
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
            patience: Patience::default(),
            proof: ProofState::default(),
            failing_gates: FailingGates::default(),
            ledger: Ledger::default(),
            memory: memory_of(&started.plan),
            trust: Trust::default(),
            idle: Idle::default(),
            stuck: Stuck::default(),
            runtime: Duration::ZERO,
            session: Session { epoch: 1, started_at: at, before: Duration::ZERO },
            usage: Usage::default(),
            cost_usd: None,
            unpriced: 0,
            quotas: Vec::new(),
            spending: ledger::Ledger::default(),
            bus: first_bus(&started.plan),
            guidance: Vec::new(),
            stop_request: None,
            pause_requested: false,
            paused_for: None,
            stopped: None,
        })
    }

    pub fn apply(&mut self, event: &Event, at: Timestamp) {
        self.events = self.events.saturating_add(1);
        self.bus.iter_mut().for_each(|bus| bus.apply(event));
        match event {
            Event::RunResumed(resumed) => self.apply_resumed(resumed, at),
            Event::StopRequested(request) => self.apply_stop_request(request),
            Event::PauseRequested {} => self.pause_requested = true,
            Event::UnpauseRequested { now } => {
                self.pause_requested = false;
                if *now {
                    self.patience.limited_until = None;
                }
            }
            Event::GuidanceAdded(guidance) => self.apply_guidance(&guidance.text),
            Event::UsageUpdated(update) => self.apply_usage(update),
            Event::IterationStarted(started) => self.apply_started(started, at),
            Event::AgentKilled(kill) => self.apply_kill(kill),
            Event::IterationFinished(finished) => self.apply_finished(finished),
            Event::IterationInterrupted(interrupted) => self.apply_interrupted(interrupted),
            Event::LimitHit(_)
            | Event::LedgerRead(_)
            | Event::AgentSwitched(_)
            | Event::DelayStarted(_)
            | Event::DelayEnded { .. } => self.apply_wait(event, at),
            Event::ToolCalled(call) => {
                self.ledger.called(call);
                self.notice(|running| running.tool_calls = running.tool_calls.saturating_add(1));
            }
            Event::ToolFinished(end) => self.apply_tool_end(end),
            Event::AgentExited(exited) => self.apply_exited(exited),
            Event::ProgramsPinned(_) | Event::FilesProtected(_) | Event::ProofNarrowed(_) => {
                self.trust.apply(event);
            }
            Event::GatesStarted(_)
            | Event::GateFinished(_)
            | Event::GatesFinished(_)
            | Event::GatesKilled(_)
            | Event::CompletionDeferred(_)
            | Event::CompletionInferred(_)
            | Event::CompletionAccepted(_)
            | Event::CompletionRejected(_)
            | Event::JournalFailed(_) => self.apply_proof(event, at),
            Event::LoopSuspected(suspected) => self.stuck.suspected(suspected),
            Event::LoopDetected(detected) => self.apply_loop(detected),
            Event::RunUnpaused {} => {
                (self.pause_requested, self.stuck.asking) = (false, false);
                self.spending.stale = true;
                self.phase = Phase::Ready;
            }
            Event::RunContinued(continued) => self.apply_continued(continued),
            Event::RunPaused {} => {
                // A pause is a wait too, but no limit ends because of it.
                self.unjudged = None;
                self.patience.outage = false;
                self.phase = Phase::Paused;
            }
            Event::RunStopped(stopped) => {
                self.phase = Phase::Stopped;
                self.memory.stopped(stopped.reason.as_str(), &stopped.message);
                self.stopped = Some(stopped.clone());
            }
            // What the others tell changes nothing here, or a part of the state looks after it itself.
            _ => self.trust.apply(event),
        }
        self.seen_at(event, at);
    }

    fn apply_guidance(&mut self, text: &str) {
        self.guidance.push(text.to_owned());
        // A run that has stopped starts over when it goes on.
        if self.phase != Phase::Stopped {
            self.stuck.start_over();
        }
    }

    fn apply_loop(&mut self, detected: &LoopDetected) {
        self.stuck.detected(detected);
        self.memory.stuck(detected);
        self.pause_requested |= self.stuck.asking;
    }

    /// What gates and claims come to.
    fn apply_proof(&mut self, event: &Event, at: Timestamp) {
        match event {
            Event::GatesStarted(started) => {
                self.proof.forget_results();
                self.phase = Phase::Checking(Checking::of(started, self.events, at));
            }
            Event::GateFinished(result) => {
                self.trust.apply_counted(result);
                self.proof.apply_result(result);
            }
            Event::GatesFinished(ran) => {
                self.runtime = self.runtime.saturating_add(ran.duration);
                self.apply_gates_ran(ran);
            }
            Event::GatesKilled(killed) => {
                if let Phase::Checking(checking) = &mut self.phase {
                    checking.apply_killed(killed);
                }
            }
            Event::CompletionDeferred(deferred) => {
                let hats = deferred.hats.iter().map(|hat| hat.to_string()).collect();
                self.memory.settle(deferred.iteration, Claim::Waits { hats });
                self.proof.deferred = true;
            }
            Event::CompletionInferred(inferred) => self.apply_inferred(inferred),
            Event::CompletionAccepted(accepted) => {
                self.memory.settle(accepted.iteration, Claim::Accepted);
                self.proof.apply_accepted(accepted);
            }
            Event::CompletionRejected(rejected) => {
                self.memory.settle(rejected.iteration, Claim::Rejected { why: rejected.why.clone() });
                self.proof.apply_rejected(rejected);
            }
            Event::JournalFailed(_) => self.end_gates(at),
            _ => {}
        }
    }

    /// The run was at work until now.
    fn seen_at(&mut self, event: &Event, at: Timestamp) {
        // What is said to a stopped run does not make it one that was at work until then.
        if !matches!((&self.phase, event), (Phase::Stopped, said) if is_said_to_stopped(said)) {
            self.last_at = self.last_at.max(at);
        }
        match &mut self.phase {
            _ if matches!(event, Event::RunResumed(_)) => {}
            Phase::Running(running) => running.last_seen = running.last_seen.max(at),
            Phase::Checking(checking) => checking.last_seen = checking.last_seen.max(at),
            _ => {}
        }
    }

    fn apply_resumed(&mut self, resumed: &RunResumed, at: Timestamp) {
        self.session = Session { epoch: self.events, started_at: at, before: self.wall_time(self.last_at) };
        let before = self.plan.stuck.clone();
        resumed.settings.apply(&mut self.plan);
        if self.plan.stuck != before {
            self.stuck.start_over();
        }
        self.pid = resumed.pid;
        self.spending.stale = true;
        self.stop_request = None;
        (self.pause_requested, self.stuck.asking) = (false, false);
        self.paused_for = None;
        self.stopped = None;
        if let Phase::Checking(checking) = &self.phase {
            // The gates died with ralph, and run again. What they worked counts.
            self.end_gates(checking.last_seen);
        }
        if self.phase == Phase::Stopped {
            // A person wants it to go on: what it stopped for has been dealt with, but for a claim that is still open.
            let open = matches!(self.proof.stage, Stage::Open | Stage::Ran(_));
            let claims = self.claims_complete() && open;
            self.unjudged = self.unjudged.take().filter(|_| claims);
            self.proof.reopen();
            self.idle.forget();
            self.stuck.start_over();
            (self.patience.limited_until, self.patience.outage) = (None, false);
            self.bus.iter_mut().for_each(Bus::resumed_after_stop);
        }
        if matches!(self.phase, Phase::Paused | Phase::Stopped) {
            self.phase = Phase::Ready;
        }
    }

    /// What had begun began later, as far as limits are concerned. Alarms that were set by the time of day are stale.
    fn apply_continued(&mut self, continued: &RunContinued) {
        let later = |at: &mut Timestamp| *at = at.plus(continued.stood);
        self.session.epoch = self.events;
        later(&mut self.session.started_at);
        match &mut self.phase {
            Phase::Running(running) => later(&mut running.started_at),
            Phase::Checking(checking) => later(&mut checking.started_at),
            _ => {}
        }
    }

    fn apply_started(&mut self, started: &IterationStarted, at: Timestamp) {
        self.attempts = started.attempt;
        self.paused_for = None;
        self.ledger.next_iteration();
        self.unjudged = None;
        self.idle.unanswered = false;
        (self.patience.limited_until, self.patience.outage) = (None, false);
        self.phase = Phase::Running(Running {
            iteration: started.iteration,
            attempt: started.attempt,
            epoch: self.events,
            started_at: at,
            last_seen: at,
            killed: None,
            grace: Duration::MAX,
            guidance: self.guidance.len(),
            usage: Usage::default(),
            cost_usd: None,
            tool_calls: 0,
            failed_calls: 0,
            tools: ToolLog::default(),
            exited: None,
        });
    }

    /// Changes what is known of the attempt that is running.
    fn notice(&mut self, change: impl FnOnce(&mut Running)) {
        if let Phase::Running(running) = &mut self.phase {
            change(running);
        }
    }

    fn apply_gates_ran(&mut self, ran: &GatesFinished) {
        let cut_short = matches!(&self.phase, Phase::Checking(checking) if checking.killed.is_some());
        let claims = self.claims_complete();
        match cut_short {
            true => self.proof.forget_results(),
            false => {
                self.failing_gates.ran(&self.proof.results);
                self.proof.apply_ran(ran, claims);
            }
        }
        self.phase = Phase::Ready;
    }

    /// Gates that were at work are gone without a word. They had worked until then.
    fn end_gates(&mut self, then: Timestamp) {
        if let Phase::Checking(checking) = &self.phase {
            self.runtime = self.runtime.saturating_add(then.since(checking.started_at));
            self.proof.forget_results();
            self.phase = Phase::Ready;
        }
    }

    /// Who has asked for an end at once is not made to wait by a later, kinder request.
    fn apply_stop_request(&mut self, request: &StopRequest) {
        let before = self.stop_request.as_ref().map_or(request.how, |before| before.how);
        self.stop_request = Some(StopRequest { how: before.max(request.how), ..request.clone() });
    }

    fn apply_kill(&mut self, kill: &AgentKilled) {
        if let Phase::Running(running) = &mut self.phase {
            running.killed.get_or_insert_with(|| kill.why.clone());
            running.grace = running.grace.min(kill.grace);
        }
    }

    fn apply_usage(&mut self, update: &UsageUpdated) {
        if let Phase::Running(running) = &mut self.phase {
            running.usage = update.usage;
            running.cost_usd = update.cost_usd.or(running.cost_usd);
        }
    }

    fn apply_exited(&mut self, exited: &AgentExited) {
        self.trust.apply_exited(exited);
        self.learn_quotas(&exited.quotas);
        if let Exit::NoPrompt { message } = &exited.exit {
            self.pause_requested = true;
            self.paused_for = Some(message.clone());
        }
        self.notice(|running| running.exited = Some(Box::new(exited.clone())));
    }

    fn apply_finished(&mut self, finished: &IterationFinished) {
        let carried = self.running().map_or(0, |running| running.guidance);
        self.guidance.drain(..carried.min(self.guidance.len()));
        self.iterations_finished = finished.iteration.0;
        self.attempts = 0;
        self.crashes = 0;
        self.unjudged = Some(finished.clone());
        self.memory.add(self.note(finished));
        self.proof.begin();
        self.idle.finished(finished);
        let exited = match &mut self.phase {
            Phase::Running(running) => running.exited.take(),
            _ => None,
        };
        self.stuck.finished(finished, exited.as_deref());
        if self.idle.state.is_none() && self.stuck.nothings == 0 {
            self.idle.forget();
        }
        let patience = &mut self.patience;
        (patience.limits, patience.outages, patience.long_waits) = (0, 0, 0);
        patience.context_too_long = finished.class == Some(FailureClass::ContextTooLong);
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
        match interrupted.why {
            InterruptCause::Crash => self.crashes = self.crashes.saturating_add(1),
            InterruptCause::Outage => {
                self.patience.outages = self.patience.outages.saturating_add(1);
                self.patience.outage = true;
            }
            _ => {}
        }
        self.spend(interrupted.duration, &interrupted.usage, interrupted.cost_usd);
        self.phase = Phase::Ready;
    }

    fn spend(&mut self, duration: Duration, usage: &Usage, cost_usd: Option<f64>) {
        self.spending.stale = true;
        self.runtime = self.runtime.saturating_add(duration);
        self.usage.add(usage);
        match cost_usd {
            Some(cost) => self.cost_usd = Some(self.cost_usd.unwrap_or(0.0) + cost),
            None => self.unpriced = self.unpriced.saturating_add(usage.total()),
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
        let since = match &self.phase {
            Phase::Running(running) => Some(running.started_at),
            Phase::Checking(checking) => Some(checking.started_at),
            _ => None,
        };
        self.runtime.saturating_add(since.map_or(Duration::ZERO, |since| now.since(since)))
    }

    /// Tokens of all kinds, the running attempt included.
    pub fn tokens_now(&self) -> u64 {
        self.usage.total().saturating_add(self.running().map_or(0, |running| running.usage.total()))
    }

    /// Tokens whose cost is not known, the running attempt included.
    pub fn unpriced_now(&self) -> u64 {
        let running = self.running().filter(|running| running.cost_usd.is_none());
        self.unpriced.saturating_add(running.map_or(0, |running| running.usage.total()))
    }

    /// Money spent, the running attempt included. `None`: no agent has told.
    pub fn cost_now(&self) -> Option<f64> {
        match (self.cost_usd, self.running().and_then(|running| running.cost_usd)) {
            (None, None) => None,
            (before, running) => Some(before.unwrap_or(0.0) + running.unwrap_or(0.0)),
        }
    }
}

/// What comes to a run that nobody works on.
fn is_said_to_stopped(event: &Event) -> bool {
    matches!(
        event,
        Event::GuidanceAdded(_)
            | Event::HatReset(_)
            | Event::CheckpointSaved(_)
            | Event::CheckpointFailed(_)
            | Event::CheckpointRestored(_)
    )
}

/// A bus on which nothing but the start is due.
fn first_bus(plan: &Plan) -> Option<Bus> {
    let hats = plan.hats.as_deref()?;
    Some(Bus::new(hats, plan.task.text().or(hats.task.as_deref()).unwrap_or_default()))
}
