//! What happened. One vocabulary: the journal stores these, `--json` prints them, every screen renders them.
//!
//! An event is either the record of an *input* (a person asked, the shell saw) or a *decision* of the engine that followed
//! from one. [`Event::input`] tells which; replaying the inputs through a fresh engine must give the decisions again.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::failure::{Failure, FailureClass};
use crate::ids::{IterationNumber, RunId};
use crate::input::{Command, Input, Report};
use crate::plan::{Limits, Plan};
use crate::stop::StopKind;
use crate::time::{Timestamp, millis};
use crate::usage::Usage;

/// The version of the journal's format. Fields and types are only ever added; a breaking change raises it.
pub const FORMAT: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum Event {
    // Inputs.
    #[serde(rename = "run.started")]
    RunStarted(Box<RunStarted>),
    #[serde(rename = "run.resumed")]
    RunResumed(Box<RunResumed>),
    #[serde(rename = "stop.requested")]
    StopRequested(StopRequest),
    #[serde(rename = "pause.requested")]
    PauseRequested {},
    #[serde(rename = "unpause.requested")]
    UnpauseRequested {
        /// Also ends a wait for a usage limit.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        now: bool,
    },
    #[serde(rename = "guidance.added")]
    GuidanceAdded(Guidance),
    #[serde(rename = "agent.spawned")]
    AgentSpawned(AgentSpawned),
    #[serde(rename = "agent.text")]
    AgentText(AgentText),
    #[serde(rename = "tool.called")]
    ToolCalled(ToolCalled),
    #[serde(rename = "tool.finished")]
    ToolFinished(ToolFinished),
    #[serde(rename = "agent.retrying")]
    AgentRetrying(AgentRetrying),
    #[serde(rename = "usage.updated")]
    UsageUpdated(UsageUpdated),
    #[serde(rename = "agent.silent")]
    AgentSilent(AgentSilent),
    #[serde(rename = "agent.exited")]
    AgentExited(Box<AgentExited>),
    #[serde(rename = "timer.fired")]
    TimerFired(TimerId),
    #[serde(rename = "journal.failed")]
    JournalFailed { message: String },

    // Decisions.
    #[serde(rename = "iteration.started")]
    IterationStarted(IterationStarted),
    #[serde(rename = "guidance.delivered")]
    GuidanceDelivered { iteration: IterationNumber, count: u32 },
    #[serde(rename = "agent.killed")]
    AgentKilled(AgentKilled),
    #[serde(rename = "iteration.finished")]
    IterationFinished(IterationFinished),
    #[serde(rename = "iteration.interrupted")]
    IterationInterrupted(IterationInterrupted),
    #[serde(rename = "limit.hit")]
    LimitHit(LimitHit),
    #[serde(rename = "agent.switched")]
    AgentSwitched(AgentSwitched),
    #[serde(rename = "completion.claimed")]
    CompletionClaimed { iteration: IterationNumber },
    #[serde(rename = "delay.started")]
    DelayStarted(DelayStarted),
    #[serde(rename = "delay.ended")]
    DelayEnded { early: bool },
    #[serde(rename = "run.paused")]
    RunPaused {},
    #[serde(rename = "run.unpaused")]
    RunUnpaused {},
    #[serde(rename = "run.stopped")]
    RunStopped(RunStopped),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunStarted {
    pub run: RunId,
    pub format: u32,
    /// The version of ralph that started it.
    pub version: String,
    pub pid: u32,
    pub plan: Plan,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunResumed {
    pub version: String,
    pub pid: u32,
    /// The limits from here on: the old ones, or what the person raised them to.
    pub limits: Limits,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopRequest {
    pub how: StopHow,
    /// Which exit code the run ends with.
    pub by: crate::stop::Interrupt,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopHow {
    /// Let this iteration finish.
    AfterIteration,
    /// TERM, a second, KILL.
    Terminate,
    /// KILL at once.
    Kill,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guidance {
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSpawned {
    pub iteration: IterationNumber,
    pub attempt: u32,
    pub pid: u32,
}

/// What the agent said. Bounded: past a budget per iteration only samples are recorded; the log has the rest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentText {
    pub iteration: IterationNumber,
    pub attempt: u32,
    pub text: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// The agent uses a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCalled {
    pub iteration: IterationNumber,
    pub attempt: u32,
    pub id: String,
    /// `shell`, `write`, `edit`, `read`, `search` or `other`.
    pub kind: String,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// A tool has ended. `ok` is absent where the agent does not say, or says "success" whatever happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolFinished {
    pub iteration: IterationNumber,
    pub attempt: u32,
    pub id: String,
    pub ok: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    pub exit_code: Option<i64>,
    /// The beginning and the end of what it printed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
}

/// The agent's own tries against a service that does not answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRetrying {
    pub iteration: IterationNumber,
    pub attempt: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tried: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<u64>,
    pub reason: String,
}

/// Totals of this attempt so far, not increments: a lost record then changes nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UsageUpdated {
    pub iteration: IterationNumber,
    pub attempt: u32,
    pub usage: Usage,
    pub cost_usd: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSilent {
    pub iteration: IterationNumber,
    pub attempt: u32,
    #[serde(rename = "quiet_ms", with = "millis")]
    pub quiet: Duration,
    /// It had said its last word before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ended: bool,
}

/// Everything the shell knows about an attempt that has ended: process gone, output drained, workspace looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentExited {
    pub iteration: IterationNumber,
    pub attempt: u32,
    pub exit: Exit,
    #[serde(rename = "duration_ms", with = "millis")]
    pub duration: Duration,
    /// The agent said the task is complete, by the rules of the signals.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub claims_complete: bool,
    /// The agent said it cannot go on, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<FilesChanged>,
    #[serde(default)]
    pub output_bytes: u64,
    /// Background processes of the agent that had to be ended.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub leftovers: u32,
    #[serde(default, skip_serializing_if = "Usage::is_zero")]
    pub usage: Usage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The agent's output says that it failed, whatever the exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What the failure is, where the output tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}

impl AgentExited {
    /// An attempt that ended this way and left nothing else to tell.
    pub fn new(iteration: IterationNumber, attempt: u32, exit: Exit) -> Self {
        Self {
            iteration,
            attempt,
            exit,
            duration: Duration::ZERO,
            claims_complete: false,
            blocked: None,
            files: None,
            output_bytes: 0,
            leftovers: 0,
            usage: Usage::default(),
            cost_usd: None,
            error: None,
            failure: None,
        }
    }
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilesChanged {
    pub count: u32,
    /// The first few paths, relative to the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
}

/// How an agent process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    Code(i32),
    Signal(i32),
    /// The program could not be started.
    Missing {
        message: String,
    },
    /// Nothing was started, for another reason: an unreadable prompt, no memory for a process.
    NotStarted {
        message: String,
    },
    /// The guard was killed, so how the agent ended is not known; it has been ended.
    Lost {
        message: String,
    },
}

/// A timer belongs to the moment that started it: `epoch` is the number of events there were then. One that fires after its
/// moment has passed matches nothing and is ignored.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TimerId {
    pub slot: TimerSlot,
    pub epoch: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimerSlot {
    IterationTimeout,
    Wait,
    /// The alarm of a guard, by its key.
    Guard(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IterationStarted {
    pub iteration: IterationNumber,
    pub attempt: u32,
    /// Which of the agents: 0 is the first, the others are its fallbacks.
    #[serde(default, skip_serializing_if = "is_first")]
    pub agent: usize,
}

fn is_first(agent: &usize) -> bool {
    *agent == 0
}

/// A usage limit: the loop waits. This is neither an iteration nor a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitHit {
    pub iteration: IterationNumber,
    pub agent: usize,
    pub until: Timestamp,
    /// Whether the agent said when it ends; else it is a guess that grows.
    pub known: bool,
    pub message: String,
}

/// Another agent takes over, or the first one comes back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSwitched {
    pub from: usize,
    pub to: usize,
    /// The name of the agent from here on.
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentKilled {
    pub iteration: IterationNumber,
    pub why: KillCause,
    #[serde(rename = "grace_ms", with = "millis")]
    pub grace: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KillCause {
    Timeout,
    Silence,
    /// It had said its last word and did not end.
    Hung,
    /// The guard with this key is spent.
    Guard(String),
    Stop,
    /// A second request: no grace any more.
    Escalated,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Ok,
    Failed,
    TimedOut,
    Silent,
    /// The agent had said its last word and did not end.
    Hung,
}

impl Outcome {
    pub fn is_failure(self) -> bool {
        self != Outcome::Ok
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IterationFinished {
    pub iteration: IterationNumber,
    pub attempt: u32,
    pub outcome: Outcome,
    /// What went wrong, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(rename = "duration_ms", with = "millis")]
    pub duration: Duration,
    pub exit_code: Option<i32>,
    pub files_changed: Option<u32>,
    pub usage: Usage,
    pub cost_usd: Option<f64>,
    /// The agent claims that the task is complete.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub claims_complete: bool,
    /// Why the agent can not go on, in its words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<String>,
    /// What the failure is, where the agent's output tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<FailureClass>,
}

/// An attempt that says nothing about the task: it was cut short from outside. The iteration is run again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IterationInterrupted {
    pub iteration: IterationNumber,
    pub attempt: u32,
    pub why: InterruptCause,
    #[serde(rename = "duration_ms", with = "millis")]
    pub duration: Duration,
    pub usage: Usage,
    pub cost_usd: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InterruptCause {
    /// ralph itself was killed, or the machine went down.
    Crash,
    /// A person or a signal ended the run.
    Stop,
    /// A limit was reached in the middle of it.
    Guard(String),
    /// The agent could not be started.
    NotStarted,
    /// A usage limit.
    Limit,
    /// The agent's service did not work.
    Outage,
    /// The agent needs a person: sign-in, billing, model.
    Person,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelayStarted {
    pub reason: DelayReason,
    pub until: Timestamp,
    #[serde(rename = "wait_ms", with = "millis")]
    pub wait: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DelayReason {
    /// The pause the definition asks for between iterations.
    Delay,
    /// Backing off after a failure.
    Failure,
    /// Until a usage limit ends.
    Limit,
    /// Until the agent's service may work again.
    Outage,
}

impl DelayReason {
    /// Whether the agent's service keeps the run waiting.
    pub fn is_service(self) -> bool {
        matches!(self, DelayReason::Limit | DelayReason::Outage)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunStopped {
    pub reason: String,
    pub kind: StopKind,
    pub exit_code: u8,
    pub message: String,
    pub iterations: u32,
    #[serde(default)]
    pub failures: u32,
    pub cost_usd: Option<f64>,
    /// Time the loop worked, over all resumes.
    #[serde(rename = "duration_ms", with = "millis")]
    pub duration: Duration,
}

impl Event {
    /// The input this event records, or nothing if the engine decided it.
    pub fn input(&self) -> Option<Input> {
        Some(match self {
            Event::RunStarted(e) => Command::StartRun(e.clone()).into(),
            Event::RunResumed(e) => Command::ResumeRun(e.clone()).into(),
            Event::StopRequested(e) => Command::StopRun(e.clone()).into(),
            Event::PauseRequested {} => Command::PauseRun.into(),
            Event::UnpauseRequested { now } => Command::UnpauseRun { now: *now }.into(),
            Event::GuidanceAdded(e) => Command::AddGuidance(e.clone()).into(),
            Event::AgentSpawned(e) => Report::AgentSpawned(e.clone()).into(),
            Event::AgentText(e) => Report::AgentSaid(e.clone()).into(),
            Event::ToolCalled(e) => Report::ToolCalled(e.clone()).into(),
            Event::ToolFinished(e) => Report::ToolFinished(e.clone()).into(),
            Event::AgentRetrying(e) => Report::AgentRetried(e.clone()).into(),
            Event::UsageUpdated(e) => Report::UsageUpdated(e.clone()).into(),
            Event::AgentSilent(e) => Report::AgentFellSilent(e.clone()).into(),
            Event::AgentExited(e) => Report::AgentExited(e.clone()).into(),
            Event::TimerFired(e) => Report::TimerFired(e.clone()).into(),
            Event::JournalFailed { message } => Report::JournalFailed { message: message.clone() }.into(),
            Event::IterationStarted(_)
            | Event::GuidanceDelivered { .. }
            | Event::AgentKilled(_)
            | Event::IterationFinished(_)
            | Event::IterationInterrupted(_)
            | Event::LimitHit(_)
            | Event::AgentSwitched(_)
            | Event::CompletionClaimed { .. }
            | Event::DelayStarted(_)
            | Event::DelayEnded { .. }
            | Event::RunPaused {}
            | Event::RunUnpaused {}
            | Event::RunStopped(_) => return None,
        })
    }

    /// Whether this must be on disk, whatever happens next, before anything is done about it.
    pub fn needs_sync(&self) -> bool {
        matches!(
            self,
            Event::RunStarted(_)
                | Event::RunResumed(_)
                | Event::GuidanceAdded(_)
                | Event::IterationStarted(_)
                | Event::IterationFinished(_)
                | Event::IterationInterrupted(_)
                | Event::RunStopped(_)
        )
    }

    /// The name on the wire.
    pub fn name(&self) -> &'static str {
        match self {
            Event::RunStarted(_) => "run.started",
            Event::RunResumed(_) => "run.resumed",
            Event::StopRequested(_) => "stop.requested",
            Event::PauseRequested {} => "pause.requested",
            Event::UnpauseRequested { .. } => "unpause.requested",
            Event::GuidanceAdded(_) => "guidance.added",
            Event::AgentSpawned(_) => "agent.spawned",
            Event::AgentText(_) => "agent.text",
            Event::ToolCalled(_) => "tool.called",
            Event::ToolFinished(_) => "tool.finished",
            Event::AgentRetrying(_) => "agent.retrying",
            Event::UsageUpdated(_) => "usage.updated",
            Event::AgentSilent(_) => "agent.silent",
            Event::AgentExited(_) => "agent.exited",
            Event::TimerFired(_) => "timer.fired",
            Event::JournalFailed { .. } => "journal.failed",
            Event::IterationStarted(_) => "iteration.started",
            Event::GuidanceDelivered { .. } => "guidance.delivered",
            Event::AgentKilled(_) => "agent.killed",
            Event::IterationFinished(_) => "iteration.finished",
            Event::IterationInterrupted(_) => "iteration.interrupted",
            Event::LimitHit(_) => "limit.hit",
            Event::AgentSwitched(_) => "agent.switched",
            Event::CompletionClaimed { .. } => "completion.claimed",
            Event::DelayStarted(_) => "delay.started",
            Event::DelayEnded { .. } => "delay.ended",
            Event::RunPaused {} => "run.paused",
            Event::RunUnpaused {} => "run.unpaused",
            Event::RunStopped(_) => "run.stopped",
        }
    }
}
