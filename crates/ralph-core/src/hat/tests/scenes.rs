//! What the definition promises, scene by scene.

use super::*;
use crate::hat::COORDINATOR;

#[test]
fn the_run_starts_with_the_task_and_hands_it_from_hat_to_hat() {
    let mut run = Run::new(review_loop());
    assert_eq!(run.hat(), "executor");
    let first = run.published()[0].clone();
    assert_eq!(
        (first.topic.as_str(), first.payload.as_str(), first.from.as_str()),
        ("task.start", "the task", "ralph")
    );
    run.says(&[("implementation.done", "look at a.rs")]);
    assert_eq!(run.hat(), "code_reviewer");
    run.says(&[("review.changes_requested", "line 3")]);
    assert_eq!(run.hat(), "executor");
    assert_eq!(
        run.topics(),
        ["task.start>executor", "implementation.done>code_reviewer", "review.changes_requested>executor"]
    );
    run.verify();
}

#[test]
fn the_review_loop_ends_with_one_exhaustion_and_one_escalation() {
    let mut run = Run::new(review_loop());
    let topics = unsatisfied(&mut run, |_| {});
    assert_eq!(run.stop(), Some(("no_subscriber", 4)));
    assert_eq!(topics.iter().filter(|topic| topic.starts_with("code_reviewer.exhausted")).count(), 1);
    let hats: Vec<&str> = run.activations().iter().map(|one| one.hat.as_str()).collect();
    assert_eq!(hats.iter().filter(|hat| **hat == "code_reviewer").count(), 3);
    assert_eq!(hats.iter().filter(|hat| **hat == "escalator").count(), 1);
    assert_eq!(hats.len(), 8, "{hats:?}");
    let payload = run.published()[8].payload.as_str();
    let payload: serde_json::Value = serde_json::from_str(payload).unwrap();
    assert_eq!((payload["hat"].as_str(), payload["activations"].as_u64()), (Some("code_reviewer"), Some(3)));
    assert_eq!(payload["undelivered"][0]["payload"], "done 4");
    run.verify();
}

#[test]
fn crashes_in_every_iteration_change_no_topic() {
    let mut calm = Run::new(review_loop());
    let wanted = unsatisfied(&mut calm, |_| {});
    for keep in 0..6 {
        let mut run = Run::new(review_loop());
        let topics = unsatisfied(&mut run, |run| {
            run.emit("implementation.done", "lost with its iteration");
            run.crash(keep);
        });
        assert_eq!((topics, run.stop()), (wanted.clone(), calm.stop()), "{keep}");
        assert_eq!(run.count("hat.exhausted"), 1);
        run.verify();
    }
}

/// The executor never satisfies the reviewer. Gives all topics.
fn unsatisfied(run: &mut Run, mut before: impl FnMut(&mut Run)) -> Vec<String> {
    let mut done = 0;
    while run.stop().is_none() {
        before(run);
        match run.hat().to_owned().as_str() {
            "executor" => {
                done += 1;
                run.says(&[("implementation.done", &format!("done {done}"))]);
            }
            "code_reviewer" => run.says(&[("review.changes_requested", "no")]),
            _ => run.says(&[("escalation.logged", "")]),
        }
    }
    run.topics()
}

#[test]
fn one_activation_takes_all_that_is_pending_and_leaves_what_comes_later() {
    let mut run = Run::new(hats(vec![
        hat("planner", &["task.start", "plan.more"], &["build.task", "plan.more"]),
        hat("builder", &["build.task"], &["build.done"]),
    ]));
    run.says(&[("build.task", "1"), ("plan.more", ""), ("build.task", "2")]);
    // First in, first out: the builder's first event is older.
    assert_eq!(run.hat(), "builder");
    assert_eq!(run.activations().last().unwrap().events, [2, 4]);
    run.says(&[("build.done", "")]);
    assert_eq!((run.hat(), run.activations().last().unwrap().events.clone()), ("planner", vec![3]));
}

#[test]
fn equal_subscribers_get_an_event_each_in_the_order_of_the_file() {
    let mut run = Run::new(hats(vec![
        hat("b", &["*.start"], &["x"]),
        hat("a", &["*.start"], &["x"]),
        hat("all", &["*"], &["y"]),
    ]));
    assert_eq!(run.topics(), ["task.start>b,a"]);
    assert_eq!(run.hat(), "b");
    run.says(&[("x", "")]);
    assert_eq!(run.hat(), "a");
    run.says(&[("x", "")]);
    assert_eq!((run.hat(), run.activations().last().unwrap().events.len()), ("all", 2));
}

#[test]
fn what_a_hat_may_not_publish_is_refused_at_once_with_what_it_may() {
    let mut run = Run::new(review_loop());
    let events = run.emit("review.approved", "by myself");
    let Some(Event::TopicRejected(rejected)) = events.last() else { panic!("{events:?}") };
    assert_eq!(
        (rejected.hat.as_str(), rejected.may_publish.clone()),
        ("executor", vec!["implementation.done".into()])
    );
    assert_eq!(run.emit("implementation.done", "").len(), 1);
    assert_eq!(run.emit("no topic", "").last().unwrap().name(), "topic.rejected");
    run.end(|exited| {
        exited.published = vec![block("implementation.done", "2"), block("code_reviewer.exhausted", "")]
    });
    assert_eq!(run.topics()[1..], ["implementation.done>code_reviewer", "implementation.done>code_reviewer"]);
    assert_eq!(run.state().bus.as_ref().unwrap().rejected().len(), 3);
    // Told in the prompt that is running now, and then no more.
    run.fails();
    assert_eq!(run.state().bus.as_ref().unwrap().rejected().len(), 3);
    run.says(&[("review.changes_requested", "")]);
    assert!(run.state().bus.as_ref().unwrap().rejected().is_empty());
    run.verify();
}

#[test]
fn a_failed_iteration_publishes_nothing_and_its_input_stays() {
    let mut run = Run::new(review_loop());
    run.emit("implementation.done", "half");
    run.fails();
    assert_eq!((run.hat(), run.topics().len()), ("executor", 1));
    assert_eq!(run.activations().last().unwrap().activation, 1);
    assert_eq!(run.activations().last().unwrap().events, [1]);
}

#[test]
fn the_default_speaks_for_a_silent_hat() {
    let mut plan = review_loop();
    plan.hats.as_mut().unwrap().hats[0].default_publishes = Some("implementation.done".parse().unwrap());
    let mut run = Run::new(plan);
    run.says(&[]);
    let last = run.published()[1].clone();
    assert!(last.by_default && last.from == "executor" && last.iteration.unwrap().0 == 1);
    assert_eq!(run.hat(), "code_reviewer");
}

#[test]
fn a_silent_hat_is_asked_once_more_then_the_coordinator_three_times_then_nobody() {
    let mut run = Run::new(review_loop());
    run.says(&[]);
    let again = (*run.activations().last().unwrap()).clone();
    assert_eq!((again.hat.as_str(), again.again, again.events.clone()), ("executor", true, vec![1]));
    run.says(&[]);
    for turn in 1..=3 {
        assert_eq!((run.hat(), run.activations().last().unwrap().activation), (COORDINATOR, turn));
        run.crash(0);
        run.says(&[]);
    }
    assert_eq!(run.stop(), Some(("no_handoff", 1)));
    // A person may let it go on: the coordinator has its turns again.
    run.resume();
    assert_eq!(run.hat(), COORDINATOR);
    assert_eq!(run.emit("escalation.logged", "").last().unwrap().name(), "topic.rejected");
    run.says(&[("task.start", "again")]);
    assert_eq!(run.hat(), "executor");
    assert_eq!(run.published().last().unwrap().from, COORDINATOR);
    run.verify();
}

#[test]
fn a_topic_without_a_hat_ends_the_run_only_when_nothing_else_is_pending() {
    let mut run =
        Run::new(hats(vec![hat("a", &["task.start"], &["lost", "b.go"]), hat("b", &["b.go"], &["lost"])]));
    run.says(&[("lost", ""), ("b.go", "")]);
    assert_eq!(run.hat(), "b");
    run.says(&[("lost", "")]);
    assert_eq!(run.stop(), Some(("no_subscriber", 4)));
    assert_eq!(run.count("iteration.started"), 2);
    let mut run = Run::new(hats(vec![hat("a", &["other.start"], &["x"])]));
    assert_eq!((run.stop(), run.count("iteration.started")), (Some(("no_subscriber", 4)), 0));
    run.resume();
    assert_eq!(run.hat(), COORDINATOR);
}

#[test]
fn an_exhausted_hat_that_nobody_hears_of_stops_the_run_until_a_person_resets_it() {
    let mut run = Run::new(hats(vec![
        hat("a", &["task.start", "b.no"], &["b.go"]),
        limited(1, hat("b", &["b.go"], &["b.no"])),
    ]));
    run.says(&[("b.go", "1")]);
    run.says(&[("b.no", "")]);
    run.says(&[("b.go", "2")]);
    assert_eq!(run.stop(), Some(("hat_exhausted", 4)));
    assert!(run.state().stopped.as_ref().unwrap().message.contains("--reset-hat b"));
    run.resume();
    assert_eq!((run.stop(), run.count("iteration.started")), (Some(("hat_exhausted", 4)), 3));
    run.reset("nobody");
    run.reset("b");
    assert_eq!(run.count("hat.reset"), 1);
    run.resume();
    // It gets what it was not given, and has all its activations again.
    assert_eq!(run.hat(), "b");
    assert_eq!(
        (run.activations().last().unwrap().events.clone(), run.activations().last().unwrap().activation),
        (vec![4], 1)
    );
    run.verify();
}

#[test]
fn later_events_for_an_exhausted_hat_are_dropped_and_call_no_agent() {
    let mut run = Run::new(hats(vec![
        hat("a", &["task.start", "b.no"], &["b.go"]),
        limited(1, hat("b", &["b.go"], &["b.no"])),
        hat("c", &["*.exhausted"], &["b.go"]),
    ]));
    run.says(&[("b.go", "1")]);
    run.says(&[("b.no", "")]);
    run.says(&[("b.go", "2")]);
    assert_eq!(run.hat(), "c");
    run.says(&[("b.go", "3")]);
    assert_eq!(run.topics().last().unwrap(), "b.go>!b");
    assert_eq!(run.stop(), Some(("hat_exhausted", 4)));
    assert_eq!(run.count("hat.exhausted"), 1);
}

#[test]
fn blocked_by_the_same_task_three_times_is_thrashing_and_by_three_tasks_is_not() {
    let ping = || {
        Run::new(hats(vec![
            hat("planner", &["task.start", "build.*"], &["plan.task"]),
            hat("builder", &["plan.task"], &["build.blocked", "build.done"]),
        ]))
    };
    let play = |answers: &[(&str, &str)]| {
        let mut run = ping();
        for answer in answers {
            run.says(&[("plan.task", "do it")]);
            run.says(&[*answer]);
        }
        run
    };
    let same = ("build.blocked", "Task 7: no key\ndetails");
    let run = play(&[same, same, ("build.blocked", "Task 7: no key\nother details")]);
    assert_eq!(run.stop(), Some(("loop_thrashing", 1)));
    assert!(run.state().stopped.as_ref().unwrap().message.contains("Task 7: no key"));
    let run = play(&[same, same, ("build.blocked", "Task 8"), same, same]);
    assert_eq!(run.stop(), None);
    let run = play(&[same, same, ("build.done", "Task 7: no key"), same, same]);
    assert_eq!(run.stop(), None);
    let done = ("build.done", "Task 7");
    assert_eq!(play(&[done, done, done, done]).stop(), None);
}

#[test]
fn a_hat_with_nothing_to_publish_is_not_asked_again() {
    let mut run =
        Run::new(hats(vec![hat("log", &["task.start"], &[]), hat("work", &["task.start"], &["done"])]));
    run.says(&[]);
    assert_eq!((run.hat(), run.activations().last().unwrap().again), ("work", false));
    run.says(&[("done", "")]);
    assert_eq!(run.stop(), Some(("no_subscriber", 4)));
}

#[test]
fn a_hat_has_its_own_time_and_its_own_gates() {
    let mut plan = review_loop();
    plan.gates = vec![crate::plan::Gate::new("tests", &["t"]), crate::plan::Gate::new("lint", &["l"])];
    let executor = &mut plan.hats.as_mut().unwrap().hats[0];
    (executor.iteration_timeout, executor.gates) = (Some(Duration::from_secs(7)), Some(vec!["lint".into()]));
    let mut run = Run::new(plan);
    assert_eq!(run.timeout_of_the_first, Some(Duration::from_secs(7)));
    let events = run.end(|exited| exited.claims_complete = true);
    let started = events.iter().find_map(|event| match event {
        Event::GatesStarted(started) => Some(started.gates.clone()),
        _ => None,
    });
    assert_eq!(started, Some(vec!["lint".to_owned()]));
}

#[test]
fn a_gate_that_does_not_count_for_a_hat_proves_nothing_for_it() {
    let mut plan = review_loop();
    let tests = crate::plan::Gate::new("tests", &["t"]);
    plan.gates = vec![crate::plan::Gate { kind: Some(crate::check::Kind::Test), ..tests }];
    plan.stop.require_passing_tests = true;
    plan.hats.as_mut().unwrap().hats[0].gates = Some(Vec::new());
    let mut run = Run::new(plan);
    let events = run.end(|exited| exited.claims_complete = true);
    let Some(Event::CompletionRejected(refused)) =
        events.iter().find(|event| event.name() == "completion.rejected")
    else {
        panic!("{events:?}")
    };
    assert_eq!(refused.missing[0].name, "require_passing_tests");
}

#[test]
fn a_reset_gives_back_what_the_hat_said_nothing_about() {
    let mut run = Run::new(hats(vec![
        limited(1, hat("b", &["task.start"], &["b.no"])),
        hat("c", &["*.exhausted"], &["c.done"]),
    ]));
    run.says(&[]);
    // Asked once more it would be put on once too often.
    assert_eq!(run.hat(), "c");
    run.reset("b");
    run.says(&[("c.done", "")]);
    assert_eq!((run.hat(), run.activations().last().unwrap().events.clone()), ("b", vec![1]));
    run.verify();
}
