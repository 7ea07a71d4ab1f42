//! Gates: the checks that ralph itself runs, and what they say about a claim.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{KillCause, TestCount};
use crate::ids::IterationNumber;
use crate::tampering::Finding;
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
    /// The tests that it ran, where its output tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestCount>,
    /// It ran fewer tests than before, and nothing explains that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tampering: Option<Finding>,
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
    /// Paths that changed while they ran and that belong to the proof; then they did not see one and the same tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<String>,
    /// Paths that changed while they ran and are no part of the proof: reports, caches. The hash of the tree is without them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
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
    /// The required gates that passed. None: the agent's word is all there is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proved_by: Vec<String>,
    /// The tree that they saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeSeen>,
}

/// Files that change while gates run, and that no proof can hold therefore. Each is named once in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ProofNarrowed {
    pub iteration: IterationNumber,
    pub paths: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CompletionRejected {
    pub iteration: IterationNumber,
    /// In one sentence.
    pub why: String,
    pub missing: Vec<Missing>,
}

impl GatesFinished {
    /// The end of a round that saw nothing yet.
    pub fn new(iteration: IterationNumber, round: u32) -> Self {
        Self {
            iteration,
            round,
            duration: Duration::ZERO,
            tree: None,
            moved: Vec::new(),
            left_out: Vec::new(),
            unseen: None,
        }
    }
}

/// One thing that a claim lacked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Missing {
    /// The gate's name, or the setting that asks for it.
    pub name: String,
    pub why: String,
}
