//! What is seen of an agent while it works, and how its process ends.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{ProtectedChange, QuotaSeen, StuckEvidence, TestReview};
use crate::failure::Failure;
use crate::ids::IterationNumber;
use crate::marker::{AgentState, Found, Misheard, Published, Said};
use crate::stop::StopKey;
use crate::time::millis;
use crate::usage::Usage;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AgentSpawned {
    pub iteration: IterationNumber,
    pub attempt: u32,
    pub pid: u32,
}

/// What the agent said. Bounded: past a budget per iteration only samples are recorded; the log has the rest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AgentText {
    pub iteration: IterationNumber,
    pub attempt: u32,
    pub text: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// The agent's own tries against a service that does not answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct UsageUpdated {
    pub iteration: IterationNumber,
    pub attempt: u32,
    pub usage: Usage,
    pub cost_usd: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AgentSilent {
    pub iteration: IterationNumber,
    pub attempt: u32,
    #[serde(rename = "quiet_ms", with = "millis")]
    #[schemars(with = "u64")]
    pub quiet: Duration,
    /// It had said its last word before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ended: bool,
}

/// The agent works or waits, and nothing good can come of it any more: why, and what cures it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AgentStranded {
    pub iteration: IterationNumber,
    pub attempt: u32,
    pub failure: Failure,
}

/// Everything the shell knows about an attempt that has ended: process gone, output drained, workspace looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AgentExited {
    pub iteration: IterationNumber,
    pub attempt: u32,
    pub exit: Exit,
    #[serde(rename = "duration_ms", with = "millis")]
    #[schemars(with = "u64")]
    pub duration: Duration,
    /// The agent said the task is complete, by the rules of the signals.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub claims_complete: bool,
    /// The agent said it cannot go on, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<String>,
    /// What the agent says it is doing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<AgentState>,
    /// How long the agent wants the next iteration to wait.
    #[serde(rename = "delay_ms", default, skip_serializing_if = "Option::is_none", with = "millis::option")]
    #[schemars(with = "Option<u64>")]
    pub delay: Option<Duration>,
    /// The `<event>` blocks in what it said, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<Published>,
    /// Events beyond the number that is taken.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unpublished: u32,
    /// What was perhaps meant as a signal, and was not heard as one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub misheard: Vec<Misheard>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<FilesChanged>,
    /// The protected files that are not what they were at the start. `None`: nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protected: Option<Vec<ProtectedChange>>,
    /// What all changes of the run together did to its tests. `None`: nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tampering: Option<TestReview>,
    /// The hash of the tree, where somebody asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// The end of what the agent said.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tail: String,
    #[serde(default)]
    pub output_bytes: u64,
    /// What the detectors of stuck runs found in it. Nothing where nobody looks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Box<StuckEvidence>>,
    /// Background processes of the agent that had to be ended.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub leftovers: u32,
    #[serde(default, skip_serializing_if = "Usage::is_zero")]
    pub usage: Usage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The model that answered, where the agent says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What it told of its plan's windows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quotas: Vec<QuotaSeen>,
    /// The agent's output says that it failed, whatever the exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What the failure is, where the output tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// The last line on stderr of a plain command that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
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
            state: None,
            delay: None,
            published: Vec::new(),
            unpublished: 0,
            misheard: Vec::new(),
            files: None,
            protected: None,
            tampering: None,
            tree: None,
            tail: String::new(),
            output_bytes: 0,
            evidence: None,
            leftovers: 0,
            usage: Usage::default(),
            cost_usd: None,
            model: None,
            quotas: Vec::new(),
            error: None,
            failure: None,
            stderr: None,
        }
    }

    /// What the agent said to ralph.
    pub fn record_signals(&mut self, found: Found, said: Said) {
        (self.claims_complete, self.blocked) = (found.complete, found.blocked);
        (self.state, self.delay) = (said.state, said.delay);
        (self.published, self.unpublished) = (said.published, said.unpublished);
        self.misheard = found.misheard.into_iter().chain(said.misheard).collect();
    }
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FilesChanged {
    pub count: u32,
    /// The first few paths, relative to the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// Stands for what they are now: the same change made again has the same. Nothing where that would be much to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// How an agent process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
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
    /// Nothing was started, because there is nothing in the prompt: somebody has to write it.
    NoPrompt {
        message: String,
    },
    /// The keeper was killed, so how the agent ended is not known; it has been ended.
    Lost {
        message: String,
    },
}

/// Another agent takes over, or the first one comes back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AgentSwitched {
    pub from: usize,
    pub to: usize,
    /// The name of the agent from here on.
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AgentKilled {
    pub iteration: IterationNumber,
    pub why: KillCause,
    #[serde(rename = "grace_ms", with = "millis")]
    #[schemars(with = "u64")]
    pub grace: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KillCause {
    Timeout,
    Silence,
    /// It had said its last word and did not end.
    Hung,
    /// Nothing good could come of it any more.
    Stranded,
    /// The guard with this key is spent.
    Guard(StopKey),
    Stop,
    /// A person ended this iteration, and only this one.
    Person,
    /// A second request: no grace any more.
    Escalated,
}
