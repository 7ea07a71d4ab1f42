//! What it costs to route events among many hats: `cargo run --release -p ralph-core --example routing`.
//!
//! Prints seconds: for routing alone, and for publishing, putting on and finishing through the bus of a run's state.

use std::time::Instant;

use ralph_core::event::{Event, IterationFinished, IterationStarted, Outcome, TopicEmitted};
use ralph_core::hat::{Bus, HatPlan, HatsPlan, Next, Payload, Routes, Topic};
use ralph_core::ids::IterationNumber;

const HATS: usize = 1_000;
const EVENTS: usize = 100_000;

fn main() {
    let plan = HatsPlan::new((0..HATS).map(hat).collect());
    let topics: Vec<Topic> =
        (0..EVENTS).map(|n| parse(&format!("area{}.step{}.go", n % HATS, n % 7))).collect();
    let routes = Routes::new(plan.hats.iter().map(|hat| hat.triggers.as_slice()));
    let start = Instant::now();
    let heard: usize = topics.iter().map(|topic| routes.subscribers(topic).len()).sum();
    println!("routing {:.4} {heard}", start.elapsed().as_secs_f64());

    let plan = HatsPlan { starting_event: topics[0].clone(), ..plan };
    let mut bus = Bus::new(&plan, "task");
    let start = Instant::now();
    let published = through_the_bus(&plan, &routes, &mut bus, &topics);
    println!("bus {:.4} {published}", start.elapsed().as_secs_f64());
}

/// Each hat has its own topics, some by name and some by pattern, and a pattern that it shares with others.
fn hat(n: usize) -> HatPlan {
    let triggers = match n % 4 {
        0 => vec![format!("area{n}.step1.go"), format!("area{n}.*.go")],
        1 => vec![format!("area{n}.**")],
        2 => vec![format!("area{n}.*.*"), "*.step9.*".to_owned()],
        _ => vec![format!("area{n}.step3.go"), format!("area{n}.step4.*"), format!("area{n}.*.go")],
    };
    HatPlan::new(&format!("hat{n}"), triggers.iter().map(|text| parse(text)).collect(), vec![parse("**")])
}

/// A hundred events in each iteration, as one hat after the other is put on.
fn through_the_bus(plan: &HatsPlan, routes: &Routes, bus: &mut Bus, topics: &[Topic]) -> u64 {
    let mut published = 0;
    let mut iteration = IterationNumber(1);
    let mut left = topics.chunks(100);
    loop {
        match bus.next(plan) {
            Next::Publish(staged) => {
                published += 1;
                bus.apply(&Event::TopicPublished(bus.publish(staged, plan, routes)));
            }
            Next::Wear(turn) => {
                let Some(topics) = left.next() else { return published };
                let hat = Some(turn.hat);
                bus.apply(&Event::IterationStarted(IterationStarted {
                    iteration,
                    attempt: 1,
                    agent: 0,
                    hat,
                }));
                for topic in topics {
                    let (topic, payload) = (topic.to_string(), Payload::Text("payload".to_owned()));
                    bus.apply(&Event::TopicEmitted(TopicEmitted { iteration, attempt: 1, topic, payload }));
                }
                bus.apply(&Event::IterationFinished(IterationFinished::new(iteration, 1, Outcome::Ok)));
                iteration = iteration.next();
            }
            Next::Exhaust(_) | Next::Stop(_) => return published,
        }
    }
}

fn parse<T: std::str::FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| unreachable!("the names above are fine"))
}
