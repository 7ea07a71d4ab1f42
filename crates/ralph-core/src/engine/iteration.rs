//! How an iteration ends: by itself, cut short, or found cut short when a run is resumed.

use std::time::Duration;

use super::Turn;
use crate::event::{
    AgentExited, Event, Exit, InterruptCause, IterationFinished, IterationInterrupted, KillCause, Outcome,
    RunResumed,
};
use crate::guard::Guards;
use crate::state::{Phase, Running};
use crate::stop::{StopKind, StopReason};
use crate::time::Timestamp;
use crate::usage::Usage;

impl Turn<'_> {
    pub(super) fn agent_exited(&mut self, exited: AgentExited) {
        let Some(killed) = self.state().running().map(|running| running.killed.clone()) else { return };
        self.emit(Event::AgentExited(Box::new(exited.clone())));
        match (killed, &exited.exit) {
            (_, Exit::Missing { message }) => {
                let reason = StopReason::new("agent_missing", StopKind::Blocked, message.clone());
                self.interrupted(&exited, InterruptCause::NotStarted);
                self.stop(reason);
            }
            (_, Exit::NotStarted { message }) => {
                let reason = StopReason::new("error", StopKind::Failed, message.clone());
                self.interrupted(&exited, InterruptCause::NotStarted);
                self.stop(reason);
            }
            (Some(KillCause::Guard(key)), _) => {
                self.interrupted(&exited, InterruptCause::Guard(key.clone()));
                match self.engine.guards.stop_by_key(&key, &self.engine.state) {
                    Some(reason) => self.stop(reason),
                    None => self.decide(),
                }
            }
            (Some(KillCause::Stop | KillCause::Escalated), _) => {
                self.interrupted(&exited, InterruptCause::Stop);
                self.decide();
            }
            (Some(KillCause::Timeout), _) => {
                let limit = self.state().plan.limits.iteration_timeout.unwrap_or(exited.duration);
                let error = format!("killed after {}", crate::duration::format(limit));
                self.finished(&exited, Outcome::TimedOut, Some(error));
            }
            (Some(KillCause::Silence), _) => {
                let limit = self.state().plan.limits.silence_timeout.unwrap_or_default();
                let error = format!("killed after {} without output", crate::duration::format(limit));
                self.finished(&exited, Outcome::Silent, Some(error));
            }
            (None, Exit::Code(0)) => self.finished(&exited, Outcome::Ok, None),
            (None, Exit::Code(code)) => {
                self.finished(&exited, Outcome::Failed, Some(format!("exit code {code}")))
            }
            (None, Exit::Signal(signal)) => {
                let error = format!("killed by signal {signal}{}", signal_name(*signal));
                self.finished(&exited, Outcome::Failed, Some(error));
            }
            (None, Exit::Lost { message }) => self.finished(&exited, Outcome::Failed, Some(message.clone())),
        }
    }

    fn finished(&mut self, exited: &AgentExited, outcome: Outcome, error: Option<String>) {
        let (usage, cost_usd) = self.spent(exited);
        // What a failed agent says about the task does not count.
        let ok = outcome == Outcome::Ok;
        let blocked = exited.blocked.clone().filter(|_| ok);
        let claims_complete = ok && exited.claims_complete && blocked.is_none();
        let iteration = exited.iteration;
        if claims_complete {
            self.emit(Event::CompletionClaimed { iteration });
        }
        self.emit(Event::IterationFinished(IterationFinished {
            iteration,
            attempt: exited.attempt,
            outcome,
            error,
            duration: exited.duration,
            exit_code: match exited.exit {
                Exit::Code(code) => Some(code),
                _ => None,
            },
            files_changed: exited.files.as_ref().map(|files| files.count),
            usage,
            cost_usd,
            claims_complete,
            blocked,
        }));
        self.decide();
    }

    fn interrupted(&mut self, exited: &AgentExited, why: InterruptCause) {
        let (usage, cost_usd) = self.spent(exited);
        let (iteration, attempt, duration) = (exited.iteration, exited.attempt, exited.duration);
        let event = IterationInterrupted { iteration, attempt, why, duration, usage, cost_usd };
        self.emit(Event::IterationInterrupted(event));
    }

    /// What the attempt used: its final account, or what it had told before it was cut short.
    fn spent(&self, exited: &AgentExited) -> (Usage, Option<f64>) {
        let running = self.state().running();
        let told = running.map(|running| running.usage).unwrap_or_default();
        let usage = if exited.usage.is_zero() { told } else { exited.usage };
        (usage, exited.cost_usd.or(running.and_then(|running| running.cost_usd)))
    }

    /// Ends the running attempt without its report. `last_seen` is when it was last known to work.
    pub(super) fn interrupt_running(&mut self, why: InterruptCause, last_seen: Timestamp) {
        let Some(Running { iteration, attempt, started_at, usage, cost_usd, .. }) =
            self.state().running().cloned()
        else {
            return;
        };
        let duration = last_seen.since(started_at);
        let event = IterationInterrupted { iteration, attempt, why, duration, usage, cost_usd };
        self.emit(Event::IterationInterrupted(event));
    }

    pub(super) fn resume(&mut self, resumed: RunResumed) {
        let last_seen = self.state().last_at;
        self.emit(Event::RunResumed(Box::new(resumed)));
        self.engine.guards = Guards::of(&self.engine.state.plan);
        self.start_session_alarms();
        match self.state().phase {
            Phase::Running(_) => {
                self.interrupt_running(InterruptCause::Crash, last_seen);
                if self.state().crashes >= self.state().plan.limits.max_attempts {
                    self.give_up_iteration();
                }
                self.decide();
            }
            Phase::Waiting(_) => self.start_wait_timer(),
            Phase::Ready | Phase::Paused | Phase::Stopped => self.decide(),
        }
    }

    /// An iteration that brings ralph down every time must not do so for ever.
    fn give_up_iteration(&mut self) {
        let state = self.state();
        let error = format!("given up: ralph did not survive {} attempts", state.crashes);
        let event = IterationFinished {
            iteration: state.next_iteration(),
            attempt: state.attempts,
            outcome: Outcome::Failed,
            error: Some(error),
            duration: Duration::ZERO,
            exit_code: None,
            files_changed: None,
            usage: Usage::default(),
            cost_usd: None,
            claims_complete: false,
            blocked: None,
        };
        self.emit(Event::IterationFinished(event));
    }
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        1 => " (SIGHUP)",
        2 => " (SIGINT)",
        3 => " (SIGQUIT)",
        4 => " (SIGILL)",
        6 => " (SIGABRT)",
        7 => " (SIGBUS)",
        8 => " (SIGFPE)",
        9 => " (SIGKILL)",
        11 => " (SIGSEGV)",
        13 => " (SIGPIPE)",
        15 => " (SIGTERM)",
        24 => " (SIGXCPU)",
        _ => "",
    }
}
