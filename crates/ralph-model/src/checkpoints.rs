//! What `ralph diff` and `ralph undo` tell in JSON.

use ralph_core::ids::RunId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What changed between two checkpoints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TreeDiff {
    pub run: RunId,
    /// The names of the checkpoints, and their commits.
    pub from: String,
    pub to: String,
    pub from_commit: String,
    pub to_commit: String,
    pub files: Vec<ChangedPath>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedPath {
    pub path: String,
    pub how: HowChanged,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HowChanged {
    Added,
    Removed,
    Changed,
}

/// What an undo did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TreeUndone {
    pub run: RunId,
    /// The checkpoint that was brought back, and its commit.
    pub checkpoint: String,
    pub commit: String,
    pub written: Vec<String>,
    pub removed: Vec<String>,
    /// Files that stay because git ignores them, or did then.
    pub kept: Vec<String>,
    /// What could not be brought back, a sentence each.
    pub problems: Vec<String>,
    /// The commits that were made since the checkpoint.
    pub commits: Vec<String>,
    /// Whether the branch, HEAD and the index were set back too.
    pub hard: bool,
    /// The checkpoint of what was there before the undo.
    pub before: String,
    /// The command that undoes it.
    pub back: String,
}
