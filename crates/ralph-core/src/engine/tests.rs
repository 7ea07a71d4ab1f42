//! Decisions that recorded sessions do not show: what comes late, comes twice, or comes back after a crash.

mod idle;
mod patience;
mod proof;
mod stuck;

use super::*;
use crate::event::{
    AgentExited, AgentSilent, AgentText, Exit, FORMAT, Guidance, InterruptCause, IterationFinished,
    IterationInterrupted, Outcome, RunResumed, UsageUpdated,
};
use crate::ids::{IterationNumber, RunId, Seq};
use crate::plan::{AgentPlan, EventLoop, Pace, Plan, Task};
use crate::record::Record;
use crate::replay;
use crate::stop::{Interrupt, StopKey};
use crate::usage::Usage;

fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn plan() -> Plan {
    Plan::new("test", "/w", Task::Text("task".into()), AgentPlan::command("agent"))
}

/// A plan that waits ten minutes between iterations.
fn slow_plan() -> Plan {
    Plan { event_loop: EventLoop { delay: secs(600), ..EventLoop::default() }, ..plan() }
}

/// An engine, its clock and its journal.
struct Run {
    engine: Engine,
    now: Timestamp,
    journal: Vec<Record>,
    last: Step,
}

impl Run {
    fn new(plan: Plan) -> Run {
        let now = Timestamp::from_millis(1_768_730_400_000);
        let run = RunId("run".into());
        let started = RunStarted { run, format: FORMAT, version: "0".into(), pid: 1, plan };
        let (engine, step) = Engine::start(now, started);
        let mut run = Run { engine, now, journal: Vec::new(), last: Step::default() };
        run.record(step);
        run
    }

    fn record(&mut self, step: Step) {
        for event in &step.events {
            let seq = Seq(self.journal.len() as u64 + 1);
            self.journal.push(Record { seq, at: self.now, event: event.clone() });
        }
        self.last = step;
    }

    /// Gives the names of what was recorded.
    fn send(&mut self, input: impl Into<Input>) -> Vec<&'static str> {
        let step = self.engine.handle(self.now, input.into());
        self.record(step);
        self.names()
    }

    fn names(&self) -> Vec<&'static str> {
        self.last.events.iter().map(Event::name).collect()
    }

    fn later(&mut self, seconds: u64) -> &mut Run {
        self.now = self.now.plus(secs(seconds));
        self
    }

    fn exit(&mut self, exit: Exit) -> Vec<&'static str> {
        let exited = self.exited(exit);
        self.send(Report::AgentExited(Box::new(exited)))
    }

    fn exited(&self, exit: Exit) -> AgentExited {
        let running = self.engine.state().running().unwrap();
        AgentExited {
            duration: self.now.since(running.started_at),
            ..AgentExited::new(running.iteration, running.attempt, exit)
        }
    }

    /// The timer that the last step started in this slot.
    fn timer(&self, slot: TimerSlot) -> (TimerId, When) {
        let found = self.last.effects.iter().find_map(|effect| match effect {
            Effect::StartTimer { timer, when } if timer.slot == slot => Some((timer.clone(), *when)),
            _ => None,
        });
        found.unwrap_or_else(|| panic!("no {slot:?} in {:?}", self.last.effects))
    }

    fn spawned(&self) -> Option<(u32, u32, Vec<String>)> {
        self.last.effects.iter().find_map(|effect| match effect {
            Effect::SpawnAgent(s) => Some((s.iteration.0, s.attempt, s.prompt.guidance.clone())),
            _ => None,
        })
    }

    /// ralph dies; only the first `kept` records are left. Nothing goes on yet.
    fn crash(&mut self, kept: usize) {
        self.journal.truncate(kept);
        self.engine = Engine::from_state(replay::fold(&self.journal).unwrap());
    }

    fn resume(&mut self) -> Vec<&'static str> {
        let limits = self.engine.state().plan.event_loop.clone();
        self.resume_with(limits)
    }

    fn resume_with(&mut self, limits: EventLoop) -> Vec<&'static str> {
        self.send(Command::ResumeRun(Box::new(RunResumed::new("0", 2, limits))))
    }

    fn crash_and_resume(&mut self) -> Vec<&'static str> {
        self.crash(self.journal.len());
        self.resume()
    }

    fn stop_reason(&self) -> Option<(&str, u8)> {
        self.engine.state().stopped.as_ref().map(|s| (s.reason.as_str(), s.exit_code))
    }

    fn interruption(&self) -> &IterationInterrupted {
        let found = self.last.events.iter().find_map(|event| match event {
            Event::IterationInterrupted(e) => Some(e),
            _ => None,
        });
        found.unwrap()
    }
}

fn say(text: &str) -> Command {
    Command::AddGuidance(Guidance { text: text.into() })
}

fn stop(how: StopHow) -> Command {
    Command::StopRun(StopRequest { how, by: Interrupt::Int })
}

fn usage(run: &Run, cost_usd: f64) -> Report {
    let running = run.engine.state().running().unwrap();
    let (iteration, attempt) = (running.iteration, running.attempt);
    Report::UsageUpdated(UsageUpdated {
        iteration,
        attempt,
        usage: Usage::default(),
        cost_usd: Some(cost_usd),
    })
}

const NOTHING: [&str; 0] = [];

#[test]
fn a_pause_that_is_taken_back_in_time_changes_nothing() {
    let mut run = Run::new(plan());
    assert_eq!(run.send(Command::PauseRun), ["pause.requested"]);
    assert_eq!(run.send(Command::PauseRun), NOTHING, "asked for already");
    assert_eq!(run.send(Command::UnpauseRun { now: false }), ["unpause.requested"]);
    assert_eq!(run.send(Command::UnpauseRun { now: false }), NOTHING);
    assert_eq!(run.later(1).exit(Exit::Code(0)), ["agent.exited", "iteration.finished", "iteration.started"]);
}

#[test]
fn a_pause_ends_a_wait_and_going_on_starts_at_once() {
    let mut run = Run::new(slow_plan());
    run.later(1).exit(Exit::Code(0));
    assert_eq!(run.later(5).send(Command::PauseRun), ["pause.requested", "delay.ended", "run.paused"]);
    assert_eq!(run.send(say("hint")), ["guidance.added"], "it stays paused");
    let went_on = run.later(9).send(Command::UnpauseRun { now: false });
    assert_eq!(went_on, ["unpause.requested", "run.unpaused", "iteration.started", "guidance.delivered"]);
    assert_eq!(run.spawned(), Some((2, 1, vec!["hint".into()])));
}

#[test]
fn a_paused_run_can_be_stopped_and_runs_out_of_wall_time() {
    let mut run = Run::new(plan());
    let (alarm, _) = run.timer(TimerSlot::Guard(StopKey::by_name("max_wall_time").expect("a guard")));
    run.send(Command::PauseRun);
    run.later(1).exit(Exit::Code(0));
    assert_eq!(run.engine.state().phase, Phase::Paused);
    let kept = run.journal.len();
    assert_eq!(run.send(stop(StopHow::AfterIteration)), ["stop.requested", "run.stopped"]);
    assert_eq!(run.stop_reason(), Some(("interrupted", 130)));
    run.crash(kept);
    assert_eq!(run.later(7 * 24 * 3600).send(Report::TimerFired(alarm)), ["timer.fired", "run.stopped"]);
    assert_eq!(run.stop_reason(), Some(("max_wall_time", 3)));
}

#[test]
fn guidance_ends_a_wait() {
    let mut run = Run::new(slow_plan());
    run.later(1).exit(Exit::Code(0));
    let names = run.later(2).send(say("hint"));
    assert_eq!(names, ["guidance.added", "delay.ended", "iteration.started", "guidance.delivered"]);
    assert_eq!(run.last.events[1], Event::DelayEnded { early: true });
}

#[test]
fn guidance_is_carried_again_until_an_iteration_with_it_is_finished() {
    let mut run = Run::new(plan());
    run.send(say("one"));
    run.later(1).exit(Exit::Code(0));
    assert_eq!(run.spawned(), Some((2, 1, vec!["one".into()])));
    run.send(say("two"));
    run.crash_and_resume();
    assert_eq!(run.spawned(), Some((2, 2, vec!["one".into(), "two".into()])));
    run.send(say("three"));
    run.later(1).exit(Exit::Code(1));
    assert_eq!(run.engine.state().guidance, ["three"], "a failed iteration has read its prompt too");
    let (wait, _) = run.timer(TimerSlot::Wait);
    run.later(1).send(Report::TimerFired(wait));
    assert_eq!(run.spawned(), Some((3, 1, vec!["three".into()])));
    run.later(1).exit(Exit::Code(0));
    assert_eq!(run.spawned(), Some((4, 1, vec![])));
}

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

#[test]
fn a_failed_journal_stops_every_phase_and_only_once() {
    let fail = || Report::JournalFailed(JournalFailed { message: "no space left".into() });
    let mut running = Run::new(plan());
    assert_eq!(running.later(3).send(fail()), ["journal.failed", "iteration.interrupted", "run.stopped"]);
    assert_eq!(running.interruption().duration, secs(3));
    assert_eq!(running.stop_reason(), Some(("journal_error", 1)));
    assert_eq!(running.send(fail()), NOTHING);
    running.resume();
    assert_eq!(running.spawned(), Some((1, 2, vec![])), "resumes once there is room");

    let mut waiting = Run::new(slow_plan());
    waiting.later(1).exit(Exit::Code(0));
    assert_eq!(waiting.send(fail()), ["journal.failed", "delay.ended", "run.stopped"]);

    let mut paused = Run::new(plan());
    paused.send(Command::PauseRun);
    paused.later(1).exit(Exit::Code(0));
    assert_eq!(paused.send(fail()), ["journal.failed", "run.stopped"]);
}

#[test]
fn a_cost_that_is_no_money_does_not_switch_the_limit_off() {
    let limits = EventLoop { max_cost_usd: Some(1.0), ..EventLoop::default() };
    let mut run = Run::new(Plan { event_loop: limits, ..plan() });
    let told = usage(&run, 0.9);
    run.send(told);
    for nonsense in [f64::NAN, f64::NEG_INFINITY, f64::INFINITY, -5.0] {
        let told = usage(&run, nonsense);
        run.send(told);
        assert_eq!(run.engine.state().cost_now(), Some(0.9), "{nonsense}");
    }
    let told = usage(&run, 1.0);
    assert_eq!(run.send(told), ["usage.updated", "agent.killed"]);
    let exited = AgentExited { cost_usd: Some(f64::NAN), ..run.exited(Exit::Signal(15)) };
    run.send(Report::AgentExited(Box::new(exited)));
    assert_eq!(run.engine.state().cost_usd, Some(1.0));
    assert_eq!(run.stop_reason(), Some(("max_cost", 3)));
}

#[test]
fn parts_of_a_millisecond_do_not_part_the_state_from_its_journal() {
    let mut run = Run::new(plan());
    for _ in 0..3 {
        let exited = AgentExited { duration: Duration::from_micros(1900), ..run.exited(Exit::Code(0)) };
        run.send(Report::AgentExited(Box::new(exited)));
    }
    assert_eq!(run.engine.state().runtime, Duration::from_millis(3));
}

#[test]
fn of_several_spent_guards_the_first_in_the_fixed_order_ends_the_run() {
    let limits = |iterations, runtime, wall, cost, failures| EventLoop {
        max_iterations: Some(iterations),
        max_runtime: Some(secs(runtime)),
        max_wall_time: secs(wall),
        max_cost_usd: Some(cost),
        max_consecutive_failures: failures,
        ..EventLoop::default()
    };
    // One iteration of ten seconds and ten dollars. It reports as late as its money and its time are used up.
    let ends_by = |limits: EventLoop, code| {
        let mut run = Run::new(Plan { event_loop: limits, ..plan() });
        run.later(10);
        let exited = AgentExited { cost_usd: Some(10.0), ..run.exited(Exit::Code(code)) };
        run.send(Report::AgentExited(Box::new(exited)));
        run.stop_reason().map(|(reason, _)| reason.to_owned())
    };
    let cases = [
        (limits(1, 1, 1, 1.0, 1), 0, Some("max_iterations")),
        (limits(2, 1, 1, 1.0, 1), 0, Some("max_runtime")),
        (limits(2, 99, 1, 1.0, 1), 0, Some("max_wall_time")),
        (limits(2, 99, 99, 1.0, 1), 0, Some("max_cost")),
        (limits(2, 99, 99, 99.0, 1), 0, None),
        // A failure is judged before anything is asked about the next iteration.
        (limits(1, 1, 1, 1.0, 1), 1, Some("consecutive_failures")),
        (limits(1, 1, 1, 1.0, 2), 1, Some("max_iterations")),
    ];
    for (limits, code, reason) in cases {
        assert_eq!(ends_by(limits.clone(), code).as_deref(), reason, "{limits:?}");
    }
    let keys: Vec<&str> = crate::guard::GUARDS.iter().map(|def| def.stop.key).collect();
    let place = |key| keys.iter().position(|other| *other == key);
    let order = ["max_iterations", "max_runtime", "max_cost", "consecutive_failures"].map(place);
    assert!(order.is_sorted() && order[0].is_some(), "`ralph explain` shows them in this order: {keys:?}");
}
