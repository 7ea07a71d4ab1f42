//! Events in words. Everything that shows an event takes its words from here.

pub(crate) mod contain;
pub(crate) mod gates;
pub(crate) mod net;
pub(crate) mod stuck;
pub(crate) mod trust;

use std::time::Duration;

use ralph_model::event::{
    AgentExited, AgentRetrying, AgentStranded, AgentText, CommandFinished, Event, Exit, InterruptCause,
    JournalFailed, KillCause, RunContinued, RunStarted, StopHow, StopRequest, TimerSlot, ToolCalled,
    ToolFinished,
};
use ralph_model::ids::IterationNumber;
use ralph_model::marker::AgentState;
use ralph_model::stop::Interrupt;
use ralph_model::text::clean;
use ralph_model::time::Timestamp;
use ralph_model::usage::Usage;
use ralph_model::{IterationRow, RowOutcome};

use crate::Style;
use crate::format::{clock_from, count, duration, limit_name, money, thousands};
use crate::paint::{Paint, Tone};
use crate::text::{command, fit};
use crate::topics;
use crate::waits;

/// A foreign text inside a line is cut to this many columns.
const QUOTED: usize = 160;

/// The outcome alone, and everything behind it.
pub(crate) struct Phrase {
    pub tone: Tone,
    pub head: String,
    pub rest: String,
}

impl Phrase {
    pub fn paint(&self, paint: Paint) -> String {
        format!("{}{}", paint.paint(self.tone, &self.head), self.rest)
    }
}

/// `#3`, `#3 (attempt 2)`
pub(crate) fn number(iteration: IterationNumber, attempt: u32) -> String {
    match attempt {
        0 | 1 => format!("#{iteration}"),
        _ => format!("#{iteration} (attempt {attempt})"),
    }
}

/// `ok 41s, 2 files changed, $0.12`
fn finished(row: &IterationRow) -> Phrase {
    let took = duration(row.duration.unwrap_or_default());
    let mut rest = match row.outcome {
        // What the agent itself took is a little less, or more where it did not want to end.
        RowOutcome::TimedOut => format!(" after {}", row.time_limit.as_deref().map_or(took, foreign)),
        _ => format!(" {took}"),
    };
    // "timed out after 2h" needs no "killed after 2h" behind it.
    if let Some(error) = row.error.as_deref().filter(|_| row.outcome != RowOutcome::TimedOut) {
        rest.push_str(&format!(": {}", foreign(error)));
    }
    rest.push_str(&topics::published(row));
    if let Some(files) = &row.files {
        rest.push_str(&format!(", {} changed", count(files.count, "file", "files")));
    }
    rest.push_str(&spent(&row.usage, row.cost_usd));
    rest.push_str(&stuck::score(row.stuck_score));
    if row.claim.is_some() {
        rest.push_str(", says it is complete");
    }
    let word = match (row.waits_as, &row.blocked) {
        (Some(AgentState::Idle), _) => Some("idle"),
        (Some(AgentState::WaitingForReview), _) => Some("waits for review"),
        (Some(AgentState::Blocked), _) | (_, Some(_)) => {
            rest.push_str(", says it is blocked");
            None
        }
        (Some(AgentState::Working) | None, None) => None,
    };
    let tone = if word.is_some() { Tone::Dim } else { Tone::of_outcome(row.outcome) };
    Phrase { tone, head: topics::head(row, word.unwrap_or(outcome(row.outcome))), rest }
}

/// `, $0.12`; tokens where nobody knows what they cost; nothing for an agent that tells neither.
fn spent(usage: &Usage, cost_usd: Option<f64>) -> String {
    match (cost_usd, usage.total()) {
        (Some(cost), _) => format!(", {}", money(cost)),
        (None, 0) => String::new(),
        (None, tokens) => format!(", {} tokens, cost unknown", thousands(tokens)),
    }
}

/// The outcome that is left out where a hat is named.
pub(crate) const OK: &str = "ok";

fn outcome(outcome: RowOutcome) -> &'static str {
    match outcome {
        RowOutcome::Running => "running",
        RowOutcome::Ok => OK,
        RowOutcome::Failed => "failed",
        RowOutcome::TimedOut => "timed out",
        RowOutcome::Silent => "silent",
        RowOutcome::Hung => "hung",
        RowOutcome::Interrupted => "interrupted",
    }
}

/// `interrupted after 12s: the limit of runtime is reached`
fn interrupted(row: &IterationRow, cause: &InterruptCause) -> Phrase {
    let why = match cause {
        InterruptCause::Crash => "ralph went down; it runs again".to_owned(),
        InterruptCause::Stop => "the run was stopped".to_owned(),
        InterruptCause::Guard(key) => format!("the limit of {} is reached", limit_name(key.as_str())),
        InterruptCause::Limit => "a usage limit; it runs again".to_owned(),
        InterruptCause::Outage => "the agent's service does not work; it runs again".to_owned(),
        InterruptCause::Person => "the agent needs a person".to_owned(),
        InterruptCause::NotStarted => {
            return Phrase { tone: Tone::Bad, head: "not started".to_owned(), rest: String::new() };
        }
    };
    let mut rest = format!(" after {}: {why}", duration(row.duration.unwrap_or_default()));
    rest.push_str(&spent(&row.usage, row.cost_usd));
    Phrase { tone: Tone::Notice, head: outcome(row.outcome).to_owned(), rest }
}

/// How an attempt ended.
fn row_phrase(row: &IterationRow) -> Phrase {
    match &row.interrupted {
        Some(cause) => interrupted(row, cause),
        None => finished(row),
    }
}

/// `ok 41s, 2 files changed, $0.12 (attempt 2)`
fn ended(row: &IterationRow, paint: Paint) -> String {
    format!("{}{}", row_phrase(row).paint(paint), attempt(row.attempt))
}

/// `#3 ok 41s, 2 files changed, $0.12`
pub(crate) fn row(row: &IterationRow, paint: Paint) -> String {
    let (number, phrase) = (number(row.iteration, row.attempt), row_phrase(row));
    match phrase.tone {
        // Nothing happened: the line is not to catch the eye.
        Tone::Dim => paint.dim(&format!("◇ {number} {}{}", phrase.head, phrase.rest)),
        _ => format!("{number} {}", phrase.paint(paint)),
    }
}

/// What a request to stop means for the iteration that is running, if one is.
pub(crate) fn stop_request(request: &StopRequest, running: bool) -> String {
    let by = match request.by {
        Interrupt::Int => "",
        Interrupt::Term => "SIGTERM: ",
        Interrupt::Hup => "SIGHUP: ",
    };
    let what = match (request.how, running) {
        (_, false) => "stopping",
        // It may have been asked for elsewhere: then no Ctrl-C was pressed yet.
        (StopHow::AfterIteration, true) => "will stop after this iteration; a second Ctrl-C ends it now",
        (StopHow::Terminate, true) => "ending the agent",
        (StopHow::Kill, true) => "ending the agent now",
    };
    format!("{by}{what}")
}

pub(crate) fn guidance(text: &str) -> String {
    format!("\"{}\"", foreign(text))
}

/// `2 background processes of #3 were ended`
pub(crate) fn leftovers(exited: &AgentExited) -> Option<String> {
    let what = count(exited.leftovers, "background process", "background processes");
    let were = if exited.leftovers == 1 { "was" } else { "were" };
    (exited.leftovers > 0).then(|| format!("{what} of #{} {were} ended", exited.iteration))
}

/// A program and its arguments, as one would type them.
pub(crate) fn agent_command(words: &[String], columns: usize) -> String {
    words.split_first().map_or_else(String::new, |(program, args)| command(program, args, columns))
}

/// A text from outside, in one line that is not too long.
pub(crate) fn foreign(text: &str) -> String {
    fit(&clean(text), QUOTED)
}

pub(crate) fn iteration_of(event: &Event) -> Option<IterationNumber> {
    match event {
        Event::CommandFinished(e) => Some(e.iteration),
        Event::AgentSpawned(e) => Some(e.iteration),
        Event::AgentText(e) => Some(e.iteration),
        Event::ToolCalled(e) => Some(e.iteration),
        Event::ToolFinished(e) => Some(e.iteration),
        Event::AgentRetrying(e) => Some(e.iteration),
        Event::LimitHit(e) => Some(e.iteration),
        Event::UsageUpdated(e) => Some(e.iteration),
        Event::AgentSilent(e) => Some(e.iteration),
        Event::AgentStranded(e) => Some(e.iteration),
        Event::AgentExited(e) => Some(e.iteration),
        Event::IterationStarted(e) => Some(e.iteration),
        Event::GuidanceDelivered { iteration, .. } | Event::CompletionClaimed { iteration } => {
            Some(*iteration)
        }
        Event::AgentKilled(e) => Some(e.iteration),
        Event::TopicEmitted(e) => Some(e.iteration),
        Event::TopicRejected(e) => Some(e.iteration),
        Event::TopicPublished(e) => e.iteration,
        Event::HatActivated(e) => Some(e.iteration),
        Event::IterationIdle(e) => Some(e.iteration),
        Event::IterationFinished(e) => Some(e.iteration),
        Event::IterationInterrupted(e) => Some(e.iteration),
        other => gates::iteration_of(other).or_else(|| stuck::iteration_of(other)),
    }
}

/// The lines of events that have no more to them than words.
pub(crate) fn others(event: &Event, paint: Paint) -> Vec<String> {
    let dim = |text: String| paint.dim(&text);
    match event {
        Event::CheckpointFailed(_) | Event::CheckpointRestored(_) => {
            net::details(event).map(|text| paint.paint(Tone::Notice, &text)).into_iter().collect()
        }
        Event::FilesProtected(_)
        | Event::ProofNarrowed(_)
        | Event::BinCleaned(_)
        | Event::KeeperStopped(_)
        | Event::SurvivorsSwept(_) => trust::lines(event, paint),
        Event::RunContinued(e) => vec![paint.dim(&continued(e))],
        other => gates::claim(other).map(dim).into_iter().collect(),
    }
}

/// `continued; it stood still for 5m, which counts for no limit`
fn continued(continued: &RunContinued) -> String {
    format!("continued; it stood still for {}, which counts for no limit", duration(continued.stood))
}

/// Everything about an event but its time, iteration and type.
pub(crate) fn details(event: &Event, at: Timestamp, style: &Style) -> String {
    let paint = Paint { color: style.color };
    match event {
        Event::RunStarted(e) => started(e),
        Event::RunResumed(e) => format!("by ralph {}, pid {}", clean(&e.version), e.pid),
        Event::StopRequested(e) => stop_how(e),
        Event::IterationEndRequested {} => "end this iteration".to_owned(),
        Event::PauseRequested {} => "pause before the next iteration".to_owned(),
        Event::UnpauseRequested { now } => if *now { "go on now" } else { "go on" }.to_owned(),
        Event::GuidanceAdded(e) => guidance(&e.text),
        Event::CommandFinished(e) => command_finished(e),
        Event::AgentSpawned(e) => format!("pid {}{}", e.pid, attempt(e.attempt)),
        Event::AgentText(e) => said(e),
        Event::ToolCalled(e) => tool_call(e),
        Event::ToolFinished(e) => tool_result(e),
        Event::AgentRetrying(e) => retry(e),
        Event::LimitHit(e) => {
            let (until, guess) =
                (clock_from(e.until, at, &style.zone()), if e.known { "" } else { " (a guess)" });
            format!("{}; next try at {until}{guess}", foreign(&e.message))
        }
        Event::AgentSwitched(e) => format!("{} is at work from here on", clean(&e.name)),
        Event::UsageUpdated(e) => {
            let cost = e.cost_usd.map_or(", cost unknown".to_owned(), |cost| format!(", {}", money(cost)));
            format!("{} tokens{cost}", thousands(e.usage.total()))
        }
        Event::AgentStranded(e) => stranded(e),
        Event::AgentSilent(e) => format!("no output for {}", duration(e.quiet)),
        Event::AgentExited(e) => exited(e),
        Event::WaitSkipped {} => "a person goes on".to_owned(),
        Event::WakeTriggered(e) => waits::woken(e, None),
        Event::TimerFired(timer) => timer_fired(&timer.slot),
        Event::TopicEmitted(_)
        | Event::HatReset(_)
        | Event::TopicRejected(_)
        | Event::TopicPublished(_)
        | Event::HatActivated(_)
        | Event::HatExhausted(_) => topics::details(event),
        Event::JournalFailed(JournalFailed { message }) => foreign(message),
        Event::IterationStarted(e) => started_as(e.attempt, e.hat.as_deref()),
        Event::GuidanceDelivered { count: n, .. } => count(*n, "message", "messages"),
        Event::AgentKilled(e) => kill_cause(&e.why, e.grace),
        Event::IterationIdle(e) => format!("{} in a row", e.streak),
        Event::IterationFinished(e) => ended(&e.into(), paint),
        Event::IterationInterrupted(e) => ended(&e.into(), paint),
        Event::CompletionClaimed { .. } => "the agent says the task is complete".to_owned(),
        Event::GatesStarted(_)
        | Event::GateStarted(_)
        | Event::GateFinished(_)
        | Event::GatesFinished(_)
        | Event::GatesKilled(_)
        | Event::CompletionDeferred(_)
        | Event::CompletionInferred(_)
        | Event::CompletionAccepted(_)
        | Event::CompletionRejected(_) => gates::details(event),
        Event::LoopSuspected(_) | Event::LoopDetected(_) | Event::LoopReviewed {} => stuck::details(event),
        Event::DelayStarted(e) => waits::line(e, None, at, style),
        Event::DelayEnded { early } => if *early { "cut short" } else { "" }.to_owned(),
        Event::RunStopped(e) => {
            let reason = paint.paint(Tone::of_stop(e.kind), &clean(e.reason.as_str()));
            format!("{reason}: {} (exit code {})", foreign(&e.message), e.exit_code)
        }
        Event::RunContinued(e) => continued(e),
        other => trust::details(other).or_else(|| net::details(other)).unwrap_or_else(|| fields(other)),
    }
}

/// The hat of a first attempt; the number of a later one.
fn started_as(attempt: u32, hat: Option<&str>) -> String {
    match attempt {
        0 | 1 => hat.map(clean).unwrap_or_default(),
        n => format!("attempt {n}"),
    }
}

fn timer_fired(slot: &TimerSlot) -> String {
    match slot {
        TimerSlot::IterationTimeout => "the iteration has used its time".to_owned(),
        TimerSlot::Wait => "the wait is over".to_owned(),
        TimerSlot::Guard(key) => format!("the limit of {} is reached", limit_name(key.as_str())),
    }
}

/// An event that has no words of its own: `bytes 42, early true`.
fn fields(event: &Event) -> String {
    let Ok(serde_json::Value::Object(fields)) = event.to_value() else { return String::new() };
    let named = fields.iter().filter(|(name, _)| !["type", "iteration"].contains(&name.as_str()));
    let one = |(name, value): (&String, &serde_json::Value)| match value {
        serde_json::Value::String(text) => format!("{name} {}", foreign(text)),
        other => format!("{name} {}", foreign(&other.to_string())),
    };
    named.map(one).collect::<Vec<String>>().join(", ")
}

/// `tests: exit code 1 after 2.1s, 312 bytes`
pub(crate) fn command_finished(command: &CommandFinished) -> String {
    let how = match (command.timed_out, command.exit_code) {
        (true, _) => "timed out".to_owned(),
        (false, Some(0)) => "ok".to_owned(),
        (false, Some(code)) => format!("exit code {code}"),
        (false, None) => "killed".to_owned(),
    };
    let bytes = thousands(command.output_bytes);
    format!("{}: {how} after {}, {bytes} bytes", clean(&command.name), duration(command.duration))
}

fn said(text: &AgentText) -> String {
    let cut = if text.truncated { " (cut; the log has the rest)" } else { "" };
    format!("{}{cut}", foreign(&text.text))
}

fn tool_call(ToolCalled { call, .. }: &ToolCalled) -> String {
    let what = call.command.as_deref().or(call.path.as_deref()).unwrap_or_default();
    format!("{}: {}", clean(&call.name), foreign(what)).trim_end_matches([':', ' ']).to_owned()
}

fn tool_result(result: &ToolFinished) -> String {
    let how = match result.result.ok {
        Some(true) => "ok",
        Some(false) => "failed",
        None => "ended, how is not known",
    };
    let code = result.result.exit_code.map(|code| format!(", exit code {code}")).unwrap_or_default();
    let command =
        result.command.as_deref().map(|command| format!(": {}", foreign(command))).unwrap_or_default();
    format!("{how}{code}{command}")
}

/// `retries 3/10: overloaded`
pub(crate) fn retry(retry: &AgentRetrying) -> String {
    let count = match (retry.tried, retry.of) {
        (Some(tried), Some(of)) => format!(" {tried}/{of}"),
        (Some(tried), None) => format!(" {tried}"),
        _ => String::new(),
    };
    format!("retries{count}: {}", foreign(&retry.reason))
}

fn attempt(attempt: u32) -> String {
    if attempt > 1 { format!(" (attempt {attempt})") } else { String::new() }
}

fn started(started: &RunStarted) -> String {
    let plan = &started.plan;
    let workspace = clean(&plan.workspace.to_string_lossy());
    let agent = command(&plan.agent.program, &plan.agent.args, 60);
    format!("{} in {workspace}, agent {agent}", clean(&started.run.0))
}

fn stop_how(request: &StopRequest) -> String {
    let by = match request.by {
        Interrupt::Int => "a person",
        Interrupt::Term => "SIGTERM",
        Interrupt::Hup => "SIGHUP",
    };
    let how = match request.how {
        StopHow::AfterIteration => "after this iteration",
        StopHow::Terminate => "now, politely",
        StopHow::Kill => "now",
    };
    format!("by {by}, {how}")
}

fn exited(exited: &AgentExited) -> String {
    let how = match &exited.exit {
        Exit::Code(code) => format!("exit code {code}"),
        Exit::Signal(signal) => format!("killed by signal {signal}"),
        Exit::Missing { message }
        | Exit::NotStarted { message }
        | Exit::NoPrompt { message }
        | Exit::Lost { message } => foreign(message),
    };
    let mut out = format!("{how} after {}", duration(exited.duration));
    if exited.leftovers > 0 {
        let what = count(exited.leftovers, "background process", "background processes");
        out.push_str(&format!(", {what} ended"));
    }
    if let Some(why) = &exited.blocked {
        out.push_str(&format!(", blocked: {}", foreign(why)));
    }
    out
}

fn stranded(e: &AgentStranded) -> String {
    format!("nothing can come of it: {} ({})", foreign(&e.failure.message), e.failure.class.name())
}

fn kill_cause(why: &KillCause, grace: Duration) -> String {
    let why = match why {
        KillCause::Timeout => "it has used its time".to_owned(),
        KillCause::Silence => "it printed nothing for too long".to_owned(),
        KillCause::Hung => "it had said its last word and did not end".to_owned(),
        KillCause::Stranded => "nothing could come of it any more".to_owned(),
        KillCause::Guard(key) => format!("the limit of {} is reached", limit_name(key.as_str())),
        KillCause::Stop => "the run is stopped".to_owned(),
        KillCause::Person => "a person ended this iteration".to_owned(),
        KillCause::Escalated => "asked again, without grace".to_owned(),
    };
    match grace.is_zero() {
        true => why,
        false => format!("{why}; KILL {} after TERM", duration(grace)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_that_nobody_knows_is_not_zero() {
        let used = Usage { input: 6050, cache_read: 15300, output: 160, ..Usage::default() };
        assert_eq!(spent(&used, Some(0.0)), ", $0.00");
        assert_eq!(spent(&used, None), ", 21.5k tokens, cost unknown");
        assert_eq!(spent(&Usage::default(), None), "");
    }
}
