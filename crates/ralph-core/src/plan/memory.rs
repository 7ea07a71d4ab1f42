//! What is carried from one iteration to the next: `memory`, `context` and `core`.

use super::Plan;
use super::section::section;
use super::value::{Amount, Text};

section! {
    pub struct Memory, changed by MemoryChange {
        /// Whether prompts tell what happened in earlier iterations, and `.ralph/` holds it as files. Not set: true, but for a
        /// RALPH.md without `memory`.
        enabled: Option<bool> = None,
        /// The name of the summary in `.ralph/`.
        summary_file: Text = "ralph-summary.md".to_owned(),
        /// The name of the feedback in `.ralph/`: what the next iteration has to know first.
        feedback_file: Text = "ralph-feedback.md".to_owned(),
        /// The name of the state in `.ralph/`, as JSON.
        state_file: Text = "ralph-iteration.json".to_owned(),
        /// The most bytes that the summary takes in a prompt.
        budget: Amount = 8 * 1024,
        /// How many characters of the end of each output are kept.
        tail: Amount = 1200,
    }
}

section! {
    pub struct Context, changed by ContextChange {
        /// How many of the last outputs a prompt repeats as they were.
        include_last_n_messages: Amount = 0,
    }
}

section! {
    /// What every prompt repeats.
    pub struct Core, changed by CoreChange {
        /// Rules that stand in every prompt.
        guardrails: Vec<Text> = Vec::new(),
        /// A file that the agent keeps notes in for the iterations after it, relative to the workspace. Not set: none; with
        /// hats, `.ralph/scratchpad.md`.
        scratchpad: Option<Text> = None,
        /// The folder that the specifications are in, relative to the workspace.
        specs_dir: Option<Text> = None,
    }
}

const LEAST_OUTPUT: usize = 4 << 10;
const MOST_OUTPUT: usize = 64 << 10;

impl Memory {
    /// A run that carries nothing.
    pub fn off() -> Self {
        Self { enabled: Some(false), ..Self::default() }
    }
}

impl Plan {
    /// Whether the prompt tells what happened before, and `.ralph/` holds the same as files.
    pub fn remembers(&self) -> bool {
        self.memory.enabled.unwrap_or(true)
    }

    /// How many of the last outputs a prompt repeats.
    pub fn repeated_outputs(&self) -> usize {
        match self.remembers() {
            true => usize::try_from(self.context.include_last_n_messages).unwrap_or(usize::MAX),
            false => 0,
        }
    }

    /// Bytes of those outputs in one prompt.
    pub fn repeated_outputs_budget(&self) -> usize {
        usize::try_from(self.memory.budget).unwrap_or(usize::MAX).saturating_mul(2)
    }

    /// Bytes of the end of each output that the journal keeps.
    pub fn kept_output(&self) -> usize {
        let tail = usize::try_from(self.memory.tail).unwrap_or(usize::MAX);
        let outputs = if self.repeated_outputs() > 0 { self.repeated_outputs_budget() } else { 0 };
        LEAST_OUTPUT.max(tail).max(outputs).min(MOST_OUTPUT)
    }
}
