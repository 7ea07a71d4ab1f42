//! What comes into the engine: a person or the API asks (Command), the shell saw something (Report).

use crate::event::{Guidance, HatReset, RunResumed, StopRequest};

pub use crate::event::Report;

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
