//! Scenes in which hats have finished: claims that wait, claims that nobody has to make, ends that a topic has told.

use super::*;
use crate::event::{GateFinished, GatesFinished, Inference};
use crate::hat::COORDINATOR;
use crate::plan::Gate;

fn claims(run: &mut Run) {
    run.end(|exited| exited.claims_complete = true);
}

fn message(run: &Run) -> String {
    run.state().stopped.as_ref().map(|stopped| stopped.message.clone()).unwrap_or_default()
}

fn with_gate(mut plan: Plan) -> Plan {
    plan.gates = vec![Gate { required: true, ..Gate::new("check", &["true"]) }];
    plan
}

/// The gate of the round that is at work ends.
fn gate(run: &mut Run, passed: bool) {
    let Phase::Checking(checking) = run.state().phase.clone() else { panic!("no gate is at work") };
    let (iteration, round) = (checking.iteration, checking.round);
    let result = GateFinished {
        iteration,
        round,
        name: "check".to_owned(),
        passed,
        exit_code: Some(i32::from(!passed)),
        timed_out: false,
        error: None,
        duration: Duration::ZERO,
        tail: "what the gate said".to_owned(),
        tests: None,
        tampering: None,
    };
    run.send(Report::GateFinished(result));
    run.send(Report::GatesFinished(GatesFinished {
        iteration,
        round,
        duration: Duration::ZERO,
        tree: None,
        moved: Vec::new(),
        unseen: None,
        left_out: Vec::new(),
    }));
}

fn required(mut plan: Plan, topics: &[&str]) -> Plan {
    plan.hats.as_mut().unwrap().required_events = patterns(topics);
    plan
}

#[test]
fn a_claim_waits_for_the_hat_that_was_published_to() {
    for crashes in [false, true] {
        let mut run = Run::new(review_loop());
        run.emit("implementation.done", "all of it");
        claims(&mut run);
        if crashes {
            run.crash(1);
        }
        assert_eq!((run.hat(), run.stop()), ("code_reviewer", None));
        assert_eq!(run.count("completion.rejected"), 0, "nothing is wrong with it");
        // The reviewer is not satisfied: what was claimed before is void, and so it goes on until it is satisfied.
        run.says(&[("review.changes_requested", "line 3")]);
        run.emit("implementation.done", "");
        claims(&mut run);
        assert_eq!((run.hat(), run.stop(), run.count("completion.deferred")), ("code_reviewer", None, 2));
        claims(&mut run);
        assert_eq!((run.stop(), run.count("completion.accepted")), (Some(("complete", 0)), 1));
        run.verify();
    }
}

#[test]
fn a_reviewer_that_publishes_what_nobody_hears_is_not_overruled_by_an_older_claim() {
    let mut run = Run::new(hats(vec![
        hat("executor", &["task.start"], &["implementation.done"]),
        hat("reviewer", &["implementation.done"], &["review.rejected"]),
    ]));
    run.emit("implementation.done", "");
    claims(&mut run);
    run.says(&[("review.rejected", "it is all wrong")]);
    assert_eq!(run.stop(), Some(("no_subscriber", 4)));
    assert!(message(&run).contains("`event_loop.required_events`"), "{}", message(&run));
    run.verify();
}

#[test]
fn a_claim_that_waited_for_a_reviewer_who_approves_is_judged_though_nobody_hears_the_approval() {
    let plan = || {
        with_gate(hats(vec![
            hat("executor", &["task.start"], &["implementation.done"]),
            hat("reviewer", &["implementation.done"], &["review.approved", "notes.written"]),
        ]))
    };
    let mut run = Run::new(plan());
    run.emit("implementation.done", "");
    claims(&mut run);
    assert_eq!((run.hat(), run.count("gates.started")), ("reviewer", 0));
    run.says(&[("review.approved", "well done")]);
    run.crash(0);
    gate(&mut run, true);
    assert_eq!((run.stop(), run.count("iteration.started")), (Some(("complete", 0)), 2));
    run.verify();
    // By default is as good.
    let mut by_default = plan();
    by_default.hats.as_mut().unwrap().hats[1].default_publishes = "review.approved".parse().ok();
    let mut run = Run::new(by_default);
    run.emit("implementation.done", "");
    claims(&mut run);
    run.says(&[]);
    gate(&mut run, true);
    assert_eq!(run.stop(), Some(("complete", 0)));
    run.verify();
    // What it says besides may be an objection, and is heard as one.
    let mut run = Run::new(plan());
    run.emit("implementation.done", "");
    claims(&mut run);
    run.says(&[("review.approved", ""), ("notes.written", "line 3 has to go")]);
    assert_eq!(run.stop(), Some(("no_subscriber", 4)));
    // An approval is no claim of its own.
    let mut run = Run::new(plan());
    run.says(&[("implementation.done", "")]);
    run.says(&[("review.approved", "well done")]);
    assert_eq!((run.stop(), run.count("completion.inferred")), (Some(("no_subscriber", 4)), 0));
    // A refusal by the gates is dealt with, and the claim is not made again.
    let mut run = Run::new(plan());
    run.emit("implementation.done", "");
    claims(&mut run);
    run.says(&[("review.approved", "well done")]);
    gate(&mut run, false);
    assert_eq!((run.stop(), run.hat(), run.count("completion.rejected")), (None, COORDINATOR, 1));
    run.verify();
}

#[test]
fn a_reviewer_that_says_nothing_is_asked_and_does_not_let_the_claim_through() {
    let mut run = Run::new(review_loop());
    run.emit("implementation.done", "");
    claims(&mut run);
    run.says(&[]);
    assert_eq!((run.hat(), run.stop()), ("code_reviewer", None));
    run.says(&[]);
    assert_eq!((run.hat(), run.stop()), (COORDINATOR, None));
}

#[test]
fn a_claim_that_waited_for_hats_that_only_listen_is_judged_when_they_are_done() {
    let plan = || {
        hats(vec![
            hat("worker", &["task.start"], &["log", "done"]),
            hat("logger", &["log"], &[]),
            hat("other", &["done"], &[]),
        ])
    };
    let mut run = Run::new(with_gate(plan()));
    run.emit("log", "");
    run.emit("done", "");
    claims(&mut run);
    assert_eq!(run.hat(), "logger");
    run.fails();
    assert_eq!(run.hat(), "logger", "a listener that fails is heard again");
    run.says(&[]);
    assert_eq!(run.hat(), "other");
    assert_eq!(run.count("gates.started"), 0);
    run.says(&[]);
    gate(&mut run, true);
    assert_eq!(run.stop(), Some(("complete", 0)));
    let inferred = run.journal.iter().find_map(|record| match &record.event {
        Event::CompletionInferred(inferred) => Some(inferred.clone()),
        _ => None,
    });
    let inferred = inferred.unwrap();
    assert_eq!((inferred.from, inferred.hat.as_deref()), (Inference::WaitingClaim, Some("worker")));
    run.verify();
    // One that may not complete the run has claimed nothing.
    let mut bound = plan();
    bound.hats.as_mut().unwrap().hats[0].completes = false;
    let mut run = Run::new(bound);
    run.emit("log", "");
    claims(&mut run);
    run.says(&[]);
    assert_eq!((run.hat(), run.stop(), run.count("completion.rejected")), (COORDINATOR, None, 0));
}

#[test]
fn what_a_hat_publishes_makes_an_older_claim_void() {
    let mut run = Run::new(hats(vec![
        hat("worker", &["task.start", "more"], &["done", "log"]),
        hat("reviewer", &["done"], &["more"]),
        hat("logger", &["log"], &[]),
    ]));
    run.emit("done", "");
    claims(&mut run);
    run.says(&[("more", "not yet")]);
    run.says(&[("log", "still at it")]);
    run.says(&[]);
    assert_eq!((run.hat(), run.stop()), (COORDINATOR, None));
}

#[test]
fn what_is_required_is_no_claim_while_an_exhausted_hat_has_not_seen_something() {
    let mut run = Run::new(required(
        hats(vec![
            hat("executor", &["task.start", "no"], &["done"]),
            limited(1, hat("reviewer", &["done"], &["no"])),
            hat("escalator", &["*.exhausted"], &["note"]),
            hat("scribe", &["note"], &[]),
        ]),
        &["done"],
    ));
    run.says(&[("done", "1")]);
    run.says(&[("no", "")]);
    run.says(&[("done", "2")]);
    run.says(&[("note", "for later")]);
    run.says(&[]);
    assert_eq!((run.hat(), run.count("completion.inferred")), (COORDINATOR, 0));
    run.reset("reviewer");
    run.says(&[]);
    assert_eq!(run.hat(), "reviewer");
}

#[test]
fn no_claim_passes_an_exhausted_reviewer() {
    let mut plan = review_loop();
    plan.hats.as_mut().unwrap().hats[1].max_activations = Some(1);
    plan.hats.as_mut().unwrap().hats[2].publishes = patterns(&["review.changes_requested"]);
    let mut run = Run::new(plan);
    run.says(&[("implementation.done", "1")]);
    run.says(&[("review.changes_requested", "no")]);
    run.emit("implementation.done", "2");
    claims(&mut run);
    // Not the reviewer, who has no turn left, but who deals with that.
    assert_eq!(run.hat(), "escalator");
    run.says(&[("review.changes_requested", "finish it")]);
    run.emit("implementation.done", "3");
    claims(&mut run);
    assert_eq!(run.stop(), Some(("hat_exhausted", 4)));
    // It may say so without asking the reviewer once more.
    run.reset("code_reviewer");
    run.resume();
    assert_eq!(run.hat(), "code_reviewer");
    run.verify();
}

#[test]
fn what_is_required_and_nothing_left_to_do_is_a_claim() {
    for completes in [true, false] {
        let mut plan = required(review_loop(), &["review.approved"]);
        plan.hats.as_mut().unwrap().hats[1].completes = completes;
        let mut run = Run::new(with_gate(plan));
        run.says(&[("implementation.done", "")]);
        run.says(&[("review.approved", "good")]);
        assert_eq!((run.stop(), run.count("completion.inferred"), run.count("gates.started")), (None, 1, 1));
        // The gates die with ralph, and run again.
        run.crash(0);
        gate(&mut run, true);
        assert_eq!((run.stop(), run.count("iteration.started")), (Some(("complete", 0)), 2));
        run.verify();
    }
}

#[test]
fn it_is_proved_as_any_claim_is_and_the_coordinator_deals_with_a_refusal() {
    let mut plan = required(with_gate(review_loop()), &["review.approved"]);
    plan.hats.as_mut().unwrap().hats[1].max_activations = None;
    plan.stop.max_rejected_completions = 2;
    let mut run = Run::new(plan);
    run.says(&[("implementation.done", "")]);
    run.says(&[("review.approved", "good")]);
    gate(&mut run, false);
    assert_eq!((run.stop(), run.hat(), run.count("completion.rejected")), (None, COORDINATOR, 1));
    // It is not claimed again before somebody has done something.
    run.fails();
    run.crash(0);
    assert_eq!((run.hat(), run.count("completion.inferred")), (COORDINATOR, 1));
    run.says(&[("review.changes_requested", "the gate fails")]);
    run.says(&[("implementation.done", "")]);
    run.says(&[("review.approved", "now")]);
    gate(&mut run, false);
    assert_eq!(run.stop(), Some(("rejected_completions", 1)));
    run.verify();
}

#[test]
fn a_refused_claim_beside_a_topic_that_nobody_hears_does_not_block_the_run() {
    let mut run = Run::new(with_gate(review_loop()));
    run.says(&[("implementation.done", "")]);
    run.emit("review.approved", "");
    claims(&mut run);
    gate(&mut run, false);
    assert_eq!((run.stop(), run.hat()), (None, COORDINATOR));
    run.verify();
}

#[test]
fn what_is_required_makes_no_claim_while_something_is_missing_or_open() {
    let both = || required(review_loop(), &["review.approved", "escalation.logged"]);
    // One is missing: the coordinator knows whom to ask.
    let mut run = Run::new(both());
    run.says(&[("implementation.done", "")]);
    run.says(&[("review.approved", "")]);
    assert_eq!((run.stop(), run.hat(), run.count("completion.inferred")), (None, COORDINATOR, 0));
    // A hat has still something to do.
    let mut run = Run::new(required(review_loop(), &["review.approved"]));
    run.says(&[("implementation.done", "")]);
    run.says(&[("review.approved", ""), ("review.changes_requested", "")]);
    assert_eq!((run.hat(), run.count("completion.inferred")), ("executor", 0));
    // The tree has changed since.
    run.end(|exited| exited.files = Some(FilesChanged { count: 1, ..FilesChanged::default() }));
    assert_eq!(run.count("completion.inferred"), 0);
    // Somebody needs a person.
    let mut plan = required(review_loop(), &["review.approved"]);
    plan.hats.as_mut().unwrap().hats[1].publishes.push("deploy.blocked".parse().unwrap());
    let mut run = Run::new(plan);
    run.says(&[("implementation.done", "")]);
    run.says(&[("review.approved", ""), ("deploy.blocked", "no key")]);
    assert_eq!((run.stop(), run.count("completion.inferred")), (Some(("no_subscriber", 4)), 0));
}

#[test]
fn it_is_a_claim_also_after_the_last_iteration_and_after_a_pause() {
    let mut plan = required(review_loop(), &["review.approved"]);
    plan.event_loop.max_iterations = Some(2);
    let mut run = Run::new(plan.clone());
    run.says(&[("implementation.done", "")]);
    run.says(&[("review.approved", "")]);
    assert_eq!(run.stop(), Some(("complete", 0)));
    plan.hats.as_mut().unwrap().hats[1].default_publishes = "review.approved".parse().ok();
    plan.event_loop.max_iterations = Some(3);
    let mut run = Run::new(plan);
    run.says(&[("implementation.done", "")]);
    run.send(Command::PauseRun);
    run.says(&[]);
    assert_eq!((run.state().phase.clone(), run.count("completion.inferred")), (Phase::Paused, 0));
    run.send(Command::UnpauseRun { now: true });
    assert_eq!(run.stop(), Some(("complete", 0)));
    run.verify();
}

#[test]
fn a_silent_escalator_ends_the_run_as_its_topic_says() {
    for (publishes, asked) in [(&[][..], 1), (&["noted"][..], 2)] {
        let mut run = Run::new(hats(vec![
            hat("executor", &["task.start", "no"], &["done"]),
            limited(1, hat("reviewer", &["done"], &["no"])),
            hat("escalator", &["*.exhausted"], publishes),
        ]));
        run.says(&[("done", "")]);
        run.says(&[("no", "")]);
        run.says(&[("done", "")]);
        let before = run.count("iteration.started");
        for _ in 0..asked {
            assert_eq!((run.hat(), run.stop()), ("escalator", None));
            run.says(&[]);
        }
        assert_eq!(run.stop(), Some(("hat_exhausted", 4)));
        assert!(message(&run).contains("--reset-hat reviewer"), "{}", message(&run));
        assert!(message(&run).contains("`escalator`"), "{}", message(&run));
        assert_eq!(run.count("iteration.started"), before + asked - 1, "nobody else was paid");
        // Nothing has changed, so it stops again; a reset gives the reviewer what it was not given.
        run.resume();
        assert_eq!(run.stop(), Some(("hat_exhausted", 4)));
        run.reset("reviewer");
        run.resume();
        assert_eq!(run.hat(), "reviewer");
        run.verify();
    }
}

#[test]
fn a_silent_hat_on_a_blocked_topic_blocks_the_run_and_the_coordinator_follows_a_resume() {
    let mut run = Run::new(hats(vec![
        hat("worker", &["task.start"], &["build.blocked", "more"]),
        hat("notifier", &["*.blocked"], &[]),
        hat("other", &["more"], &["end"]),
    ]));
    run.says(&[("build.blocked", "no key for the registry"), ("more", "")]);
    assert_eq!(run.hat(), "notifier");
    run.says(&[]);
    // Others go on first, and what they publish may be a way out.
    assert_eq!((run.hat(), run.stop()), ("other", None));
    run.says(&[]);
    run.says(&[]);
    assert_eq!(run.hat(), COORDINATOR);
    let mut run = Run::new(hats(vec![
        hat("worker", &["task.start"], &["build.blocked"]),
        hat("notifier", &["*.blocked"], &[]),
    ]));
    run.emit("build.blocked", "no key for the registry");
    claims(&mut run);
    run.says(&[]);
    assert_eq!(run.stop(), Some(("blocked", 4)), "who is blocked has not completed anything");
    assert!(message(&run).contains("no key for the registry"), "{}", message(&run));
    run.resume();
    assert_eq!(run.hat(), COORDINATOR);
    run.verify();
}

#[test]
fn who_ends_silently_on_any_other_topic_leaves_it_to_the_coordinator() {
    let mut run = Run::new(hats(vec![hat("a", &["task.start"], &["b.go"]), hat("b", &["b.go"], &[])]));
    run.says(&[("b.go", "")]);
    run.says(&[]);
    assert_eq!((run.hat(), run.stop()), (COORDINATOR, None));
}
