//! What the loop does while its agent says that there is nothing to do, or that somebody else has to act.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Backoff, CommandPlan};
use crate::marker::AgentState;
use crate::time::millis;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IdlePlan {
    /// How to wait while the agent is idle. Nothing: it is only recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<WaitPlan>,
    /// Nobody asked for that wait: it is what stands for settings that are not there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_default: bool,
    #[serde(default, skip_serializing_if = "Reaction::is_stop")]
    pub on_blocked: Reaction,
    #[serde(default = "Reaction::patient", skip_serializing_if = "Reaction::is_patient")]
    pub on_review: Reaction,
    /// What ends such a wait as soon as there is work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake: Option<WakePlan>,
}

/// A wait that grows while nothing changes, and the time after which the run gives up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WaitPlan {
    pub backoff: Backoff,
    #[serde(rename = "max_ms", default, skip_serializing_if = "Option::is_none", with = "millis::option")]
    pub max: Option<Duration>,
}

/// What to do about an agent that needs somebody else.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reaction {
    #[default]
    Stop,
    /// Wait for a person to speak; stop if nobody does.
    Ask,
    Wait(WaitPlan),
}

impl Reaction {
    /// People take longer than machines: a minute at first, half an hour at most.
    pub fn patient() -> Self {
        Self::Wait(WaitPlan::patient())
    }

    fn is_stop(&self) -> bool {
        *self == Self::Stop
    }

    fn is_patient(&self) -> bool {
        *self == Self::patient()
    }
}

impl WaitPlan {
    /// The time between two looks of an agent that has nothing to do.
    pub fn idle() -> Self {
        let (initial, max) = (Duration::from_secs(30), IdlePlan::MAX_DELAY);
        Self { backoff: Backoff { initial, factor: 2.0, max }, max: None }
    }

    /// The time between two looks of an agent that waits for a person.
    pub fn patient() -> Self {
        let (initial, max) = (Duration::from_secs(60), Duration::from_secs(1800));
        Self { backoff: Backoff { initial, factor: 2.0, max }, max: None }
    }
}

/// Files and a command that tell when there is work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WakePlan {
    /// A change of one of these, absolute.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<PathBuf>,
    /// Exit code 0 means that there is work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandPlan>,
    /// How often the command is asked.
    #[serde(rename = "every_ms", with = "millis")]
    pub every: Duration,
}

impl Default for IdlePlan {
    fn default() -> Self {
        let (on_blocked, on_review) = (Reaction::Stop, Reaction::patient());
        Self { wait: None, by_default: false, on_blocked, on_review, wake: None }
    }
}

impl IdlePlan {
    /// The longest wait an agent may choose for itself, unless the settings say otherwise.
    pub const MAX_DELAY: Duration = Duration::from_secs(300);

    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// How to wait in this state, if that is what is to be done.
    pub fn wait_in(&self, state: AgentState) -> Option<&WaitPlan> {
        match (state, self.reaction(state)) {
            (AgentState::Idle, _) => self.wait.as_ref(),
            (_, Some(Reaction::Wait(wait))) => Some(wait),
            _ => None,
        }
    }

    pub fn reaction(&self, state: AgentState) -> Option<&Reaction> {
        match state {
            AgentState::Blocked => Some(&self.on_blocked),
            AgentState::WaitingForReview => Some(&self.on_review),
            AgentState::Idle | AgentState::Working => None,
        }
    }

    /// The longest wait an agent in this state may choose.
    pub fn max_delay(&self, state: AgentState) -> Duration {
        self.wait_in(state).or(self.wait.as_ref()).map_or(Self::MAX_DELAY, |wait| wait.backoff.max)
    }
}
