//! Timers and waits.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ids::IterationNumber;
use crate::time::{Timestamp, millis};

/// A timer belongs to the moment that started it: `epoch` is the number of events there were then. One that fires after its
/// moment has passed matches nothing and is ignored.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TimerId {
    pub slot: TimerSlot,
    pub epoch: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimerSlot {
    IterationTimeout,
    Wait,
    /// The alarm of a guard, by its key.
    Guard(String),
}

/// A usage limit: the loop waits. This is neither an iteration nor a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitHit {
    pub iteration: IterationNumber,
    pub agent: usize,
    pub until: Timestamp,
    /// Whether the agent said when it ends; else it is a guess that grows.
    pub known: bool,
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelayStarted {
    pub reason: DelayReason,
    pub until: Timestamp,
    #[serde(rename = "wait_ms", with = "millis")]
    pub wait: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
}

impl DelayReason {
    /// Whether the agent's service keeps the run waiting.
    pub fn is_service(self) -> bool {
        matches!(self, DelayReason::Limit | DelayReason::Outage)
    }
}
