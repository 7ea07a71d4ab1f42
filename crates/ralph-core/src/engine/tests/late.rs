//! Timers and reports that come late or come twice.

use super::*;

#[test]
fn timers_of_a_moment_that_has_passed_are_ignored() {
    let limits = EventLoop { max_runtime: Some(secs(1000)), ..EventLoop::default() };
    let mut run = Run::new(Plan { event_loop: EventLoop { delay: secs(600), ..limits }, ..plan() });
    let (timeout, _) = run.timer(TimerSlot::IterationTimeout);
    let (runtime, _) = run.timer(TimerSlot::Guard(StopKey::by_name("max_runtime").expect("a guard")));
    let (wall, _) = run.timer(TimerSlot::Guard(StopKey::by_name("max_wall_time").expect("a guard")));
    run.later(1).exit(Exit::Code(0));
    let (wait, _) = run.timer(TimerSlot::Wait);
    let late = |run: &mut Run, timers: &[&TimerId]| {
        for timer in timers {
            let fired = Report::TimerFired((*timer).clone());
            assert_eq!(run.send(fired), NOTHING, "{timer:?} in {:?}", run.engine.state().phase);
            assert!(run.last.effects.is_empty());
        }
    };
    late(&mut run, &[&timeout, &runtime]);
    run.later(600).send(Report::TimerFired(wait.clone()));
    assert_eq!(run.spawned(), Some((2, 1, vec![])));
    late(&mut run, &[&timeout, &runtime, &wait]);
    run.later(1).exit(Exit::Code(0));
    late(&mut run, &[&wait]);
    run.crash_and_resume();
    late(&mut run, &[&wall]);
    run.send(stop(StopHow::Kill));
    late(&mut run, &[&wait, &timeout, &wall]);
}

#[test]
fn a_timer_that_fires_twice_kills_once() {
    let mut run = Run::new(plan());
    let (timeout, when) = run.timer(TimerSlot::IterationTimeout);
    assert_eq!(when, When::After(secs(2 * 3600)));
    assert_eq!(run.send(Report::TimerFired(timeout.clone())), ["timer.fired", "agent.killed"]);
    assert_eq!(run.last.effects, [Effect::KillAgent { grace: GRACE }]);
    assert_eq!(run.send(Report::TimerFired(timeout)), NOTHING);
    let (iteration, attempt, quiet) = (IterationNumber(1), 1, secs(9));
    run.send(Report::AgentSilent(AgentSilent { iteration, attempt, quiet, ended: false }));
    assert!(run.last.effects.is_empty(), "it is being killed already");
}

#[test]
fn reports_about_an_attempt_that_is_over_change_nothing() {
    let mut run = Run::new(plan());
    let (old_exit, old_usage) = (run.exited(Exit::Code(1)), usage(&run, 9.0));
    let text = AgentText { iteration: IterationNumber(1), attempt: 1, text: "x".into(), truncated: false };
    run.crash_and_resume();
    assert_eq!(run.spawned(), Some((1, 2, vec![])));
    assert_eq!(run.send(Report::AgentExited(Box::new(old_exit))), NOTHING);
    assert_eq!(run.send(old_usage), NOTHING);
    assert_eq!(run.send(Report::AgentText(text)), NOTHING);
}

#[test]
fn a_second_kill_escalates() {
    let mut run = Run::new(plan());
    run.send(stop(StopHow::AfterIteration));
    assert!(run.last.effects.is_empty(), "the first lets it finish");
    run.send(stop(StopHow::Terminate));
    assert_eq!(run.last.effects, [Effect::KillAgent { grace: EXIT_GRACE }]);
    run.send(stop(StopHow::Kill));
    assert_eq!(run.last.effects, [Effect::KillAgent { grace: Duration::ZERO }]);
    let Some(Event::AgentKilled(kill)) = run.last.events.last() else { panic!("{:?}", run.last) };
    assert_eq!(kill.why, KillCause::Escalated);
    run.exit(Exit::Signal(9));
    assert_eq!(run.stop_reason(), Some(("interrupted", 130)));
    assert_eq!(run.engine.state().iterations_finished, 0);
}
