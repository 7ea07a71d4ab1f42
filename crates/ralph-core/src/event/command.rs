//! Commands whose output is part of the prompt.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ids::IterationNumber;
use crate::time::millis;

/// A command has ended. How does not matter to the run: what it printed is in the prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CommandFinished {
    pub iteration: IterationNumber,
    pub attempt: u32,
    pub name: String,
    /// Absent if a signal ended it.
    pub exit_code: Option<i32>,
    #[serde(rename = "duration_ms", with = "millis")]
    #[schemars(with = "u64")]
    pub duration: Duration,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// What it printed in all, also where the prompt has only parts of it.
    pub output_bytes: u64,
    /// The end of what it printed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tail: String,
}
