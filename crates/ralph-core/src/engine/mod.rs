//! The engine decides and does nothing else. An input goes in with the time; events and effects come out.
//!
//! Inside, a decision is an event that is applied at once, so that the next decision of the same turn stands on it. What
//! to do between iterations ([`between`]) is a function of the state alone: it gives the same answer in the middle of a run
//! and after a crash that lost the records behind the last finished iteration.

mod between;
mod draft;
mod hats;
mod idle;
mod iteration;
mod proof;
mod stuck;
#[cfg(test)]
mod tests;
mod trust;

use std::time::Duration;

use crate::effect::{Effect, Step, When};
use crate::event::{
    About, AgentKilled, Event, JournalFailed, KillCause, RunContinued, RunStarted, RunStopped, StopHow,
    StopRequest, TimerId, TimerSlot, UsageUpdated,
};
use crate::guard::{Asked, Guards, Scope};
use crate::hat::Routes;
use crate::input::{Command, Input, Report};
use crate::observe::Observation;
use crate::state::{Phase, RunState};
use crate::stop::{self, StopKind, StopReason};
use crate::time::Timestamp;

/// Between TERM and KILL for an agent that has used up its time.
pub const GRACE: Duration = Duration::from_secs(3);
/// The same when ralph itself was told to end.
pub const EXIT_GRACE: Duration = Duration::from_secs(1);

pub struct Engine {
    state: RunState,
    guards: Guards,
    routes: Routes,
}

impl Engine {
    /// Begins a run.
    pub fn start(now: Timestamp, started: RunStarted) -> (Engine, Step) {
        let plan = started.plan.clone();
        let event = Event::RunStarted(Box::new(started));
        let Some(state) = RunState::first(&event, now) else {
            unreachable!("the event above is the first one")
        };
        let mut engine = Engine { state, guards: Guards::of(&plan), routes: Routes::of(&plan) };
        let mut turn =
            Turn { engine: &mut engine, now, step: Step { events: vec![event], effects: Vec::new() } };
        turn.start_session_alarms();
        turn.decide();
        let step = turn.step;
        (engine, step)
    }

    /// Goes on from a state that was rebuilt from a journal. The first input is `ResumeRun`.
    pub(crate) fn from_state(state: RunState) -> Engine {
        let (guards, routes) = (Guards::of(&state.plan), Routes::of(&state.plan));
        Engine { state, guards, routes }
    }

    #[cfg(any(test, feature = "testing"))]
    pub fn state(&self) -> &RunState {
        &self.state
    }

    /// The run as it is now, for those outside the core.
    pub fn observe(&self) -> Observation<'_> {
        Observation::of(&self.state)
    }

    pub fn is_stopped(&self) -> bool {
        self.state.phase == Phase::Stopped
    }

    pub fn handle(&mut self, now: Timestamp, input: Input) -> Step {
        let mut turn = Turn { engine: self, now, step: Step::default() };
        match input {
            Input::Command(command) => turn.command(command),
            Input::Report(report) => turn.report(report),
        }
        turn.step
    }
}

/// One input being handled.
struct Turn<'a> {
    engine: &'a mut Engine,
    now: Timestamp,
    step: Step,
}

impl Turn<'_> {
    fn state(&self) -> &RunState {
        &self.engine.state
    }

    fn emit(&mut self, event: Event) {
        self.engine.state.apply(&event, self.now);
        self.step.events.push(event);
    }

    fn effect(&mut self, effect: Effect) {
        self.step.effects.push(effect);
    }

    fn command(&mut self, command: Command) {
        if let Command::ResumeRun(resumed) = command {
            return self.resume(*resumed);
        }
        if self.state().phase == Phase::Stopped {
            // Guidance for a run that has stopped waits for its resume; anything else comes too late.
            match command {
                Command::AddGuidance(guidance) => self.emit(Event::GuidanceAdded(guidance)),
                Command::ResetHat(reset) => self.reset_hat(reset),
                _ => {}
            }
            return;
        }
        match command {
            Command::ResumeRun(_) => {}
            Command::StopRun(request) => self.stop_requested(request),
            Command::EndIteration => self.end_iteration(),
            Command::PauseRun => self.pause(),
            Command::UnpauseRun { now } => self.unpause(now),
            Command::ResetHat(reset) => self.reset_hat(reset),
            Command::AddGuidance(guidance) => {
                self.emit(Event::GuidanceAdded(guidance));
                // A person who speaks is not kept waiting.
                self.end_wait_for_work();
                self.answered();
            }
            Command::ReviewLoop => {
                if self.state().stuck.last.is_some() {
                    self.emit(Event::LoopReviewed {});
                }
            }
            Command::SkipWait => {
                if self.can_end_wait() {
                    self.emit(Event::WaitSkipped {});
                    self.end_wait_for_work();
                }
            }
        }
    }

    fn report(&mut self, report: Report) {
        if !self.is_current(report.about()) {
            return;
        }
        match report {
            Report::AgentSpawned(_) => {
                self.emit(report.into());
                // Commands have their own time, before the agent's begins.
                if !self.state().plan.commands.is_empty() {
                    self.start_iteration_timeout();
                }
            }
            Report::UsageUpdated(update) => self.usage_updated(update),
            Report::AgentSilent(silent) => {
                let cause = if silent.ended { KillCause::Hung } else { KillCause::Silence };
                self.emit(Event::AgentSilent(silent));
                self.kill(cause, GRACE);
            }
            Report::AgentStranded(_) => {
                self.emit(report.into());
                self.kill(KillCause::Stranded, GRACE);
            }
            Report::AgentExited(exited) => self.agent_exited(*exited),
            Report::TopicEmitted(emitted) => self.topic_emitted(emitted),
            Report::GatesFinished(finished) => self.gates_finished(finished),
            Report::WakeTriggered(woken) => self.woken(woken),
            Report::LedgerRead(read) => self.ledger_read(read),
            Report::TimerFired(timer) => self.timer_fired(timer),
            Report::RunContinued(continued) => self.continued(continued),
            Report::JournalFailed(failed) => self.journal_failed(failed.message),
            // Any other report is a fact to remember: nothing is decided about it.
            fact => self.emit(fact.into()),
        }
    }

    /// Whether the work that a report is about still goes on. A report of an attempt or a round that is over changes nothing.
    fn is_current(&self, about: About) -> bool {
        match (about, &self.state().phase) {
            (About::Run, _) => true,
            (About::Attempt { iteration, attempt }, Phase::Running(running)) => {
                running.iteration == iteration && running.attempt == attempt
            }
            (About::Round { iteration, round }, Phase::Checking(checking)) => {
                checking.iteration == iteration && checking.round == round
            }
            (About::Attempt { .. } | About::Round { .. }, _) => false,
        }
    }

    fn usage_updated(&mut self, mut update: UsageUpdated) {
        update.cost_usd = iteration::money(update.cost_usd);
        let before = self.state().running().map(|running| (running.usage.total(), running.cost_usd));
        let grown =
            before.is_some_and(|(tokens, cost)| update.usage.total() > tokens || update.cost_usd > cost);
        self.emit(Event::UsageUpdated(update));
        let Some(reason) = self.first_spent(Asked::OnUsage) else { return };
        let cause = KillCause::Guard(reason.key);
        let told = self.state().running().map(|running| (running.killed.clone(), running.grace));
        match told {
            // Told to end over a limit, it spends its grace on more.
            Some((Some(KillCause::Guard(_)), grace)) if grown && !grace.is_zero() => {
                self.kill_now(cause);
            }
            _ => self.kill(cause, GRACE),
        }
    }

    fn first_spent(&self, asked: Asked) -> Option<StopReason> {
        self.engine.guards.first_spent(asked, &self.engine.state, self.now)
    }

    fn stop_requested(&mut self, request: StopRequest) {
        let how = request.how;
        self.emit(Event::StopRequested(request));
        match (&self.state().phase, how) {
            (Phase::Running(_) | Phase::Checking(_), StopHow::AfterIteration) | (Phase::Stopped, _) => {}
            (Phase::Running(_), StopHow::Terminate) => self.kill_again(EXIT_GRACE),
            (Phase::Running(_), StopHow::Kill) => self.kill_again(Duration::ZERO),
            (Phase::Checking(_), StopHow::Terminate) => self.kill_gates(KillCause::Stop, EXIT_GRACE),
            (Phase::Checking(_), StopHow::Kill) => self.kill_gates(KillCause::Stop, Duration::ZERO),
            (Phase::Waiting(_), _) => {
                self.end_wait(true);
                self.decide();
            }
            (Phase::Ready | Phase::Paused, _) => self.decide(),
        }
    }

    fn end_iteration(&mut self) {
        if self.state().running().is_some_and(|running| running.killed.is_none()) {
            self.emit(Event::IterationEndRequested {});
            self.kill(KillCause::Person, EXIT_GRACE);
        }
    }

    fn pause(&mut self) {
        if self.state().pause_requested {
            return;
        }
        self.emit(Event::PauseRequested {});
        if matches!(self.state().phase, Phase::Waiting(_)) {
            self.end_wait(true);
            self.decide();
        }
    }

    fn unpause(&mut self, now: bool) {
        let waiting = now && matches!(self.state().phase, Phase::Waiting(_));
        if !self.state().pause_requested && !waiting {
            return;
        }
        self.emit(Event::UnpauseRequested { now });
        if self.state().phase == Phase::Paused {
            self.emit(Event::RunUnpaused {});
            self.decide();
        } else if waiting {
            self.end_wait(true);
            self.decide();
        }
    }

    /// What a person says is also the answer to what they were asked.
    fn answered(&mut self) {
        if self.state().phase == Phase::Paused && self.state().stuck.asking {
            self.emit(Event::RunUnpaused {});
            self.decide();
        }
    }

    fn timer_fired(&mut self, timer: TimerId) {
        let running =
            self.state().running().filter(|r| r.epoch == timer.epoch && r.killed.is_none()).is_some();
        let session = self.state().session.epoch == timer.epoch && self.state().phase != Phase::Stopped;
        let waiting = matches!(&self.state().phase, Phase::Waiting(w) if w.epoch == timer.epoch);
        let checking = matches!(&self.state().phase, Phase::Checking(c) if c.epoch == timer.epoch);
        match timer.slot.clone() {
            TimerSlot::IterationTimeout if running => {
                self.emit(Event::TimerFired(timer));
                self.kill(KillCause::Timeout, GRACE);
            }
            TimerSlot::Wait if waiting => {
                self.emit(Event::TimerFired(timer));
                self.end_wait(false);
                self.decide();
            }
            TimerSlot::Guard(key) if running || checking || session => {
                let Some(reason) = self.engine.guards.stop_by_key(&key, &self.engine.state) else { return };
                self.emit(Event::TimerFired(timer));
                match self.state().phase {
                    Phase::Running(_) => self.kill(KillCause::Guard(key), GRACE),
                    Phase::Checking(_) => self.kill_gates(KillCause::Guard(key), GRACE),
                    _ => self.stop(reason),
                }
            }
            _ => {}
        }
    }

    /// The alarms of the session were set for times of day that are too early now.
    fn continued(&mut self, continued: RunContinued) {
        self.emit(Event::RunContinued(continued));
        if self.state().phase != Phase::Stopped {
            self.start_session_alarms();
        }
    }

    /// Orders the end of the running agent, once.
    fn kill(&mut self, why: KillCause, grace: Duration) {
        let Some(running) = self.state().running() else { return };
        if running.killed.is_none() {
            let iteration = running.iteration;
            self.emit(Event::AgentKilled(AgentKilled { iteration, why, grace }));
            self.effect(Effect::KillAgent { grace });
        }
    }

    fn kill_now(&mut self, why: KillCause) {
        let Some(running) = self.state().running() else { return };
        let (iteration, grace) = (running.iteration, Duration::ZERO);
        self.emit(Event::AgentKilled(AgentKilled { iteration, why, grace }));
        self.effect(Effect::KillAgent { grace });
    }

    /// A request to end now counts even while an earlier kill is still being polite.
    fn kill_again(&mut self, grace: Duration) {
        let Some(running) = self.state().running() else { return };
        let why = if running.killed.is_some() { KillCause::Escalated } else { KillCause::Stop };
        let iteration = running.iteration;
        self.emit(Event::AgentKilled(AgentKilled { iteration, why, grace }));
        self.effect(Effect::KillAgent { grace });
    }

    /// The driver has already ended the agent: without a journal nothing may go on.
    fn journal_failed(&mut self, message: String) {
        if self.state().phase == Phase::Stopped {
            return;
        }
        self.emit(Event::JournalFailed(JournalFailed { message: message.clone() }));
        self.interrupt_running(crate::event::InterruptCause::Stop);
        self.stop(stop::JOURNAL_ERROR.because(message));
    }

    fn start_session_alarms(&mut self) {
        let epoch = self.state().session.epoch;
        self.start_alarms(Scope::Session, epoch);
    }

    fn start_alarms(&mut self, scope: Scope, epoch: u64) {
        let alarms: Vec<_> = self.engine.guards.alarms(scope, &self.engine.state, self.now).collect();
        for (key, when) in alarms {
            self.start_timer(TimerSlot::Guard(key), epoch, when);
        }
    }

    fn start_timer(&mut self, slot: TimerSlot, epoch: u64, when: When) {
        self.effect(Effect::StartTimer { timer: TimerId { slot, epoch }, when });
    }

    fn stop(&mut self, reason: StopReason) {
        // Every wait that began has an end.
        if matches!(self.state().phase, Phase::Waiting(_)) {
            self.end_wait(true);
        }
        let state = self.state();
        let (proof, is_complete) = (&state.proof, reason.kind == StopKind::Done && state.proof.is_accepted());
        let stopped = RunStopped {
            reason: reason.key,
            kind: reason.kind,
            exit_code: reason.exit_code,
            message: reason.message,
            iterations: state.iterations_finished,
            failures: state.total_failures,
            cost_usd: state.cost_now(),
            duration: state.runtime,
            proved: is_complete && !proof.proved_by.is_empty(),
            proved_by: if is_complete { proof.proved_by.clone() } else { Vec::new() },
            // Where no required gate passed nothing was proved, whatever the others saw.
            tree: proof.tree.clone().filter(|_| is_complete && !proof.proved_by.is_empty()),
        };
        self.emit(Event::RunStopped(stopped));
        if self.state().plan.remembers() {
            self.effect(Effect::SaveMemory(Box::new(self.last_draft())));
        }
    }
}
