//! What is found before anything runs, and the graph behind it.

use super::*;
use crate::hat::{FindingKind, FindingPlace, Graph, Source, analyse};

fn found(plan: &Plan) -> Vec<(FindingKind, FindingPlace, String)> {
    let findings = analyse(plan.hats.as_deref().unwrap());
    findings.into_iter().map(|one| (one.kind, one.place, one.message)).collect()
}

fn kinds(plan: &Plan) -> Vec<FindingKind> {
    found(plan).into_iter().map(|(kind, ..)| kind).collect()
}

/// Nothing to find: the reviewer is limited, its word of approval is required, the escalator says nothing.
fn sound() -> Plan {
    let mut plan = review_loop();
    let hats = plan.hats.as_mut().unwrap();
    hats.required_events = patterns(&["review.approved"]);
    hats.hats[2].publishes.clear();
    plan
}

#[test]
fn a_sound_definition_has_no_findings() {
    assert_eq!(found(&sound()), []);
}

#[test]
fn topics_that_nobody_handles() {
    let mut plan = review_loop();
    plan.hats.as_mut().unwrap().hats[0].completes = false;
    let all = found(&plan);
    let places: Vec<&FindingPlace> = all.iter().map(|(_, place, _)| place).collect();
    let [approved, logged] =
        [("code_reviewer", 0), ("escalator", 0)].map(|(id, n)| FindingPlace::Publishes(id.into(), n));
    assert_eq!(places, [&approved, &logged]);
    assert!(all.iter().all(|(kind, ..)| *kind == FindingKind::UnhandledTopic));
    assert!(all[0].2.contains("no hat handles `review.approved`"));
    let mut plan = sound();
    plan.hats.as_mut().unwrap().starting_event = "work.start".parse().unwrap();
    assert_eq!(found(&plan)[0].1, FindingPlace::StartingEvent);
}

#[test]
fn triggers_that_nobody_publishes_and_hats_that_are_never_reached() {
    let mut plan = sound();
    let hats = &mut plan.hats.as_mut().unwrap().hats;
    hats[0].triggers.push("review.rejected".parse().unwrap());
    hats.push(hat("a", &["b.go"], &["a.go"]));
    hats.push(limited(1, hat("b", &["a.go"], &["b.go"])));
    hats.push(hat("c", &[], &[]));
    let all = found(&plan);
    assert_eq!(all[0].1, FindingPlace::Trigger("executor".into(), 2));
    assert!(all[0].2.contains("nobody can publish `review.rejected`"));
    let unreachable: Vec<&FindingPlace> = all
        .iter()
        .filter(|(kind, ..)| *kind == FindingKind::UnreachableHat)
        .map(|(_, place, _)| place)
        .collect();
    assert_eq!(
        unreachable,
        ["a", "b", "c"].map(|id| FindingPlace::Hat(id.into())).iter().collect::<Vec<_>>()
    );
    // Nobody is ever exhausted without a limit.
    let mut plan = sound();
    plan.hats.as_mut().unwrap().hats[1].max_activations = None;
    assert!(found(&plan).iter().any(|(_, _, text)| text.contains("nobody can publish `*.exhausted`")));
}

#[test]
fn a_cycle_without_a_limit_is_named_as_a_path() {
    let mut plan = sound();
    plan.hats.as_mut().unwrap().hats[1].max_activations = None;
    let all = found(&plan);
    let (_, place, text) = all.iter().find(|(kind, ..)| *kind == FindingKind::UnboundedCycle).unwrap();
    assert!(
        text.ends_with(
            "executor → implementation.done → code_reviewer → review.changes_requested → executor"
        ),
        "{text}"
    );
    assert_eq!(*place, FindingPlace::Hat("code_reviewer".into()));
    let own = hats(vec![hat("a", &["task.start", "a.*"], &["a.again"])]);
    assert!(found(&own).iter().any(|(_, _, text)| text.contains("a → a.again → a")));
    // Over a `*` too, and a limit anywhere on the way is enough.
    let star = |max| {
        let last = HatPlan { max_activations: max, ..hat("c", &["b.done"], &["*"]) };
        kinds(&hats(vec![hat("a", &["task.start"], &["a.done"]), hat("b", &["a.done"], &["b.done"]), last]))
            .contains(&FindingKind::UnboundedCycle)
    };
    assert!(star(None) && !star(Some(2)));
}

#[test]
fn completion_that_no_hat_can_reach() {
    let mut plan = sound();
    plan.hats.as_mut().unwrap().required_events = patterns(&["review.approved", "deploy.done"]);
    let all = found(&plan);
    assert_eq!((all.len(), &all[0].1), (1, &FindingPlace::RequiredEvent(1)));
    // What is required makes the claim; without that somebody has to.
    let mut plan = sound();
    plan.hats.as_mut().unwrap().hats.iter_mut().for_each(|hat| hat.completes = false);
    assert_eq!(kinds(&plan), []);
    plan.hats.as_mut().unwrap().required_events.clear();
    assert_eq!(kinds(&plan), [FindingKind::UnhandledTopic, FindingKind::CompletionUnreachable]);
}

#[test]
fn hats_that_may_end_the_run_before_another_has_seen_their_work() {
    let past = |plan: &Plan| {
        let all = found(plan).into_iter().filter(|(kind, ..)| *kind == FindingKind::CompletionPast);
        all.map(|(_, place, text)| (place, text)).collect::<Vec<_>>()
    };
    let all = past(&review_loop());
    let place = FindingPlace::Hat("executor".into());
    let text = "`executor` may complete the run before `code_reviewer` has seen its work";
    assert_eq!(all, [(place, text.to_owned())], "the reviewer's word is the last, though it hands work back");
    assert_eq!(past(&sound()), [], "only the reviewer can publish what is required");
    let with = |change: &dyn Fn(&mut HatsPlan)| {
        let mut plan = review_loop();
        change(plan.hats.as_mut().unwrap());
        past(&plan).len()
    };
    assert_eq!(with(&|hats| hats.hats[0].completes = false), 0);
    // It alone may: that is meant so.
    let alone = |hats: &mut HatsPlan| hats.hats[1..].iter_mut().for_each(|hat| hat.completes = false);
    assert_eq!(with(&alone), 0);
    // What is required is no help if the hat may publish it itself.
    assert_eq!(with(&|hats| hats.required_events = patterns(&["implementation.*"])), 1);
    assert_eq!(with(&|hats| hats.required_events = patterns(&["implementation.*", "review.approved"])), 0);
    // Nobody is passed over who could not have said anything.
    let logger = hats(vec![hat("worker", &["task.start"], &["log"]), hat("logger", &["log"], &[])]);
    assert_eq!(past(&logger), []);
    // Each on the way but the last, and never a hat that nobody reaches.
    let chain = hats(vec![
        hat("a", &["task.start"], &["a.done"]),
        hat("b", &["a.done"], &["b.done"]),
        hat("c", &["b.done"], &["c.done"]),
        hat("lost", &["nothing"], &["a.done"]),
    ]);
    let names: Vec<FindingPlace> = past(&chain).into_iter().map(|(place, _)| place).collect();
    assert_eq!(names, [FindingPlace::Hat("a".into()), FindingPlace::Hat("b".into())]);
}

#[test]
fn subscribers_that_surprise() {
    let mut plan = sound();
    plan.hats.as_mut().unwrap().hats.push(hat("second", &["x.y", "implementation.done"], &[]));
    let all = found(&plan);
    let (_, place, text) = all.iter().find(|(kind, ..)| *kind == FindingKind::DuplicateSubscribers).unwrap();
    assert_eq!(*place, FindingPlace::Trigger("second".into(), 1));
    assert!(text.contains("`code_reviewer` and `second` both get `implementation.done`"), "{text}");
    let mut plan = sound();
    plan.hats.as_mut().unwrap().hats.push(hat("log", &["implementation.*"], &[]));
    let all = found(&plan);
    assert_eq!(all[0].0, FindingKind::ShadowedTrigger);
    assert!(all[0].2.contains("`log` never gets `implementation.done`"), "{}", all[0].2);
}

#[test]
fn a_run_is_counted_on_the_edges() {
    let mut run = Run::new(review_loop());
    run.says(&[("implementation.done", "")]);
    run.says(&[("review.changes_requested", "")]);
    run.says(&[("implementation.done", "")]);
    run.says(&[("review.approved", "")]);
    let mut graph = Graph::of(run.state().plan.hats.as_deref().unwrap());
    run.published().iter().for_each(|event| graph.count(event));
    let edge = |topic: &str| graph.edges.iter().find(|edge| edge.topic.as_str() == topic).unwrap();
    assert_eq!(edge("implementation.done").to[0].count, 2);
    assert_eq!(edge("review.approved").unheard, 1);
    assert_eq!(graph.edges_from(Source::Ralph).count(), 1);
    assert_eq!(graph.distances(), [Some(0), Some(1), Some(2)]);
}
