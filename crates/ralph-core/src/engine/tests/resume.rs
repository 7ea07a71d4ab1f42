//! What a resumed run goes on with after a stop or a crash: guidance, limits, waits, and the iteration that was cut short.

use super::*;

#[test]
fn guidance_for_a_stopped_run_waits_for_its_resume() {
    let mut run = Run::new(plan());
    run.send(stop(StopHow::Kill));
    run.exit(Exit::Signal(9));
    assert_eq!(run.send(say("hint")), ["guidance.added"]);
    assert_eq!(run.send(Command::PauseRun), NOTHING);
    assert_eq!(run.send(stop(StopHow::Kill)), NOTHING);
    run.resume();
    assert_eq!(run.spawned(), Some((1, 2, vec!["hint".into()])), "a stopped attempt is run again");
}

#[test]
fn a_resume_runs_an_interrupted_iteration_again_and_counts_what_it_used() {
    let mut run = Run::new(plan());
    let told = usage(&run, 0.25);
    run.later(5).send(told);
    run.now = run.now.plus(secs(3600));
    assert_eq!(run.crash_and_resume(), ["run.resumed", "iteration.interrupted", "iteration.started"]);
    let interrupted = run.interruption();
    assert_eq!(interrupted.why, InterruptCause::Crash);
    assert_eq!((interrupted.duration, interrupted.cost_usd), (secs(5), Some(0.25)), "to the last record");
    assert_eq!(run.spawned(), Some((1, 2, vec![])));
    let state = run.engine.state();
    assert_eq!((state.runtime, state.cost_usd, state.consecutive_failures), (secs(5), Some(0.25), 0));
}

#[test]
fn a_resume_that_is_cut_short_does_not_count_the_time_between() {
    let mut run = Run::new(plan());
    let (iteration, attempt) = (IterationNumber(1), 1);
    let text = AgentText { iteration, attempt, text: "x".into(), truncated: false };
    run.later(7).send(Report::AgentText(text));
    let kept = run.journal.len();
    run.later(3600).crash_and_resume();
    run.crash(kept + 1);
    assert_eq!(run.later(3600).resume(), ["run.resumed", "iteration.interrupted", "iteration.started"]);
    assert_eq!(run.interruption().duration, secs(7));
    assert_eq!(run.engine.state().wall_time(run.now), secs(7));
}

#[test]
fn an_iteration_that_brings_ralph_down_is_given_up_and_is_a_failure() {
    let mut run = Run::new(plan());
    for attempt in 2..=3 {
        run.crash_and_resume();
        assert_eq!(run.spawned(), Some((1, attempt, vec![])));
    }
    let names = run.crash_and_resume();
    assert_eq!(names, ["run.resumed", "iteration.interrupted", "iteration.finished", "delay.started"]);
    let Event::IterationFinished(IterationFinished { attempt, outcome, error, .. }) = &run.last.events[2]
    else {
        panic!("{:?}", run.last.events)
    };
    assert_eq!((*attempt, *outcome), (3, Outcome::Failed));
    assert!(error.as_ref().is_some_and(|error| error.contains("3 attempts")), "{error:?}");
    assert_eq!(run.engine.state().consecutive_failures, 1);
    let (wait, _) = run.timer(TimerSlot::Wait);
    run.send(Report::TimerFired(wait));
    assert_eq!(run.spawned(), Some((2, 1, vec![])), "the next one starts afresh");
    run.crash_and_resume();
    assert_eq!(run.spawned(), Some((2, 2, vec![])));
}

#[test]
fn giving_up_survives_a_crash_in_the_middle_of_it() {
    let mut run = Run::new(plan());
    (0..2).for_each(|_| drop(run.crash_and_resume()));
    let kept = run.journal.len();
    run.crash_and_resume();
    run.crash(kept + 2);
    assert_eq!(run.journal.last().map(|r| r.event.name()), Some("iteration.interrupted"));
    assert_eq!(run.resume(), ["run.resumed", "iteration.finished", "delay.started"]);
}

#[test]
fn stops_of_a_person_are_not_attempts_that_failed() {
    let mut run = Run::new(plan());
    for attempt in 2..8 {
        run.send(stop(StopHow::Terminate));
        run.exit(Exit::Signal(15));
        assert_eq!(run.stop_reason(), Some(("interrupted", 130)));
        run.resume();
        assert_eq!(run.spawned(), Some((1, attempt, vec![])));
    }
    assert_eq!(run.engine.state().consecutive_failures, 0);
}

#[test]
fn a_wait_ends_at_its_own_time_after_a_resume() {
    let mut run = Run::new(slow_plan());
    run.later(1).exit(Exit::Code(0));
    let (before, when) = run.timer(TimerSlot::Wait);
    let until = run.now.plus(secs(600));
    assert_eq!(when, When::At(until));
    assert_eq!(run.later(100).crash_and_resume(), ["run.resumed"]);
    assert_eq!(run.timer(TimerSlot::Wait), (before, When::At(until)));
}

#[test]
fn a_resume_goes_on_from_a_pause_and_from_a_stop_request() {
    let mut run = Run::new(plan());
    run.send(Command::PauseRun);
    run.later(1).exit(Exit::Code(0));
    assert_eq!(run.crash_and_resume(), ["run.resumed", "iteration.started"]);
    run.send(stop(StopHow::AfterIteration));
    run.crash_and_resume();
    run.later(1).exit(Exit::Code(0));
    assert_eq!(run.spawned(), Some((3, 1, vec![])), "neither is asked for any more");
}

#[test]
fn what_followed_a_finished_iteration_is_decided_again_if_it_was_lost() {
    let claims = |complete: bool| {
        let mut run = Run::new(slow_plan());
        let claims_complete = complete;
        let exited = AgentExited { claims_complete, ..run.later(1).exited(Exit::Code(0)) };
        run.send(Report::AgentExited(Box::new(exited)));
        let finished = run.journal.iter().position(|r| r.event.name() == "iteration.finished").unwrap();
        run.crash(finished + 1);
        run
    };
    let mut run = claims(true);
    assert_eq!(run.resume(), ["run.resumed", "completion.accepted", "run.stopped"]);
    assert_eq!(run.stop_reason(), Some(("complete", 0)));
    let mut run = claims(false);
    assert_eq!(run.resume(), ["run.resumed", "delay.started"]);
}

#[test]
fn a_limit_holds_after_a_resume_unless_it_is_raised() {
    let limits = |n| EventLoop { max_iterations: Some(n), ..EventLoop::default() };
    let mut run = Run::new(Plan { event_loop: limits(1), ..plan() });
    run.later(1).exit(Exit::Code(0));
    assert_eq!(run.stop_reason(), Some(("max_iterations", 3)));
    assert_eq!(run.resume(), ["run.resumed", "run.stopped"]);
    assert_eq!(run.resume_with(limits(2)), ["run.resumed", "iteration.started"]);
    assert_eq!(run.engine.state().stopped, None);
    run.later(1).exit(Exit::Code(0));
    assert_eq!(run.stop_reason(), Some(("max_iterations", 3)));
}

#[test]
fn a_resume_after_too_many_failures_gets_one_more_try() {
    let limits = EventLoop { max_consecutive_failures: 1, ..EventLoop::default() };
    let mut run = Run::new(Plan { event_loop: limits, ..plan() });
    run.exit(Exit::Code(1));
    assert_eq!(run.stop_reason(), Some(("consecutive_failures", 1)));
    assert_eq!(run.resume(), ["run.resumed", "iteration.started"]);
    run.exit(Exit::Code(1));
    assert_eq!(run.stop_reason(), Some(("consecutive_failures", 1)));
}

#[test]
fn work_before_a_resume_counts_against_the_runtime() {
    let limits = EventLoop { max_runtime: Some(secs(10)), ..EventLoop::default() };
    let mut run = Run::new(Plan { event_loop: limits, ..plan() });
    run.later(4).send(stop(StopHow::Kill));
    run.exit(Exit::Signal(9));
    run.later(3600).resume();
    let (_, when) = run.timer(TimerSlot::Guard(StopKey::by_name("max_runtime").expect("a guard")));
    assert_eq!(when, When::After(secs(6)));
}
