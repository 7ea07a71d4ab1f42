//! Gates: the checks that ralph itself runs, and what they say about a claim.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::KillCause;
use crate::ids::IterationNumber;
use crate::time::millis;

/// Gates are to be run on the tree as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GatesStarted {
    pub iteration: IterationNumber,
    /// Counted from 1: they run again if the tree changed under them.
    pub round: u32,
    pub gates: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GateStarted {
    pub iteration: IterationNumber,
    pub round: u32,
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GateFinished {
    pub iteration: IterationNumber,
    pub round: u32,
    pub name: String,
    pub passed: bool,
    pub exit_code: Option<i32>,
    /// Its time was over before it had ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// Why it did not pass, where the exit code does not say: not started, out of time, killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(rename = "duration_ms", with = "millis")]
    #[schemars(with = "u64")]
    pub duration: Duration,
    /// The end of what it printed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tail: String,
}

/// All gates of a round are over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GatesFinished {
    pub iteration: IterationNumber,
    pub round: u32,
    #[serde(rename = "duration_ms", with = "millis")]
    #[schemars(with = "u64")]
    pub duration: Duration,
    /// The state of the tree that all of them saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeSeen>,
    /// Paths that changed while they ran; then they did not see one and the same tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<String>,
    /// Why the tree could not be looked at; then nobody knows what they saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unseen: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TreeSeen {
    /// Of contents and modes of all files that count.
    pub hash: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GatesKilled {
    pub iteration: IterationNumber,
    pub why: KillCause,
    #[serde(rename = "grace_ms", with = "millis")]
    #[schemars(with = "u64")]
    pub grace: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CompletionAccepted {
    pub iteration: IterationNumber,
    /// How many gates passed.
    pub gates: u32,
    /// The tree that they saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeSeen>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CompletionRejected {
    pub iteration: IterationNumber,
    /// In one sentence.
    pub why: String,
    pub missing: Vec<Missing>,
}

/// One thing that a claim lacked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Missing {
    /// The gate's name, or the setting that asks for it.
    pub name: String,
    pub why: String,
}
