//! What stuck detection says of a whole run or of a recorded case: an object of `ralph detect --json`.

use ralph_core::event::{DetectorKey, LoopAnswer};
use ralph_core::ids::IterationNumber;
use schemars::JsonSchema;
use serde::Serialize;

/// A run or a case as a whole.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Judged {
    /// The run, or the case.
    pub id: String,
    pub iterations: u32,
    /// Where the agent would have been told first, or the run stopped or paused.
    pub first_alarm: Option<JudgedAlarm>,
    /// Where the run would have been stopped: mostly the second alarm, after one that did not help.
    pub stop: Option<JudgedAlarm>,
}

/// An alarm, and what follows on it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct JudgedAlarm {
    /// The iteration that it comes after, counted from 1.
    pub iteration: IterationNumber,
    pub action: LoopAnswer,
    pub detector: DetectorKey,
    /// What it looks like, in a sentence.
    pub pattern: String,
}

impl Judged {
    pub fn new(id: String) -> Self {
        Self { id, iterations: 0, first_alarm: None, stop: None }
    }

    /// Takes an alarm that something is done about, in their order.
    pub fn take(&mut self, alarm: JudgedAlarm) {
        if self.stop.is_none() && alarm.action == LoopAnswer::Stop {
            self.stop = Some(alarm.clone());
        }
        self.first_alarm.get_or_insert(alarm);
    }
}
