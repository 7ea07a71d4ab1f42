//! Scenes in which a hat says that the task is complete.

use super::*;
use crate::hat::COORDINATOR;

#[test]
fn completion_needs_a_hat_that_may_and_what_is_required() {
    let mut plan = review_loop();
    let hats = plan.hats.as_mut().unwrap();
    hats.required_events = patterns(&["review.approved"]);
    hats.hats[0].completes = false;
    hats.hats[1].max_activations = None;
    let claim = |run: &mut Run, tree: &str| {
        let events = run.end(|exited| {
            exited.claims_complete = true;
            exited.tree = Some(tree.to_owned());
        });
        let rejected = events.into_iter().find_map(|event| match event {
            Event::CompletionRejected(rejected) => Some(rejected.why),
            _ => None,
        });
        rejected.unwrap_or_default()
    };
    let mut run = Run::new(plan.clone());
    assert!(claim(&mut run, "1").contains("`executor` may not complete"));
    assert_eq!((run.hat(), run.activations().last().unwrap().again), ("executor", true));
    run.emit("implementation.done", "");
    run.end(|exited| exited.tree = Some("2".into()));
    assert!(claim(&mut run, "2").contains("`review.approved`"));
    // Published, and then the tree changed.
    run.emit("review.approved", "");
    run.emit("review.changes_requested", "");
    run.end(|exited| exited.tree = Some("2".into()));
    run.emit("implementation.done", "");
    run.end(|exited| exited.tree = Some("3".into()));
    assert!(claim(&mut run, "3").contains("`review.approved`"));
    run.emit("review.approved", "");
    assert_eq!(claim(&mut run, "3"), "");
    assert_eq!(run.stop(), Some(("complete", 0)));
    run.verify();
}

#[test]
fn a_hat_that_only_claims_is_not_asked_for_ever() {
    let mut plan = hats(vec![hat("writer", &["task.start"], &[]), hat("other", &["x"], &[])]);
    plan.hats.as_mut().unwrap().required_events = patterns(&["x"]);
    let mut run = Run::new(plan);
    run.end(|exited| exited.claims_complete = true);
    assert_eq!((run.hat(), run.activations().last().unwrap().again), ("writer", true));
    run.says(&[]);
    assert_eq!(run.hat(), COORDINATOR);
    run.verify();
}

#[test]
fn claims_that_a_hat_is_refused_again_and_again_end_the_run() {
    let mut plan = hats(vec![hat("writer", &["task.start"], &["x"])]);
    plan.hats.as_mut().unwrap().required_events = patterns(&["x"]);
    plan.stop.max_rejected_completions = 3;
    let mut run = Run::new(plan);
    for _ in 0..3 {
        assert_eq!(run.stop(), None);
        run.end(|exited| exited.claims_complete = true);
    }
    assert_eq!(run.stop(), Some(("rejected_completions", 1)));
    // The same if ralph dies between the refusal and the stop.
    run.journal.pop();
    run.resume();
    assert_eq!((run.stop(), run.count("iteration.started")), (Some(("rejected_completions", 1)), 3));
    run.verify();
}

#[test]
fn the_completion_promise_may_be_published_and_reaches_no_hat() {
    let promising = |completes: bool| {
        let mut plan = hats(vec![
            HatPlan { completes, ..hat("work", &["task.start"], &["done"]) },
            hat("all", &["*"], &["done"]),
        ]);
        plan.hats.as_mut().unwrap().completion_promise = "LOOP_COMPLETE".parse().ok();
        Run::new(plan)
    };
    let mut run = promising(true);
    assert_eq!(run.emit("LOOP_COMPLETE", "all done").len(), 1);
    run.end(|_| {});
    assert_eq!((run.stop(), run.topics()), (Some(("complete", 0)), vec!["task.start>work".to_owned()]));
    run.verify();
    // What a failed iteration promises is nothing, and what one says in its text is as good.
    let mut run = promising(true);
    run.emit("LOOP_COMPLETE", "");
    run.fails();
    assert_eq!((run.stop(), run.hat()), (None, "work"));
    run.emit("done", "");
    run.end(|exited| exited.published = vec![block("LOOP_COMPLETE", "")]);
    // Somebody listens to what it published besides: that hat comes first.
    assert_eq!((run.stop(), run.hat(), run.topics().len()), (None, "all", 2));
    run.end(|exited| exited.published = vec![block("LOOP_COMPLETE", "")]);
    assert_eq!((run.stop(), run.topics().len()), (Some(("complete", 0)), 2));
    let mut run = promising(false);
    assert_eq!(run.emit("LOOP_COMPLETE", "").last().unwrap().name(), "topic.rejected");
    run.says(&[("done", "")]);
    assert_eq!((run.stop(), run.count("completion.claimed")), (None, 0));
    run.verify();
}

#[test]
fn completion_ends_the_run_and_its_topics_are_on_record() {
    let mut run = Run::new(review_loop());
    run.says(&[("implementation.done", "")]);
    run.emit("review.approved", "");
    run.end(|exited| exited.claims_complete = true);
    assert_eq!(run.stop(), Some(("complete", 0)));
    assert_eq!(run.topics().last().unwrap(), "review.approved>");
}
