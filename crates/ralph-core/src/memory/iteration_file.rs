//! `ralph-iteration.json`: where the run is, for programs.

use serde::{Deserialize, Serialize};

use crate::ids::{IterationNumber, RunId};
use crate::time::Timestamp;

/// What the file says. Fields are only ever added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IterationFile {
    pub run_id: RunId,
    pub started_at: Timestamp,
    pub updated_at: Timestamp,
    /// The iteration that is about to run, or ran last.
    pub iteration: IterationNumber,
    pub stop_reason: Option<crate::stop::StopKey>,
    pub stop_message: Option<String>,
    /// Whether the last iteration claimed that the task is complete.
    pub completion_promise_matched: bool,
    pub errors: Vec<String>,
}

impl IterationFile {
    /// The text of the file.
    pub fn render(&self) -> String {
        // Strings and numbers alone: this cannot fail.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_else(|_| "{}".to_owned());
        text.push('\n');
        text
    }
}
