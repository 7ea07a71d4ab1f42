//! What the bus holds: hats, messages, and what an iteration under a hat has left behind.
//!
//! Apart from the bus, which says how the contents change.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::hat::payload::Payload;
use crate::hat::plan::COORDINATOR;
use crate::hat::topic::Topic;
use crate::ids::{HatKey, IterationNumber};

/// What the bus knows of one hat.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hat {
    pub id: HatKey,
    /// Finished iterations under this hat.
    pub activations: u32,
    pub exhausted: bool,
    /// There is nothing it may publish, so it is not asked to.
    pub(super) mute: bool,
    /// It may say that the task is complete.
    pub(super) completes: bool,
    pub pending: VecDeque<Arc<TopicMessage>>,
    /// What it would have been given, were it not exhausted.
    pub(super) missed: Vec<Arc<TopicMessage>>,
    /// What it had been given last and published nothing about when it was exhausted.
    pub(super) unanswered: Vec<Arc<TopicMessage>>,
    pub(in crate::hat) streak: Option<Streak>,
}

/// An event that was published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicMessage {
    pub id: u64,
    pub topic: Topic,
    pub payload: Payload,
    pub from: HatKey,
    pub iteration: Option<IterationNumber>,
}

/// An event that is about to be published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Staged {
    pub topic: Topic,
    pub payload: Payload,
    pub from: HatKey,
    pub by_default: bool,
    pub iteration: Option<IterationNumber>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wearing {
    pub(super) hat: HatKey,
    /// How many of the pending events its prompt carries.
    pub(super) taken: usize,
    /// How many of the refusals.
    pub(super) told: usize,
}

/// A hat that has published nothing, and what it had been given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Silent {
    pub hat: HatKey,
    pub messages: Vec<Arc<TopicMessage>>,
    /// In a row.
    pub times: u32,
    /// It said that the task is complete instead, and was not believed.
    pub claimed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::hat) struct Unheard {
    pub topic: Topic,
    /// The hats that are exhausted.
    pub dropped: Vec<HatKey>,
}

/// Says in a row that it is blocked by the same thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::hat) struct Streak {
    pub subject: String,
    pub count: u32,
}

impl Hat {
    /// ralph has told it that the run goes in circles.
    pub(in crate::hat) fn is_called_out(&self) -> bool {
        self.pending
            .iter()
            .any(|message| message.from == COORDINATOR && message.topic == Topic::loop_detected())
    }
}
