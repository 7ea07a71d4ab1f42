//! A person stops ralph and everything below it (Ctrl-Z), and lets it go on.

use super::*;
use crate::event::RunContinued;

fn limited(max_wall_time: u64) -> Plan {
    Plan { event_loop: EventLoop { max_wall_time: secs(max_wall_time), ..EventLoop::default() }, ..plan() }
}

fn alarm(run: &Run) -> (TimerId, When) {
    run.timer(TimerSlot::Guard(StopKey::by_name("max_wall_time").expect("a guard")))
}

fn stands_still(run: &mut Run, seconds: u64) -> Vec<&'static str> {
    run.later(seconds).send(Report::RunContinued(RunContinued { stood: secs(seconds) }))
}

#[test]
fn time_that_stood_still_is_neither_work_nor_time_in_charge() {
    let mut run = Run::new(limited(3600));
    run.later(10);
    assert_eq!(stands_still(&mut run, 3000), ["run.continued"]);
    let state = run.engine.state();
    assert_eq!((state.wall_time(run.now), state.runtime_now(run.now)), (secs(10), secs(10)));
    assert_eq!(alarm(&run).1, When::At(run.now.plus(secs(3590))));
    // A resume knows it from the journal.
    run.crash_and_resume();
    assert_eq!(run.engine.state().wall_time(run.now), secs(10));
}

#[test]
fn an_alarm_that_was_set_before_comes_too_early_and_is_ignored() {
    let mut run = Run::new(limited(3600));
    let (early, _) = alarm(&run);
    stands_still(&mut run, 4000);
    let (due, _) = alarm(&run);
    assert_eq!(run.send(Report::TimerFired(early)), NOTHING);
    assert_eq!(run.send(Report::TimerFired(due)), ["timer.fired", "agent.killed"]);
}

#[test]
fn gates_and_waits_stand_still_too() {
    let mut run = Run::new(slow_plan());
    run.later(5).exit(Exit::Code(0));
    let until = run.timer(TimerSlot::Wait).1;
    stands_still(&mut run, 60);
    assert_eq!(run.engine.state().wall_time(run.now), secs(5));
    assert!(matches!(&run.engine.state().phase, Phase::Waiting(wait) if When::At(wait.until) == until));
}
