//! A run that goes in circles: what was seen of it, and what is done about it.

use serde::{Deserialize, Serialize};

use crate::ids::IterationNumber;

/// A detector has found something that decides nothing by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LoopSuspected {
    pub iteration: IterationNumber,
    pub detector: String,
    /// What it has found, in words.
    pub evidence: String,
    /// How much alike two outputs are, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
}

/// The run is stuck: the whole report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LoopDetected {
    pub iteration: IterationNumber,
    pub detector: String,
    /// What is done about it.
    pub action: LoopAnswer,
    /// How many alarms there were without a recovery between them, this one included.
    pub alarm: u32,
    /// Of how many that the run survives; nothing where the number does not matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<u32>,
    /// The pattern in one sentence.
    pub pattern: String,
    /// The length of the circle, in iterations.
    pub period: u32,
    /// How much alike the repeated outputs are, from 0 to 1, where they are alike at the threshold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub similarity: Option<f64>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub signature: String,
    /// The first of the lines that came again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repeated: Vec<String>,
    /// The iterations of the circle, oldest first.
    pub iterations: Vec<LoopIteration>,
    /// What was not changing, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unchanged: Vec<String>,
    /// What a person can do now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<LoopOption>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoopAnswer {
    /// The next prompt carries the evidence and asks for another way.
    Redirect,
    /// The topic `loop.detected` is published: a hat wants to handle it.
    HandOff,
    /// The run pauses, and a person chooses.
    Ask,
    Warn,
    Stop,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LoopIteration {
    pub iteration: IterationNumber,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hat: Option<String>,
    /// What it said, in a line.
    pub line: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LoopOption {
    pub what: String,
    /// The command to type.
    pub command: String,
}

impl LoopDetected {
    /// The reason of a stop that follows from it.
    pub fn reason(&self) -> &'static str {
        if self.similarity.is_some() { "output_similarity" } else { "loop_detected" }
    }
}
