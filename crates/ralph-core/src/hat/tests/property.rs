//! Any hats, any agents, any crashes: each event reaches each rightful hat exactly once, and the run ends.

use crate::ids::HatKey;
use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::hat::Topic;

const TOPICS: [&str; 5] = ["task.start", "a.go", "b.go", "a.b.c", "b.blocked"];
const PATTERNS: [&str; 10] =
    ["task.start", "a.go", "b.go", "a.b.c", "b.blocked", "*.go", "a.*", "a.**", "*.exhausted", "*"];

/// What one iteration does.
#[derive(Debug, Clone)]
enum Act {
    Publish(Vec<usize>),
    Say(Vec<usize>),
    Fail,
    /// ralph dies in the middle of it. So many records that are not synced survive.
    Crash(usize),
    /// It ends well, and then ralph dies.
    PublishAndCrash(Vec<usize>, usize),
    /// A person resumes a run that has stopped, and resets this hat.
    Reset(usize),
}

fn act() -> impl Strategy<Value = Act> {
    let topics = || prop::collection::vec(0..TOPICS.len() + 1, 0..4);
    prop_oneof![
        4 => topics().prop_map(Act::Publish),
        1 => topics().prop_map(Act::Say),
        1 => Just(Act::Fail),
        2 => (0usize..6).prop_map(Act::Crash),
        2 => (topics(), 0usize..8).prop_map(|(topics, keep)| Act::PublishAndCrash(topics, keep)),
        1 => (0usize..4).prop_map(Act::Reset),
    ]
}

fn any_hats() -> impl Strategy<Value = Vec<HatPlan>> {
    let patterns = |most| prop::collection::vec(prop::sample::select(&PATTERNS[..]), 0..most);
    let one = (patterns(4), patterns(5), prop::option::of(1u32..4), prop::option::of(0..TOPICS.len()));
    let one = one.prop_map(|(triggers, publishes, max_activations, default)| {
        let default_publishes = default.map(|n: usize| TOPICS[n].parse().unwrap());
        HatPlan { max_activations, default_publishes, ..hat("", &triggers, &publishes) }
    });
    prop::collection::vec(one, 1..5).prop_map(|all| {
        all.into_iter().enumerate().map(|(n, hat)| HatPlan { id: HatKey(format!("h{n}")), ..hat }).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_event_reaches_every_rightful_hat_exactly_once(hats in any_hats(), acts in prop::collection::vec(act(), 1..40)) {
        let mut plan = super::hats(hats);
        plan.event_loop.max_iterations = Some(40);
        let mut run = Run::new(plan);
        play(&mut run, &acts);
        check(&run);
    }
}

fn play(run: &mut Run, acts: &[Act]) {
    for act in acts.iter().cycle().take(120) {
        if run.stop().is_some() {
            match act {
                Act::Reset(n) => {
                    run.reset(&format!("h{n}"));
                    run.resume();
                }
                _ => continue,
            }
        }
        let topic = |n: &usize| TOPICS.get(*n).copied().unwrap_or("h0.exhausted");
        match act {
            Act::Publish(topics) => run.says(&topics.iter().map(|n| (topic(n), "x")).collect::<Vec<_>>()),
            Act::Say(topics) => {
                let said = topics.iter().map(|n| block(topic(n), "y")).collect();
                run.end(|exited| exited.published = said);
            }
            Act::Fail => run.fails(),
            Act::Crash(keep) => {
                run.emit("a.go", "never");
                run.crash(*keep);
            }
            Act::PublishAndCrash(topics, keep) => {
                run.says(&topics.iter().map(|n| (topic(n), "z")).collect::<Vec<_>>());
                run.crash(*keep);
            }
            Act::Reset(_) => {}
        }
    }
    // Nobody publishes any more: whatever the hats are, this ends.
    for _ in 0..60 {
        run.says(&[]);
    }
    assert!(run.stop().is_some(), "the run does not end");
}

/// What the journal says happened, counted again without the bus.
#[derive(Default)]
struct Count {
    events: BTreeMap<u64, TopicPublished>,
    /// What each hat was given in iterations that ended well, in order.
    given: BTreeMap<HatKey, Vec<u64>>,
    /// What exhausted hats were not given.
    withheld: BTreeMap<HatKey, Vec<u64>>,
    activations: BTreeMap<HatKey, u32>,
    exhausted: BTreeMap<HatKey, u32>,
    told: BTreeMap<HatKey, u32>,
    /// What each hat was given last; and, since it was reset, may be given again, if it had said nothing about it.
    last: BTreeMap<HatKey, Vec<u64>>,
    again: BTreeMap<HatKey, Vec<u64>>,
    /// Exhausted since a person gave it its activations again, if one did.
    spent: BTreeSet<HatKey>,
}

fn check(run: &Run) {
    run.verify();
    let plan = run.state().plan.hats.as_deref().unwrap();
    let mut count = Count::default();
    let mut worn: Option<HatActivated> = None;
    for record in &run.journal {
        match &record.event {
            Event::TopicPublished(event) => published(&mut count, plan, event),
            Event::HatActivated(activated) => worn = Some(activated.clone()),
            Event::IterationInterrupted(_) => worn = None,
            Event::IterationFinished(finished) => {
                if let Some(worn) = worn.take().filter(|_| !finished.outcome.is_failure()) {
                    finished_well(&mut count, plan, &worn);
                }
            }
            Event::HatExhausted(event) => {
                assert!(count.spent.insert(event.hat.clone()), "{} is exhausted twice", event.hat);
                *count.exhausted.entry(event.hat.clone()).or_default() += 1;
                let given = count.given.entry(event.hat.clone()).or_default();
                let withheld = event.undelivered.iter().filter(|id| !given.contains(id));
                count.withheld.entry(event.hat.clone()).or_default().extend(withheld);
            }
            Event::HatReset(reset) => {
                count.spent.remove(&reset.hat);
                count.activations.insert(reset.hat.clone(), 0);
                count.withheld.remove(&reset.hat);
                let last = count.last.get(&reset.hat).cloned().unwrap_or_default();
                count.again.insert(reset.hat.clone(), last);
            }
            _ => {}
        }
    }
    for hat in &plan.hats {
        assert_eq!(count.exhausted.get(&hat.id), count.told.get(&hat.id), "{} told of exhaustion", hat.id);
        fates(run, &count, &hat.id);
    }
}

/// The rightful hats, asked pattern by pattern.
fn published(count: &mut Count, plan: &HatsPlan, event: &TopicPublished) {
    assert_eq!(event.id, count.events.len() as u64 + 1, "ids count up");
    let closest = |hat: &HatPlan| {
        hat.triggers.iter().filter(|one| one.matches(&event.topic)).map(Pattern::specificity).max()
    };
    let best = plan.hats.iter().filter_map(closest).max();
    let rightful: Vec<&str> = plan
        .hats
        .iter()
        .filter(|hat| best.is_some() && closest(hat) == best)
        .map(|hat| hat.id.as_str())
        .collect();
    let mut got: Vec<&str> = event.to.iter().chain(&event.dropped).map(HatKey::as_str).collect();
    got.sort_unstable();
    assert_eq!(got, rightful, "{}", event.topic);
    for hat in &event.dropped {
        assert!(count.spent.contains(hat), "{hat} is not exhausted");
        count.withheld.entry(hat.clone()).or_default().push(event.id);
    }
    if let Some(hat) = event.topic.as_str().strip_suffix(".exhausted") {
        assert_eq!(event.from, "ralph", "only ralph says so");
        *count.told.entry(hat.into()).or_default() += 1;
    } else if event.from != "ralph" {
        let may = |topic: &Topic| plan.permit(&event.from, topic.as_str()).is_ok();
        assert!(event.by_default || may(&event.topic), "{} published {}", event.from, event.topic);
    }
    count.events.insert(event.id, event.clone());
}

fn finished_well(count: &mut Count, plan: &HatsPlan, worn: &HatActivated) {
    let activations = count.activations.entry(worn.hat.clone()).or_default();
    *activations += 1;
    if let Some(max) = plan.hat(&worn.hat).and_then(|hat| hat.max_activations) {
        assert!(*activations <= max, "{} was put on {activations} times of {max}", worn.hat);
    }
    if plan.hat(&worn.hat).is_none() {
        return;
    }
    count.last.insert(worn.hat.clone(), worn.events.clone());
    let again = count.again.remove(&worn.hat).unwrap_or_default();
    let given = count.given.entry(worn.hat.clone()).or_default();
    for id in &worn.events {
        if given.contains(id) {
            assert!(worn.again || again.contains(id), "{} got {id} twice", worn.hat);
        } else {
            given.push(*id);
        }
    }
}

/// Everything that was for a hat was given to it, or is pending, or was withheld; and nothing else was given.
fn fates(run: &Run, count: &Count, hat: &str) {
    let meant: Vec<u64> = count
        .events
        .values()
        .filter(|event| event.to.iter().chain(&event.dropped).any(|to| to == hat))
        .map(|event| event.id)
        .collect();
    let pending =
        run.state().bus.as_ref().unwrap().hat(hat).unwrap().pending.iter().map(|message| message.id);
    let mut given = count.given.get(hat).cloned().unwrap_or_default();
    let again = count.again.get(hat).cloned().unwrap_or_default();
    let pending: Vec<u64> = pending.collect();
    given.retain(|id| !(again.contains(id) && pending.contains(id)));
    let mut all: Vec<u64> = given.into_iter().chain(pending).collect();
    all.extend(count.withheld.get(hat).into_iter().flatten());
    all.sort_unstable();
    assert_eq!(all, meant, "{hat}");
}
