//! What the agent may say to ralph beyond the built-in markers, gathered from the sections that have a say in it.

use super::Plan;

/// The text of the promise that ends a run, unless the definition has its own.
const COMPLETION_SIGNAL: &str = "RALPH_PROMISE_COMPLETE";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignalPlan {
    /// A line that means "complete", beside `<ralph>COMPLETE</ralph>`.
    pub completion_promise: Option<String>,
    /// What `<promise>…</promise>` holds when a RALPH.md asks the agent for it and the task is complete.
    pub completion_signal: Option<String>,
    /// The user's own rule for a claim, in place of `<ralph>COMPLETE</ralph>`.
    pub success_regex: Option<String>,
    /// The user's own rule for blocked, in place of `<ralph>BLOCKED: …</ralph>`. Group 1 is the reason.
    pub blocked_regex: Option<String>,
}

impl Plan {
    pub fn signals(&self) -> SignalPlan {
        let tagged = self.completion_signal.as_deref().unwrap_or(COMPLETION_SIGNAL);
        SignalPlan {
            completion_promise: self.event_loop.completion_promise.clone(),
            completion_signal: self.stop_on_completion_signal.then(|| tagged.to_owned()),
            success_regex: self.stop.own_success().map(str::to_owned),
            blocked_regex: self.stop.own_blocked().map(str::to_owned),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{AgentPlan, Task};

    #[test]
    fn only_rules_that_differ_from_the_built_in_ones_are_the_users_own() {
        let mut plan = Plan::new("test", "/w", Task::Text(String::new()), AgentPlan::command("agent"));
        assert_eq!(plan.signals(), SignalPlan::default());
        plan.completion_signal = Some("FIN".to_owned());
        assert_eq!(plan.signals(), SignalPlan::default(), "it is not asked for");
        plan.stop_on_completion_signal = true;
        plan.stop.blocked_regex = "STUCK: (.*)".to_owned();
        let signals = plan.signals();
        assert_eq!(signals.completion_signal.as_deref(), Some("FIN"));
        assert_eq!(signals.blocked_regex.as_deref(), Some("STUCK: (.*)"));
        assert_eq!(signals.success_regex, None);
        plan.completion_signal = None;
        assert_eq!(plan.signals().completion_signal.as_deref(), Some(COMPLETION_SIGNAL));
    }
}
