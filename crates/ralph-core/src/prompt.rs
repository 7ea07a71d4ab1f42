//! What the agent is told. The task is the user's; what ralph adds is short and never shows a marker alone on a line, so
//! that an agent which echoes its prompt claims nothing.

mod hat;
mod rules;
#[cfg(test)]
mod tests;

use crate::ids::IterationNumber;
use crate::memory::{self, FEEDBACK_BUDGET, Feedback, IterationFile, Memory};
use crate::plan::Plan;

pub use hat::HatDraft;
pub use rules::is_as_written;

/// What goes into the prompt of one iteration beside the task's text, which the executor reads when it is needed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Draft {
    pub iteration: Option<IterationNumber>,
    /// From `ralph say`.
    pub guidance: Vec<String>,
    /// The last iteration ended because its context was too long.
    pub context_too_long: bool,
    /// What happened before; nothing where the plan has no memory.
    pub memory: Option<Memory>,
    /// What the last iteration left to be dealt with, but for the guidance.
    pub feedback: Feedback,
    /// Where the run is, for programs.
    pub file: Option<IterationFile>,
    /// Who is asked, and about what, where there are hats.
    pub hat: Option<HatDraft>,
}

/// What stands above the task, unless it is sent as written.
pub const TASK_TITLE: &str = "## Task\n\n";

/// The whole prompt. `task` is the text of the plan's task as it is on disk now.
pub fn render(plan: &Plan, draft: &Draft, task: &str) -> String {
    let is_plain = !plan.task.gets_rules();
    // A RALPH.md is sent as written; what a command printed at its end keeps its last newline.
    let mut out = if is_plain { task.to_owned() } else { format!("{TASK_TITLE}{}", task.trim()) };
    let mut section = |text: &str| {
        if !text.trim().is_empty() {
            out.push_str("\n\n");
            out.push_str(text.trim_end());
        }
    };
    section(&hat::role(plan, draft));
    section(&hat::events(draft, task));
    section(&hat::publishing(plan, draft));
    section(&summary(plan, draft, ""));
    section(&feedback(draft).render(FEEDBACK_BUDGET));
    section(&last_outputs(plan, draft));
    section(&rules::guardrails(plan));
    section(&hat::places(plan, draft));
    section(&rules::stop_rules(plan, draft));
    out
}

/// The files of the memory, by name; nothing where the plan has none.
pub fn memory_files(plan: &Plan, draft: &Draft, task: &str) -> Option<Vec<(String, String)>> {
    let (names, file) = (&plan.memory, draft.file.as_ref().filter(|_| plan.remembers())?);
    let summary = match summary(plan, draft, task) {
        text if text.is_empty() => "# Ralph Loop Summary\n\nNo iteration has finished yet.\n".to_owned(),
        text => text,
    };
    Some(vec![
        (names.summary_file.clone(), summary),
        (names.feedback_file.clone(), feedback(draft).render(FEEDBACK_BUDGET)),
        (names.state_file.clone(), file.render()),
    ])
}

/// In the prompt the task stands above, and so may the last outputs; only the file has to repeat them.
fn summary(plan: &Plan, draft: &Draft, objective: &str) -> String {
    let Some(memory) = &draft.memory else { return String::new() };
    match objective.trim().is_empty() {
        true => memory.summary_beside_outputs(plan.repeated_outputs(), budget(plan, draft)),
        false => memory.summary(objective, budget(plan, draft)),
    }
}

fn last_outputs(plan: &Plan, draft: &Draft) -> String {
    let count = plan.repeated_outputs();
    let Some(memory) = draft.memory.as_ref().filter(|_| count > 0) else { return String::new() };
    memory.outputs(count, budget(plan, draft).saturating_mul(2))
}

fn budget(plan: &Plan, draft: &Draft) -> usize {
    let configured = usize::try_from(plan.memory.budget).unwrap_or(usize::MAX);
    memory::budget(configured, draft.context_too_long)
}

fn feedback(draft: &Draft) -> Feedback {
    let mut feedback = Feedback { guidance: draft.guidance.clone(), ..draft.feedback.clone() };
    if draft.context_too_long {
        feedback.warnings.push(CONTEXT_TOO_LONG.to_owned());
    }
    feedback
}

const CONTEXT_TOO_LONG: &str = "The last iteration failed because its context grew too long. Take a smaller step, and \
    read only the parts of files that you need.";
