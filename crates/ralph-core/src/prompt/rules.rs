//! The rules of the loop: how to end, and what has to hold before that.

use super::Draft;
use super::hat::may_complete;
use crate::plan::{NoErrors, Plan};

/// What the user wants every prompt to repeat.
pub(super) fn guardrails(plan: &Plan) -> String {
    if plan.core.guardrails.is_empty() {
        return String::new();
    }
    let rules = plan.core.guardrails.iter().map(|rule| format!("- {}\n", rule.trim().replace('\n', "\n  ")));
    format!("## Guardrails\n\n{}", rules.collect::<String>())
}

/// A RALPH.md with nothing but ralphify's keys is sent as written. As soon as it says what has to hold at the end, or how the
/// end is told, the agent has to know the rules.
pub(super) fn stop_rules(plan: &Plan, draft: &Draft) -> String {
    let conditions = if may_complete(plan, draft) { conditions(plan) } else { String::new() };
    if is_as_written(plan) {
        return String::new();
    }
    let number = draft.iteration.map_or(String::new(), |n| format!(" This is iteration {n}."));
    format!(
        "## Rules of this loop\n\n\
         You are run again and again on this task, each time with a fresh context.{number} Nothing you remember survives \
         but the files in the workspace and what stands above: look at their state first, do the next useful piece of \
         work, check it, and leave the workspace in a good state.\n\n\
         - {}\n{}{conditions}",
        complete(plan, draft),
        blocked(plan)
    )
}

/// Whether the agent is told nothing about how to end but what the task says.
pub fn is_as_written(plan: &Plan) -> bool {
    !plan.task.gets_rules() && plan.hats.is_none() && conditions(plan).is_empty() && !has_own_end(plan)
}

fn has_own_end(plan: &Plan) -> bool {
    let signals = plan.signals();
    !plan.gates.is_empty() || signals.completion_promise.is_some() || signals.success_regex.is_some()
}

fn complete(plan: &Plan, draft: &Draft) -> String {
    if !may_complete(plan, draft) {
        return "This hat cannot say that the task is complete; another one does.".to_owned();
    }
    let signals = plan.signals();
    match (&signals.completion_promise, &signals.success_regex) {
        (None, Some(regex)) => {
            format!(
                "When the whole task is done and checked, your answer has to match `{}`. Else it must not.",
                regex.trim()
            )
        }
        (promise, _) => {
            let promise = promise.as_deref().unwrap_or("<ralph>COMPLETE</ralph>").trim();
            format!(
                "When the whole task is done and checked, end your answer with `{promise}` on a line of its own. Do not \
                 print it otherwise, not even to talk about it."
            )
        }
    }
}

fn blocked(plan: &Plan) -> String {
    let form = match plan.stop.own_blocked() {
        Some(regex) => format!("your answer has to match `{}`", regex.trim()),
        None => "end your answer with `<ralph>BLOCKED: reason</ralph>` on a line of its own".to_owned(),
    };
    format!("- If you cannot go on without a person, {form}.\n")
}

/// One sentence for each thing that a claim has to stand.
fn conditions(plan: &Plan) -> String {
    let stop = &plan.stop;
    let mut out = String::new();
    let mut rule = |on: bool, text: &str| {
        if on {
            out.push_str(&format!("- {text}\n"));
        }
    };
    rule(stop.require_passing_tests, "Before that, run the tests and see all of them pass.");
    rule(stop.require_lint, "Before that, run the linter and see it pass.");
    rule(stop.require_typecheck, "Before that, run the type checker and see it pass.");
    let tools_told = plan.agent.shows_work() && plan.task.gets_rules();
    let strict = stop.require_no_errors == NoErrors::Strict;
    rule(strict, "Do not claim completion in an iteration in which a tool call failed.");
    let checks = tools_told && stop.require_no_errors == NoErrors::Checks;
    rule(
        checks,
        "Do not claim completion while a test, linter, type checker or build that you ran last failed.",
    );
    for wanted in plan.hats.iter().flat_map(|hats| &hats.required_events) {
        rule(true, &format!("It counts only if `{wanted}` was published since files last changed."));
    }
    let gates: Vec<&str> = plan
        .gates
        .iter()
        .filter(|gate| gate.required && !gate.hidden)
        .map(|gate| gate.name.as_str())
        .collect();
    if !gates.is_empty() {
        let names: String = gates.join(", ").chars().take(200).collect();
        rule(
            true,
            &format!("Completion is then checked by running: {names}. It counts only if all of that passes."),
        );
    }
    let hidden = plan.gates.iter().any(|gate| gate.required && gate.hidden);
    rule(
        hidden,
        "Completion is then checked against acceptance checks that you cannot see: do all that the task says.",
    );
    out
}
