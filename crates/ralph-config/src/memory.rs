//! What is carried from one iteration to the next: `memory`, `context` and `core`.

use std::path::PathBuf;

use ralph_core::plan::value::{Amount, Text};
use ralph_core::plan::{MemoryPlan, Task};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::definition::Definition;
use super::validate::Settings;

#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a mapping")]
pub struct MemoryDef {
    /// Whether prompts tell what happened in earlier iterations, and `.ralph/` holds it as files. Not set: true, but for a
    /// RALPH.md without `memory`.
    pub enabled: Option<bool>,
    /// The name of the summary in `.ralph/`.
    pub summary_file: Text,
    /// The name of the feedback in `.ralph/`: what the next iteration has to know first.
    pub feedback_file: Text,
    /// The name of the state in `.ralph/`, as JSON.
    pub state_file: Text,
    /// The most bytes that the summary takes in a prompt.
    pub budget: Amount,
    /// How many characters of the end of each output are kept.
    pub tail: Amount,
}

impl Default for MemoryDef {
    fn default() -> Self {
        let plan = MemoryPlan::default();
        Self {
            enabled: None,
            summary_file: Text(plan.summary_file),
            feedback_file: Text(plan.feedback_file),
            state_file: Text(plan.state_file),
            budget: Amount(plan.budget),
            tail: Amount(plan.tail),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a mapping")]
pub struct ContextDef {
    /// How many of the last outputs a prompt repeats as they were.
    pub include_last_n_messages: Amount,
}

impl Default for ContextDef {
    fn default() -> Self {
        Self { include_last_n_messages: Amount(0) }
    }
}

/// What every prompt repeats.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a mapping")]
pub struct CoreDef {
    /// Rules that stand in every prompt.
    pub guardrails: Vec<Text>,
    /// A file that the agent keeps notes in for the iterations after it, relative to the workspace. Not set: none; with
    /// hats, `.ralph/scratchpad.md`.
    pub scratchpad: Option<Text>,
    /// The folder that the specifications are in, relative to the workspace.
    pub specs_dir: Option<Text>,
}

pub fn memory(definition: &Definition, task: &Task, settings: &Settings) -> MemoryPlan {
    let from = &definition.memory;
    // A RALPH.md is sent as written, unless it asks for more.
    let asked = task.gets_rules() || settings.root.entry("memory").is_some();
    MemoryPlan {
        enabled: from.enabled.unwrap_or(asked),
        summary_file: from.summary_file.0.clone(),
        feedback_file: from.feedback_file.0.clone(),
        state_file: from.state_file.0.clone(),
        budget: from.budget.0,
        tail: from.tail.0,
        last_outputs: definition.context.include_last_n_messages.0,
    }
}

/// Hats share one unless the definition says where it is.
pub fn scratchpad(definition: &Definition) -> Option<PathBuf> {
    let set = definition.core.scratchpad.as_ref().map(|text| PathBuf::from(&text.0));
    set.or_else(|| (!definition.hats.0.is_empty()).then(|| PathBuf::from(".ralph/scratchpad.md")))
}
