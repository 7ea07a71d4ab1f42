//! Timers and waits.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ids::IterationNumber;
use crate::stop::StopKey;
use crate::time::{Timestamp, millis};

/// A timer belongs to the moment that started it: `epoch` is the number of events there were then. One that fires after its
/// moment has passed matches nothing and is ignored.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TimerId {
    pub slot: TimerSlot,
    pub epoch: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimerSlot {
    IterationTimeout,
    Wait,
    /// The alarm of a guard, by its key.
    Guard(StopKey),
}

/// A usage limit: the loop waits. This is neither an iteration nor a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LimitHit {
    pub iteration: IterationNumber,
    pub agent: usize,
    pub until: Timestamp,
    /// Whether the agent said when it ends; else it is a guess that grows.
    pub known: bool,
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DelayStarted {
    pub reason: DelayReason,
    pub until: Timestamp,
    #[serde(rename = "wait_ms", with = "millis")]
    #[schemars(with = "u64")]
    pub wait: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DelayReason {
    /// The pause the definition asks for between iterations.
    Delay,
    /// Backing off after a failure.
    Failure,
    /// Until a usage limit ends.
    Limit,
    /// Until the agent's service may work again.
    Outage,
    /// The agent says that there is nothing to do.
    Idle,
    /// Until somebody has looked at the agent's work.
    #[serde(rename = "waiting_for_review")]
    Review,
    /// Until what blocks the agent is gone.
    Blocked,
    /// Until a person has answered.
    Question,
    /// As long as the agent asked for.
    Agent,
    /// Until the budget of the next day or week.
    Budget,
    /// Until a window of the agent's plan begins anew.
    Quota,
}

impl DelayReason {
    /// Whether the run waits because there is nothing for the agent to do.
    pub fn is_idle(self) -> bool {
        matches!(self, DelayReason::Idle | DelayReason::Review | DelayReason::Blocked)
    }

    /// Whether the wait is over as soon as there is work.
    pub fn can_wake(self) -> bool {
        self.is_idle() || matches!(self, DelayReason::Question | DelayReason::Agent)
    }

    /// Whether the agent's service keeps the run waiting.
    pub fn is_service(self) -> bool {
        matches!(self, DelayReason::Limit | DelayReason::Outage)
    }
}

/// What all runs of the state folder have spent, this one included.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LedgerRead {
    pub day_usd: f64,
    pub week_usd: f64,
    pub day_ends: Timestamp,
    pub week_ends: Timestamp,
    /// Tokens of this week whose cost nobody knows.
    #[serde(default)]
    pub unpriced_tokens: u64,
}

/// How much of a window of the agent's plan is used, as the agent told it last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct QuotaSeen {
    /// As the stream calls it: `five_hour`, `seven_day`.
    pub window: String,
    /// From 0 to 1.
    pub used: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<Timestamp>,
}

/// There is work: a file has changed, or the command says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct WakeTriggered {
    /// Of the wait that is meant, like a timer's.
    pub epoch: u64,
    #[serde(flatten)]
    pub by: WakeCause,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case", tag = "by")]
pub enum WakeCause {
    File { path: String },
    Command,
}
