//! When another agent takes over, and when the first one comes back.

use super::*;

#[test]
fn the_first_agent_comes_back_when_its_limit_is_over_and_no_sooner() {
    for (early, agent) in [(1, 1), (0, 0)] {
        let mut run = Run::new(fallback_plan(1, &["second"]));
        let names = run.limited(HOUR);
        let switch = ["delay.ended", "agent.switched", "iteration.started"];
        assert_eq!(names, [&HIT[..], &switch].concat());
        assert_eq!(run.agent(), Some(1));
        let back = run.engine.state().patience.first_back_at.unwrap();
        assert_eq!(back, run.now.plus(HOUR + MINUTE));
        run.now = Timestamp::from_millis(back.as_millis() - early);
        run.exit(Exit::Code(0));
        assert_eq!(run.agent(), Some(agent), "{early} ms before");
    }
}

#[test]
fn nobody_is_behind_the_last_agent_and_it_waits_no_longer_than_for_the_first() {
    let mut run = Run::new(fallback_plan(1, &["second", "third"]));
    run.limited(3 * HOUR);
    run.limited(HOUR);
    assert_eq!(run.agent(), Some(2));
    assert_eq!(run.limited(HOUR), HIT);
    assert_eq!(run.delay().1, HOUR + MINUTE);
    run.wait();
    assert_eq!(run.agent(), Some(2));
    let left = 2 * HOUR;
    run.limited(47 * HOUR);
    assert_eq!(run.delay(), (DelayReason::Limit, left), "longer than max_wait, but the first is back");
    let names = run.wait();
    assert_eq!(names, ["timer.fired", "delay.ended", "agent.switched", "iteration.started"]);
    assert_eq!((run.agent(), run.spawned()), (Some(0), Some((1, 5, vec![]))));
}

#[test]
fn a_fallback_takes_over_although_a_crash_came_in_between() {
    for lost_behind in ["delay.started", "delay.ended", "agent.switched"] {
        let mut run = Run::new(fallback_plan(1, &["second"]));
        run.limited(HOUR);
        run.crash_behind(lost_behind);
        run.later(9).resume();
        assert_eq!((run.agent(), run.spawned()), (Some(1), Some((1, 2, vec![]))), "{lost_behind}");
    }
}

#[test]
fn outages_call_a_fallback_and_the_first_is_tried_again_after_the_longest_back_off() {
    let mut plan = fallback_plan(2, &["second"]);
    plan.pace.fallback_wait = secs(19);
    let mut run = Run::new(plan);
    for _ in 0..2 {
        run.fail(FailureClass::Outage);
        run.wait();
        assert_eq!(run.agent(), Some(0), "10 s is short, 20 s is the first long one");
    }
    run.fail(FailureClass::Outage);
    assert_eq!((run.agent(), run.engine.state().patience.outages), (Some(1), 0));
    assert_eq!(run.engine.state().patience.first_back_at, Some(run.now.plus(secs(600))));
    run.later(599).exit(Exit::Code(0));
    assert_eq!(run.agent(), Some(1));
    run.later(1).exit(Exit::Code(0));
    assert_eq!(run.agent(), Some(0));
}

#[test]
fn the_first_agent_works_first_whatever_fallback_after_says() {
    let run = Run::new(fallback_plan(0, &["second"]));
    assert_eq!(run.agent(), Some(0));
}
