//! What is carried from one iteration to the next.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryPlan {
    /// Whether the prompt tells what happened before, and `.ralph/` holds the same as files.
    pub enabled: bool,
    pub summary_file: String,
    pub feedback_file: String,
    pub state_file: String,
    /// The summary is never longer than this many bytes.
    pub budget: u32,
    /// Characters of the end of each output that are kept.
    pub tail: u32,
    /// Whole outputs of the last iterations that the prompt repeats.
    pub last_outputs: u32,
}

impl Default for MemoryPlan {
    fn default() -> Self {
        Self {
            enabled: true,
            summary_file: "ralph-summary.md".to_owned(),
            feedback_file: "ralph-feedback.md".to_owned(),
            state_file: "ralph-iteration.json".to_owned(),
            budget: 8 * 1024,
            tail: 1200,
            last_outputs: 0,
        }
    }
}

impl MemoryPlan {
    /// A run that carries nothing: the journal of an older ralph, and a RALPH.md that does not ask for it.
    pub fn off() -> Self {
        Self { enabled: false, ..Self::default() }
    }

    /// How many of the last outputs a prompt repeats.
    pub fn outputs(&self) -> usize {
        if self.enabled { usize::try_from(self.last_outputs).unwrap_or(usize::MAX) } else { 0 }
    }

    /// Bytes of those outputs in one prompt.
    pub fn outputs_budget(&self) -> usize {
        usize::try_from(self.budget).unwrap_or(usize::MAX).saturating_mul(2)
    }

    /// Bytes of the end of each output that the journal keeps.
    pub fn kept_output(&self) -> usize {
        let tail = usize::try_from(self.tail).unwrap_or(usize::MAX);
        let outputs = if self.outputs() > 0 { self.outputs_budget() } else { 0 };
        LEAST_OUTPUT.max(tail).max(outputs).min(MOST_OUTPUT)
    }
}

const LEAST_OUTPUT: usize = 4 << 10;
const MOST_OUTPUT: usize = 64 << 10;
