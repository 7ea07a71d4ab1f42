//! What `memory` and `core` mean where the definition leaves it open.

use ralph_core::plan::{Core, Memory, Task};

use super::definition::Definition;
use super::validate::Settings;

/// A RALPH.md is sent as written, unless it asks for more.
pub fn memory(definition: &Definition, task: &Task, settings: &Settings) -> Memory {
    let asked = task.gets_rules() || settings.root.entry("memory").is_some();
    let memory = definition.memory.clone();
    Memory { enabled: Some(memory.enabled.unwrap_or(asked)), ..memory }
}

/// Hats share one scratchpad unless the definition says where it is.
pub fn core(definition: &Definition) -> Core {
    let mut core = definition.core.clone();
    if core.scratchpad.is_none() && !definition.hats.0.is_empty() {
        core.scratchpad = Some(".ralph/scratchpad.md".to_owned());
    }
    core
}
