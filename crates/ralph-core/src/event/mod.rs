//! What happened. One vocabulary: the journal stores these, `--json` prints them, every screen renders them.
//!
//! An event is either the record of an *input* (a person asked, the shell saw) or a *decision* of the engine that followed
//! from one. [`Event::input`] tells which; replaying the inputs through a fresh engine must give the decisions again.

mod agent;
mod command;
mod gate;
mod iteration;
mod run;
mod stuck;
mod topic;
mod wait;

use serde::{Deserialize, Serialize};

use crate::ids::IterationNumber;
use crate::input::{Command, Input, Report};

pub use agent::*;
pub use command::*;
pub use gate::*;
pub use iteration::*;
pub use run::*;
pub use stuck::*;
pub use topic::*;
pub use wait::*;

/// The version of the journal's format. Fields and types are only ever added; a breaking change raises it.
pub const FORMAT: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
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
    #[serde(rename = "command.finished")]
    CommandFinished(CommandFinished),
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
    #[serde(rename = "topic.emitted")]
    TopicEmitted(TopicEmitted),
    #[serde(rename = "hat.reset")]
    HatReset(HatReset),
    #[serde(rename = "gate.started")]
    GateStarted(GateStarted),
    #[serde(rename = "gate.finished")]
    GateFinished(GateFinished),
    #[serde(rename = "gates.finished")]
    GatesFinished(GatesFinished),
    #[serde(rename = "loop.reviewed")]
    LoopReviewed {},
    #[serde(rename = "wait.skipped")]
    WaitSkipped {},
    #[serde(rename = "wake.triggered")]
    WakeTriggered(WakeTriggered),
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
    #[serde(rename = "iteration.idle")]
    IterationIdle(IterationIdle),
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
    #[serde(rename = "topic.rejected")]
    TopicRejected(TopicRejected),
    #[serde(rename = "topic.published")]
    TopicPublished(TopicPublished),
    #[serde(rename = "hat.activated")]
    HatActivated(HatActivated),
    #[serde(rename = "hat.exhausted")]
    HatExhausted(HatExhausted),
    #[serde(rename = "gates.started")]
    GatesStarted(GatesStarted),
    #[serde(rename = "gates.killed")]
    GatesKilled(GatesKilled),
    #[serde(rename = "completion.accepted")]
    CompletionAccepted(CompletionAccepted),
    #[serde(rename = "completion.rejected")]
    CompletionRejected(CompletionRejected),
    #[serde(rename = "loop.suspected")]
    LoopSuspected(LoopSuspected),
    #[serde(rename = "loop.detected")]
    LoopDetected(Box<LoopDetected>),
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

impl Event {
    /// All names there are on the wire.
    pub const NAMES: [&'static str; 49] = [
        "run.started",
        "run.resumed",
        "stop.requested",
        "pause.requested",
        "unpause.requested",
        "guidance.added",
        "command.finished",
        "agent.spawned",
        "agent.text",
        "tool.called",
        "tool.finished",
        "agent.retrying",
        "usage.updated",
        "agent.silent",
        "agent.exited",
        "topic.emitted",
        "hat.reset",
        "gate.started",
        "gate.finished",
        "gates.finished",
        "loop.reviewed",
        "wait.skipped",
        "wake.triggered",
        "timer.fired",
        "journal.failed",
        "iteration.started",
        "guidance.delivered",
        "agent.killed",
        "iteration.idle",
        "iteration.finished",
        "iteration.interrupted",
        "limit.hit",
        "agent.switched",
        "completion.claimed",
        "topic.rejected",
        "topic.published",
        "hat.activated",
        "hat.exhausted",
        "gates.started",
        "gates.killed",
        "completion.accepted",
        "completion.rejected",
        "loop.suspected",
        "loop.detected",
        "delay.started",
        "delay.ended",
        "run.paused",
        "run.unpaused",
        "run.stopped",
    ];

    /// The input this event records, or nothing if the engine decided it.
    pub fn input(&self) -> Option<Input> {
        Some(match self {
            Event::RunStarted(e) => Command::StartRun(e.clone()).into(),
            Event::RunResumed(e) => Command::ResumeRun(e.clone()).into(),
            Event::StopRequested(e) => Command::StopRun(e.clone()).into(),
            Event::PauseRequested {} => Command::PauseRun.into(),
            Event::UnpauseRequested { now } => Command::UnpauseRun { now: *now }.into(),
            Event::GuidanceAdded(e) => Command::AddGuidance(e.clone()).into(),
            Event::CommandFinished(e) => Report::CommandFinished(e.clone()).into(),
            Event::AgentSpawned(e) => Report::AgentSpawned(e.clone()).into(),
            Event::AgentText(e) => Report::AgentSaid(e.clone()).into(),
            Event::ToolCalled(e) => Report::ToolCalled(e.clone()).into(),
            Event::ToolFinished(e) => Report::ToolFinished(e.clone()).into(),
            Event::AgentRetrying(e) => Report::AgentRetried(e.clone()).into(),
            Event::UsageUpdated(e) => Report::UsageUpdated(e.clone()).into(),
            Event::AgentSilent(e) => Report::AgentFellSilent(e.clone()).into(),
            Event::AgentExited(e) => Report::AgentExited(e.clone()).into(),
            Event::TopicEmitted(e) => Report::TopicEmitted(e.clone()).into(),
            Event::HatReset(e) => Command::ResetHat(e.clone()).into(),
            Event::GateStarted(e) => Report::GateStarted(e.clone()).into(),
            Event::GateFinished(e) => Report::GateFinished(e.clone()).into(),
            Event::GatesFinished(e) => Report::GatesFinished(e.clone()).into(),
            Event::LoopReviewed {} => Command::ReviewLoop.into(),
            Event::WaitSkipped {} => Command::SkipWait.into(),
            Event::WakeTriggered(e) => Report::WakeTriggered(e.clone()).into(),
            Event::TimerFired(e) => Report::TimerFired(e.clone()).into(),
            Event::JournalFailed { message } => Report::JournalFailed { message: message.clone() }.into(),
            Event::IterationStarted(_)
            | Event::GuidanceDelivered { .. }
            | Event::AgentKilled(_)
            | Event::IterationIdle(_)
            | Event::IterationFinished(_)
            | Event::IterationInterrupted(_)
            | Event::LimitHit(_)
            | Event::AgentSwitched(_)
            | Event::CompletionClaimed { .. }
            | Event::TopicRejected(_)
            | Event::TopicPublished(_)
            | Event::HatActivated(_)
            | Event::HatExhausted(_)
            | Event::GatesStarted(_)
            | Event::GatesKilled(_)
            | Event::CompletionAccepted(_)
            | Event::CompletionRejected(_)
            | Event::LoopSuspected(_)
            | Event::LoopDetected(_)
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
                | Event::HatReset(_)
                | Event::IterationStarted(_)
                | Event::IterationFinished(_)
                | Event::IterationInterrupted(_)
                | Event::GatesStarted(_)
                | Event::RunStopped(_)
        )
    }

    /// The name on the wire.
    pub fn name(&self) -> &'static str {
        self.row().0
    }

    /// Whether the engine decided this; else it records an input.
    pub fn is_decision(&self) -> bool {
        self.row().1 == Origin::Decision
    }

    /// The name on the wire, and where it comes from.
    fn row(&self) -> (&'static str, Origin) {
        use Origin::{Decision, Input};
        match self {
            Event::RunStarted(_) => ("run.started", Input),
            Event::RunResumed(_) => ("run.resumed", Input),
            Event::StopRequested(_) => ("stop.requested", Input),
            Event::PauseRequested {} => ("pause.requested", Input),
            Event::UnpauseRequested { .. } => ("unpause.requested", Input),
            Event::GuidanceAdded(_) => ("guidance.added", Input),
            Event::CommandFinished(_) => ("command.finished", Input),
            Event::AgentSpawned(_) => ("agent.spawned", Input),
            Event::AgentText(_) => ("agent.text", Input),
            Event::ToolCalled(_) => ("tool.called", Input),
            Event::ToolFinished(_) => ("tool.finished", Input),
            Event::AgentRetrying(_) => ("agent.retrying", Input),
            Event::UsageUpdated(_) => ("usage.updated", Input),
            Event::AgentSilent(_) => ("agent.silent", Input),
            Event::AgentExited(_) => ("agent.exited", Input),
            Event::TopicEmitted(_) => ("topic.emitted", Input),
            Event::HatReset(_) => ("hat.reset", Input),
            Event::GateStarted(_) => ("gate.started", Input),
            Event::GateFinished(_) => ("gate.finished", Input),
            Event::GatesFinished(_) => ("gates.finished", Input),
            Event::LoopReviewed {} => ("loop.reviewed", Input),
            Event::WaitSkipped {} => ("wait.skipped", Input),
            Event::WakeTriggered(_) => ("wake.triggered", Input),
            Event::TimerFired(_) => ("timer.fired", Input),
            Event::JournalFailed { .. } => ("journal.failed", Input),
            Event::IterationStarted(_) => ("iteration.started", Decision),
            Event::GuidanceDelivered { .. } => ("guidance.delivered", Decision),
            Event::AgentKilled(_) => ("agent.killed", Decision),
            Event::IterationIdle(_) => ("iteration.idle", Decision),
            Event::IterationFinished(_) => ("iteration.finished", Decision),
            Event::IterationInterrupted(_) => ("iteration.interrupted", Decision),
            Event::LimitHit(_) => ("limit.hit", Decision),
            Event::AgentSwitched(_) => ("agent.switched", Decision),
            Event::CompletionClaimed { .. } => ("completion.claimed", Decision),
            Event::TopicRejected(_) => ("topic.rejected", Decision),
            Event::TopicPublished(_) => ("topic.published", Decision),
            Event::HatActivated(_) => ("hat.activated", Decision),
            Event::HatExhausted(_) => ("hat.exhausted", Decision),
            Event::GatesStarted(_) => ("gates.started", Decision),
            Event::GatesKilled(_) => ("gates.killed", Decision),
            Event::CompletionAccepted(_) => ("completion.accepted", Decision),
            Event::CompletionRejected(_) => ("completion.rejected", Decision),
            Event::LoopSuspected(_) => ("loop.suspected", Decision),
            Event::LoopDetected(_) => ("loop.detected", Decision),
            Event::DelayStarted(_) => ("delay.started", Decision),
            Event::DelayEnded { .. } => ("delay.ended", Decision),
            Event::RunPaused {} => ("run.paused", Decision),
            Event::RunUnpaused {} => ("run.unpaused", Decision),
            Event::RunStopped(_) => ("run.stopped", Decision),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Input,
    Decision,
}
