//! Recorded sessions against the real engine, with a virtual clock.
//!
//! A fixture is JSON lines: first the plan's settings and how the run must end, then one line per attempt: what the agent
//! said, how it ended, what a person did meanwhile, and every decision that must follow from it, in order.

mod session;

use std::path::{Path, PathBuf};

use ralph_core::failure::FailureClass;

use super::smoke_format::{Attempt, Header};
use session::session;

#[test]
fn smoke_runner_replays_every_fixture() {
    let mut fixtures: Vec<PathBuf> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "jsonl"))
        .collect();
    fixtures.sort();
    let failures: Vec<String> = fixtures.iter().filter_map(|path| replay(path).err()).collect();
    assert!(failures.is_empty(), "\n{}", failures.join("\n\n"));
    assert!(fixtures.len() >= 15, "only {} fixtures found", fixtures.len());
}

#[test]
fn smoke_runner_has_a_fixture_for_every_reason() {
    let mut reasons: Vec<String> =
        ralph_core::guard::GUARDS.iter().map(|guard| guard.stop.key.to_owned()).collect();
    let others = ["complete", "blocked", "once", "interrupted", "agent_missing", "error", "journal_error"];
    reasons.extend(others.map(str::to_owned));
    reasons.push("usage_limit".to_owned());
    reasons.extend(["no_subscriber", "no_handoff", "hat_exhausted", "loop_thrashing"].map(str::to_owned));
    let needs_person = FailureClass::ALL.iter().filter(|class| class.needs_person().is_some());
    reasons.extend(needs_person.map(|class| class.name().to_owned()));
    for entry in std::fs::read_dir(folder()).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let header: Header = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        reasons.retain(|reason| *reason != header.stops.reason);
    }
    assert_eq!(reasons, Vec::<String>::new(), "no fixture stops for these");
}

#[test]
fn smoke_runner_has_a_fixture_for_every_class() {
    let mut classes = FailureClass::ALL.to_vec();
    for entry in std::fs::read_dir(folder()).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        for line in text.lines().skip(1) {
            let attempt: Attempt = serde_json::from_str(line).unwrap();
            classes.retain(|class| attempt.fails != Some(*class));
        }
    }
    assert_eq!(classes, Vec::<FailureClass>::new(), "no agent of a fixture fails like this");
}

#[test]
fn smoke_runner_notices_a_wrong_expectation() {
    let text = std::fs::read_to_string(folder().join("complete.jsonl")).unwrap();
    assert_eq!(session(&text), Ok(()));
    for (right, wrong) in [
        ("\"reason\":\"complete\"", "\"reason\":\"blocked\""),
        ("\"exit_code\":0", "\"exit_code\":3"),
        ("iteration.finished 1 ok", "iteration.finished 1 failed"),
        ("<ralph>COMPLETE</ralph>", "not yet"),
    ] {
        assert!(text.contains(right), "{right}");
        assert!(session(&text.replace(right, wrong)).is_err(), "{wrong} passes");
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn replay(path: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    session(&text).map_err(|why| format!("{}: {why}", path.file_name().unwrap_or_default().display()))
}
