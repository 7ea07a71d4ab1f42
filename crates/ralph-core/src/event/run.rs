//! A run as a whole: how it begins, what a person asks of it, how it ends.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ids::RunId;
use crate::plan::{Limits, Pace, Plan, StuckPlan};
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
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RunResumed {
    pub version: String,
    pub pid: u32,
    /// The limits from here on: the old ones, or what the person raised them to.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub limits: Limits,
    /// The waits between iterations from here on, where the person changed them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub pace: Option<Pace>,
    /// What counts as being stuck from here on, where the person changed that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub stuck: Option<StuckPlan>,
}

impl RunResumed {
    /// Nothing but the limits can be other than before.
    pub fn new(version: impl Into<String>, pid: u32, limits: Limits) -> Self {
        Self { version: version.into(), pid, limits, pace: None, stuck: None }
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
}

/// The journal can no longer be written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct JournalFailed {
    pub message: String,
}
