//! The payload of the event that tells of an exhausted hat.
//!
//! Apart from the bus: a format that hats and people read.

use std::sync::Arc;

use serde::Serialize;

use super::{Hat, TopicMessage};
use crate::event::HatExhausted;
use crate::hat::payload::Payload;
use crate::hat::topic::Topic;

/// Names the hat, the count, and what it was not given.
pub(super) fn exhausted_payload(event: &HatExhausted, hat: &Hat) -> Payload {
    #[derive(Serialize)]
    struct Told<'a> {
        hat: &'a str,
        activations: u32,
        undelivered: Vec<Left<'a>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        unanswered: Vec<Left<'a>>,
    }
    #[derive(Serialize)]
    struct Left<'a> {
        id: u64,
        topic: &'a Topic,
        from: &'a str,
        payload: String,
    }
    fn left(messages: &[Arc<TopicMessage>]) -> Vec<Left<'_>> {
        let one = |message: &TopicMessage| message.payload.as_str().chars().take(2000).collect();
        let all = messages.iter();
        all.map(|it| Left { id: it.id, topic: &it.topic, from: &it.from, payload: one(it) }).collect()
    }
    let told = Told {
        hat: &event.hat,
        activations: event.activations,
        undelivered: left(&hat.missed),
        unanswered: left(&hat.unanswered),
    };
    Payload::Text(serde_json::to_string(&told).unwrap_or_else(|error| format!("cannot be told: {error}")))
}
