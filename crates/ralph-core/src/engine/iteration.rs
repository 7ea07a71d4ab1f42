//! How an iteration ends: by itself, cut short, or found cut short when a run is resumed.

use std::time::Duration;

use super::Turn;
use crate::event::{
    AgentExited, Event, Exit, InterruptCause, IterationFinished, IterationIdle, IterationInterrupted,
    KillCause, LimitHit, Outcome, RunResumed,
};
use crate::failure::{Failure, FailureClass};
use crate::guard::Guards;
use crate::marker::AgentState;
use crate::state::{Phase, Running, Stuck};
use crate::stop;
use crate::usage::Usage;

impl Turn<'_> {
    pub(super) fn agent_exited(&mut self, mut exited: AgentExited) {
        // Decisions stand on what the journal can hold: whole milliseconds, real sums of money.
        exited.duration = whole_millis(exited.duration);
        exited.delay = exited.delay.map(whole_millis);
        exited.cost_usd = money(exited.cost_usd);
        let Some(killed) = self.state().running().map(|running| running.killed.clone()) else { return };
        self.emit(Event::AgentExited(Box::new(exited.clone())));
        match (killed, &exited.exit) {
            (_, Exit::Missing { message }) => {
                let reason = stop::AGENT_MISSING.because(message.clone());
                self.interrupted(&exited, InterruptCause::NotStarted);
                self.stop(reason);
            }
            (_, Exit::NotStarted { message }) => {
                let reason = stop::ERROR.because(message.clone());
                self.interrupted(&exited, InterruptCause::NotStarted);
                self.stop(reason);
            }
            // The state has taken it for a wish to pause.
            (None, Exit::NoPrompt { .. }) => {
                self.interrupted(&exited, InterruptCause::NotStarted);
                self.decide();
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
                let limit = self.iteration_timeout();
                let error = IterationFinished::timeout_error(limit);
                self.finished(&exited, Outcome::TimedOut, Some(error));
            }
            // Silence behind the answer that there is a limit is the limit, which the agent sits out.
            (Some(KillCause::Silence), _) if is_limited(&exited) => {
                self.failed(&exited, "silent in a usage limit".to_owned());
            }
            (Some(KillCause::Stranded), _) => {
                let error =
                    failure_of(&exited).unwrap_or_else(|| "ended: nothing could come of it".to_owned());
                self.failed(&exited, error);
            }
            (Some(KillCause::Silence), _) => {
                let limit = self.state().plan.event_loop.silence().unwrap_or_default();
                let error = format!("killed after {} without output", crate::duration::format(limit));
                self.finished(&exited, Outcome::Silent, Some(error));
            }
            (Some(KillCause::Person), _) => {
                self.finished(&exited, Outcome::Failed, Some("ended by a person".to_owned()));
            }
            (Some(KillCause::Hung), _) => {
                let error = "killed: it had said its last word and did not end".to_owned();
                self.finished(&exited, Outcome::Hung, Some(error));
            }
            (None, _) => match failure_of(&exited) {
                None => self.finished(&exited, Outcome::Ok, None),
                Some(error) => self.failed(&exited, error),
            },
        }
    }

    /// A failure whose class is known has its own cure; any other is a failed iteration.
    fn failed(&mut self, exited: &AgentExited, error: String) {
        let Some(failure) = &exited.failure else {
            return self.finished(exited, Outcome::Failed, Some(error));
        };
        let patience = &self.state().patience;
        match failure.class {
            FailureClass::Limit => self.limit_hit(exited, failure),
            FailureClass::Outage if patience.outages < self.state().plan.event_loop.max_outages => {
                self.interrupted(exited, InterruptCause::Outage);
                self.decide();
            }
            class => match class.needs_person() {
                Some((reason, what_to_do)) => {
                    let message = format!("{}; {what_to_do}", failure.message);
                    self.interrupted(exited, InterruptCause::Person);
                    self.stop(reason.because(message));
                }
                None => self.finished(exited, Outcome::Failed, Some(error)),
            },
        }
    }

    fn limit_hit(&mut self, exited: &AgentExited, failure: &Failure) {
        let (limits, pace) = (&self.state().plan.event_loop, &self.state().plan.pace);
        // A minute more: clocks differ, and a limit that ends at noon is not always over at noon.
        // An end that has passed is believed once: else a stale one means a launch every minute.
        let limits_before = self.state().patience.limits;
        let believed = failure.resets_at.filter(|at| *at > self.now || limits_before == 0);
        let known = believed.map(|at| at.max(self.now).plus(Duration::from_secs(60)));
        let next = limits_before.saturating_add(1);
        let until = known.unwrap_or_else(|| self.now.plus(pace.limit_backoff.delay(next)));
        let (max_wait, message) = (limits.max_wait, failure.message.clone());
        let wait = self.worth_waiting(until).since(self.now);
        if wait > max_wait {
            let max = crate::duration::format(max_wait);
            let wait = crate::duration::format(Duration::from_secs(wait.as_secs()));
            self.interrupted(exited, InterruptCause::Limit);
            let message = format!("{message}: it ends in {wait}, and max_wait is {max}");
            return self.stop(stop::USAGE_LIMIT.because(message));
        }
        let (iteration, agent) = (exited.iteration, self.state().patience.agent);
        self.emit(Event::LimitHit(LimitHit { iteration, agent, until, known: known.is_some(), message }));
        self.interrupted(exited, InterruptCause::Limit);
        self.decide();
    }

    fn finished(&mut self, exited: &AgentExited, outcome: Outcome, error: Option<String>) {
        let (usage, cost_usd) = self.spent(exited);
        // What a failed agent says about the task does not count.
        let ok = outcome == Outcome::Ok;
        let blocked = exited.blocked.clone().filter(|_| ok);
        let iteration = exited.iteration;
        if ok {
            self.check_said(exited);
        }
        let claims = exited.claims_complete || self.promised();
        let claims_complete = ok && claims && blocked.is_none();
        if claims_complete {
            self.emit(Event::CompletionClaimed { iteration });
        }
        let mut finished = IterationFinished {
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
            state: exited.state.filter(|_| ok),
            delay: exited.delay.filter(|_| ok),
            class: exited.failure.as_ref().filter(|_| !ok).map(|failure| failure.class),
            stuck_score: None,
            hat: self.wearing(),
            activation: self.activation(ok),
            publishes: self.staged_topics(ok),
        };
        finished.stuck_score = Stuck::score_after(&finished, exited);
        if finished.waits_as() == Some(AgentState::Idle) {
            let idle = &self.state().idle;
            let before = if idle.state == Some(AgentState::Idle) { idle.streak } else { 0 };
            self.emit(Event::IterationIdle(IterationIdle { iteration, streak: before.saturating_add(1) }));
        }
        self.emit(Event::IterationFinished(finished));
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

    /// Ends the running attempt without its report.
    pub(super) fn interrupt_running(&mut self, why: InterruptCause) {
        let Some(Running { iteration, attempt, started_at, last_seen, usage, cost_usd, .. }) =
            self.state().running().cloned()
        else {
            return;
        };
        let duration = last_seen.since(started_at);
        let event = IterationInterrupted { iteration, attempt, why, duration, usage, cost_usd };
        self.emit(Event::IterationInterrupted(event));
    }

    pub(super) fn resume(&mut self, resumed: RunResumed) {
        self.emit(Event::RunResumed(Box::new(resumed)));
        self.engine.guards = Guards::of(&self.engine.state.plan);
        self.start_session_alarms();
        if matches!(self.state().phase, Phase::Waiting(_)) {
            return self.go_on_waiting();
        }
        // A limit that is on disk is the end of the attempt, whatever was lost behind it.
        let limited = self.state().patience.limited_until.is_some();
        self.interrupt_running(if limited { InterruptCause::Limit } else { InterruptCause::Crash });
        // Asked of the state alone: the crash that made it too many may itself have cut the records behind it.
        if self.state().crashes > 0 && self.state().crashes >= self.state().plan.event_loop.max_attempts {
            self.give_up_iteration();
        }
        self.decide();
    }

    /// An iteration that brings ralph down every time must not do so for ever.
    fn give_up_iteration(&mut self) {
        let state = self.state();
        let error = format!("given up: ralph did not survive {} attempts", state.crashes);
        let (iteration, attempt) = (state.next_iteration(), state.attempts);
        let event = IterationFinished {
            error: Some(error),
            ..IterationFinished::new(iteration, attempt, Outcome::Failed)
        };
        self.emit(Event::IterationFinished(event));
    }
}

/// In words, why an attempt that nobody cut short failed.
fn is_limited(exited: &AgentExited) -> bool {
    exited.failure.as_ref().is_some_and(|failure| failure.class == FailureClass::Limit)
}

fn failure_of(exited: &AgentExited) -> Option<String> {
    // Whatever it made of that itself.
    if let Some(breach) = exited.failure.as_ref().filter(|failure| failure.class == FailureClass::Breach) {
        return Some(breach.message.clone());
    }
    let last_line = exited.stderr.as_ref().map(|line| format!(": {line}")).unwrap_or_default();
    match &exited.exit {
        Exit::Code(0) => exited.error.clone(),
        Exit::Code(code) => {
            Some(exited.error.clone().unwrap_or_else(|| format!("exit code {code}{last_line}")))
        }
        Exit::Signal(signal) => Some(format!("killed by signal {signal}{}{last_line}", signal_name(*signal))),
        Exit::Lost { message }
        | Exit::Missing { message }
        | Exit::NotStarted { message }
        | Exit::NoPrompt { message } => Some(message.clone()),
    }
}

pub(super) fn whole_millis(duration: Duration) -> Duration {
    Duration::from_millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

/// A cost that is no sum of money would switch the cost limit off.
pub(super) fn money(cost_usd: Option<f64>) -> Option<f64> {
    cost_usd.filter(|cost| cost.is_finite() && *cost >= 0.0)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::IterationNumber;

    #[test]
    fn a_failure_names_the_last_line_on_stderr_where_there_is_one() {
        let failure = |exit, stderr: Option<&str>, error: Option<&str>| {
            let mut exited = AgentExited::new(IterationNumber(1), 1, exit);
            (exited.stderr, exited.error) = (stderr.map(str::to_owned), error.map(str::to_owned));
            failure_of(&exited)
        };
        let failed = |exit, stderr| failure(exit, stderr, None).unwrap_or_default();
        assert_eq!(failed(Exit::Code(9), None), "exit code 9");
        assert_eq!(failed(Exit::Code(9), Some("boom")), "exit code 9: boom");
        assert_eq!(failed(Exit::Signal(9), Some("boom")), "killed by signal 9 (SIGKILL): boom");
        let mut breached = AgentExited::new(IterationNumber(1), 1, Exit::Code(0));
        let message = crate::failure::Breach::Memory.message().to_owned();
        breached.failure = Some(Failure { class: FailureClass::Breach, message, resets_at: None });
        assert!(
            failure_of(&breached).is_some_and(|why| why.contains("limits.memory")),
            "whatever its exit code"
        );
        // Chatter of a program that did well is no failure; a failure that the output tells is enough.
        assert_eq!(failure(Exit::Code(0), Some("a warning"), None), None);
        assert_eq!(failure(Exit::Code(1), Some("boom"), Some("refused")).as_deref(), Some("refused"));
    }
}
