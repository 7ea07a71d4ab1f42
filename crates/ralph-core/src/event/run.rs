//! A run as a whole: how it begins, what a person asks of it, how it ends.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Containment;
use crate::ids::RunId;
use crate::plan::{Plan, SettingsChange};
use crate::stop::{StopKey, StopKind};
use crate::time::millis;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RunStarted {
    pub run: RunId,
    pub format: u32,
    /// The version of ralph that started it.
    pub version: String,
    pub pid: u32,
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub plan: Plan,
    /// What keeps its processes together here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub containment: Option<Containment>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RunResumed {
    pub version: String,
    pub pid: u32,
    /// The settings that are different from here on.
    #[serde(default, skip_serializing_if = "SettingsChange::is_empty")]
    pub settings: SettingsChange,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub containment: Option<Containment>,
}

impl RunResumed {
    pub fn new(version: impl Into<String>, pid: u32, settings: impl Into<SettingsChange>) -> Self {
        Self { version: version.into(), pid, settings: settings.into(), containment: None }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct StopRequest {
    pub how: StopHow,
    /// Which exit code the run ends with.
    #[serde(default)]
    pub by: crate::stop::Interrupt,
}

/// From the kindest to the sternest.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum StopHow {
    /// Let this iteration finish.
    AfterIteration,
    /// TERM, a second, KILL.
    Terminate,
    /// KILL at once.
    Kill,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Guidance {
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RunStopped {
    pub reason: StopKey,
    pub kind: StopKind,
    pub exit_code: u8,
    pub message: String,
    pub iterations: u32,
    #[serde(default)]
    pub failures: u32,
    pub cost_usd: Option<f64>,
    /// Time the loop worked, over all resumes.
    #[serde(rename = "duration_ms", with = "millis")]
    #[schemars(with = "u64")]
    pub duration: Duration,
    /// The task is complete, and gates proved it on the tree that is there now.
    #[serde(default)]
    pub proved: bool,
    /// The gates that did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proved_by: Vec<String>,
    /// The tree that they saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
}

/// A person had stopped ralph (Ctrl-Z), and everything below it stood still as well. Now all of it goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RunContinued {
    /// How long it stood still. No limit counts that.
    #[serde(rename = "stood_ms", with = "millis")]
    #[schemars(with = "u64")]
    pub stood: Duration,
}

/// The journal can no longer be written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct JournalFailed {
    pub message: String,
}

/// The process that wrote the journal before died in the middle of a record. This much was cut from the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct JournalCut {
    pub bytes: u64,
}
