//! Claims of completion that wait for a hat, and those that nobody has to say.

use serde::{Deserialize, Serialize};

use crate::ids::{HatKey, IterationNumber};

/// An iteration claims that the task is complete while other hats have something to do. Those come first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CompletionDeferred {
    pub iteration: IterationNumber,
    /// The hats that it waits for, in the order of the file.
    pub hats: Vec<HatKey>,
}

/// Nobody has anything left to do, and that is a claim: it is proved as one that an agent has made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CompletionInferred {
    /// The iteration that was finished last.
    pub iteration: IterationNumber,
    pub from: Inference,
    /// Whose claim it is: the gates of this hat are asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hat: Option<HatKey>,
}

/// What a claim that nobody has just made is inferred from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Inference {
    /// Every topic in `required_events` was published since files last changed.
    RequiredEvents,
    /// A claim has waited for other hats, and none of them has published anything.
    WaitingClaim,
}
