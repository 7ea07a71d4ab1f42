//! `ralph-feedback.md`: what the next iteration has to know first.

use super::quote::{block_end, block_start, inline};
use super::{LEAST_BUDGET, ToolFailure};
use crate::event::{LoopAnswer, LoopDetected};
use crate::ids::IterationNumber;

/// Bytes of what an agent repeats, as they are quoted to it.
const QUOTED: usize = 800;

/// A gate that did not pass.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FailedGate {
    pub name: String,
    pub command: String,
    /// `None`: it was killed, or never started.
    pub exit_code: Option<i32>,
    pub timed_out: bool,
    /// Whether it keeps the task from being complete.
    pub required: bool,
    /// The end of what it printed.
    pub tail: String,
    /// The iteration after which it ran, where it has not run since the last one.
    pub ran_after: Option<IterationNumber>,
}

/// What the last iteration left to be dealt with.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Feedback {
    /// From `ralph say`.
    pub guidance: Vec<String>,
    /// Why the claim that the task is complete was rejected.
    pub rejected_claim: Option<String>,
    pub failed_gates: Vec<FailedGate>,
    /// What the tools of the last iteration left failing.
    pub failed_tools: Vec<ToolFailure>,
    /// How the last iteration failed or that it timed out.
    pub failure: Option<String>,
    /// The run goes in circles.
    pub stuck: Option<Box<LoopDetected>>,
    /// Limits near, context too long.
    pub warnings: Vec<String>,
}

impl Feedback {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// In at most so many bytes (but never fewer than [`LEAST_BUDGET`]); empty if there is nothing to say. A person's words
    /// come first and give way last, the output of gates shares what is left.
    pub fn render(&self, budget: usize) -> String {
        if self.is_empty() {
            return String::new();
        }
        let mut page = Page { text: "## Ralph Feedback\n\n".to_owned(), budget: budget.max(LEAST_BUDGET) };
        if !self.guidance.is_empty() {
            page.push("### Guidance from the person in charge\n\n");
            for (at, text) in self.guidance.iter().enumerate() {
                let share = page.room() / 2 / (self.guidance.len() - at);
                page.push(&format!("{}\n", block_start(text, share.max(64))));
            }
        }
        if let Some(why) = &self.rejected_claim {
            page.push(&format!(
                "### The task is not complete\n\nThe last claim that it is was rejected: {}\n\n",
                inline(why, 500)
            ));
        }
        if let Some(stuck) = &self.stuck {
            page.push(&circles(stuck));
        }
        for (at, gate) in self.failed_gates.iter().enumerate() {
            // Room for what follows.
            let others = self.failed_gates.len() - at;
            let last = self.warnings.is_empty() && self.failure.is_none() && self.failed_tools.is_empty();
            let after = if last { 0 } else { page.room() / 4 };
            page.push(&gate.section((page.room() - after) / others));
        }
        if let Some(failure) = &self.failure {
            page.push(&format!(
                "### The last iteration failed\n\n{}\n",
                block_start(failure, page.room() / 2)
            ));
        }
        if !self.failed_tools.is_empty() {
            page.push("### What failed in the last iteration\n\n");
            for (at, failed) in self.failed_tools.iter().enumerate() {
                let others = self.failed_tools.len() - at;
                let after = if self.warnings.is_empty() { 0 } else { page.room() / 4 };
                page.push(&tool_section(failed, (page.room() - after) / others));
            }
        }
        if !self.warnings.is_empty() {
            page.push("### Warnings\n\n");
            for warning in &self.warnings {
                let text = inline(warning, 400);
                // It opens nothing, and is no marker that stands alone.
                let lead =
                    if text.starts_with(|c: char| c.is_alphanumeric() || c == '"') { "" } else { "… " };
                page.push(&format!("- {lead}{text}\n"));
            }
        }
        page.text
    }
}

/// What was seen, and what is to be done about it.
fn circles(stuck: &LoopDetected) -> String {
    let mut text = match stuck.action {
        LoopAnswer::Demand => demand(stuck),
        _ => format!(
            "### Take a different approach\n\nThis run goes in circles: {}. What was done so far did not work, and doing it \
             again will not either. Find out why it fails before you change anything, then try something that is not in \
             this list. If nothing is left to try, say that you are blocked, and why.\n\n",
            inline(&stuck.pattern, 300)
        ),
    };
    for one in &stuck.iterations {
        text.push_str(&format!("- Iteration {}: {}\n", one.iteration, inline(&one.line, 160)));
    }
    if stuck.action != LoopAnswer::Demand {
        for line in &stuck.repeated {
            text.push_str(&format!("- Repeated: {}\n", inline(line, 200)));
        }
    }
    for same in &stuck.unchanged {
        text.push_str(&format!("- Not changing: {}\n", inline(same, 200)));
    }
    text.push('\n');
    text
}

/// Said to an agent that was told before, and brought nothing new.
fn demand(stuck: &LoopDetected) -> String {
    let told = match stuck.told_after {
        Some(iteration) => format!("After iteration {iteration} you were told"),
        None => "You were told".to_owned(),
    };
    let mut text = format!(
        "### Another approach is demanded\n\n{told} that this run goes in circles, and nothing new came of it: {}.{}\n\n",
        inline(&stuck.pattern, 300),
        if stuck.of.is_some() { " Going on like this ends the run." } else { "" },
    );
    if !stuck.repeated.is_empty() {
        let quote = block_start(&stuck.repeated.join("\n"), QUOTED);
        text.push_str(&format!("This came again, word for word:\n\n{quote}\n"));
    }
    text.push_str(
        "Do not do again what the list below says. First write down, in one sentence, what has been assumed so far \
         and never checked. Check it. Then do something that is not in the list: another file, another tool, another \
         cause. If there is no such thing, say that you are blocked, and what you would need.\n\n",
    );
    text
}

/// The command, how it failed, and a few lines of what it said.
fn tool_section(failed: &ToolFailure, room: usize) -> String {
    let what = inline(&failed.what, 200).replace('`', "'");
    let head = format!("- `{what}` {}\n\n", failed.how());
    let message = block_end(&failed.message, room.saturating_sub(head.len() + 1));
    if message.is_empty() { head } else { format!("{head}{message}\n") }
}

impl FailedGate {
    fn section(&self, room: usize) -> String {
        let how = match (self.timed_out, self.exit_code) {
            (true, _) => "timed out".to_owned(),
            (false, Some(code)) => format!("failed with exit code {code}"),
            (false, None) => "was ended or could not be run".to_owned(),
        };
        let name = inline(&self.name, 80).replace('`', "'");
        let command = inline(&self.command, 200).replace('`', "'");
        let kind = if self.required { "Gate" } else { "Gate that is not required" };
        let since = match self.ran_after {
            Some(iteration) => format!("It ran after iteration {iteration}, and not since.\n\n"),
            None => String::new(),
        };
        let head = format!("### {kind} `{name}` {how}\n\nCommand: `{command}`\n\n{since}");
        let tail = block_end(&self.tail, room.saturating_sub(head.len() + 1));
        if tail.is_empty() { head } else { format!("{head}{tail}\n") }
    }
}

/// A text that takes only what fits.
struct Page {
    text: String,
    budget: usize,
}

impl Page {
    fn room(&self) -> usize {
        self.budget - self.text.len()
    }

    fn push(&mut self, text: &str) {
        if text.len() <= self.room() {
            self.text.push_str(text);
        }
    }
}
