//! Keys that nobody knows: refused in a definition, ignored in the journal of a newer ralph.

use ralph_core::plan::{Plan, SettingsChange};
use serde_json::{Value as Json, json};

use super::*;

const DEFINITION: &str = "agent: a\nprompt: x\ngates: [{name: tests, run: make test}]\n";

#[test]
fn a_definition_with_an_unknown_key_is_refused_with_the_nearest_one() {
    for (line, key, meant) in [
        ("stop: {require_lints: true}", "stop.require_lints", "require_lint"),
        ("event_loop: {failure_backoff: {initail: 1s}}", "event_loop.failure_backoff.initail", "initial"),
        ("loop_detection: {windw: 4}", "loop_detection.windw", "window"),
        ("gate_job: 4", "gate_job", "gate_jobs"),
    ] {
        let text = yml(&format!("{DEFINITION}{line}\n")).err();
        assert!(text.contains(&format!("unknown key `{key}`")), "{text}");
        assert!(text.contains(&format!("did you mean `{meant}`?")), "{text}");
    }
    // In a list, where the place says which one.
    let text = yml("agent: a\nprompt: x\ngates: [{name: tests, run: make test, requird: true}]\n").err();
    assert!(text.contains("`gates.0`: unknown key `requird`"), "{text}");
    assert!(text.contains("did you mean `required`?"), "{text}");
}

/// Every mapping of the plan, and every mapping in it, gets a key that nobody knows.
fn with_newer_keys(value: &mut Json) {
    match value {
        Json::Object(fields) => {
            fields.values_mut().for_each(with_newer_keys);
            fields.insert("a_newer_setting".to_owned(), json!({ "of": ["any", 3] }));
        }
        Json::Array(items) => items.iter_mut().for_each(with_newer_keys),
        _ => {}
    }
}

#[test]
fn the_plan_and_the_change_of_a_newer_ralph_are_read_without_what_is_new() {
    let plan = yml(DEFINITION).set("event_loop.max_iterations=7").ok().to_plan(None, false).expect("a plan");
    let mut newer = serde_json::to_value(&plan).expect("json");
    // The kind of a task is no setting.
    let task = newer["task"].take();
    with_newer_keys(&mut newer);
    newer["task"] = task;
    assert!(newer["stop"]["a_newer_setting"].is_object() && newer["gates"][0]["a_newer_setting"].is_object());
    assert_eq!(serde_json::from_value::<Plan>(newer).expect("a plan"), plan);

    let mut change = json!({ "event_loop": { "max_iterations": 9, "failure_backoff": { "max": "2m" } } });
    let known: SettingsChange = serde_json::from_value(change.clone()).expect("a change");
    with_newer_keys(&mut change);
    assert_eq!(serde_json::from_value::<SettingsChange>(change).expect("a change"), known);
}
