//! A run that goes in circles: what was seen of it, and what is done about it.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::{HatKey, IterationNumber};
use crate::plan::Use;
use crate::stop::StopKey;

/// The name of a detector.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct DetectorKey(Cow<'static, str>);

impl DetectorKey {
    pub const fn new(key: &'static str) -> Self {
        Self(Cow::Borrowed(key))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DetectorKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What the detectors found in an attempt. These are facts: another version of the detectors may find something else, and
/// changes nothing about a run that is recorded.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct StuckEvidence {
    /// The version of the detectors.
    pub version: u32,
    /// How stuck the run looks, from 0 to 1, by the detectors that decide.
    pub score: f64,
    /// The iteration did nothing but tell of a service that does not work: to be waited for, not to be stopped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outage: bool,
    /// It says in its own words that there is nothing to do, and does nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nothing: bool,
    /// One for each detector that has found anything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

/// What a detector found after an iteration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Finding {
    pub detector: DetectorKey,
    /// What an alarm is good for.
    pub role: Use,
    /// From 0 to 1. Of the detector that decides: how probable it is that the iteration brings nothing that those before it did not.
    pub score: f64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub alarm: bool,
    /// What it looks like, in a sentence without a full stop. Empty: like nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pattern: String,
    /// What kind of circle it is, where the detector can tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<LoopKind>,
    /// What weighed most for it, in words, the heaviest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// The length of the circle, in iterations.
    pub period: u32,
    /// How much alike two outputs are, from 0 to 1, where that was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// What a report tells of the iterations in question, where the alarm decides something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub circle: Option<Box<Circle>>,
}

/// What a circle looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoopKind {
    /// The same text, names or tool calls come again.
    Repeats,
    /// The same error comes again.
    SameError,
    /// The agent says that there is nothing to do.
    NothingToDo,
    /// The agent says nothing and does nothing.
    Empty,
    /// The agent says that it is blocked, or waits for a person.
    Blocked,
    /// Files change, and are left as they were before.
    BackAndForth,
    /// All that there is was there before, in other words.
    NothingNew,
}

/// The last iterations of a run that goes in circles.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Circle {
    /// Oldest first.
    pub iterations: Vec<LoopIteration>,
    /// Every one behind the first left files as they never were, though nobody saw how they got there. Words that repeat over
    /// files that do not are the words of an agent that says little.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub works: bool,
    /// The main error, failing tests, edit or search of the last iteration, as a short text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub signature: String,
    /// The first of the lines that came again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repeated: Vec<String>,
    /// What was not changing, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unchanged: Vec<String>,
}

/// A detector has found something that decides nothing by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LoopSuspected {
    pub iteration: IterationNumber,
    pub detector: DetectorKey,
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
    pub detector: DetectorKey,
    /// What is done about it.
    pub action: LoopAnswer,
    /// It is no alarm: the agent was told to take another way, and the iteration after that brought nothing new.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unheeded: bool,
    /// The iteration after which the agent was told first, since the last recovery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told_after: Option<IterationNumber>,
    /// The reason of the stop, where it ends the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stops_as: Option<StopKey>,
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
    /// It was told so before, and nothing new came of it: the next prompt quotes what fails and demands another way.
    Demand,
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
    pub hat: Option<HatKey>,
    /// What it said, in a line.
    pub line: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LoopOption {
    pub what: String,
    /// The command to type.
    pub command: String,
}
