//! What the prompt of a hat needs from outside the engine: chance, files, and the instructions as they are now.

use ralph_core::hat::{HatPlan, Instructions};
use ralph_core::plan::{AgentPlan, Plan, SandboxLevel};
use ralph_core::prompt::{Draft, HatDraft};
use ralph_store::plain::{self, Links};

use super::memory;
use crate::token::random;

/// Completes a draft. An error is one of reading the instructions.
pub(crate) fn complete(plan: &Plan, draft: &Draft) -> Result<Draft, String> {
    let mut draft = draft.clone();
    let Some(turn) = &mut draft.hat else { return Ok(draft) };
    let hat = plan.hats.as_deref().and_then(|hats| hats.hat(&turn.hat));
    turn.instructions = hat.map(instructions).transpose()?.unwrap_or_default();
    turn.fence = fence(turn);
    turn.files = save_payloads(plan, turn);
    Ok(draft)
}

fn instructions(hat: &HatPlan) -> Result<String, String> {
    let own = match &hat.instructions {
        None => String::new(),
        Some(Instructions::Text(text)) => text.clone(),
        Some(Instructions::File(path)) => plain::read_text(path, Links::Follow, plain::TEXT)
            .map_err(|error| format!("cannot read the instructions {}: {error}", path.display()))?,
    };
    let extra = hat.extra_instructions.as_deref().unwrap_or_default();
    let parts = [own.trim(), extra.trim()].into_iter().filter(|part| !part.is_empty());
    Ok(parts.collect::<Vec<_>>().join("\n\n"))
}

fn fence(turn: &HatDraft) -> String {
    loop {
        let fence = format!("=====[ {} ]=====", random());
        if !turn.holds(&fence) {
            return fence;
        }
    }
}

/// Long payloads go into files. A payload that could not be written stands in the prompt after all.
fn save_payloads(plan: &Plan, turn: &HatDraft) -> Vec<(u64, String)> {
    let mut saved = Vec::new();
    for message in turn.to_files() {
        let name = format!("event-{}", message.id);
        let bytes = message.payload.to_bytes();
        if memory::save_file(plan, &name, &bytes).is_ok() {
            saved.push((message.id, format!(".ralph/{name}")));
        }
    }
    saved
}

/// The agent of a hat, where it has its own.
pub(crate) fn agent<'a>(plan: &'a Plan, draft: &Draft) -> Option<&'a AgentPlan> {
    plan.hats.as_deref()?.hat(&draft.hat.as_ref()?.hat)?.agent.as_ref()
}

/// The sandbox of a hat, where it has its own.
pub(crate) fn sandbox(plan: &Plan, draft: &Draft) -> Option<SandboxLevel> {
    plan.hats.as_deref()?.hat(&draft.hat.as_ref()?.hat)?.sandbox
}
