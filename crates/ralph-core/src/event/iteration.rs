//! An iteration: when it begins, and what came of it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::failure::FailureClass;
use crate::ids::IterationNumber;
use crate::time::millis;
use crate::usage::Usage;

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

impl IterationFinished {
    /// An iteration that ended this way and left nothing else to tell.
    pub fn new(iteration: IterationNumber, attempt: u32, outcome: Outcome) -> Self {
        Self {
            iteration,
            attempt,
            outcome,
            error: None,
            duration: Duration::ZERO,
            exit_code: None,
            files_changed: None,
            usage: Usage::default(),
            cost_usd: None,
            claims_complete: false,
            blocked: None,
            class: None,
        }
    }
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
