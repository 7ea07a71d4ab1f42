//! What comes into the engine: a person or the API asks (Command), the shell saw something (Report).

use serde::{Deserialize, Serialize};

use crate::event::{Guidance, HatReset, RunResumed, StopRequest};

pub use crate::event::Report;

#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    Command(Command),
    Report(Report),
}

/// What a person asks of the run. This very type is spoken over the control socket: `{"command":"unpause","now":true}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Command {
    /// Not over the socket: a resume is a new process, and there is nobody to ask before it.
    #[serde(skip)]
    ResumeRun(Box<RunResumed>),
    #[serde(rename = "stop")]
    StopRun(StopRequest),
    /// End the agent of this iteration; the run goes on with the next one.
    EndIteration,
    #[serde(rename = "pause")]
    PauseRun,
    #[serde(rename = "unpause")]
    UnpauseRun {
        /// Also end a wait for a usage limit.
        #[serde(default)]
        now: bool,
    },
    #[serde(rename = "say")]
    AddGuidance(Guidance),
    ResetHat(HatReset),
    /// Show once more what is known about the loop that a person was asked about.
    ReviewLoop,
    /// End a wait that is not for a usage limit.
    SkipWait,
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
