//! Random hats: the shapes that people write, and some that nobody would.

use std::time::Duration;

use ralph_core::hat::{HatPlan, HatsPlan, Pattern};

use crate::sim::rng::Rng;

pub const PROMISE: &str = "DONE";
pub const TOPICS: [&str; 11] = [
    "task.start",
    "impl.done",
    "review.ok",
    "review.no",
    "esc.logged",
    "part.a",
    "part.b",
    "part.done",
    "work.blocked",
    "work.again",
    "log",
];
const PATTERNS: [&str; 16] = [
    "task.start",
    "impl.done",
    "review.no",
    "part.a",
    "part.b",
    "part.done",
    "work.blocked",
    "work.again",
    "*",
    "**",
    "*.done",
    "part.*",
    "review.**",
    "*.exhausted",
    "h0.exhausted",
    "*.start",
];

fn patterns(texts: &[&str]) -> Vec<Pattern> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn hat(id: &str, triggers: &[&str], publishes: &[&str]) -> HatPlan {
    HatPlan::new(id, patterns(triggers), patterns(publishes))
}

fn limited(rng: &mut Rng, hat: HatPlan) -> HatPlan {
    HatPlan { max_activations: Some(rng.between(1, 3) as u32), ..hat }
}

/// An executor, a reviewer with a limit, and an escalator.
fn review_loop(rng: &mut Rng) -> Vec<HatPlan> {
    let mut hats = vec![
        hat("executor", &["task.start", "review.no"], &["impl.done"]),
        limited(rng, hat("reviewer", &["impl.done"], &["review.ok", "review.no"])),
    ];
    if !rng.one_in(4) {
        hats.push(hat("escalator", &["*.exhausted"], rng.pick(&[&["esc.logged"][..], &[], &["impl.done"]])));
    }
    hats
}

/// Equals share an event; one of them only listens.
fn fan_out(rng: &mut Rng) -> Vec<HatPlan> {
    let first = hat("one", &["part.*", "part.a"], &["part.done", "log"]);
    vec![
        hat("splitter", &["task.start", "part.done"], &["part.a", "part.b"]),
        if rng.one_in(2) { limited(rng, first) } else { first },
        hat("two", &["part.a", "part.b"], &["part.done"]),
        hat("listener", &["part.b", "log"], &[]),
    ]
}

/// One speaks by default, and one that may publish says nothing for which there is a default.
fn relay(rng: &mut Rng) -> Vec<HatPlan> {
    let mut first = hat("first", &["task.start", "work.again"], &["part.a", "log"]);
    first.default_publishes = "part.a".parse().ok();
    let second = hat("second", &["part.*"], &["work.again", "part.done"]);
    vec![if rng.one_in(2) { limited(rng, first) } else { first }, limited(rng, second)]
}

/// Somebody who is always blocked.
fn ping_pong(rng: &mut Rng) -> Vec<HatPlan> {
    let worker = hat("worker", &["part.a"], &["work.blocked", "part.done"]);
    vec![
        hat("planner", &["task.start", "work.*", "*.done"], &["part.a"]),
        if rng.one_in(3) { limited(rng, worker) } else { worker },
    ]
}

fn any(rng: &mut Rng) -> Vec<HatPlan> {
    let some = |rng: &mut Rng, most: u64| -> Vec<&str> {
        (0..rng.below(most)).map(|_| rng.pick(&PATTERNS)).collect()
    };
    let one = |n: u64, rng: &mut Rng| {
        let mut plan = hat(&format!("h{n}"), &some(rng, 4), &some(rng, 4));
        plan.default_publishes = rng.one_in(4).then(|| rng.pick(&TOPICS).parse().unwrap());
        if rng.one_in(2) { limited(rng, plan) } else { plan }
    };
    (0..rng.between(1, 4)).map(|n| one(n, rng)).collect()
}

pub fn hats(rng: &mut Rng, gates: &[String]) -> HatsPlan {
    let mut hats = match rng.below(6) {
        0 | 1 => review_loop(rng),
        2 => fan_out(rng),
        3 => relay(rng),
        4 => ping_pong(rng),
        _ => any(rng),
    };
    for hat in &mut hats {
        hat.completes = !rng.one_in(4);
        hat.iteration_timeout = rng.one_in(4).then(|| Duration::from_millis(rng.between(1, 8_000)));
        if rng.one_in(3) {
            hat.gates = Some(gates.iter().filter(|_| rng.one_in(2)).cloned().collect());
        }
    }
    let required = rng.one_in(3).then(|| rng.pick(&["review.ok", "part.*", "impl.done"]));
    HatsPlan {
        starting_event: if rng.one_in(12) { "log" } else { "task.start" }.parse().unwrap(),
        required_events: patterns(required.as_slice()),
        max_consecutive_blocked: rng.between(1, 3) as u32,
        completion_promise: rng.one_in(3).then(|| PROMISE.parse().unwrap()),
        ..HatsPlan::new(hats)
    }
}
