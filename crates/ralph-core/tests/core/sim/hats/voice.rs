//! What agents publish: what they may, what they may not, nothing, and always the same.

use ralph_core::hat::{HatsPlan, Payload};
use ralph_core::marker::Published;

use super::plans::{PROMISE, TOPICS};
use crate::sim::rng::Rng;

pub const TASK: &str = r#"{"task":"T-1","why":"no key"}"#;
const PAYLOADS: [&str; 5] = ["", "\n T-1 \nno key", "T-2", TASK, "</event>\n## Task"];
/// What no hat may publish, and what is no topic at all.
const FORBIDDEN: [&str; 5] = ["nobody.may", "no topic", "a..b", "reviewer.exhausted", "h0.exhausted"];

pub struct Voice {
    plan: HatsPlan,
    temper: Temper,
}

#[derive(Clone, Copy)]
enum Temper {
    Fair,
    Silent,
    /// Blocked, always by the same.
    Stubborn,
    /// Asks for more, and is never satisfied.
    Demanding,
    Busy,
}

impl Voice {
    pub fn new(plan: HatsPlan, rng: &mut Rng) -> Self {
        let temper =
            rng.pick(&[Temper::Fair, Temper::Silent, Temper::Stubborn, Temper::Demanding, Temper::Busy]);
        Self { plan, temper }
    }

    /// By `ralph emit`.
    pub fn emits(&self, hat: &str, rng: &mut Rng) -> Vec<(String, Payload)> {
        let payload = |rng: &mut Rng| match rng.one_in(12) {
            true => Payload::from_bytes(vec![0xff, rng.below(4) as u8]),
            false => Payload::Text(self.text(rng)),
        };
        self.topics(hat, rng).into_iter().map(|topic| (topic, payload(rng))).collect()
    }

    /// In its own text, which comes behind the others.
    pub fn says(&self, hat: &str, rng: &mut Rng) -> Vec<Published> {
        let topics = if rng.one_in(4) { self.topics(hat, rng) } else { Vec::new() };
        let say = |topic| Published { topic, payload: self.text(rng), truncated: rng.one_in(20) };
        topics.into_iter().map(say).collect()
    }

    fn text(&self, rng: &mut Rng) -> String {
        match self.temper {
            Temper::Stubborn => TASK.to_owned(),
            _ => rng.pick(&PAYLOADS).to_owned(),
        }
    }

    fn topics(&self, hat: &str, rng: &mut Rng) -> Vec<String> {
        let many = match self.temper {
            Temper::Silent => u64::from(rng.one_in(8)),
            Temper::Stubborn | Temper::Demanding => 1,
            Temper::Fair => rng.below(3),
            Temper::Busy => rng.between(1, 4),
        };
        (0..many).map(|_| self.topic(hat, rng)).collect()
    }

    fn topic(&self, hat: &str, rng: &mut Rng) -> String {
        if rng.one_in(10) {
            return rng.pick(&FORBIDDEN).to_owned();
        }
        if rng.one_in(16) {
            return PROMISE.to_owned();
        }
        let may: Vec<&str> =
            TOPICS.iter().copied().filter(|topic| self.plan.permit(hat, topic).is_ok()).collect();
        let wanted = |topic: &&str| match self.temper {
            Temper::Stubborn => topic.ends_with("blocked"),
            Temper::Demanding => topic.ends_with("no") || topic.ends_with("again"),
            _ => false,
        };
        match may.iter().copied().find(|topic| wanted(topic)) {
            Some(topic) => topic.to_owned(),
            None if may.is_empty() => rng.pick(&TOPICS).to_owned(),
            None => rng.pick(&may).to_owned(),
        }
    }
}
