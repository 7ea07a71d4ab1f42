//! The format of the fixtures: what a line may say, and how decisions are written.

mod compact;

use ralph_core::event::JournalFailed;
use std::time::Duration;

use ralph_core::duration;
use ralph_core::event::{
    Circle, DetectorKey, Exit, Finding, Guidance, HatReset, LoopIteration, StopHow, StopRequest, WakeCause,
    WakeTriggered,
};
use ralph_core::failure::{Failure, FailureClass};
use ralph_core::hat::HatsPlan;
use ralph_core::ids::IterationNumber;
use ralph_core::input::{Command, Input, Report};
use ralph_core::plan::{
    AgentPlan, Backoff, Budget, EventLoop, Gate, GateWhen, Idle, IdleWait, OnState, Pace, Plan, Reaction,
    Stop, StuckAction, StuckPlan, Task, Use, Wake,
};
use ralph_core::stop::{Interrupt, StopKind};
use ralph_core::time::Timestamp;
use serde::Deserialize;

pub use compact::compact;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    pub about: String,
    #[serde(default)]
    pub plan: Settings,
    pub stops: Stops,
    /// What is decided before any iteration.
    #[serde(default)]
    pub decisions: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    pub max_iterations: Option<u32>,
    pub max_runtime: Option<String>,
    pub max_wall_time: Option<String>,
    pub max_cost_usd: Option<f64>,
    /// What this run and others may spend together. The others spend nothing.
    pub budget_day: Option<f64>,
    pub budget_week: Option<f64>,
    pub max_consecutive_failures: Option<u32>,
    pub stop_on_error: bool,
    pub iteration_timeout: Option<String>,
    pub silence_timeout: Option<String>,
    pub delay: Option<String>,
    pub backoff_initial: Option<String>,
    pub backoff_max: Option<String>,
    pub completion_promise: Option<String>,
    pub prompt: Option<String>,
    pub once: bool,
    /// The names of the agents that take over.
    pub fallback: Vec<String>,
    pub fallback_after: Option<u32>,
    pub fallback_wait: Option<String>,
    pub max_wait: Option<String>,
    pub max_outages: Option<u32>,
    pub max_tokens: Option<u64>,
    /// Required gates, asked at a claim.
    pub gates: Vec<String>,
    /// Gates that are asked after every iteration, required as well.
    pub iteration_gates: Vec<String>,
    pub max_rejected_completions: Option<u32>,
    /// The hats, as the plan has them.
    pub hats: Option<HatsPlan>,
    pub idle: Option<Waits>,
    /// `stop`, `ask` or `wait`.
    pub on_blocked: Option<String>,
    pub on_review: Option<String>,
    /// Something may bring work.
    pub wake: bool,
    /// What is done about a run that goes in circles. Not given: nobody looks.
    pub stuck: Option<StuckAction>,
    /// Outputs that are alike end the run by themselves.
    pub similarity_stops: bool,
    /// So do signatures that repeat.
    pub signature_stops: bool,
}

/// What is not given is as in the definition of a run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Waits {
    pub delay: Option<String>,
    pub backoff: Option<f64>,
    pub max_delay: Option<String>,
    pub max: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stops {
    pub reason: String,
    pub kind: StopKind,
    pub exit_code: u8,
    pub iterations: u32,
    /// The whole run, by the virtual clock.
    pub after: String,
    pub cost_usd: Option<f64>,
}

/// One attempt. What is not given: it says nothing, and exits with 0 after a second.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attempt {
    #[serde(default)]
    pub says: Vec<String>,
    /// The alarms of the detectors of stuck runs.
    #[serde(default)]
    pub finds: Vec<Alarm>,
    #[serde(default)]
    pub exit: Option<i32>,
    #[serde(default)]
    pub signal: Option<i32>,
    #[serde(default)]
    pub missing: Option<String>,
    #[serde(default)]
    pub not_started: Option<String>,
    /// It does not end by itself.
    #[serde(default)]
    pub hangs: bool,
    /// It does not end on TERM.
    #[serde(default)]
    pub ignores_term: bool,
    #[serde(default)]
    pub duration_ms: Option<u64>,
    /// What it has cost so far, by the time since its start.
    #[serde(default)]
    pub costs: Vec<(u64, f64)>,
    /// What its last account says.
    #[serde(default)]
    pub cost: Option<f64>,
    /// The tokens it has used so far, by the time since its start.
    #[serde(default)]
    pub tokens: Vec<(u64, u64)>,
    /// Its output says that it failed.
    #[serde(default)]
    pub error: Option<String>,
    /// The same, and why.
    #[serde(default)]
    pub fails: Option<FailureClass>,
    /// When its limit ends, counted from its own end; a minus means before it.
    #[serde(default)]
    pub resets_in: Option<String>,
    /// It says its last word, does not end, and this is noticed after so many milliseconds.
    #[serde(default)]
    pub ended_ms: Option<u64>,
    /// What its prompt has to say.
    #[serde(default)]
    pub told: Option<String>,
    /// What its prompt must not say.
    #[serde(default)]
    pub not_told: Option<String>,
    /// What a person or the shell does, by the time since the start.
    #[serde(default)]
    pub person: Vec<(u64, String)>,
    /// Required gates that fail after it. A gate takes a second.
    #[serde(default)]
    pub failing_gates: Vec<String>,
    /// Rounds of gates during which a file changes.
    #[serde(default)]
    pub moving_rounds: u32,
    /// Topics and payloads that it publishes with `ralph emit`.
    #[serde(default)]
    pub emits: Vec<(String, String)>,
    /// The hash of the tree after it.
    #[serde(default)]
    pub tree: Option<String>,
    /// A gate that never ends.
    #[serde(default)]
    pub hanging_gate: bool,
    pub decisions: Vec<String>,
}

pub fn time(text: &str) -> Result<Duration, String> {
    duration::parse(text).map_err(|e| e.to_string())
}

pub fn plan(settings: &Settings) -> Result<Plan, String> {
    let agent = |name: &String| AgentPlan { name: name.clone(), ..AgentPlan::command("agent") };
    let task = Task::Text(settings.prompt.clone().unwrap_or_default());
    Ok(Plan {
        fallback: settings.fallback.iter().map(agent).collect(),
        event_loop: event_loop(settings)?,
        pace: pace(settings)?,
        idle: idle(settings)?,
        on_state: on_state(settings)?,
        wake: Wake {
            files: settings.wake.then(|| "inbox".to_owned()).into_iter().collect(),
            ..Wake::default()
        },
        budget: Budget { day: settings.budget_day, week: settings.budget_week, ..Budget::default() },
        once: settings.once,
        stop: stop(settings),
        gates: gates(settings),
        stuck: stuck(settings),
        hats: settings.hats.clone().map(Box::new),
        ..Plan::new("fixture", "/w", task, agent(&"first".to_owned()))
    })
}

/// An alarm that a detector raises at the end of an attempt.
#[derive(Deserialize)]
pub struct Alarm {
    detector: DetectorKey,
    /// The iterations that it is about.
    #[serde(default)]
    circle: Vec<u32>,
    #[serde(default)]
    ratio: Option<f64>,
}

impl Alarm {
    pub fn finding(&self, plan: &StuckPlan) -> Finding {
        let role = match self.detector.as_str() {
            "similarity" => plan.similarity,
            "signature" => plan.signature,
            _ => Use::Decide,
        };
        let line = |n: &u32| LoopIteration { iteration: IterationNumber(*n), hat: None, line: String::new() };
        let circle = Circle { iterations: self.circle.iter().map(line).collect(), ..Circle::default() };
        Finding {
            detector: self.detector.clone(),
            role,
            score: 1.0,
            alarm: true,
            pattern: "the same again".to_owned(),
            kind: None,
            reasons: Vec::new(),
            period: 1,
            ratio: self.ratio,
            circle: role.decides().then(|| Box::new(circle)),
        }
    }
}

fn stuck(settings: &Settings) -> StuckPlan {
    let Some(action) = settings.stuck else { return StuckPlan::off() };
    let similarity = if settings.similarity_stops { Use::Stop } else { Use::Evidence };
    let signature = if settings.signature_stops { Use::Stop } else { Use::Evidence };
    StuckPlan { action, similarity, signature, ..StuckPlan::default() }
}

fn gates(settings: &Settings) -> Vec<Gate> {
    let at_claims = settings.gates.iter().map(|name| (name, GateWhen::Completion));
    let always = settings.iteration_gates.iter().map(|name| (name, GateWhen::Iteration));
    let gate = |(name, when): (&String, _)| Gate { when, ..Gate::new(name.clone(), &["check"]) };
    at_claims.chain(always).map(gate).collect()
}

fn stop(settings: &Settings) -> Stop {
    let usual = Stop::default();
    let max_rejected_completions =
        settings.max_rejected_completions.unwrap_or(usual.max_rejected_completions);
    Stop { max_rejected_completions, ..usual }
}

fn optional(text: &Option<String>) -> Result<Option<Duration>, String> {
    text.as_deref().map(time).transpose()
}

fn event_loop(settings: &Settings) -> Result<EventLoop, String> {
    let (limits, backoff) = (EventLoop::default(), Backoff::default());
    let failures = settings.max_consecutive_failures;
    Ok(EventLoop {
        max_iterations: settings.max_iterations.or(limits.max_iterations),
        max_runtime: optional(&settings.max_runtime)?.or(limits.max_runtime),
        max_wall_time: optional(&settings.max_wall_time)?.unwrap_or(limits.max_wall_time),
        max_cost_usd: settings.max_cost_usd,
        max_tokens: settings.max_tokens,
        max_consecutive_failures: failures.unwrap_or(limits.max_consecutive_failures),
        stop_on_error: settings.stop_on_error,
        completion_promise: settings.completion_promise.clone(),
        iteration_timeout: optional(&settings.iteration_timeout)?.unwrap_or(limits.iteration_timeout),
        silence_timeout: Some(optional(&settings.silence_timeout)?),
        max_attempts: limits.max_attempts,
        max_wait: optional(&settings.max_wait)?.unwrap_or(limits.max_wait),
        max_outages: settings.max_outages.unwrap_or(limits.max_outages),
        delay: optional(&settings.delay)?.unwrap_or_default(),
        failure_backoff: Backoff {
            initial: optional(&settings.backoff_initial)?.unwrap_or(backoff.initial),
            factor: backoff.factor,
            max: optional(&settings.backoff_max)?.unwrap_or(backoff.max),
        },
        ..limits
    })
}

fn idle(settings: &Settings) -> Result<Idle, String> {
    let Some(waits) = &settings.idle else { return Ok(Idle::Off) };
    let usual = IdleWait::default();
    Ok(Idle::Waits(IdleWait {
        delay: optional(&waits.delay)?.unwrap_or(usual.delay),
        backoff: waits.backoff.unwrap_or(usual.backoff),
        max_delay: optional(&waits.max_delay)?,
        max: optional(&waits.max)?,
    }))
}

fn on_state(settings: &Settings) -> Result<OnState, String> {
    let reaction = |text: &Option<String>, default: Reaction| {
        Ok(match text.as_deref() {
            None => default,
            Some("stop") => Reaction::stop(),
            Some("ask") => Reaction::ask(),
            Some("wait") => Reaction::default(),
            Some(other) => return Err(format!("`{other}` is no reaction")),
        })
    };
    let default = OnState::default();
    Ok(OnState {
        blocked: reaction(&settings.on_blocked, default.blocked)?,
        waiting_for_review: reaction(&settings.on_review, default.waiting_for_review)?,
    })
}

fn pace(settings: &Settings) -> Result<Pace, String> {
    let pace = Pace::default();
    Ok(Pace {
        fallback_after: settings.fallback_after.unwrap_or(pace.fallback_after),
        fallback_wait: optional(&settings.fallback_wait)?.unwrap_or(pace.fallback_wait),
        ..pace
    })
}

impl Attempt {
    pub fn outcome(&self) -> Exit {
        let message = |text: &String| text.clone();
        match (&self.missing, &self.not_started, self.signal) {
            (Some(text), _, _) => Exit::Missing { message: message(text) },
            (_, Some(text), _) => Exit::NotStarted { message: message(text) },
            (_, _, Some(signal)) => Exit::Signal(signal),
            _ => Exit::Code(self.exit.unwrap_or(0)),
        }
    }

    pub fn failure(&self, end: Timestamp) -> Result<Option<Failure>, String> {
        let Some(class) = self.fails else { return Ok(None) };
        let resets_at = match self.resets_in.as_deref() {
            None => None,
            Some(text) => Some(match text.strip_prefix('-') {
                Some(before) => Timestamp::from_millis(end.as_millis() - time(before)?.as_millis() as i64),
                None => end.plus(time(text)?),
            }),
        };
        Ok(Some(Failure { class, message: class.name().to_owned(), resets_at }))
    }
}

pub fn person(what: &str) -> Result<Input, String> {
    let stop = |how, by| Command::StopRun(StopRequest { how, by }).into();
    Ok(match what {
        "stop" => stop(StopHow::AfterIteration, Interrupt::Int),
        "kill" => stop(StopHow::Kill, Interrupt::Int),
        "term" => stop(StopHow::Terminate, Interrupt::Term),
        "hup" => stop(StopHow::Terminate, Interrupt::Hup),
        "end_iteration" => Command::EndIteration.into(),
        "pause" => Command::PauseRun.into(),
        "unpause now" => Command::UnpauseRun { now: true }.into(),
        "unpause" => Command::UnpauseRun { now: false }.into(),
        "skip" => Command::SkipWait.into(),
        "work" => Report::WakeTriggered(WakeTriggered { epoch: 0, by: WakeCause::Command }).into(),
        "disk full" => Report::JournalFailed(JournalFailed { message: "no space left".into() }).into(),
        text => match text.split_once(' ') {
            Some(("say", text)) => Command::AddGuidance(Guidance { text: text.into() }).into(),
            Some(("reset", hat)) => Command::ResetHat(HatReset { hat: hat.into() }).into(),
            _ => return Err(format!("a person cannot `{text}`")),
        },
    })
}
