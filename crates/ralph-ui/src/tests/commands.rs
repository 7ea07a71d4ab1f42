//! The texts of explain, status, list and events.

use super::script::*;
use crate::{Style, event_line, explain, list, status};
use ralph_core::event::{Exit, TimerSlot};
use ralph_core::ids::RunId;
use ralph_core::input::Command;
use ralph_core::plan::{EventLoop, OnState, Plan, Reaction};
use ralph_core::stop::StopKey;
use ralph_model::{RunListing, RunWord};
use unicode_width::UnicodeWidthStr;

fn explained(script: &Script, alive: bool) -> String {
    explain::render(&script.snapshot_at(script.now, alive), &Style::plain())
}

fn failing() -> Script {
    let limits = EventLoop { max_consecutive_failures: 2, max_cost_usd: Some(5.0), ..EventLoop::default() };
    let mut script = Script::start(Plan { event_loop: limits, ..plan() });
    script.works(41, 2, 0.12).fails(3, 7).pass(1).fire(TimerSlot::Wait).fails(2, 1);
    script
}

#[test]
fn explain_a_stop_by_a_guard() {
    insta::assert_snapshot!(explained(&failing(), false), @r#"
    run 0119a4c2 stopped: consecutive_failures (failed, exit code 1)
      2 iterations in a row failed
      last iteration: #3 failed 2s: exit code 1

    guards, in the order they are asked
      max_iterations              3 of 100  [          ]   3%
      max_runtime                46s of 4h  [          ]   0%
      max_wall_time              47s of 7d  [          ]   0%
      max_cost              $0.12 of $5.00  [          ]   2%
      loop_detected                 0 of 2  [          ]   0%
      output_similarity             0 of 1  [          ]   0%
    * consecutive_failures          2 of 2  [##########] 100%  ended the run
      off: budget_day, budget_week, max_tokens, max_idle, stop_on_error, rejected_completions, repeated_signature

    evidence: these records of the journal
       7  10:00:44  iteration.finished    #2 failed 3s: exit code 7
      12  10:00:47  agent.exited          #3 exit code 1 after 2s
      13  10:00:47  iteration.finished    #3 failed 2s: exit code 1
      14  10:00:47  run.stopped           consecutive_failures: 2 iterations in a row failed (exit code 1)
    "#);
}

#[test]
fn explain_a_kill_at_the_deadline_by_what_ordered_it() {
    let mut script = Script::start(plan());
    script.pass(4 * 3600).fire(TimerSlot::Guard(StopKey::by_name("max_runtime").expect("a guard")));
    script.ends(1, |exited| exited.exit = Exit::Signal(15));
    insta::assert_snapshot!(explained(&script, false), @r#"
    run 0119a4c2 stopped: max_runtime (limit, exit code 3)
      4h of work used
      last iteration: #1 interrupted after 4h: the limit of runtime is reached

    guards, in the order they are asked
      max_iterations        0 of 100  [          ]   0%
    * max_runtime           4h of 4h  [##########] 100%  ended the run
      max_wall_time         4h of 7d  [          ]   2%
      loop_detected           0 of 2  [          ]   0%
      output_similarity       0 of 1  [          ]   0%
      consecutive_failures    0 of 5  [          ]   0%
      off: max_cost, budget_day, budget_week, max_tokens, max_idle, stop_on_error, rejected_completions, repeated_signature

    evidence: these records of the journal
      3  14:00:00  timer.fired           the limit of runtime is reached
      4  14:00:00  agent.killed          #1 the limit of runtime is reached; KILL 3s after TERM
      5  14:00:01  agent.exited          #1 killed by signal 15 after 4h
      6  14:00:01  iteration.interrupted #1 interrupted after 4h: the limit of runtime is reached
      7  14:00:01  run.stopped           max_runtime: 4h of work used (exit code 3)
    "#);
}

#[test]
fn explain_a_stop_by_what_the_agent_said() {
    let mut script = Script::start(plan());
    script.fails(1, 1).pass(1).fire(TimerSlot::Wait).ends(3, |exited| exited.claims_complete = true);
    insta::assert_snapshot!(explained(&script, false), @r#"
    run 0119a4c2 stopped: complete (done, exit code 0)
      unproved: the agent says so, and there was no gate
      last iteration: #2 ok 3s, says it is complete

    guards, in the order they are asked
      max_iterations        2 of 100  [          ]   2%
      max_runtime           4s of 4h  [          ]   0%
      max_wall_time         5s of 7d  [          ]   0%
      loop_detected           0 of 2  [          ]   0%
      output_similarity       0 of 1  [          ]   0%
      consecutive_failures    0 of 5  [          ]   0%
      off: max_cost, budget_day, budget_week, max_tokens, max_idle, stop_on_error, rejected_completions, repeated_signature
      none of them ended the run; the reason was: complete

    claims of completion
      #2    10:00:05  accepted

    evidence: these records of the journal
       9  10:00:05  agent.exited          #2 exit code 0 after 3s
      10  10:00:05  completion.claimed    #2 the agent says the task is complete
      11  10:00:05  iteration.finished    #2 ok 3s, says it is complete
      12  10:00:05  completion.accepted   #2 on the agent's word: no gate was asked
      13  10:00:05  run.stopped           complete: unproved: the agent says so, and there was no gate (exit code 0)
    "#);
}

#[test]
fn explain_a_run_that_goes_on_and_one_that_died() {
    let mut script = Script::start(plan());
    script.works(41, 2, 0.12).pass(60);
    let text = explained(&script, true);
    assert!(text.starts_with("run 0119a4c2 has not stopped\n"), "{text}");
    assert!(text.contains("max_runtime           1m41s of 4h"), "{text}");
    assert!(!text.contains("evidence"));
    // A dead run does not age: it counts up to its last record.
    let text = explained(&script, false);
    assert!(text.starts_with("run 0119a4c2 crashed: its journal ends without a stop\n"), "{text}");
    assert!(text.contains("max_runtime           41s of 4h"), "{text}");
}

#[test]
fn status_of_a_run_at_work() {
    let mut script = Script::start(plan());
    script.works(41, 2, 0.12).says("Now the checkout.").hears("be careful").pass(12);
    insta::assert_snapshot!(status::render(&script.snapshot(), script.now, &Style::plain()), @r#"
    run        0119a4c2 (shop)
    state      running: iteration 2 of 100, for 12s
    workspace  /srv/anna/shop
    agent      claude -p --append 'be brief'
    started    2026-01-18 10:00:00, 53s ago
    total      1 iteration, 53s of work in 53s, $0.12
    last       #1 ok 41s, 2 files changed, $0.12
    said       Now the checkout.
    guidance   1 message not yet taken up
    nearest    iterations 1/100
    next       ralph events 0119a4c2 --follow
               ralph stop 0119a4c2
    "#);
}

#[test]
fn status_in_every_other_state() {
    let state = |script: &Script, alive| {
        let now = script.now.plus(std::time::Duration::from_secs(90));
        let text = status::render(&script.snapshot_at(now, alive), now, &Style::plain());
        assert!(text.lines().all(|line| line.width() <= 80), "{text}");
        text.lines().nth(1).unwrap_or_default().to_owned()
    };
    let mut script = Script::start(plan());
    script.fails(1, 1);
    assert_eq!(state(&script, true), "state      waiting: after a failure: next try in 0s, at 10:00:02");
    assert_eq!(state(&script, false), "state      crashed, last seen 1m30s ago");
    script.input(Command::PauseRun);
    assert_eq!(state(&script, true), "state      paused");
    let asks = OnState { blocked: Reaction::ask(), ..OnState::default() };
    let mut script = Script::start(Plan { on_state: asks, ..plan() });
    script.ends(4, |exited| exited.blocked = Some("which database, and why? ".repeat(9)));
    let asking = "state      waiting: for an answer: gives up in 23h58m, at 2026-01-19 10:00:04";
    assert_eq!(state(&script, true), asking);
    assert_eq!(
        state(&failing(), false),
        "state      stopped: consecutive_failures: 2 iterations in a row failed"
    );
}

#[test]
fn a_list_of_runs() {
    let at_work = Script::start(plan());
    let listing = |script: &Script, alive| {
        RunListing::of(&script.snapshot_at(script.now, alive), "Fix the parser".to_owned())
    };
    let mut waiting = Script::start(Plan { name: "日本".to_owned(), ..plan() });
    waiting.fails(1, 1);
    let asks = OnState { blocked: Reaction::ask(), ..OnState::default() };
    let mut asking = Script::start(Plan { on_state: asks, ..plan() });
    asking.ends(4, |exited| exited.blocked = Some("which database?".to_owned()));
    let runs = [
        listing(&at_work, true),
        listing(&waiting, true),
        listing(&failing(), false),
        listing(&at_work, false),
        listing(&asking, true),
        RunListing::damaged(RunId("0119ffff".to_owned()), "record 7: the checksum does not fit"),
    ];
    assert_eq!(runs[1].state, RunWord::Waiting);
    let now = at_work.now.plus(std::time::Duration::from_secs(7500));
    insta::assert_snapshot!(list::render(&runs, None, now, &Style::plain()), @r#"
    RUN       STATE                 ITERATIONS    STARTED    COST
    0119a4c2  running               0             2h05m ago  -
      /srv/anna/shop: Fix the parser
    0119a4c2  waiting               1 (1 failed)  2h05m ago  -
      /srv/anna/shop: Fix the parser
      after a failure: next try in 0s, at 10:00:02
    0119a4c2  consecutive_failures  3 (2 failed)  2h05m ago  $0.12
      /srv/anna/shop: Fix the parser
    0119a4c2  needs you             0             2h05m ago  -
      /srv/anna/shop: Fix the parser
      no process works on the run any more, and its journal ends without a stop:
      ralph resume 0119a4c2
    0119a4c2  needs you             1             2h05m ago  -
      /srv/anna/shop: Fix the parser
      for an answer: gives up in 21h55m, at 2026-01-19 10:00:04
      which database? ralph say 'ANSWER' --run 0119a4c2
    0119ffff  damaged               0             -          -
      record 7: the checksum does not fit
    "#);
    assert_eq!(list::render(&[], Some(0), now, &Style::plain()), "no runs yet; start one with: ralph run\n");
    let states = runs.each_ref().map(|run| run.state.as_str());
    assert_eq!(states, ["running", "waiting", "stopped", "crashed", "waiting", "damaged"]);
    assert_eq!(runs[2].reason.as_deref(), Some("consecutive_failures"));
}

#[test]
fn every_event_as_a_line() {
    let mut script = Script::start(plan());
    script.says("Reading.").spends(0.05).works(41, 2, 0.12).hears("hello").fails(2, 3);
    script.resumes(plan().event_loop).input(Command::PauseRun).input(Command::UnpauseRun { now: false });
    let mut lines: Vec<String> = Vec::new();
    for record in script.records.iter().chain(&eventful().records[20..]).chain(&failing().records[5..]) {
        lines.push(event_line::render(record, &Style::plain()));
    }
    insta::assert_snapshot!(lines.join("\n"));
}
