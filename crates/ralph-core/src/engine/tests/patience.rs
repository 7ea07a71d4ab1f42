//! EventLoop, outages and fallbacks: their edges, and what a crash or a person does in the middle of them.

mod fallback;

use super::*;
use crate::event::{
    AgentRetrying, AgentStranded, DelayReason, DelayStarted, LimitHit, ToolCall, ToolCalled, ToolKind,
};
use crate::failure::{Failure, FailureClass};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// A plan with these agents behind the first.
fn fallback_plan(after: u32, names: &[&str]) -> Plan {
    let agent = |name: &&str| AgentPlan { name: (*name).into(), ..AgentPlan::command("agent") };
    let pace = Pace { fallback_after: after, ..Pace::default() };
    Plan { pace, fallback: names.iter().map(agent).collect(), ..plan() }
}

impl Run {
    fn fail(&mut self, class: FailureClass) -> Vec<&'static str> {
        self.fail_until(class, None)
    }

    fn fail_until(&mut self, class: FailureClass, resets_at: Option<Timestamp>) -> Vec<&'static str> {
        let failure = Some(Failure { class, message: "it says".into(), resets_at });
        let exited = AgentExited { failure, ..self.exited(Exit::Code(1)) };
        self.send(Report::AgentExited(Box::new(exited)))
    }

    /// Hits a limit that ends this long from now.
    fn limited(&mut self, wait: Duration) -> Vec<&'static str> {
        let until = self.now.plus(wait);
        self.fail_until(FailureClass::Limit, Some(until))
    }

    fn hit(&self) -> &LimitHit {
        let found = self.last.events.iter().find_map(|event| match event {
            Event::LimitHit(hit) => Some(hit),
            _ => None,
        });
        found.unwrap_or_else(|| panic!("no limit in {:?}", self.last.events))
    }

    fn delay(&self) -> (DelayReason, Duration) {
        let found = self.last.events.iter().rev().find_map(|event| match event {
            Event::DelayStarted(DelayStarted { reason, wait, .. }) => Some((*reason, *wait)),
            _ => None,
        });
        found.unwrap_or_else(|| panic!("no wait in {:?}", self.last.events))
    }

    /// Waits as long as the last step asks.
    fn wait(&mut self) -> Vec<&'static str> {
        let (timer, when) = self.timer(TimerSlot::Wait);
        let When::At(at) = when else { panic!("{when:?}") };
        self.now = self.now.max(at);
        self.send(Report::TimerFired(timer))
    }

    fn agent(&self) -> Option<usize> {
        self.last.effects.iter().find_map(|effect| match effect {
            Effect::SpawnAgent(spawn) => Some(spawn.agent),
            _ => None,
        })
    }

    /// ralph dies just behind the last record of this name.
    fn crash_behind(&mut self, name: &str) {
        let at = self.journal.iter().rposition(|record| record.event.name() == name).unwrap();
        self.crash(at + 1);
    }
}

const HIT: [&str; 4] = ["agent.exited", "limit.hit", "iteration.interrupted", "delay.started"];
const RETRY: [&str; 3] = ["timer.fired", "delay.ended", "iteration.started"];

#[test]
fn a_reset_time_gets_a_minute_more_and_one_that_has_passed_only_the_minute() {
    for (ahead, wait) in [(0, 60_000), (1, 60_001), (7_200_000, 7_260_000)] {
        let mut run = Run::new(plan());
        assert_eq!(run.limited(Duration::from_millis(ahead)), HIT);
        assert_eq!(run.delay(), (DelayReason::Limit, Duration::from_millis(wait)), "{ahead}");
        assert!(run.hit().known);
    }
    let mut run = Run::new(plan());
    let before = Timestamp::from_millis(run.now.as_millis() - 3_600_000);
    run.fail_until(FailureClass::Limit, Some(before));
    assert_eq!((run.delay().1, run.hit().known), (MINUTE, true));
    assert_eq!(run.wait(), RETRY);
    run.fail_until(FailureClass::Limit, Some(before));
    assert_eq!((run.delay().1, run.hit().known), (HOUR, false), "it was wrong before");
    run.wait();
    run.limited(MINUTE);
    assert_eq!((run.delay().1, run.hit().known), (2 * MINUTE, true), "one ahead is believed again");
    run.wait();
    run.exit(Exit::Code(0));
    run.fail_until(FailureClass::Limit, Some(before));
    assert_eq!(run.delay().1, MINUTE, "a finished iteration forgets");
}

#[test]
fn a_limit_is_waited_for_exactly_as_long_as_max_wait() {
    let limits = EventLoop { max_wait: HOUR, ..EventLoop::default() };
    let mut run = Run::new(Plan { event_loop: limits.clone(), ..plan() });
    run.limited(HOUR - MINUTE);
    assert_eq!(run.delay(), (DelayReason::Limit, HOUR));
    run.wait();
    let names = run.limited(HOUR - MINUTE + Duration::from_millis(1));
    assert_eq!(names, ["agent.exited", "iteration.interrupted", "run.stopped"]);
    assert_eq!(run.interruption().why, InterruptCause::Limit);
    assert_eq!(run.stop_reason(), Some(("usage_limit", 4)));

    let mut guessed = Run::new(Plan { event_loop: EventLoop { max_wait: secs(599), ..limits }, ..plan() });
    guessed.fail(FailureClass::Limit);
    assert_eq!(guessed.stop_reason(), Some(("usage_limit", 4)), "a guess is bounded too");
}

#[test]
fn a_resume_after_a_usage_limit_tries_at_once() {
    let mut run = Run::new(plan());
    run.limited(48 * HOUR);
    assert_eq!(run.stop_reason(), Some(("usage_limit", 4)));
    assert_eq!(run.later(5).resume(), ["run.resumed", "iteration.started"]);
    assert_eq!(run.spawned(), Some((1, 2, vec![])));

    run.limited(HOUR);
    run.send(stop(StopHow::Kill));
    assert_eq!(run.stop_reason(), Some(("interrupted", 130)));
    assert_eq!(run.resume(), ["run.resumed", "iteration.started"], "a person stopped the wait");
}

#[test]
fn a_resume_in_the_wait_for_a_limit_waits_only_the_rest() {
    let mut run = Run::new(plan());
    run.limited(2 * HOUR);
    let until = run.hit().until;
    let hit = run.journal.clone();
    assert_eq!(run.later(600).crash_and_resume(), ["run.resumed"]);
    assert_eq!(run.timer(TimerSlot::Wait).1, When::At(until));
    assert_eq!(run.wait(), RETRY);

    for (kept, events) in [
        ("iteration.interrupted", &["run.resumed", "delay.started"][..]),
        ("limit.hit", &["run.resumed", "iteration.interrupted", "delay.started"][..]),
    ] {
        run.journal = hit.clone();
        run.now = run.journal[0].at.plus(secs(900));
        run.crash_behind(kept);
        assert_eq!(run.resume(), events, "{kept}");
        assert_eq!(run.delay(), (DelayReason::Limit, until.since(run.now)), "{kept}");
        assert_eq!(run.timer(TimerSlot::Wait).1, When::At(until));
        assert_eq!((run.engine.state().crashes, run.engine.state().total_failures), (0, 0), "{kept}");
    }
    run.journal = hit;
    run.now = until;
    run.crash_behind("limit.hit");
    assert_eq!(run.resume(), ["run.resumed", "iteration.interrupted", "iteration.started"], "it is over");
}

#[test]
fn a_limit_that_is_on_disk_is_no_crash_of_its_iteration() {
    let limits = EventLoop { max_attempts: 1, ..EventLoop::default() };
    let mut run = Run::new(Plan { event_loop: limits, ..plan() });
    run.later(3).limited(HOUR);
    run.crash_behind("limit.hit");
    assert_eq!(run.resume(), ["run.resumed", "iteration.interrupted", "delay.started"]);
    assert_eq!(
        (run.interruption().why.clone(), run.interruption().duration),
        (InterruptCause::Limit, secs(3))
    );
}

/// How often an agent is launched into a limit of five hours. ralph dies in the middle of every wait.
fn launches(tells: fn(Timestamp) -> Option<Timestamp>) -> usize {
    let mut run = Run::new(plan());
    let ends = run.now.plus(5 * HOUR);
    let mut launches = 0;
    while run.now < ends {
        launches += 1;
        assert_eq!(run.fail_until(FailureClass::Limit, tells(ends)), HIT);
        run.later(30).crash_and_resume();
        assert_eq!(run.wait(), RETRY);
        assert!(launches < 100);
    }
    assert_eq!(run.engine.state().iterations_finished, 0);
    launches
}

#[test]
fn a_limit_of_five_hours_costs_at_most_three_launches() {
    assert_eq!(launches(Some), 1, "known");
    assert_eq!(launches(|_| None), 3, "unknown");
    assert_eq!(launches(|ends| Some(Timestamp::from_millis(ends.as_millis() - 86_400_000))), 3, "past");
}

#[test]
fn outages_in_a_row_are_counted_until_an_iteration_is_finished() {
    let limits = EventLoop { max_outages: 2, ..EventLoop::default() };
    let mut run = Run::new(Plan { event_loop: limits, ..plan() });
    let row = |run: &mut Run, number: u32| {
        for (nth, wait) in [(1, 10), (2, 20)] {
            assert_eq!(run.spawned(), Some((number, nth, vec![])));
            let names = run.fail(FailureClass::Outage);
            assert_eq!(names, ["agent.exited", "iteration.interrupted", "delay.started"]);
            assert_eq!(run.delay(), (DelayReason::Outage, secs(wait)));
            run.wait();
        }
    };
    row(&mut run, 1);
    assert_eq!(run.exit(Exit::Code(0)), ["agent.exited", "iteration.finished", "iteration.started"]);
    row(&mut run, 2);
    let names = run.fail(FailureClass::Outage);
    assert_eq!(names, ["agent.exited", "iteration.finished", "delay.started"], "one too many");
    assert_eq!((run.delay(), run.engine.state().consecutive_failures), ((DelayReason::Failure, secs(1)), 1));
    run.wait();
    row(&mut run, 3);
}

#[test]
fn a_lost_wait_for_an_outage_is_begun_again() {
    let mut run = Run::new(plan());
    run.fail(FailureClass::Outage);
    run.crash_behind("iteration.interrupted");
    assert_eq!(run.later(3).resume(), ["run.resumed", "delay.started"]);
    assert_eq!(run.delay(), (DelayReason::Outage, secs(10)));
}

#[test]
fn what_needs_a_person_is_tried_again_only_by_a_person() {
    for class in [FailureClass::SignIn, FailureClass::Billing, FailureClass::ModelNotFound] {
        let mut run = Run::new(fallback_plan(1, &["second"]));
        assert_eq!(run.fail(class), ["agent.exited", "iteration.interrupted", "run.stopped"]);
        assert_eq!(run.stop_reason(), Some((class.name(), 4)));
        let message = &run.engine.state().stopped.as_ref().unwrap().message;
        assert!(message.starts_with("it says; ") && message.len() > 20, "{message}");
        assert_eq!(run.engine.state().iterations_finished, 0);
        run.resume();
        assert_eq!(run.spawned(), Some((1, 2, vec![])));
    }
}

#[test]
fn unpause_now_ends_every_wait_and_no_work() {
    let now = || Command::UnpauseRun { now: true };
    let mut run = Run::new(slow_plan());
    assert_eq!(run.send(now()), NOTHING, "running");
    run.send(Command::PauseRun);
    assert_eq!(run.send(now()), ["unpause.requested"], "running, about to pause");

    let cut = ["unpause.requested", "delay.ended", "iteration.started"];
    run.exit(Exit::Code(0));
    assert_eq!((run.delay().0, run.send(now())), (DelayReason::Delay, cut.to_vec()));
    run.fail(FailureClass::Outage);
    assert_eq!((run.delay().0, run.send(now())), (DelayReason::Outage, cut.to_vec()));
    run.limited(HOUR);
    assert_eq!(run.send(Command::UnpauseRun { now: false }), NOTHING);
    assert_eq!(run.send(say("hint")), ["guidance.added"]);
    let names = run.send(now());
    assert_eq!(names, [&cut[..], &["guidance.delivered"]].concat(), "a limit");

    run.limited(HOUR);
    assert_eq!(run.send(Command::PauseRun), ["pause.requested", "delay.ended", "run.paused"]);
    let names = run.send(now());
    assert_eq!(names, ["unpause.requested", "run.unpaused", "iteration.started", "guidance.delivered"]);

    run.send(stop(StopHow::Kill));
    run.exit(Exit::Signal(9));
    assert_eq!(run.send(now()), NOTHING, "stopped");

    let mut failing = Run::new(plan());
    failing.exit(Exit::Code(1));
    assert_eq!((failing.delay().0, failing.send(now())), (DelayReason::Failure, cut.to_vec()));
}

#[test]
fn a_pause_does_not_end_a_limit_and_its_two_halves_are_one_wait() {
    let mut run = Run::new(fallback_plan(2, &["second"]));
    run.limited(HOUR);
    let until = run.hit().until;
    run.later(60).send(Command::PauseRun);
    let names = run.later(60).send(Command::UnpauseRun { now: false });
    assert_eq!(names, ["unpause.requested", "run.unpaused", "delay.started"]);
    assert_eq!(run.timer(TimerSlot::Wait).1, When::At(until));
    assert_eq!(run.engine.state().patience.long_waits, 1);
    run.later(60).send(Command::PauseRun);
    assert_eq!(run.later(60).crash_and_resume(), ["run.resumed", "delay.started"], "nor does a crash");
    assert_eq!(run.timer(TimerSlot::Wait).1, When::At(until));
    assert_eq!(run.wait(), RETRY);
    assert_eq!(run.agent(), Some(0));

    let mut asked = Run::new(plan());
    asked.send(Command::PauseRun);
    let names = asked.limited(HOUR);
    assert_eq!(names, ["agent.exited", "limit.hit", "iteration.interrupted", "run.paused"]);
    asked.later(2 * 3600).send(Command::UnpauseRun { now: false });
    assert_eq!(asked.spawned(), Some((1, 2, vec![])), "it ended during the pause");
}

#[test]
fn a_request_to_stop_counts_more_than_the_limit_that_came_with_it() {
    let mut run = Run::new(plan());
    run.send(stop(StopHow::Terminate));
    assert_eq!(run.limited(HOUR), ["agent.exited", "iteration.interrupted", "run.stopped"]);
    assert_eq!(run.interruption().why, InterruptCause::Stop);

    let mut after = Run::new(plan());
    after.send(stop(StopHow::AfterIteration));
    let names = after.limited(HOUR);
    assert_eq!(names, ["agent.exited", "limit.hit", "iteration.interrupted", "run.stopped"]);
    assert_eq!(after.stop_reason(), Some(("interrupted", 130)));
}

#[test]
fn tokens_that_no_number_holds_spend_the_limit_and_do_not_panic() {
    let limits = EventLoop { max_tokens: Some(u64::MAX), ..EventLoop::default() };
    let mut run = Run::new(Plan { event_loop: limits, ..plan() });
    let (iteration, attempt, cost_usd) = (IterationNumber(1), 1, None);
    let usage = Usage { input: u64::MAX, output: u64::MAX, ..Usage::default() };
    let told = UsageUpdated { iteration, attempt, usage, cost_usd };
    assert_eq!(run.send(Report::UsageUpdated(told)), ["usage.updated", "agent.killed"]);
    run.exit(Exit::Signal(15));
    assert_eq!(run.stop_reason(), Some(("max_tokens", 3)));
    assert_eq!(run.resume(), ["run.resumed", "run.stopped"], "between iterations too");
}

#[test]
fn tools_and_retries_of_an_attempt_that_is_over_are_not_recorded() {
    let mut run = Run::new(plan());
    let (iteration, attempt) = (IterationNumber(1), 1);
    let (id, kind, name) = ("1".to_owned(), ToolKind::Shell, "Bash".to_owned());
    let call = ToolCall { id, kind, name, command: None, path: None };
    let tool = Report::ToolCalled(ToolCalled::new(iteration, attempt, call));
    let reason = "overloaded".to_owned();
    let retry = Report::AgentRetrying(AgentRetrying { iteration, attempt, tried: Some(1), of: None, reason });
    assert_eq!(run.send(tool.clone()), ["tool.called"]);
    assert_eq!(run.send(retry.clone()), ["agent.retrying"]);
    run.limited(MINUTE);
    run.wait();
    assert_eq!(run.spawned(), Some((1, 2, vec![])));
    assert_eq!((run.send(tool), run.send(retry)), (NOTHING.to_vec(), NOTHING.to_vec()));
}

#[test]
fn an_agent_that_comes_to_no_good_end_is_ended_and_cured_by_why() {
    let end = |class, resets_at: Option<Timestamp>| {
        let mut run = Run::new(plan());
        let (iteration, attempt) = (IterationNumber(1), 1);
        let failure = Failure { class, message: "told".into(), resets_at };
        let report = AgentStranded { iteration, attempt, failure: failure.clone() };
        assert_eq!(run.send(Report::AgentStranded(report)), ["agent.stranded", "agent.killed"]);
        assert_eq!(run.last.effects, [Effect::KillAgent { grace: GRACE }]);
        let (exit, failure) = (run.exited(Exit::Signal(15)), Some(failure));
        run.send(Report::AgentExited(Box::new(AgentExited { failure, error: Some("told".into()), ..exit })))
    };
    let hour = Run::new(plan()).now.plus(HOUR);
    let limited = end(FailureClass::Limit, Some(hour));
    assert_eq!(limited[..3], ["agent.exited", "limit.hit", "iteration.interrupted"]);
    assert_eq!(end(FailureClass::ContextTooLong, None)[..2], ["agent.exited", "iteration.finished"]);
}

#[test]
fn silence_behind_a_limit_is_the_limit_and_any_other_is_silence() {
    let fall_silent = |class| {
        let mut run = Run::new(plan());
        let (iteration, attempt, quiet) = (IterationNumber(1), 1, secs(600));
        run.send(Report::AgentSilent(AgentSilent { iteration, attempt, quiet, ended: false }));
        let failure = Some(Failure { class, message: "told".into(), resets_at: None });
        let exit = AgentExited { failure, ..run.exited(Exit::Signal(15)) };
        run.send(Report::AgentExited(Box::new(exit)))[1]
    };
    assert_eq!(fall_silent(FailureClass::Limit), "limit.hit");
    assert_eq!(fall_silent(FailureClass::Outage), "iteration.finished");
}

#[test]
fn an_agent_that_spends_its_grace_on_more_is_killed_at_once() {
    let limits = EventLoop { max_tokens: Some(100), ..EventLoop::default() };
    let mut run = Run::new(Plan { event_loop: limits, ..plan() });
    let mut use_up = |output: u64| {
        let usage = Usage { output, ..Usage::default() };
        let told = UsageUpdated { iteration: IterationNumber(1), attempt: 1, usage, cost_usd: None };
        run.send(Report::UsageUpdated(told));
        run.last.effects.clone()
    };
    assert_eq!(use_up(99), []);
    assert_eq!(use_up(120), [Effect::KillAgent { grace: GRACE }]);
    assert_eq!(use_up(120), [], "the same once more is no growth");
    assert_eq!(use_up(121), [Effect::KillAgent { grace: Duration::ZERO }]);
    assert_eq!(use_up(200), [], "it cannot be killed more than that");
    run.exit(Exit::Signal(9));
    assert_eq!(run.stop_reason(), Some(("max_tokens", 3)));
}
