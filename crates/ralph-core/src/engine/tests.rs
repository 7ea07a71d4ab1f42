//! Decisions that recorded sessions do not show: what comes late, comes twice, or comes back after a crash.

mod idle;
mod late;
mod money;
mod patience;
mod proof;
mod resume;
mod standing;
mod stuck;
mod told;

use super::*;
use crate::event::{
    AgentExited, AgentSilent, AgentText, Exit, FORMAT, Guidance, InterruptCause, IterationFinished,
    IterationInterrupted, Outcome, RunResumed, UsageUpdated,
};
use crate::ids::{IterationNumber, RunId, Seq};
use crate::plan::{AgentPlan, EventLoop, Pace, Plan, Task};
use crate::record::Record;
use crate::replay::Folder;
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
        let started =
            RunStarted { run, format: FORMAT, version: "0".into(), pid: 1, plan, containment: None };
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
        self.engine = self.journal.iter().collect::<Folder>().into_engine().unwrap();
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
fn a_person_ends_one_iteration_and_the_run_goes_on() {
    let mut run = Run::new(plan());
    assert_eq!(run.send(Command::EndIteration), ["iteration.end_requested", "agent.killed"]);
    assert_eq!(run.send(Command::EndIteration), NOTHING, "the agent is being ended already");
    let ended = run.later(1).exit(Exit::Signal(15));
    assert_eq!(ended[..2], ["agent.exited", "iteration.finished"]);
    assert_eq!(run.stop_reason(), None);
    let finished = run.last.events.iter().find_map(|event| match event {
        Event::IterationFinished(finished) => finished.error.as_deref(),
        _ => None,
    });
    assert_eq!(finished, Some("ended by a person"));
}

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
