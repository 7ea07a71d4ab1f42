//! The closing block for every way a run ends.

use super::script::*;
use crate::{Style, Verbosity};
use ralph_core::event::JournalFailed;
use ralph_core::event::{Exit, StopHow, TimerSlot};
use ralph_core::input::Report;
use ralph_core::plan::{EventLoop, Plan, Stop};
use ralph_core::stop::{Interrupt, StopKey};
use unicode_width::UnicodeWidthStr;

fn limited(change: impl FnOnce(&mut EventLoop)) -> Script {
    let mut limits = EventLoop::default();
    change(&mut limits);
    Script::start(Plan { event_loop: limits, ..plan() })
}

fn closing(script: &Script) -> String {
    let text = plain(&script.records, Verbosity::Quiet);
    assert!(text.lines().all(|line| line.width() <= 80), "{text}");
    text
}

#[test]
fn complete() {
    let mut script = Script::start(plan());
    script.works(41, 2, 0.12).ends(3, |exited| exited.claims_complete = true);
    insta::assert_snapshot!(closing(&script), @r#"
    complete: unproved: the agent says so, and there was no gate
      total   2 iterations, 44s of work in 44s, $0.12
      logs    ralph logs 0119a4c2
      next    ralph replay 0119a4c2                 # see it again
              ralph resume 0119a4c2 -p 'AND NOW …'  # with more to do
    "#);
}

#[test]
fn a_single_pass() {
    let mut script = Script::start(Plan { once: true, log_dir: Some("/srv/anna/logs".into()), ..plan() });
    script.works(41, 2, 0.12);
    insta::assert_snapshot!(closing(&script), @r#"
    done: the single pass is done
      total   1 iteration, 41s of work in 41s, $0.12
      logs    ralph logs 0119a4c2
              /srv/anna/logs
      next    ralph replay 0119a4c2                 # see it again
              ralph resume 0119a4c2 -p 'AND NOW …'  # with more to do
    "#);
}

#[test]
fn out_of_iterations() {
    let mut script = limited(|limits| limits.max_iterations = Some(2));
    script.works(41, 2, 0.12).works(30, 0, 0.1);
    insta::assert_snapshot!(closing(&script), @r#"
    limit reached: 2 of 2 iterations done (max_iterations)
      total   2 iterations, 1m11s of work in 1m11s, $0.22
      logs    ralph logs 0119a4c2
      next    ralph resume 0119a4c2 -n 4  # go on, limit raised
              ralph explain 0119a4c2      # why it stopped
    "#);
}

#[test]
fn out_of_iterations_with_a_claim_that_was_refused() {
    let limits = EventLoop { max_iterations: Some(2), ..EventLoop::default() };
    let stop = Stop { require_passing_tests: true, ..Stop::default() };
    let plan = Plan { event_loop: limits, stop, ..plan() };
    let mut script = Script::start(plan);
    script.ends(3, |exited| exited.claims_complete = true).works(30, 0, 0.1);
    insta::assert_snapshot!(closing(&script), @r#"
    limit reached: 2 of 2 iterations done (max_iterations)
      total   2 iterations, 33s of work in 33s, $0.10
      refused the last claim (#1): require_passing_tests: no test command was run
      logs    ralph logs 0119a4c2
      next    ralph resume 0119a4c2 -n 4  # go on, limit raised
              ralph explain 0119a4c2      # why it stopped
    "#);
    // Whoever sees the run from its resume on is told the same.
    let run = resumed(&script.records).snapshot(script.now, true).expect("a run");
    let block = crate::closing::block(&run, &Style::plain());
    assert_eq!(block[1..].join("\n"), closing(&script).trim());
}

#[test]
fn out_of_time_in_the_middle_of_an_iteration() {
    let mut script = Script::start(plan());
    script.pass(4 * 3600).fire(TimerSlot::Guard(StopKey::by_name("max_runtime").expect("a guard")));
    script.ends(1, |exited| exited.exit = Exit::Signal(15));
    insta::assert_snapshot!(plain(&script.records, Verbosity::Normal), @r#"
    run 0119a4c2 in /srv/anna/shop
      agent   claude -p --append 'be brief'
      gates   none: "complete" will be the agent's word alone, unproved
              add one: --set 'gates=[{name: tests, run: YOUR TEST COMMAND}]'
      limits  iterations 100, runtime 4h, wall time 7d, consecutive failures 5,
              no cost limit
    #1 interrupted after 4h: the limit of runtime is reached

    limit reached: 4h of work used (max_runtime)
      total   0 iterations, 4h of work in 4h
      logs    ralph logs 0119a4c2
      next    ralph resume 0119a4c2 --max-runtime 8h  # go on, limit raised
              ralph explain 0119a4c2                  # why it stopped
    "#);
}

#[test]
fn out_of_wall_time() {
    let mut script = Script::start(plan());
    script
        .pass(7 * 86_400)
        .fire(TimerSlot::Guard(StopKey::by_name("max_wall_time").expect("a guard")))
        .ends(1, |_| {});
    let text = closing(&script);
    assert!(text.contains("ralph resume 0119a4c2 --set event_loop.max_wall_time=14d"), "{text}");
}

#[test]
fn out_of_money() {
    let mut script = limited(|limits| limits.max_cost_usd = Some(1.25));
    script.pass(10).spends(1.3).ends(1, |exited| exited.exit = Exit::Signal(15));
    insta::assert_snapshot!(closing(&script), @r#"
    limit reached: $1.30 of $1.25 spent (max_cost)
      total   0 iterations, 11s of work in 11s, $1.30, 12.4k tokens
      logs    ralph logs 0119a4c2
      next    ralph resume 0119a4c2 --max-cost 2.5  # go on, limit raised
              ralph explain 0119a4c2                # why it stopped
    "#);
}

#[test]
fn too_many_failures() {
    let mut script = limited(|limits| limits.max_consecutive_failures = 2);
    script.fails(1, 1).pass(1).fire(TimerSlot::Wait).says("\nError: not logged in\n\n").fails(2, 1);
    insta::assert_snapshot!(closing(&script), @r#"
    failed: 2 iterations in a row failed (consecutive_failures)
      total   2 iterations, 2 failed, 3s of work in 4s
      error   exit code 1
      said    Error: not logged in
      logs    ralph logs 0119a4c2
      next    ralph explain 0119a4c2  # why it stopped
              ralph resume 0119a4c2   # try again
    "#);
}

#[test]
fn stop_on_error() {
    let mut script = limited(|limits| limits.stop_on_error = true);
    script.fails(1, 1);
    insta::assert_snapshot!(plain(&script.records, Verbosity::Normal), @r#"
    run 0119a4c2 in /srv/anna/shop
      agent   claude -p --append 'be brief'
      gates   none: "complete" will be the agent's word alone, unproved
              add one: --set 'gates=[{name: tests, run: YOUR TEST COMMAND}]'
      limits  iterations 100, runtime 4h, wall time 7d, stop on error,
              consecutive failures 5, no cost limit
    #1 failed 1s: exit code 1  (stop on error 1/1)

    failed: iteration 1 failed (stop_on_error)
      total   1 iteration, 1 failed, 1s of work in 1s
      error   exit code 1
      logs    ralph logs 0119a4c2
      next    ralph explain 0119a4c2  # why it stopped
              ralph resume 0119a4c2   # try again
    "#);
}

#[test]
fn blocked() {
    let mut script = Script::start(plan());
    let why = "I need the password of the staging database, and somebody has to decide whether old orders are kept.\n\
               \u{1b}[31mWithout both I cannot go on.\u{1b}[0m";
    script.ends(9, |exited| exited.blocked = Some(why.to_owned()));
    insta::assert_snapshot!(closing(&script), @r#"

    blocked: I need the password of the staging database, and somebody has to decide
             whether old orders are kept.
             Without both I cannot go on.
      total   1 iteration, 9s of work in 9s
      needs   you: I need the password of the staging database, and somebody has to
              decide whether old orders are kept. Without both I cann…: ralph say
              'ANSWER' --run 0119a4c2, then: ralph resume 0119a4c2
      logs    ralph logs 0119a4c2
      next    ralph say 'ANSWER' --run 0119a4c2  # answer it
              ralph resume 0119a4c2              # then go on
    "#);
}

#[test]
fn the_agent_is_missing() {
    let mut script = Script::start(plan());
    let message = "claude: no such program".to_owned();
    script.ends(0, |exited| exited.exit = Exit::Missing { message });
    insta::assert_snapshot!(plain(&script.records, Verbosity::Normal), @r#"
    run 0119a4c2 in /srv/anna/shop
      agent   claude -p --append 'be brief'
      gates   none: "complete" will be the agent's word alone, unproved
              add one: --set 'gates=[{name: tests, run: YOUR TEST COMMAND}]'
      limits  iterations 100, runtime 4h, wall time 7d, consecutive failures 5,
              no cost limit
    #1 not started

    blocked: claude: no such program (agent_missing)
      total   0 iterations, 0s of work in 0s
      needs   you: claude: no such program: ralph resume 0119a4c2
      logs    ralph logs 0119a4c2
      next    ralph resume 0119a4c2   # go on once that is fixed
              ralph explain 0119a4c2  # why it stopped
    "#);
}

#[test]
fn the_journal_fails() {
    let mut script = Script::start(plan());
    let message = "cannot write the journal: No space left on device (os error 28)".to_owned();
    script.works(5, 1, 0.1).pass(2).input(Report::JournalFailed(JournalFailed { message }));
    insta::assert_snapshot!(plain(&script.records, Verbosity::Normal), @r#"
    run 0119a4c2 in /srv/anna/shop
      agent   claude -p --append 'be brief'
      gates   none: "complete" will be the agent's word alone, unproved
              add one: --set 'gates=[{name: tests, run: YOUR TEST COMMAND}]'
      limits  iterations 100, runtime 4h, wall time 7d, consecutive failures 5,
              no cost limit
    #1 ok 5s, 1 file changed, $0.10  (iterations 1/100)
    cannot write the journal: No space left on device (os error 28)
    #2 interrupted after 2s: the run was stopped

    failed: cannot write the journal: No space left on device (os error 28)
            (journal_error)
      total   1 iteration, 7s of work in 7s, $0.10
      logs    ralph logs 0119a4c2
      next    ralph resume 0119a4c2  # go on once there is room
    "#);
}

#[test]
fn interrupted_twice() {
    let mut script = Script::start(plan());
    script.pass(3).asks_to_stop(StopHow::AfterIteration, Interrupt::Int);
    script
        .pass(1)
        .asks_to_stop(StopHow::Kill, Interrupt::Int)
        .ends(0, |exited| exited.exit = Exit::Signal(9));
    insta::assert_snapshot!(plain(&script.records, Verbosity::Normal), @r#"
    run 0119a4c2 in /srv/anna/shop
      agent   claude -p --append 'be brief'
      gates   none: "complete" will be the agent's word alone, unproved
              add one: --set 'gates=[{name: tests, run: YOUR TEST COMMAND}]'
      limits  iterations 100, runtime 4h, wall time 7d, consecutive failures 5,
              no cost limit
    will stop after this iteration; a second Ctrl-C ends it now
    ending the agent now
    #1 interrupted after 4s: the run was stopped

    interrupted: stopped by a person
      total   0 iterations, 4s of work in 4s
      logs    ralph logs 0119a4c2
      next    ralph resume 0119a4c2  # go on
    "#);
}

#[test]
fn terminated() {
    let mut script = Script::start(plan());
    script.pass(3).asks_to_stop(StopHow::Terminate, Interrupt::Term);
    script.ends(1, |exited| exited.exit = Exit::Signal(15));
    let text = plain(&script.records, Verbosity::Normal);
    assert!(text.contains("\nSIGTERM: ending the agent\n"), "{text}");
    assert!(text.contains("\ninterrupted: stopped by SIGTERM\n"), "{text}");
}

#[test]
fn a_reason_of_many_lines_is_cut() {
    let mut script = Script::start(plan());
    script.ends(9, |exited| exited.blocked = Some("why\n".repeat(500)));
    let text = closing(&script);
    let (message, rest) = text.split_once("\n  total").expect("a total");
    assert_eq!(message.matches("why").count(), 8, "{text}");
    assert!(rest.contains("…: ralph say") && rest.lines().count() < 12, "{text}");
    assert!(text.contains("\n         …\n"), "{text}");
}
