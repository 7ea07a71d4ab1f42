//! What keeps the processes of a run together, and which they are.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::plan::SandboxLevel;

/// What is in force in this session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Containment {
    pub by: ContainedBy,
    /// Why there is no namespace, where one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What its programs may reach, where that is not everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxInForce>,
    /// The program that keeps the machine awake, where that was asked for and can be had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_awake_by: Option<PathBuf>,
    /// What could not be had, a sentence each. Where the definition did not allow that, nothing was started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// A sandbox as it is, which may be less than what was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SandboxInForce {
    pub agent: SandboxLevel,
    pub gates: SandboxLevel,
    /// The version of Landlock that the kernel has.
    pub landlock: u32,
    /// The hosts that the run's own agent may speak to in `strict`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// The same for gates and for commands of the prompt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates_hosts: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ContainedBy {
    /// A pid namespace, which the kernel ends as a whole.
    Namespace,
    /// A process that kills everything below it.
    Keeper,
}

/// A keeper has got something to start. Should ralph and the keeper be killed together, the next session looks for what is
/// left of them by these numbers before it starts anything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct KeeperStarted {
    pub keeper: ProcessMark,
    /// The first process of the namespace below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub init: Option<ProcessMark>,
}

/// Somebody stopped a keeper or an init (SIGSTOP), so that it would see nothing. It was set going again, unless that happened again
/// and again: then everything below it was ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct KeeperStopped {
    pub pid: u32,
    pub ended: bool,
}

/// A process that cannot be taken for another one: numbers are given out again, and times count from the start of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ProcessMark {
    pub pid: u32,
    /// In the kernel's ticks since the machine was started.
    pub started: u64,
    /// Which start of the machine.
    pub boot: String,
}

/// Processes of an earlier session were still alive, and were ended before anything else was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SurvivorsSwept {
    pub count: u32,
}
