//! What `ralph gates` tells in JSON.

use std::path::PathBuf;

use serde::Serialize;

/// A gate as it is written.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateListing {
    pub name: String,
    pub run: Vec<String>,
    /// `test`, `lint`, …, where its command tells.
    pub kind: Option<String>,
    pub required: bool,
    /// `completion` or `iteration`.
    pub when: String,
    pub timeout_ms: u64,
    /// Where it stands.
    pub from: String,
}

/// A gate that was run by hand.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateTrial {
    pub name: String,
    pub run: Vec<String>,
    pub required: bool,
    pub passed: bool,
    pub exit_code: Option<i32>,
    pub timed_out: bool,
    pub error: Option<String>,
    pub duration_ms: u64,
    /// The end of its output.
    pub tail: String,
}

/// What an audit found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateAudit {
    pub workspace: PathBuf,
    pub gates: Vec<AuditedGate>,
    pub tree: AuditTree,
    pub cheats: Vec<AuditedCheat>,
    /// How many cheats all gates passed with.
    pub let_through: usize,
    /// The same tree failed and passed: nothing of this can be relied on.
    pub unsteady: bool,
    pub clean: bool,
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditedGate {
    pub name: String,
    pub run: Vec<String>,
    /// It passes on the untouched tree.
    pub passes_already: bool,
    pub why: Option<String>,
}

/// The tree on which the cheats were tried.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AuditTree {
    /// As it is: the gates fail.
    Untouched,
    /// Broken first, since the gates pass.
    Broken {
        what: String,
        builds: bool,
    },
    /// The gates pass with each of these breakages.
    Unnoticed {
        tried: Vec<String>,
    },
    NothingToBreak,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditedCheat {
    pub name: String,
    pub what: String,
    pub let_through: bool,
    pub caught_by: Option<String>,
    pub why: Option<String>,
    /// The one line that closes it.
    pub close: Option<String>,
    /// The commands that show the same without ralph.
    pub by_hand: Option<String>,
}

/// Which iteration broke a gate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bisection {
    pub run: String,
    pub gate: String,
    /// Nothing: none did, or it cannot be told.
    pub broke: Option<u32>,
    pub message: String,
    /// In the order in which they were tried.
    pub tried: Vec<BisectionStep>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BisectionStep {
    pub iteration: u32,
    pub passed: bool,
}
