//! Recorded sessions against the real engine, with a virtual clock.
//!
//! A fixture is JSON lines: first the plan's settings and how the run must end, then one line per attempt: what the agent
//! said, how it ended, what a person did meanwhile, and every decision that must follow from it, in order.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::duration;
use ralph_core::effect::{Effect, SpawnAgent, Step, When};
use ralph_core::engine::Engine;
use ralph_core::event::{
    AgentExited, AgentSilent, AgentSpawned, AgentText, DelayReason, Event, Exit, FORMAT, Guidance,
    InterruptCause, KillCause, Outcome, RunStarted, RunStopped, StopHow, StopRequest, UsageUpdated,
};
use ralph_core::ids::{RunId, Seq};
use ralph_core::input::{Command, Input, Report};
use ralph_core::marker::{Rules, TailScanner};
use ralph_core::plan::{AgentPlan, Backoff, Limits, Pace, Plan, SignalPlan, Task};
use ralph_core::prompt;
use ralph_core::record::{Chain, Record};
use ralph_core::replay::Verifier;
use ralph_core::stop::{Interrupt, StopKind};
use ralph_core::time::Timestamp;
use ralph_core::usage::Usage;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    about: String,
    #[serde(default)]
    plan: Settings,
    stops: Stops,
    /// What is decided before any iteration.
    #[serde(default)]
    decisions: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    max_iterations: Option<u32>,
    max_runtime: Option<String>,
    max_wall_time: Option<String>,
    max_cost_usd: Option<f64>,
    max_consecutive_failures: Option<u32>,
    stop_on_error: bool,
    iteration_timeout: Option<String>,
    silence_timeout: Option<String>,
    delay: Option<String>,
    backoff_initial: Option<String>,
    backoff_max: Option<String>,
    completion_promise: Option<String>,
    prompt: Option<String>,
    once: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stops {
    reason: String,
    kind: StopKind,
    exit_code: u8,
    iterations: u32,
    /// The whole run, by the virtual clock.
    after: String,
    cost_usd: Option<f64>,
}

/// One attempt. What is not given: it says nothing, and exits with 0 after a second.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Attempt {
    #[serde(default)]
    says: Vec<String>,
    #[serde(default)]
    exit: Option<i32>,
    #[serde(default)]
    signal: Option<i32>,
    #[serde(default)]
    missing: Option<String>,
    #[serde(default)]
    not_started: Option<String>,
    /// It does not end by itself.
    #[serde(default)]
    hangs: bool,
    /// It does not end on TERM.
    #[serde(default)]
    ignores_term: bool,
    #[serde(default)]
    duration_ms: Option<u64>,
    /// What it has cost so far, by the time since its start.
    #[serde(default)]
    costs: Vec<(u64, f64)>,
    /// What its last account says.
    #[serde(default)]
    cost: Option<f64>,
    /// What a person or the shell does, by the time since the start.
    #[serde(default)]
    person: Vec<(u64, String)>,
    decisions: Vec<String>,
}

#[test]
fn smoke_runner_replays_every_fixture() {
    let mut fixtures: Vec<PathBuf> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "jsonl"))
        .collect();
    fixtures.sort();
    let failures: Vec<String> = fixtures.iter().filter_map(|path| replay(path).err()).collect();
    assert!(failures.is_empty(), "\n{}", failures.join("\n\n"));
    assert!(fixtures.len() >= 15, "only {} fixtures found", fixtures.len());
}

#[test]
fn smoke_runner_has_a_fixture_for_every_reason() {
    let mut reasons: Vec<String> =
        ralph_core::guard::GUARDS.iter().map(|guard| guard.key.to_owned()).collect();
    let others = ["complete", "blocked", "once", "interrupted", "agent_missing", "error", "journal_error"];
    reasons.extend(others.map(str::to_owned));
    for entry in std::fs::read_dir(folder()).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let header: Header = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        reasons.retain(|reason| *reason != header.stops.reason);
    }
    assert_eq!(reasons, Vec::<String>::new(), "no fixture stops for these");
}

#[test]
fn smoke_runner_notices_a_wrong_expectation() {
    let text = std::fs::read_to_string(folder().join("complete.jsonl")).unwrap();
    assert_eq!(session(&text), Ok(()));
    for (right, wrong) in [
        ("\"reason\":\"complete\"", "\"reason\":\"blocked\""),
        ("\"exit_code\":0", "\"exit_code\":3"),
        ("iteration.finished 1 ok", "iteration.finished 1 failed"),
        ("<ralph>COMPLETE</ralph>", "not yet"),
    ] {
        assert!(text.contains(right), "{right}");
        assert!(session(&text.replace(right, wrong)).is_err(), "{wrong} passes");
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn replay(path: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    session(&text).map_err(|why| format!("{}: {why}", path.file_name().unwrap_or_default().display()))
}

fn session(text: &str) -> Result<(), String> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let parse = |e: serde_json::Error| e.to_string();
    let header: Header = serde_json::from_str(lines.next().unwrap_or("")).map_err(parse)?;
    let attempts: Result<VecDeque<Attempt>, _> = lines.map(serde_json::from_str).collect();
    let mut runner = Runner::new(&header, attempts.map_err(parse)?)?;
    runner.run().map_err(|why| format!("{why}\n  ({})", header.about))?;
    runner.check_stop(&header.stops)?;
    runner.verify()
}

fn time(text: &str) -> Result<Duration, String> {
    duration::parse(text).map_err(|e| e.to_string())
}

fn plan(settings: &Settings) -> Result<Plan, String> {
    let optional = |text: &Option<String>| text.as_deref().map(time).transpose();
    let (limits, backoff) = (Limits::default(), Backoff::default());
    Ok(Plan {
        name: "fixture".into(),
        workspace: "/w".into(),
        source: None,
        task: Task::Text(settings.prompt.clone().unwrap_or_default()),
        agent: AgentPlan::command("agent"),
        fallback: Vec::new(),
        prices: Vec::new(),
        limits: Limits {
            max_iterations: settings.max_iterations.or(limits.max_iterations),
            max_runtime: optional(&settings.max_runtime)?.or(limits.max_runtime),
            max_wall_time: optional(&settings.max_wall_time)?.unwrap_or(limits.max_wall_time),
            max_cost_usd: settings.max_cost_usd,
            max_consecutive_failures: settings
                .max_consecutive_failures
                .unwrap_or(limits.max_consecutive_failures),
            stop_on_error: settings.stop_on_error,
            iteration_timeout: optional(&settings.iteration_timeout)?.or(limits.iteration_timeout),
            silence_timeout: optional(&settings.silence_timeout)?,
            max_attempts: limits.max_attempts,
            ..Limits::default()
        },
        pace: Pace {
            delay: optional(&settings.delay)?.unwrap_or_default(),
            failure_backoff: Backoff {
                initial: optional(&settings.backoff_initial)?.unwrap_or(backoff.initial),
                factor: backoff.factor,
                max: optional(&settings.backoff_max)?.unwrap_or(backoff.max),
            },
            ..Pace::default()
        },
        signals: SignalPlan { completion_promise: settings.completion_promise.clone() },
        once: settings.once,
        kill_leftovers: true,
        log_dir: None,
    })
}

struct Runner {
    engine: Engine,
    start: Timestamp,
    now: Timestamp,
    attempts: VecDeque<Attempt>,
    expected: VecDeque<String>,
    /// What will happen, and when.
    queue: Vec<(Timestamp, Input)>,
    agent: Option<Live>,
    records: Vec<(Timestamp, Event)>,
}

struct Live {
    exited: AgentExited,
    born: Timestamp,
    ignores_term: bool,
}

impl Runner {
    fn new(header: &Header, attempts: VecDeque<Attempt>) -> Result<Self, String> {
        let plan = plan(&header.plan)?;
        let now = Timestamp::from_millis(1_768_730_400_000);
        let run = RunId("run".into());
        let started = RunStarted { run, format: FORMAT, version: "0".into(), pid: 1, plan };
        let (engine, step) = Engine::start(now, started);
        let expected = header.decisions.clone().into();
        let (queue, records) = (Vec::new(), Vec::new());
        let mut runner = Self { engine, start: now, now, attempts, expected, queue, agent: None, records };
        runner.take(step)?;
        Ok(runner)
    }

    fn run(&mut self) -> Result<(), String> {
        while !self.engine.is_stopped() {
            let next = (0..self.queue.len()).min_by_key(|i| self.queue[*i].0).ok_or("the run stalls")?;
            let (at, input) = self.queue.remove(next);
            self.now = self.now.max(at);
            if let Input::Report(Report::AgentExited(_) | Report::JournalFailed { .. }) = input {
                self.agent = None;
                self.queue.retain(|(_, i)| !is_of_agent(i));
            }
            let step = self.engine.handle(self.now, input);
            self.take(step)?;
        }
        match (self.expected.front(), self.attempts.len()) {
            (Some(missing), _) => Err(format!("the run ended before `{missing}`")),
            (None, 0) => Ok(()),
            (None, left) => Err(format!("the run ended with {left} attempts to go")),
        }
    }

    fn take(&mut self, step: Step) -> Result<(), String> {
        for event in step.events {
            self.records.push((self.now, event.clone()));
            if event.input().is_some() {
                continue;
            }
            let decision = compact(&event);
            if let Event::IterationStarted(_) = event
                && self.expected.is_empty()
            {
                let attempt = self.attempts.front().ok_or(format!("`{decision}` is not in the fixture"))?;
                self.expected = attempt.decisions.clone().into();
            }
            match self.expected.pop_front() {
                Some(expected) if expected == decision => {}
                expected => return Err(format!("decided `{decision}`, expected {expected:?}")),
            }
        }
        for effect in step.effects {
            match effect {
                Effect::SpawnAgent(spawn) => self.spawn(spawn)?,
                Effect::KillAgent { grace } => self.kill(grace),
                Effect::StartTimer { timer, when } => {
                    let due = match when {
                        When::After(after) => self.now.plus(after),
                        When::At(at) => at.max(self.now),
                    };
                    self.queue.push((due, Report::TimerFired(timer).into()));
                }
            }
        }
        Ok(())
    }

    fn spawn(&mut self, spawn: SpawnAgent) -> Result<(), String> {
        if self.agent.is_some() {
            return Err("two agents at once".into());
        }
        let script = self.attempts.pop_front().ok_or("an attempt that is not in the fixture")?;
        let (iteration, attempt, born) = (spawn.iteration, spawn.attempt, self.now);
        let at = |millis: u64| born.plus(Duration::from_millis(millis));
        let exit = script.outcome();
        if !matches!(exit, Exit::Missing { .. } | Exit::NotStarted { .. }) {
            self.push(born, Report::AgentSpawned(AgentSpawned { iteration, attempt, pid: 7 }));
        }
        for text in &script.says {
            let text = text.clone();
            self.push(born, Report::AgentSaid(AgentText { iteration, attempt, text, truncated: false }));
        }
        for (millis, cost) in &script.costs {
            let usage = Usage { output: 1, ..Usage::default() };
            let cost_usd = Some(*cost);
            self.push(
                at(*millis),
                Report::UsageUpdated(UsageUpdated { iteration, attempt, usage, cost_usd }),
            );
        }
        for (millis, what) in &script.person {
            let input = person(what)?;
            self.queue.push((at(*millis), input));
        }
        let found = self.listen(&spawn, &script);
        let duration = Duration::from_millis(script.duration_ms.unwrap_or(1000));
        let exited = AgentExited {
            iteration,
            attempt,
            exit,
            duration,
            claims_complete: found.complete,
            blocked: found.blocked,
            files: None,
            output_bytes: 0,
            leftovers: 0,
            usage: Usage::default(),
            cost_usd: script.cost,
            error: None,
            failure: None,
        };
        let silent = spawn.silence_timeout.filter(|quiet| script.hangs || *quiet < duration);
        if let Some(quiet) = silent {
            let report = Report::AgentFellSilent(AgentSilent { iteration, attempt, quiet, ended: false });
            self.push(born.plus(quiet), report);
        }
        if !script.hangs {
            self.push(born.plus(duration), Report::AgentExited(Box::new(exited.clone())));
        }
        self.agent = Some(Live { exited, born, ignores_term: script.ignores_term });
        Ok(())
    }

    /// The agent's words, by the rules for a plain command, after the prompt it was really given.
    fn listen(&self, spawn: &SpawnAgent, script: &Attempt) -> ralph_core::marker::Found {
        let plan = &self.engine.state().plan;
        let Task::Text(task) = &plan.task else { return Default::default() };
        let prompt = prompt::render(plan, &spawn.prompt, task);
        let rules = Rules::new(plan.signals.completion_promise.as_deref(), &prompt);
        let mut scanner = TailScanner::new(rules);
        for text in &script.says {
            scanner.push(text.as_bytes());
            scanner.push(b"\n");
        }
        scanner.finish()
    }

    fn kill(&mut self, grace: Duration) {
        let Some(agent) = &mut self.agent else { return };
        let polite = !agent.ignores_term && !grace.is_zero();
        let end = if polite { self.now } else { self.now.plus(grace) };
        agent.exited.exit = Exit::Signal(if polite { 15 } else { 9 });
        agent.exited.duration = end.since(agent.born);
        let report = Report::AgentExited(Box::new(agent.exited.clone()));
        self.queue.retain(|(_, i)| !matches!(i, Input::Report(Report::AgentExited(_))));
        self.push(end, report);
    }

    fn push(&mut self, at: Timestamp, report: Report) {
        self.queue.push((at, report.into()));
    }

    fn check_stop(&self, stops: &Stops) -> Result<(), String> {
        let Some(Event::RunStopped(s)) = self.records.last().map(|(_, event)| event) else {
            return Err("the last event is not run.stopped".into());
        };
        let RunStopped { reason, kind, exit_code, iterations, cost_usd, .. } = s;
        let found = (reason, *kind, *exit_code, *iterations, *cost_usd);
        let wanted = (&stops.reason, stops.kind, stops.exit_code, stops.iterations, stops.cost_usd);
        if found != wanted {
            return Err(format!("stopped with {found:?}, expected {wanted:?}"));
        }
        let took = self.now.since(self.start);
        match took == time(&stops.after)? {
            true => Ok(()),
            false => Err(format!("took {}, expected {}", duration::format(took), stops.after)),
        }
    }

    /// What was decided, through the journal's form and back, is decided again.
    fn verify(&self) -> Result<(), String> {
        let (mut out, mut back) = (Chain::default(), Chain::default());
        let mut verifier = Verifier::default();
        for (i, (at, event)) in self.records.iter().enumerate() {
            let seq = Seq(i as u64 + 1);
            let line = Record { seq, at: *at, event: event.clone() }.encode(&mut out);
            let record =
                Record::decode(line.trim_end().as_bytes(), &mut back, seq).map_err(|e| e.to_string())?;
            verifier.push(&record).map_err(|d| format!("a replay differs: {d:?}"))?;
        }
        Ok(())
    }
}

impl Attempt {
    fn outcome(&self) -> Exit {
        let message = |text: &String| text.clone();
        match (&self.missing, &self.not_started, self.signal) {
            (Some(text), _, _) => Exit::Missing { message: message(text) },
            (_, Some(text), _) => Exit::NotStarted { message: message(text) },
            (_, _, Some(signal)) => Exit::Signal(signal),
            _ => Exit::Code(self.exit.unwrap_or(0)),
        }
    }
}

fn is_of_agent(input: &Input) -> bool {
    match input {
        Input::Command(_) | Input::Report(Report::TimerFired(_) | Report::JournalFailed { .. }) => false,
        Input::Report(_) => true,
    }
}

fn person(what: &str) -> Result<Input, String> {
    let stop = |how, by| Command::StopRun(StopRequest { how, by }).into();
    Ok(match what {
        "stop" => stop(StopHow::AfterIteration, Interrupt::Int),
        "kill" => stop(StopHow::Kill, Interrupt::Int),
        "term" => stop(StopHow::Terminate, Interrupt::Term),
        "hup" => stop(StopHow::Terminate, Interrupt::Hup),
        "pause" => Command::PauseRun.into(),
        "unpause" => Command::UnpauseRun { now: false }.into(),
        "disk full" => Report::JournalFailed { message: "no space left".into() }.into(),
        text => match text.strip_prefix("say ") {
            Some(text) => Command::AddGuidance(Guidance { text: text.into() }).into(),
            None => return Err(format!("a person can not `{text}`")),
        },
    })
}

/// A decision in a few words.
fn compact(event: &Event) -> String {
    let name = event.name();
    match event {
        Event::IterationStarted(e) => format!("{name} {}.{}", e.iteration, e.attempt),
        Event::GuidanceDelivered { iteration, count } => format!("{name} {iteration} {count}"),
        Event::AgentKilled(e) => {
            let why = match &e.why {
                KillCause::Timeout => "timeout",
                KillCause::Silence => "silence",
                KillCause::Hung => "hung",
                KillCause::Guard(key) => key,
                KillCause::Stop => "stop",
                KillCause::Escalated => "escalated",
            };
            format!("{name} {why} {}", duration::format(e.grace))
        }
        Event::IterationFinished(e) => {
            let outcome = match e.outcome {
                Outcome::Ok => "ok",
                Outcome::Failed => "failed",
                Outcome::TimedOut => "timed_out",
                Outcome::Silent => "silent",
                Outcome::Hung => "hung",
            };
            format!("{name} {} {outcome}", e.iteration)
        }
        Event::IterationInterrupted(e) => {
            let why = match &e.why {
                InterruptCause::Crash => "crash",
                InterruptCause::Stop => "stop",
                InterruptCause::Guard(key) => key,
                InterruptCause::NotStarted => "not_started",
                InterruptCause::Limit => "limit",
                InterruptCause::Outage => "outage",
                InterruptCause::Person => "person",
            };
            format!("{name} {} {why}", e.iteration)
        }
        Event::DelayStarted(e) => {
            let reason = match e.reason {
                DelayReason::Delay => "delay",
                DelayReason::Failure => "failure",
                DelayReason::Limit => "limit",
                DelayReason::Outage => "outage",
            };
            format!("{name} {reason} {}", duration::format(e.wait))
        }
        Event::DelayEnded { early: true } => format!("{name} early"),
        Event::RunStopped(e) => format!("{name} {}", e.reason),
        _ => name.to_owned(),
    }
}
