//! Checkpoints: the state of the tree, saved beside the user's own commits.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ids::IterationNumber;
use crate::time::millis;

/// Why the tree was saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointReason {
    /// Before the first iteration.
    Start,
    /// Before the first iteration of a resume: a person may have changed something meanwhile.
    Resume,
    /// After an iteration, before gates run.
    Iteration,
    /// Protected files were put back after the iteration; the checkpoint before has them as it left them.
    Restored,
    /// Before `ralph undo`.
    Undo,
}

/// The whole tree, tracked files and untracked ones that git does not ignore, was written as a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CheckpointSaved {
    /// What `ralph undo --to` calls it.
    pub name: String,
    pub why: CheckpointReason,
    /// The last iteration whose work is in it; 0 before the first one.
    pub iteration: IterationNumber,
    pub commit: String,
    pub tree: String,
    /// The user's commit that was checked out, and the branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    pub files: u32,
    /// Files that had to be read for it.
    pub read: u32,
    /// The first of the files that are not in it, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Repositories inside this one: their files are saved, their history is not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nested: Vec<String>,
    #[serde(rename = "duration_ms", with = "millis")]
    #[schemars(with = "u64")]
    pub duration: Duration,
}

/// There is no checkpoint of this state of the tree. The run goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CheckpointFailed {
    pub why: CheckpointReason,
    pub iteration: IterationNumber,
    pub message: String,
}

/// A person brought the tree of a checkpoint back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CheckpointRestored {
    pub name: String,
    pub iteration: IterationNumber,
    pub commit: String,
    /// The checkpoint of what was there before.
    pub before: String,
    pub written: u32,
    pub removed: u32,
    /// The branch and the index were set back too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hard: bool,
}
