//! What a resume changes about a plan, and what it refuses.

use std::time::Duration;

use ralph_core::plan::Use;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_resumed_run_keeps_its_plan_but_for_what_is_asked() {
    let plan = event_loop("max_iterations: 3\nmax_runtime: 90s\ncompletion_promise: DONE")
        .ok()
        .to_plan(None, false)
        .expect("a plan");
    let change = |sets: &[&str], flags: Flags| {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        settings_change(&plan, &sets, &flags).map(|change| {
            let mut changed = plan.clone();
            change.apply(&mut changed);
            changed
        })
    };
    assert_eq!(change(&[], Flags::default()).unwrap(), plan);
    let more = Flags { max_iterations: Some("10".to_owned()), ..Flags::default() };
    let changed = change(&["event_loop.silence_timeout=5m"], more).unwrap();
    assert_eq!(changed.event_loop.max_iterations, Some(10));
    assert_eq!(changed.event_loop.silence(), Some(300 * SECOND));
    assert_eq!(changed.event_loop.max_runtime, Some(90 * SECOND));
    let endless =
        change(&["event_loop.max_runtime=none", "event_loop.max_iterations=none"], Flags::default());
    assert!(endless.unwrap_err().to_string().contains("needs another limit"));
    let other = Flags { agent: Some("b".to_owned()), ..Flags::default() };
    assert!(change(&[], other).unwrap_err().to_string().contains("cannot be changed when a run is resumed"));
    assert!(change(&["event_loop.dealy=1"], Flags::default()).unwrap_err().to_string().contains("`delay`"));

    let start = change(&["event_loop.starting_event=x"], Flags::default()).unwrap_err().to_string();
    assert!(start.contains("cannot be changed when a run is resumed"), "{start}");

    let looser = change(&["loop_detection.enabled=false", "event_loop.delay=2s"], Flags::default()).unwrap();
    assert!(plan.stuck.enabled && !looser.stuck.enabled);
    assert_eq!(looser.event_loop.delay, 2 * SECOND);
    // Who tunes similarity means it.
    let alike = change(&["event_loop.similarity_threshold=0.8"], Flags::default()).unwrap().stuck;
    assert_eq!((alike.similarity, alike.similarity_threshold), (Use::Stop, 0.8));
    // What a resume cannot change is not taken in silence.
    for key in ["completion_promise=X", "kill_leftovers=false"] {
        let error = change(&[&format!("event_loop.{key}")], Flags::default()).unwrap_err().to_string();
        assert!(error.contains("cannot be changed when a run is resumed"), "{error}");
    }
}
