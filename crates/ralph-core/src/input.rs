//! What comes into the engine: a person or the API asks (Command), the shell saw something (Report).

use crate::event::{
    AgentExited, AgentRetrying, AgentSilent, AgentSpawned, AgentText, CommandFinished, GateFinished,
    GateStarted, GatesFinished, Guidance, HatReset, RunResumed, StopRequest, TimerId, ToolCalled,
    ToolFinished, TopicEmitted, UsageUpdated, WakeTriggered,
};

#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    Command(Command),
    Report(Report),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    ResumeRun(Box<RunResumed>),
    StopRun(StopRequest),
    PauseRun,
    UnpauseRun {
        /// Also end a wait for a usage limit.
        now: bool,
    },
    AddGuidance(Guidance),
    ResetHat(HatReset),
    /// Show once more what is known about the loop that a person was asked about.
    ReviewLoop,
    /// End a wait that is not for a usage limit.
    SkipWait,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Report {
    CommandFinished(CommandFinished),
    AgentSpawned(AgentSpawned),
    AgentSaid(AgentText),
    ToolCalled(ToolCalled),
    ToolFinished(ToolFinished),
    AgentRetried(AgentRetrying),
    UsageUpdated(UsageUpdated),
    AgentFellSilent(AgentSilent),
    AgentExited(Box<AgentExited>),
    TopicEmitted(TopicEmitted),
    GateStarted(GateStarted),
    GateFinished(GateFinished),
    GatesFinished(GatesFinished),
    WakeTriggered(WakeTriggered),
    TimerFired(TimerId),
    JournalFailed { message: String },
}

impl From<Command> for Input {
    fn from(command: Command) -> Self {
        Input::Command(command)
    }
}

impl From<Report> for Input {
    fn from(report: Report) -> Self {
        Input::Report(report)
    }
}
