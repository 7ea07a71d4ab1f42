//! A run that goes in circles, as a person sees it.

use ralph_core::event::{AgentExited, FilesChanged};
use ralph_core::input::Command;
use ralph_core::plan::{Plan, StuckAction, StuckPlan};
use ralph_evidence::detector::{Sketch, Sketcher};
use ralph_evidence::{Rehearsal, Watch};
use unicode_width::UnicodeWidthStr;

use super::script::*;
use crate::{LiveScreen, Style, Verbosity, detect, event_line, explain};

const ERROR: &str =
    "Running the tests.\nsrc/cart.rs:45: error: `tally_cart` is private\n1 test failed: checkout\n";

fn sketch(text: &str) -> Box<Sketch> {
    let mut sketcher = Sketcher::new();
    sketcher.push(text.as_bytes());
    Box::new(sketcher.finish())
}

const WORK: &str = "Moved load_cart into src/cart/load.rs and wrote a test for it.";

/// The first iteration works, the others say the same each time.
fn circling(action: StuckAction, times: usize) -> Script {
    let plan = Plan { stuck: StuckPlan { action, ..StuckPlan::default() }, ..plan() };
    let mut watch = Watch::new(&plan.stuck);
    let mut script = Script::start(plan);
    let mut followed = 0;
    for text in std::iter::once(WORK).chain(std::iter::repeat_n(ERROR, times)) {
        script.records[followed..].iter().for_each(|record| watch.apply(&record.event));
        followed = script.records.len();
        script.ends(5, |exited| {
            exited.files = Some(FilesChanged::default());
            exited.evidence = watch.look(exited, Some(sketch(text))).map(Box::new);
        });
    }
    script
}

#[test]
fn a_stuck_run_on_a_pipe() {
    let script = circling(StuckAction::Redirect, 5);
    let text = plain(&script.records, Verbosity::Normal);
    assert!(text.lines().all(|line| line.width() <= 80), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn what_explain_and_events_say_about_it() {
    let script = circling(StuckAction::Redirect, 5);
    let run = script.snapshot();
    let text = explain::render(&run, &Style::plain());
    assert!(text.contains("* output_similarity"), "{text}");
    assert!(text.contains("stuck 0.97 after the last iteration\n  going in circles: "), "{text}");
    assert_eq!(run.stuck.alarms, 2);
    let lines: Vec<String> =
        script.records.iter().map(|record| event_line::render(record, &Style::plain())).collect();
    let has = |parts: [&str; 2]| lines.iter().any(|line| parts.iter().all(|part| line.contains(part)));
    assert!(has(["loop.suspected", "100% like the output before (similarity)"]), "{lines:#?}");
    assert!(has([
        "loop.detected",
        "(no_progress); the next prompt asks for a different approach (alarm 1 of 2)"
    ]));
}

#[test]
fn a_person_at_the_terminal_is_asked_and_sees_the_report_again() {
    let mut script = circling(StuckAction::Ask, 3);
    script.input(Command::ReviewLoop);
    let options = crate::ScreenOptions { keys: true, ..options(false, Verbosity::Normal) };
    let text = show(&script.records, |out| LiveScreen::new(out, options, || Some(80)));
    assert!(text.contains("stuck: c continue with a different approach, v review, q cancel"), "{text}");
    assert_eq!(text.matches("going in circles: ").count(), 2, "{text}");
    assert!(text.contains("ralph unpause 0119a4c2"), "{text}");
}

#[test]
fn a_recorded_run_is_looked_at_again_with_other_settings() {
    let script = circling(StuckAction::Warn, 6);
    let seen = |plan: &StuckPlan| {
        let mut rehearsal = Rehearsal::new(plan);
        let kept = |exited: &AgentExited| match exited.iteration.0 {
            1 => Some(sketch(WORK)),
            _ => Some(sketch(ERROR)),
        };
        let looked = script.records.iter().filter_map(|record| rehearsal.apply(&record.event, kept));
        let seen: Vec<_> =
            looked.map(|one| detect::Looked::new(one.iteration, one.hat, one.findings)).collect();
        detect::render("0119a4c2", &seen, plan, &Style::plain())
    };
    insta::assert_snapshot!(seen(&StuckPlan::default()));
    let patient = seen(&StuckPlan { patience: 9, ..StuckPlan::default() });
    assert!(
        patient.contains("no_progress (decides: redirect, then stop): no alarm\n  closest: 0.97 after #7"),
        "{patient}"
    );
}
