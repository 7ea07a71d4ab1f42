//! Waits for work: what comes late, what a crash leaves of them, and how far they grow.

use super::*;
use crate::event::{DelayReason, StuckEvidence, WakeCause, WakeTriggered};
use crate::hat::{HatPlan, HatsPlan};
use crate::marker::AgentState;
use crate::plan::{Idle, IdleWait, Wake};

fn idle_plan(max: Option<u64>) -> Plan {
    let idle = Idle::Waits(IdleWait { max: max.map(secs), ..IdleWait::default() });
    Plan { idle, wake: Wake { files: vec!["inbox".into()], ..Wake::default() }, ..plan() }
}

impl Run {
    fn idles(&mut self) -> Vec<&'static str> {
        let exited = AgentExited { state: Some(AgentState::Idle), ..self.later(1).exited(Exit::Code(0)) };
        self.send(Report::AgentExited(Box::new(exited)))
    }

    fn waiting(&self) -> (DelayReason, Duration, u64) {
        match &self.engine.state().phase {
            Phase::Waiting(wait) => (wait.reason, wait.wait, wait.epoch),
            other => panic!("{other:?}"),
        }
    }

    fn woken(&mut self, epoch: u64) -> Vec<&'static str> {
        self.send(Report::WakeTriggered(WakeTriggered { epoch, by: WakeCause::Command }))
    }
}

/// A plan whose waits are given in milliseconds.
fn waits(delay: u64, max_delay: u64, max: Option<u64>) -> Plan {
    let ms = Duration::from_millis;
    let (delay, max_delay, max) = (ms(delay), Some(ms(max_delay)), max.map(ms));
    Plan { idle: Idle::Waits(IdleWait { delay, max_delay, max, ..IdleWait::default() }), ..slow_plan() }
}

impl Run {
    fn works(&mut self) -> Vec<&'static str> {
        self.later(1).exit(Exit::Code(0))
    }

    /// Lets the wait come to its end; how long it was.
    fn sleeps(&mut self) -> Duration {
        let (_, wait, epoch) = self.waiting();
        self.now = self.now.plus(wait);
        self.send(Report::TimerFired(TimerId { slot: TimerSlot::Wait, epoch }));
        wait
    }

    /// What every wait so far was for, and whether each has its end before the next begins.
    fn framed(&self) -> Vec<(DelayReason, Option<bool>)> {
        let mut waits = Vec::new();
        for record in &self.journal {
            match &record.event {
                Event::DelayStarted(delay) => waits.push((delay.reason, None)),
                Event::DelayEnded { early } => {
                    let last = waits.last_mut().filter(|(_, end)| end.is_none());
                    last.expect("a wait that goes on").1 = Some(*early);
                }
                _ => {}
            }
        }
        waits
    }
}

#[test]
fn the_engine_waits_between_iterations_and_not_behind_the_last() {
    let mut plan = slow_plan();
    plan.event_loop.max_iterations = Some(3);
    let mut run = Run::new(plan);
    for _ in 0..2 {
        run.works();
        assert_eq!((run.waiting().0, run.sleeps()), (DelayReason::Delay, secs(600)));
    }
    assert_eq!(run.works()[1..], ["iteration.finished", "run.stopped"]);
    assert_eq!(run.framed(), [(DelayReason::Delay, Some(false)); 2]);
}

#[test]
fn idle_waits_grow_to_their_longest_and_the_run_stops_before_one_too_many() {
    let mut run = Run::new(waits(200, 500, Some(1200)));
    for wait in [200, 400, 500] {
        assert_eq!(run.idles()[1..], ["iteration.idle", "iteration.finished", "delay.started"]);
        assert_eq!((run.waiting().0, run.sleeps()), (DelayReason::Idle, Duration::from_millis(wait)));
    }
    assert_eq!(run.idles()[1..], ["iteration.idle", "iteration.finished", "run.stopped"]);
    assert_eq!(run.stop_reason(), Some(("max_idle", 3)));
    assert_eq!(run.framed(), [(DelayReason::Idle, Some(false)); 3]);

    let mut run = Run::new(waits(200, 500, Some(600)));
    run.idles();
    run.sleeps();
    assert_eq!(run.idles().last(), Some(&"delay.started"), "up to the limit is not past it");
    run.sleeps();
    assert_eq!(run.idles().last(), Some(&"run.stopped"));
}

#[test]
fn any_iteration_that_is_not_idle_starts_the_idle_streak_and_time_again() {
    let mut run = Run::new(waits(200, 500, Some(700)));
    for round in 0..10 {
        run.idles();
        assert_eq!(run.sleeps(), Duration::from_millis(200));
        run.idles();
        assert_eq!(run.sleeps(), Duration::from_millis(400));
        match round % 3 {
            0 => drop(run.works()),
            1 => drop(run.later(1).exit(Exit::Code(1))),
            _ => {
                let exited = run.later(1).exited(Exit::Code(0));
                let state = Some(AgentState::WaitingForReview);
                run.send(Report::AgentExited(Box::new(AgentExited { state, ..exited })));
            }
        }
        assert_eq!((run.engine.state().idle.waited, run.stop_reason()), (Duration::ZERO, None));
        run.sleeps();
    }
}

#[test]
fn an_agent_that_failed_or_ran_out_of_time_is_not_idle() {
    let mut plan = waits(200, 500, None);
    plan.event_loop.iteration_timeout = secs(60);
    let mut run = Run::new(plan);
    let idle = |run: &Run, exit| AgentExited { state: Some(AgentState::Idle), ..run.exited(exit) };
    let failed = idle(run.later(1), Exit::Code(1));
    assert_eq!(run.send(Report::AgentExited(Box::new(failed)))[1..], ["iteration.finished", "delay.started"]);
    run.sleeps();
    let (timer, _) = run.timer(TimerSlot::IterationTimeout);
    run.later(60).send(Report::TimerFired(timer));
    let timed_out = idle(&run, Exit::Signal(15));
    run.send(Report::AgentExited(Box::new(timed_out)));
    assert_eq!(run.names()[1..], ["iteration.finished", "delay.started"]);
    assert_eq!((run.engine.state().idle.state, run.engine.state().idle.streak), (None, 0));
}

#[test]
fn with_idle_switched_off_an_idle_iteration_is_only_reported() {
    let mut run = Run::new(Plan { idle: Idle::Off, ..plan() });
    assert_eq!(run.idles()[1..], ["iteration.idle", "iteration.finished", "iteration.started"]);
    let mut run = Run::new(Plan { idle: Idle::Off, ..slow_plan() });
    run.idles();
    assert_eq!(run.waiting().0, DelayReason::Delay, "the pace of the loop stays");
}

#[test]
fn a_person_ends_any_wait_but_that_for_a_limit() {
    for reason in [DelayReason::Delay, DelayReason::Idle] {
        let ended = |run: &mut Run, command: Command| {
            match reason {
                DelayReason::Idle => run.idles(),
                _ => run.works(),
            };
            assert_eq!(run.waiting().0, reason);
            run.send(command)
        };
        let mut run = Run::new(waits(30_000, 60_000, None));
        assert_eq!(ended(&mut run, say("go on"))[..2], ["guidance.added", "delay.ended"]);
        assert_eq!(ended(&mut run, Command::SkipWait)[..2], ["wait.skipped", "delay.ended"]);
        assert_eq!(
            ended(&mut run, stop(StopHow::AfterIteration)),
            ["stop.requested", "delay.ended", "run.stopped"]
        );
        assert_eq!(run.framed(), [(reason, Some(true)); 3]);
    }
}

#[test]
fn work_that_was_seen_in_an_earlier_wait_does_not_end_this_one() {
    let mut run = Run::new(idle_plan(None));
    assert_eq!(run.idles()[1..], ["iteration.idle", "iteration.finished", "delay.started"]);
    let (reason, wait, first) = run.waiting();
    assert_eq!((reason, wait), (DelayReason::Idle, secs(30)));
    assert!(run.last.effects.contains(&Effect::StartWake { epoch: first, since: run.now }));
    assert_eq!(run.later(5).woken(first), ["wake.triggered", "delay.ended", "iteration.started"]);
    assert_eq!(run.last.effects[0], Effect::StopWake);
    assert_eq!(run.woken(first), NOTHING, "an agent is at work");
    run.idles();
    assert_eq!(run.woken(first), NOTHING, "another wait");
    assert_eq!(run.engine.state().idle.waited, secs(5));
    assert_eq!(run.send(Command::SkipWait)[..2], ["wait.skipped", "delay.ended"]);
    assert_eq!(run.send(Command::SkipWait), NOTHING);
}

#[test]
fn a_resumed_wait_ends_when_it_was_meant_to_and_looks_for_work_again() {
    let mut run = Run::new(idle_plan(None));
    run.idles();
    let (_, _, epoch) = run.waiting();
    let (since, until) = (run.now, run.now.plus(secs(30)));
    run.later(20).resume();
    assert_eq!(run.names(), ["run.resumed"]);
    let timer = TimerId { slot: TimerSlot::Wait, epoch };
    assert!(run.last.effects.contains(&Effect::StartTimer { timer: timer.clone(), when: When::At(until) }));
    assert!(run.last.effects.contains(&Effect::StartWake { epoch, since }));
    run.later(10).send(Report::TimerFired(timer));
    assert_eq!(run.engine.state().idle.waited, secs(30));
}

#[test]
fn two_thousand_idle_iterations_in_a_row_wait_the_longest_time_and_no_longer() {
    let mut plan = idle_plan(None);
    plan.event_loop.max_iterations = Some(3000);
    plan.event_loop.max_wall_time = crate::duration::MAX;
    let mut run = Run::new(plan);
    for streak in 1..=2000 {
        run.idles();
        let (_, wait, epoch) = run.waiting();
        assert_eq!(run.engine.state().idle.streak, streak);
        assert_eq!(wait, secs(if streak < 5 { 30 << (streak - 1) } else { 300 }));
        run.now = run.now.plus(wait);
        run.send(Report::TimerFired(TimerId { slot: TimerSlot::Wait, epoch }));
    }
}

#[test]
fn a_person_who_resumes_starts_the_idle_time_again() {
    let mut run = Run::new(idle_plan(Some(40)));
    run.idles();
    let (_, _, epoch) = run.waiting();
    run.later(30).send(Report::TimerFired(TimerId { slot: TimerSlot::Wait, epoch }));
    run.idles();
    assert_eq!(run.stop_reason(), Some(("max_idle", 3)));
    run.later(100).resume();
    run.idles();
    assert_eq!(run.waiting().1, secs(30));
    let saved = run.engine.state().idle_saved().expect("it has waited");
    assert_eq!((saved.iterations, saved.waited, saved.cost_usd), (30, secs(30), None));
}

#[test]
fn an_agent_that_takes_no_time_saves_no_thousands() {
    let mut run = Run::new(idle_plan(None));
    let exited = AgentExited {
        state: Some(AgentState::Idle),
        duration: Duration::from_millis(1),
        ..run.exited(Exit::Code(0))
    };
    run.send(Report::AgentExited(Box::new(exited)));
    let (_, _, epoch) = run.waiting();
    run.later(30).send(Report::TimerFired(TimerId { slot: TimerSlot::Wait, epoch }));
    let saved = run.engine.state().idle_saved().expect("it has waited");
    assert_eq!((saved.iterations, saved.waited), (30, secs(30)));
}

#[test]
fn a_hat_that_is_idle_does_not_keep_another_one_waiting() {
    let pattern = |text: &str| text.parse().expect("a pattern");
    let hat = |id: &str| HatPlan::new(id, vec![pattern("task.start")], vec![pattern("a.done")]);
    let first_turn = |hats: Vec<HatPlan>| {
        let mut run = Run::new(Plan { hats: Some(Box::new(HatsPlan::new(hats))), ..idle_plan(Some(1)) });
        run.idles();
        (run.spawned().is_some(), run.stop_reason().is_some())
    };
    assert_eq!(first_turn(vec![hat("one"), hat("two")]), (true, false));
    assert_eq!(first_turn(vec![hat("one")]), (false, true), "nobody has anything to do");
}

#[test]
fn an_agent_that_says_so_in_its_own_words_is_waited_for_from_the_third_time_on() {
    let says = |run: &mut Run, nothing: bool| {
        let evidence = Some(Box::new(StuckEvidence { version: 1, nothing, ..StuckEvidence::default() }));
        let exited = AgentExited { evidence, ..run.later(1).exited(Exit::Code(0)) };
        run.send(Report::AgentExited(Box::new(exited)));
        matches!(run.engine.state().phase, Phase::Waiting(_))
    };
    let mut run = Run::new(Plan { wake: Wake::default(), ..idle_plan(None) });
    assert_eq!([says(&mut run, true), says(&mut run, true), says(&mut run, true)], [false, false, true]);
    assert_eq!((run.waiting().0, run.sleeps()), (DelayReason::Idle, secs(30)));
    assert!(says(&mut run, true));
    assert_eq!((run.engine.state().idle_streak(), run.sleeps()), (4, secs(60)));
    assert_eq!(run.engine.state().idle.waited, secs(90));
    assert!(!says(&mut run, false), "there is work again");
    assert_eq!((run.engine.state().idle_streak(), run.engine.state().idle.waited), (0, secs(0)));
    // Where nobody wants it to wait it does not.
    let mut run = Run::new(Plan { idle: Idle::Off, ..plan() });
    assert!((0..5).all(|_| !says(&mut run, true)));
}

#[test]
fn an_empty_prompt_pauses_the_run_and_is_no_failure() {
    let mut run = Run::new(plan());
    let empty = || Exit::NoPrompt { message: "the prompt is empty".to_owned() };
    let paused = ["agent.exited", "iteration.interrupted", "run.paused"];
    assert_eq!(run.exit(empty()), paused);
    assert_eq!(run.engine.state().paused_for.as_deref(), Some("the prompt is empty"));
    assert_eq!(
        run.send(Command::UnpauseRun { now: false }),
        ["unpause.requested", "run.unpaused", "iteration.started"]
    );
    assert_eq!(
        (run.spawned().map(|(iteration, ..)| iteration), &run.engine.state().paused_for),
        (Some(1), &None)
    );
    for _ in 0..9 {
        assert_eq!(run.exit(empty()), paused, "however often");
        run.send(Command::UnpauseRun { now: false });
    }
    assert_eq!(run.engine.state().consecutive_failures, 0);
    // A stop that came meanwhile is heeded.
    run.send(stop(StopHow::AfterIteration));
    assert_eq!(run.exit(empty()), ["agent.exited", "iteration.interrupted", "run.stopped"]);
}
