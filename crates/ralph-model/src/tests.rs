//! Whole runs, folded.

use std::time::Duration;

use ralph_core::event::{
    AgentExited, AgentText, DelayReason, Event, Exit, FilesChanged, IterationFinished, IterationStarted,
    Outcome, TimerSlot, ToolCall, ToolCalled, ToolFinished, ToolKind, ToolResult,
};
use ralph_core::ids::{IterationNumber, Seq};
use ralph_core::input::{Command, Report};
use ralph_core::plan::{EventLoop, OnState, Plan, Reaction};
use ralph_core::record::Record;
use ralph_core::time::Timestamp;
use ralph_core::usage::Usage;

use crate::script::*;
use crate::*;

fn fold(records: &[Record]) -> Fold {
    let mut fold = Fold::default();
    records.iter().for_each(|record| fold.apply(record));
    fold
}

fn json(snapshot: &RunSnapshot) -> String {
    serde_json::to_string_pretty(snapshot).unwrap()
}

/// Works, fails, is cut short and runs again, is not believed, and is believed.
fn proved() -> Script {
    let mut script = Script::start(gated());
    script.says("I read the tests first. Then I fix them.\n");
    let (iteration, attempt) = script.current();
    let call = |id: &str| {
        let (id, name, command) = (id.to_owned(), "bash".to_owned(), Some("make test\nmore".to_owned()));
        ToolCalled::new(iteration, attempt, ToolCall { id, kind: ToolKind::Shell, name, command, path: None })
    };
    let end = |id: &str, code: i64| {
        let (ok, exit_code, output) = (Some(code == 0), Some(code), String::new());
        ToolFinished::new(iteration, attempt, ToolResult { id: id.to_owned(), ok, exit_code, output }, None)
    };
    script.input(Report::ToolCalled(call("a"))).input(Report::ToolFinished(end("a", 2)));
    script.input(Report::ToolCalled(call("b"))).input(Report::ToolFinished(end("b", 0)));
    script.ends(41, |exited| {
        exited.files = Some(FilesChanged {
            count: 30,
            paths: (0..30).map(|n| format!("src/{n}.rs")).collect(),
            digest: None,
        });
        exited.usage = Usage { input: 12_000, output: 400, ..Usage::default() };
        exited.cost_usd = Some(0.12);
    });
    script.says("oops").fails(3, 7).pass(1).fire(TimerSlot::Wait);
    script.spends(0.05).pass(9).resumes(gated().event_loop);
    script.says("Done now.").claims(20).gate("style", 1).gate("tests", 2).gates_end();
    script.claims(5).gate("tests", 0).gate("style", 0).gates_end();
    script
}

#[test]
fn a_proved_run() {
    let snapshot = proved().snapshot();
    insta::assert_snapshot!(json(&snapshot));
    assert_eq!(serde_json::from_str::<RunSnapshot>(&json(&snapshot)).unwrap(), snapshot);
}

#[test]
fn a_run_with_hats_at_work() {
    let mut script = Script::start(hats());
    script.publishes("implementation.done", "look at a.rs").publishes("review.approved", "no");
    insta::assert_snapshot!(json(&script.snapshot()));
}

#[test]
fn a_run_at_work_says_what_happens_now_and_what_then() {
    let mut script = Script::start(gated());
    script.says("Reading the tests.\n").input(Command::PauseRun).hears("be careful").pass(5);
    let seen = script.snapshot();
    assert_eq!(
        seen.activity.as_ref().map(|now| (now.kind, now.text.as_str())),
        Some((ActivityKind::Says, "Reading the tests."))
    );
    assert_eq!((seen.then, seen.guidance_count, seen.state), (Some(Then::Pause), 1, RunWord::Running));
    assert_eq!(seen.rows[0].opening.as_deref(), Some("Reading the tests."));
    assert_eq!((seen.rows[0].outcome, seen.last.is_none()), (RowOutcome::Running, true));
    script.claims(5).gate("tests", 0);
    let PhaseNow::Gates { open, iteration, .. } = script.snapshot().phase else { panic!("no gates") };
    assert_eq!((open, iteration), (vec!["style".to_owned()], IterationNumber(1)));
    let gates = script.snapshot().gates;
    assert_eq!(
        gates.iter().map(|gate| (gate.running, gate.last.is_some())).collect::<Vec<_>>(),
        [(false, true), (true, false)]
    );
    assert_eq!(script.snapshot().rows[0].claim, Some(RowClaim::Open));
}

#[test]
fn the_same_attempt_is_a_row_once_and_its_money_is_counted() {
    let seen = proved().snapshot();
    assert_eq!(seen.rows.iter().map(|row| row.iteration.0).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert_eq!((seen.row_count, seen.rows[2].attempt), (4, 2));
    let spent = seen.rows.iter().map(|row| row.spent());
    let cost: f64 = spent.clone().filter_map(|spent| spent.cost_usd).sum();
    assert_eq!(Some(cost), seen.totals.cost_usd);
    assert_eq!(spent.map(|spent| spent.usage.total()).sum::<u64>(), seen.totals.tokens);
    let verdicts: Vec<bool> = seen.claims.iter().map(|claim| claim.accepted).collect();
    assert_eq!(verdicts, [false, true]);
}

#[test]
fn it_does_not_matter_where_a_fold_takes_a_break() {
    let mut script = eventful();
    script.resumes(plan().event_loop).works(4, 1, 0.1);
    for records in [&script.records, &proved().records] {
        let whole = fold(records).snapshot(script.now, true);
        for half in 0..records.len() {
            let mut again = fold(&records[..half]).clone();
            records[half..].iter().for_each(|record| again.apply(record));
            assert_eq!(again.snapshot(script.now, true), whole, "after {half} records");
        }
    }
}

#[test]
fn a_fold_that_recalls_the_records_it_has_counted_is_the_fold_of_all_of_them() {
    let mut script = eventful();
    script.resumes(plan().event_loop).works(4, 1, 0.1);
    for records in [&script.records, &proved().records] {
        let whole = fold(records).snapshot(script.now, true);
        for half in 1..records.len() {
            let folder = records[..half].iter().collect();
            let mut again = Fold::from_folder(folder);
            records[..half].iter().for_each(|record| again.recall(record));
            records[half..].iter().for_each(|record| again.apply(record));
            assert_eq!(again.snapshot(script.now, true), whole, "after {half} records");
        }
    }
}

#[test]
fn a_fold_that_has_only_counted_knows_everything_but_the_rows() {
    let script = proved();
    let whole = fold(&script.records[..40]);
    let mut folder = ralph_core::observe::Folder::default();
    script.records[..40].iter().for_each(|record| folder.push(record));
    let (seen, counted) = (
        whole.snapshot(script.now, true).unwrap(),
        Fold::from_folder(folder).snapshot(script.now, true).unwrap(),
    );
    assert_eq!(
        (&counted.totals, &counted.limits, &counted.phase, counted.row_count),
        (&seen.totals, &seen.limits, &seen.phase, seen.row_count - u32::from(seen.is_at_work()))
    );
    assert_eq!(counted.rows.len(), 0);
}

#[test]
fn rows_of_any_range_are_the_rows_of_the_whole() {
    for records in [&proved().records, &eventful().records] {
        let Event::RunStarted(started) = &records[0].event else { panic!("no start") };
        let rows = |records: &[Record]| {
            let mut folder = RowFolder::new(started);
            let mut rows: Vec<IterationRow> =
                records.iter().filter_map(|record| folder.apply(record)).collect();
            rows.extend(folder.current());
            rows
        };
        let whole = rows(records);
        let held = fold(records).snapshot(records[records.len() - 1].at, true).unwrap().rows;
        assert_eq!(held.iter().map(|row| (**row).clone()).collect::<Vec<_>>(), whole);
        for row in whole.windows(2).filter(|pair| pair[0].before.is_none() && pair[1].before.is_none()) {
            let range = &records[row[0].seq.0 as usize - 1..row[1].seq.0 as usize - 1];
            assert_eq!(rows(range), row[..1], "#{}", row[0].iteration);
        }
    }
}

/// Talkative iterations, without an engine: it takes too long to decide a hundred thousand of them.
fn iterations(fold: &mut Fold, from: u32, to: u32) {
    let long = "a long line of what agents say. ".repeat(5);
    let mut seq = u64::from(from) * 8;
    for n in from..to {
        let (iteration, attempt) = (IterationNumber(n), 1);
        let text = AgentText { iteration, attempt, text: long.clone(), truncated: false };
        let mut exited = AgentExited::new(iteration, attempt, Exit::Code(0));
        exited.tail = long.clone();
        exited.files = Some(FilesChanged { count: 99, paths: vec!["src/a.rs".to_owned(); 30], digest: None });
        let mut finished = IterationFinished::new(iteration, attempt, Outcome::Failed);
        finished.error = Some(long.clone());
        for event in [
            Event::IterationStarted(IterationStarted { iteration, attempt, agent: 0, hat: None }),
            Event::AgentText(text),
            Event::AgentExited(Box::new(exited)),
            Event::CompletionClaimed { iteration },
            Event::IterationFinished(finished),
        ] {
            seq += 1;
            fold.apply(&Record { seq: Seq(seq), at: Timestamp::from_millis(START), event });
        }
    }
}

#[test]
fn a_hundred_thousand_iterations_take_no_more_room_than_a_thousand() {
    let first = Script::start(plan()).records;
    let mut fold = fold(&first[..1]);
    let size = |fold: &Fold| json(&fold.snapshot(first[0].at, true).unwrap()).len();
    iterations(&mut fold, 1, 1000);
    let early = size(&fold);
    iterations(&mut fold, 1000, 100_000);
    let seen = fold.snapshot(first[0].at, true).unwrap();
    assert_eq!((seen.rows.len(), seen.row_count, seen.totals.iterations), (50, 99_999, 99_999));
    assert!(seen.rows.iter().all(|row| row.files.as_ref().is_some_and(|files| files.paths.len() == 20)));
    assert_eq!(seen.rows[49].iteration, IterationNumber(99_999));
    // A few digits more, and nothing else.
    assert!(size(&fold) < early + 1000, "{early} grew to {}", size(&fold));
}

#[test]
fn the_nearest_limit_is_the_one_most_used_up() {
    let limits = EventLoop { max_iterations: Some(4), max_consecutive_failures: 2, ..EventLoop::default() };
    let mut script = Script::start(Plan { event_loop: limits, ..plan() });
    let nearest = |script: &Script| script.snapshot().nearest().map(|near| near.key.clone().into_owned());
    assert_eq!(nearest(&script).as_deref(), Some("max_iterations"), "the first one asked");
    script.fails(10, 1);
    assert_eq!(nearest(&script).as_deref(), Some("consecutive_failures"));
    script.hears("go").works(10, 1, 0.5);
    assert_eq!(nearest(&script).as_deref(), Some("max_iterations"));
    script.pass(3 * 3600);
    assert_eq!(nearest(&script).as_deref(), Some("max_runtime"));
}

#[test]
fn totals_count_the_running_attempt_and_stop_with_the_run() {
    let limits = EventLoop { max_iterations: Some(2), ..EventLoop::default() };
    let mut script = Script::start(Plan { event_loop: limits, ..plan() });
    script.works(10, 1, 0.5).pass(5);
    let totals = script.snapshot().totals;
    assert_eq!((totals.iterations, totals.runtime.as_secs(), totals.wall_time.as_secs()), (1, 15, 15));
    script.works(10, 1, 0.5);
    let end = script.now;
    // A word to a run that has stopped does not make it older.
    script.pass(1000).hears("go");
    let seen = script.snapshot_at(script.now, false);
    assert_eq!((seen.state, seen.counted_at, seen.totals.wall_time.as_secs()), (RunWord::Stopped, end, 25));
    // Nor does a run that has died grow older.
    let mut script = Script::start(plan());
    script.says("x");
    let later = script.now.plus(Duration::from_secs(900));
    assert_eq!(script.snapshot_at(later, false).totals.wall_time, Duration::ZERO);
    assert_eq!(script.snapshot_at(later, true).totals.wall_time.as_secs(), 900);
}

#[test]
fn the_evidence_of_a_stop_is_its_last_turn_and_the_streak_before_it() {
    let limits = EventLoop { max_consecutive_failures: 2, ..EventLoop::default() };
    let mut script = Script::start(Plan { event_loop: limits, ..plan() });
    script.fails(3, 1).hears("go").works(3, 1, 0.1).fails(3, 1).hears("go");
    assert!(script.snapshot().evidence.is_empty());
    script.fails(3, 1);
    let evidence = script.snapshot().evidence;
    let kinds: Vec<&str> = evidence.iter().map(|record| record.event.name()).collect();
    assert_eq!(kinds, ["iteration.finished", "agent.exited", "iteration.finished", "run.stopped"]);
    script.resumes(EventLoop::default());
    let seen = script.snapshot();
    assert!(seen.evidence.is_empty() && seen.stopped.is_none());
}

#[test]
fn a_person_is_needed_where_the_run_does_not_go_on_by_itself() {
    let asks = OnState { blocked: Reaction::ask(), ..OnState::default() };
    let mut script = Script::start(Plan { on_state: asks, ..plan() });
    assert_eq!(script.snapshot().needs_person, None);
    let crashed = script.snapshot_at(script.now, false).needs_person.unwrap();
    assert_eq!((crashed.kind, crashed.steps[0].command.as_str()), (Need::Crashed, "ralph resume 0119a4c2"));
    script.ends(4, |exited| exited.blocked = Some("which database?".to_owned()));
    let need = script.snapshot().needs_person.unwrap();
    assert_eq!((need.kind, need.reason.as_str(), need.since), (Need::Answer, "which database?", script.now));
    assert_eq!(need.steps[0].command, "ralph say 'ANSWER' --run 0119a4c2");
    let mut script = Script::start(plan());
    script.ends(4, |exited| exited.blocked = Some("no key".to_owned()));
    let seen = script.snapshot();
    assert_eq!(
        (seen.state, seen.needs_person.map(|need| need.kind)),
        (RunWord::Stopped, Some(Need::Blocked))
    );
    assert_eq!(proved().snapshot().needs_person, None);
}

#[test]
fn a_marker_alone_is_nothing_said() {
    for marker in [
        "<ralph>COMPLETE</ralph>",
        " <RALPH>blocked: no key</ralph>",
        "<promise>DONE</promise>",
        "<!-- ralph:state idle -->",
        "<event topic=\"a.done\">x</event>",
    ] {
        let mut script = Script::start(plan());
        script.says(&format!("All is done.\n{marker}\n"));
        assert_eq!(script.snapshot().said.as_deref(), Some("All is done."), "{marker}");
        // It stays when the iteration ends, for those who ask why it failed; the next one begins in silence.
        script.fails(1, 1);
        assert!(script.snapshot().said.is_some());
        script.hears("go on");
        assert_eq!(script.snapshot().said, None);
    }
}

#[test]
fn a_wait_is_seen_with_its_reason_and_its_end_until_it_is_over() {
    let mut script = Script::start(plan());
    script.fails(10, 1);
    let wait = script.snapshot();
    let until = script.now.plus(Duration::from_secs(1));
    let phase = PhaseNow::Waiting { reason: DelayReason::Failure, since: script.now, until };
    assert_eq!((wait.phase, wait.state), (phase, RunWord::Waiting));
    script.hears("go");
    assert!(script.snapshot().is_at_work());
}

#[test]
fn inputs_are_told_from_decisions_like_the_event_itself_does() {
    for records in [&eventful().records, &proved().records] {
        // The first record begins the run: it is neither an input to a running engine nor a decision of one.
        let (first, rest) = records.split_first().unwrap();
        assert!(!first.event.is_decision() && first.event.input().is_none(), "{}", first.event.name());
        for event in rest.iter().map(|record| &record.event) {
            assert_eq!(event.is_decision(), event.input().is_none(), "{}", event.name());
        }
    }
}
