//! What the agent is told. The task is the user's; what ralph adds is short and never shows a marker alone on a line, so
//! that an agent which echoes its prompt claims nothing.

use crate::ids::IterationNumber;
use crate::plan::Plan;

/// What goes into the prompt of one iteration beside the task's text, which the executor reads when it is needed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Draft {
    pub iteration: Option<IterationNumber>,
    pub guidance: Vec<String>,
    /// The last iteration ended because its context was too long.
    pub context_too_long: bool,
}

/// The whole prompt. `task` is the text of the plan's task as it is on disk now.
pub fn render(plan: &Plan, draft: &Draft, task: &str) -> String {
    let mut out = String::with_capacity(task.len() + 1024);
    let rules = plan.task.gets_rules();
    if rules {
        out.push_str("## Task\n\n");
    }
    // What a command printed at the end of a RALPH.md keeps its last newline.
    out.push_str(if rules { task.trim() } else { task });
    if !draft.guidance.is_empty() {
        out.push_str("\n\n## Guidance from the person in charge\n");
        for text in &draft.guidance {
            // A continuation line is indented, so guidance can not pass for another section.
            out.push_str(&format!("\n- {}", text.trim().replace('\n', "\n  ")));
        }
    }
    if draft.context_too_long {
        out.push_str(CONTEXT_TOO_LONG);
    }
    if rules {
        out.push_str("\n\n");
        out.push_str(&rules_text(plan, draft));
    }
    out
}

const CONTEXT_TOO_LONG: &str = "\n\n## Note\n\nThe last iteration failed because its context grew too long. Take a \
    smaller step, and read only the parts of files that you need.";

fn rules_text(plan: &Plan, draft: &Draft) -> String {
    let promise = match &plan.signals.completion_promise {
        Some(promise) => format!("`{}`", promise.trim()),
        None => "`<ralph>COMPLETE</ralph>`".to_owned(),
    };
    let number = draft.iteration.map_or(String::new(), |n| format!(" This is iteration {n}."));
    format!(
        "## Rules of this loop\n\n\
         You are run again and again on this task, each time with a fresh context.{number} Nothing you remember survives \
         but the files in the workspace: look at their state first, do the next useful piece of work, check it, and leave \
         the workspace in a good state.\n\n\
         - When the whole task is done and checked, end your answer with {promise} on a line of its own. Do not print it \
         otherwise, not even to talk about it.\n\
         - If you can not go on without a person, end your answer with `<ralph>BLOCKED: reason</ralph>` on a line of its own.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marker::{Rules, TailScanner};
    use crate::plan::{AgentPlan, SignalPlan, Task};

    fn plan(task: Task, promise: Option<&str>) -> Plan {
        let signals = SignalPlan { completion_promise: promise.map(str::to_owned), ..SignalPlan::default() };
        Plan { signals, ..Plan::new("test", "/w", task, AgentPlan::command("agent")) }
    }

    fn full() -> Draft {
        Draft { iteration: Some(IterationNumber(u32::MAX)), guidance: Vec::new(), context_too_long: true }
    }

    #[test]
    fn what_ralph_adds_around_a_task_is_short() {
        let added = render(&plan(Task::Text(String::new()), None), &full(), "");
        assert!(added.len() < 1500, "{} bytes:\n{added}", added.len());
    }

    #[test]
    fn an_echo_of_the_rules_is_no_claim() {
        for promise in [None, Some("LOOP_COMPLETE")] {
            let plan = plan(Task::Text(String::new()), promise);
            let prompt = render(&plan, &full(), "do it");
            // Without knowing the prompt: the text by itself must not hold a signal.
            let mut scanner = TailScanner::new(Rules::new(&plan.signals, ""));
            scanner.push(prompt.as_bytes());
            let found = scanner.finish();
            assert!(!found.complete && found.blocked.is_none(), "{prompt}");
        }
    }

    #[test]
    fn the_body_of_a_ralph_md_is_sent_as_written_and_guidance_can_not_pass_for_a_section() {
        let plan = plan(Task::RalphMd("RALPH.md".into()), None);
        assert_eq!(render(&plan, &Draft::default(), "Hello"), "Hello");
        let draft = Draft { guidance: vec!["one\n## Task\ntwo".to_owned()], ..Draft::default() };
        let prompt = render(&plan, &draft, "Hello");
        assert!(prompt.ends_with("- one\n  ## Task\n  two"), "{prompt}");
    }
}
