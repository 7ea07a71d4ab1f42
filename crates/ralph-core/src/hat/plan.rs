//! The hats of a plan: who there is, what each hears and may say.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::topic::{Pattern, Topic};
use crate::ids::HatKey;
use crate::plan::{AgentPlan, SandboxLevel};
use crate::time::millis;

/// The built-in hat: it publishes what ralph itself publishes, and takes a turn when nobody else knows how to go on.
pub const COORDINATOR: &str = "ralph";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HatsPlan {
    /// Published when the run starts, with the task as its payload.
    pub starting_event: Topic,
    /// The text of a task that is a file, as it was at the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// What must have been published since the workspace last changed before the run can be complete.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required_events: Vec<Pattern>,
    /// How often in a row a hat may say that it is blocked by the same thing.
    #[serde(default = "three")]
    pub max_consecutive_blocked: u32,
    /// The run's completion promise, where it can be a topic. Who publishes it claims that the task is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_promise: Option<Topic>,
    /// In the order of the file.
    pub hats: Vec<HatPlan>,
}

fn three() -> u32 {
    3
}

/// A role that the agent plays for one iteration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HatPlan {
    /// The key in the definition, by which everything calls it.
    pub id: HatKey,
    /// What the agent is called in the prompt, where that is something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub triggers: Vec<Pattern>,
    pub publishes: Vec<Pattern>,
    /// Published for it when an iteration ends without a word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_publishes: Option<Topic>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_activations: Option<u32>,
    /// Whether it may say that the task is complete.
    #[serde(default = "yes")]
    pub completes: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<Instructions>,
    /// And this, below the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra_instructions: Option<String>,
    /// Another agent than the run's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentPlan>,
    #[serde(
        rename = "iteration_timeout_ms",
        with = "millis::option",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub iteration_timeout: Option<Duration>,
    /// The gates that count for its claims, by name; nothing: those of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gates: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scratchpad: Option<PathBuf>,
    /// Its own sandbox instead of the run's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxLevel>,
}

fn yes() -> bool {
    true
}

/// What a hat is told to do. A file is read again before every iteration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Instructions {
    Text(String),
    File(PathBuf),
}

impl HatPlan {
    /// A hat with nothing but its topics.
    pub fn new(id: &str, triggers: Vec<Pattern>, publishes: Vec<Pattern>) -> Self {
        Self {
            id: id.into(),
            name: None,
            description: None,
            triggers,
            publishes,
            default_publishes: None,
            max_activations: None,
            completes: true,
            instructions: None,
            extra_instructions: None,
            agent: None,
            iteration_timeout: None,
            gates: None,
            scratchpad: None,
            sandbox: None,
        }
    }
}

impl HatsPlan {
    pub fn new(hats: Vec<HatPlan>) -> Self {
        Self {
            starting_event: default_start(),
            task: None,
            required_events: Vec::new(),
            max_consecutive_blocked: three(),
            completion_promise: None,
            hats,
        }
    }

    pub fn hat(&self, id: &str) -> Option<&HatPlan> {
        self.hats.iter().find(|hat| hat.id == id)
    }

    /// Why a hat may not publish this, or the topic if it may.
    pub fn permit(&self, hat: &str, topic: &str) -> Result<Topic, Refusal> {
        let parsed: Result<Topic, _> = topic.parse();
        let refusal = |why: String| Refusal { why, may_publish: self.may_publish(hat) };
        let parsed = parsed.map_err(|error| refusal(error.to_string()))?;
        if self.is_exhaustion(&parsed) {
            return Err(refusal("only ralph itself says that a hat is exhausted".to_owned()));
        }
        let is_promise = self.completion_promise.as_ref() == Some(&parsed);
        if is_promise && !self.may_complete(hat) {
            return Err(refusal(format!("`{hat}` may not say that the task is complete")));
        }
        match is_promise || self.patterns(hat).iter().any(|pattern| pattern.matches(&parsed)) {
            true => Ok(parsed),
            false => Err(refusal(format!("`{hat}` may not publish `{topic}`"))),
        }
    }

    /// Whether a claim of completion may be refused for want of the right hat or topic.
    pub fn can_refuse(&self) -> bool {
        !self.required_events.is_empty() || self.hats.iter().any(|hat| !hat.completes)
    }

    pub fn may_complete(&self, hat: &str) -> bool {
        self.hat(hat).is_none_or(|hat| hat.completes)
    }

    /// Whether this is the topic by which ralph tells that one of the hats is exhausted.
    pub fn is_exhaustion(&self, topic: &Topic) -> bool {
        let hat = topic.as_str().strip_suffix(".exhausted");
        hat.is_some_and(|hat| self.hat(hat).is_some())
    }

    pub fn may_publish(&self, hat: &str) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for pattern in self.patterns(hat) {
            if !names.iter().any(|name| name == pattern.as_str()) {
                names.push(pattern.to_string());
            }
        }
        names
    }

    /// The coordinator may publish whatever somebody hears.
    fn patterns(&self, hat: &str) -> Vec<&Pattern> {
        match self.hat(hat) {
            Some(hat) => hat.publishes.iter().collect(),
            None if hat == COORDINATOR => self.hats.iter().flat_map(|hat| &hat.triggers).collect(),
            None => Vec::new(),
        }
    }
}

/// `task.start`
pub fn default_start() -> Topic {
    // A constant that always parses; the fallback only satisfies the types.
    "task.start".parse().unwrap_or_else(|_| Topic::exhausted(COORDINATOR))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub why: String,
    pub may_publish: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(texts: &[&str]) -> Vec<Pattern> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn a_hat_publishes_what_its_list_has_and_nothing_else() {
        let plan = HatsPlan::new(vec![
            HatPlan::new("worker", patterns(&["task.start"]), patterns(&["work.*", "log"])),
            HatPlan::new("loud", patterns(&["work.done", "task.start"]), patterns(&["*"])),
        ]);
        assert_eq!(plan.permit("worker", "work.done").unwrap().as_str(), "work.done");
        assert!(plan.permit("worker", "log").is_ok());
        let refused = plan.permit("worker", "review.approved").unwrap_err();
        assert_eq!(refused.may_publish, ["work.*", "log"]);
        assert!(refused.why.contains("`worker` may not publish `review.approved`"));
        assert!(plan.permit("worker", "work.done now").unwrap_err().why.contains("cannot be part"));
        assert!(plan.permit("nobody", "work.done").is_err());
        // Not even with a `*`: an exhausted hat is told of once, and by ralph.
        assert!(plan.permit("loud", "worker.exhausted").unwrap_err().why.contains("only ralph"));
        assert!(plan.permit("loud", "battery.exhausted").is_ok());
        assert!(plan.permit(COORDINATOR, "task.start").is_ok() && plan.permit(COORDINATOR, "log").is_err());
        assert_eq!(plan.may_publish(COORDINATOR), ["task.start", "work.done"]);
    }

    #[test]
    fn the_completion_promise_is_for_every_hat_that_may_complete() {
        let quiet = HatPlan::new("quiet", patterns(&["task.start"]), Vec::new());
        let bound = HatPlan { completes: false, ..HatPlan::new("bound", Vec::new(), patterns(&["*"])) };
        let plan = HatsPlan {
            completion_promise: "LOOP_COMPLETE".parse().ok(),
            ..HatsPlan::new(vec![quiet, bound])
        };
        assert!(plan.permit("quiet", "LOOP_COMPLETE").is_ok() && plan.permit("quiet", "x").is_err());
        assert!(plan.permit(COORDINATOR, "LOOP_COMPLETE").is_ok());
        assert!(plan.permit("bound", "x").is_ok());
        assert!(plan.permit("bound", "LOOP_COMPLETE").unwrap_err().why.contains("may not say"));
    }
}
