//! An iteration: when it begins, and what came of it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::failure::FailureClass;
use crate::hat::Topic;
use crate::ids::{HatKey, IterationNumber};
use crate::marker::AgentState;
use crate::stop::StopKey;
use crate::time::millis;
use crate::usage::Usage;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct IterationStarted {
    pub iteration: IterationNumber,
    pub attempt: u32,
    /// Which of the agents: 0 is the first, the others are its fallbacks.
    #[serde(default, skip_serializing_if = "is_first")]
    pub agent: usize,
    /// The hat it wears, where there are hats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hat: Option<HatKey>,
}

fn is_first(agent: &usize) -> bool {
    *agent == 0
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct IterationFinished {
    pub iteration: IterationNumber,
    pub attempt: u32,
    pub outcome: Outcome,
    /// What went wrong, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(rename = "duration_ms", with = "millis")]
    #[schemars(with = "u64")]
    pub duration: Duration,
    pub exit_code: Option<i32>,
    pub files_changed: Option<u32>,
    pub usage: Usage,
    pub cost_usd: Option<f64>,
    /// The agent claims that the task is complete.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub claims_complete: bool,
    /// Why the agent cannot go on, in its words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<String>,
    /// What the agent says it is doing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<AgentState>,
    /// How long the agent wants the next iteration to wait.
    #[serde(rename = "delay_ms", default, skip_serializing_if = "Option::is_none", with = "millis::option")]
    #[schemars(with = "Option<u64>")]
    pub delay: Option<Duration>,
    /// What the failure is, where the agent's output tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<FailureClass>,
    /// How stuck the run looks, from 0 to 1. Nothing where nobody looks, or the iteration says nothing about that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck_score: Option<f64>,
    /// The hat it wore, where there are hats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hat: Option<HatKey>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activation: Option<Activation>,
    /// What it publishes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub publishes: Vec<Topic>,
}

impl IterationFinished {
    /// Whether it tells anything about being stuck. An iteration that failed belongs to the rules about failures, one that
    /// waits to those about idle agents.
    pub fn is_evidence(&self) -> bool {
        !self.outcome.is_failure() && self.waits_as().is_none() && self.delay.is_none()
    }

    const KILLED_AFTER: &str = "killed after ";

    /// The error of an iteration that took longer than it may.
    pub fn timeout_error(limit: Duration) -> String {
        format!("{}{}", Self::KILLED_AFTER, crate::duration::format(limit))
    }

    /// The time that it was given, where it took longer.
    pub fn time_limit(&self) -> Option<&str> {
        let error = self.error.as_deref().filter(|_| self.outcome == Outcome::TimedOut);
        error.and_then(|error| error.strip_prefix(Self::KILLED_AFTER))
    }

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
            state: None,
            delay: None,
            class: None,
            stuck_score: None,
            hat: None,
            activation: None,
            publishes: Vec::new(),
        }
    }
}

/// How often a hat has been put on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Activation {
    pub number: u32,
    /// Of how many, where there is a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<u32>,
}

/// An attempt that says nothing about the task: it was cut short from outside. The iteration is run again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct IterationInterrupted {
    pub iteration: IterationNumber,
    pub attempt: u32,
    pub why: InterruptCause,
    #[serde(rename = "duration_ms", with = "millis")]
    #[schemars(with = "u64")]
    pub duration: Duration,
    pub usage: Usage,
    pub cost_usd: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InterruptCause {
    /// ralph itself was killed, or the machine went down.
    Crash,
    /// A person or a signal ended the run.
    Stop,
    /// A limit was reached in the middle of it.
    Guard(StopKey),
    /// The agent could not be started.
    NotStarted,
    /// A usage limit.
    Limit,
    /// The agent's service did not work.
    Outage,
    /// The agent needs a person: sign-in, billing, model.
    Person,
}

/// The agent had nothing to do. Stands before the `iteration.finished` that it explains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct IterationIdle {
    pub iteration: IterationNumber,
    /// How many in a row, this one included.
    pub streak: u32,
}
