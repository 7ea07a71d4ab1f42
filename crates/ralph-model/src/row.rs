//! One iteration as a row.

use std::time::Duration;

use ralph_core::event::{Activation, InterruptCause, Missing, Outcome};
use ralph_core::ids::{HatKey, IterationNumber, Seq};
use ralph_core::marker::AgentState;
use ralph_core::time::{Timestamp, millis};
use ralph_core::usage::Usage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One iteration: what the agent did, what it cost, what came of it. An iteration that was cut short runs again under
/// the same number; its row then tells of the newest attempt, and `before` of what the others took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IterationRow {
    pub iteration: IterationNumber,
    /// Counted from 1.
    pub attempt: u32,
    /// The place of this attempt's `iteration.started` in the journal: its records begin here.
    pub seq: Seq,
    pub started_at: Timestamp,
    /// The agent's name, or its program where ralph does not know it.
    pub agent: String,
    /// The hat it wears, where there are hats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hat: Option<HatKey>,
    /// How often that hat has been put on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activation: Option<Activation>,
    pub outcome: RowOutcome,
    /// How long the agent worked; nothing while it does.
    #[serde(rename = "duration_ms", default, with = "millis::option")]
    #[schemars(with = "Option<u64>")]
    pub duration: Option<Duration>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// What went wrong, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What an attempt that took too long was given, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit: Option<String>,
    /// Why an attempt was cut short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<InterruptCause>,
    /// The first sentence that the agent said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opening: Option<String>,
    /// Nothing where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<RowFiles>,
    pub tools: RowTools,
    /// The last round of gates after this iteration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<RowGate>,
    /// What it published: the first of the different topics.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub topics: Vec<RowTopic>,
    /// How many different topics it published.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub topic_count: u32,
    pub usage: Usage,
    /// Nothing where nobody knows.
    pub cost_usd: Option<f64>,
    /// What the attempts before this one took, where there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Spent>,
    /// How stuck the run looked after it, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck_score: Option<f64>,
    /// The agent claims that the task is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<RowClaim>,
    /// The state in which somebody else has to act, as the agent says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_as: Option<AgentState>,
    /// Why the agent cannot go on, in its words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<String>,
}

/// How an iteration ended, if it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RowOutcome {
    Running,
    Ok,
    Failed,
    TimedOut,
    Silent,
    /// The agent had said its last word and did not end.
    Hung,
    /// Cut short from outside: this says nothing about the task.
    Interrupted,
}

impl From<Outcome> for RowOutcome {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Ok => RowOutcome::Ok,
            Outcome::Failed => RowOutcome::Failed,
            Outcome::TimedOut => RowOutcome::TimedOut,
            Outcome::Silent => RowOutcome::Silent,
            Outcome::Hung => RowOutcome::Hung,
        }
    }
}

impl RowOutcome {
    pub fn is_failure(self) -> bool {
        matches!(self, RowOutcome::Failed | RowOutcome::TimedOut | RowOutcome::Silent | RowOutcome::Hung)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RowFiles {
    pub count: u32,
    /// The first of them, relative to the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RowTools {
    pub called: u32,
    pub failed: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RowGate {
    pub name: String,
    pub passed: bool,
    #[serde(rename = "duration_ms", with = "millis")]
    #[schemars(with = "u64")]
    pub duration: Duration,
    /// Why it did not pass, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A topic, and how often the iteration published it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RowTopic {
    pub topic: String,
    pub times: u32,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// Time, tokens and money.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spent {
    pub attempts: u32,
    #[serde(rename = "duration_ms", with = "millis")]
    #[schemars(with = "u64")]
    pub duration: Duration,
    pub usage: Usage,
    /// What is known of it.
    pub cost_usd: Option<f64>,
}

/// What became of a claim of completion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum RowClaim {
    /// Nothing has been decided about it.
    Open,
    Accepted,
    Rejected {
        missing: Vec<Missing>,
    },
}
