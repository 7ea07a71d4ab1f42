//! Hats and what they publish.

use serde::{Deserialize, Serialize};

use crate::hat::{Payload, Topic};
use crate::ids::{HatKey, IterationNumber};

/// The agent asks to publish something. It becomes real when the iteration ends well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TopicEmitted {
    pub iteration: IterationNumber,
    pub attempt: u32,
    /// As it was given: it may be no topic at all.
    pub topic: String,
    #[serde(default)]
    pub payload: Payload,
}

/// A hat may not publish what it asked to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TopicRejected {
    pub iteration: IterationNumber,
    pub hat: HatKey,
    pub topic: String,
    pub why: String,
    pub may_publish: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TopicPublished {
    /// The iteration that published it; nothing for what came before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration: Option<IterationNumber>,
    /// Counted from 1 over the whole run.
    pub id: u64,
    pub topic: Topic,
    pub payload: Payload,
    pub from: HatKey,
    /// The hats that get it.
    pub to: Vec<HatKey>,
    /// The hats that would get it, were they not exhausted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<HatKey>,
    /// The hat said nothing; this is what its definition says then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_default: bool,
}

/// A hat is put on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HatActivated {
    pub iteration: IterationNumber,
    pub hat: HatKey,
    /// Which activation this is, and of how many.
    pub activation: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<u32>,
    /// What it is given, by id.
    pub events: Vec<u64>,
    /// It published nothing the last time and is asked once more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
}

/// A hat would be put on once more than it may.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HatExhausted {
    pub hat: HatKey,
    pub activations: u32,
    /// What it is not given, by id.
    pub undelivered: Vec<u64>,
}

/// A person gives a hat all of its activations again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HatReset {
    pub hat: HatKey,
}
