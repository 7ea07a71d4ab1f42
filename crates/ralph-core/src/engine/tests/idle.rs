//! Waits for work: what comes late, what a crash leaves of them, and how far they grow.

use super::*;
use crate::event::{DelayReason, WakeCause, WakeTriggered};
use crate::hat::{HatPlan, HatsPlan};
use crate::marker::AgentState;
use crate::plan::{Backoff, IdlePlan, WaitPlan, WakePlan};

fn idle_plan(max: Option<u64>) -> Plan {
    let backoff = Backoff { initial: secs(30), factor: 2.0, max: secs(300) };
    let wake = WakePlan { files: vec!["/w/inbox".into()], command: None, every: secs(10) };
    let wait = Some(WaitPlan { backoff, max: max.map(secs) });
    Plan { idle: IdlePlan { wait, wake: Some(wake), ..IdlePlan::default() }, ..plan() }
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
    plan.limits.max_iterations = Some(3000);
    plan.limits.max_wall_time = crate::duration::MAX;
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
