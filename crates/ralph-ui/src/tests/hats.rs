//! Hats and topics as a person sees them.

use super::script::*;
use crate::{LiveScreen, Style, Verbosity, status, topics};
use ralph_core::event::{Event, TopicPublished};
use ralph_core::marker::{AgentState, Published};
use ralph_core::time::Timestamp;
use unicode_width::UnicodeWidthStr;

/// The executor never satisfies the reviewer, and nobody hears that it is exhausted.
fn exhausting() -> Script {
    let mut script = Script::start(hats());
    script.publishes("implementation.done", "look at a.rs").publishes("review.approved", "no");
    script.publishes("review.changes_requested", "line 3").publishes("implementation.done", "again");
    script
}

#[test]
fn a_run_with_hats_on_a_pipe() {
    let text = plain(&exhausting().records, Verbosity::Normal);
    assert!(text.lines().all(|line| line.width() <= 80), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn the_live_line_names_the_hat() {
    let records = Script::start(hats()).records;
    let text = show(&records, |out| LiveScreen::new(out, options(false, Verbosity::Normal), || Some(80)));
    assert!(text.contains("#1 of 100 executor  0s"), "{text}");
}

#[test]
fn an_agent_with_a_hat_may_say_ok() {
    // `ralph emit` prints nothing into its output that would have to be hidden.
    let mut script = Script::start(hats());
    script.says("the change is made\nok\n");
    assert_eq!(script.snapshot().said.as_deref(), Some("ok"));
}

#[test]
fn a_topic_that_is_published_often_stands_on_the_line_once() {
    let mut script = Script::start(hats());
    script.ends(4, |exited| {
        let said =
            |topic: &str| Published { topic: topic.to_owned(), payload: String::new(), truncated: false };
        exited.published = vec![said("implementation.done"); 12];
    });
    let text = plain(&script.records, Verbosity::Normal);
    assert!(text.contains("#1 executor 4s → implementation.done ×12"), "{text}");
}

#[test]
fn an_idle_hat_is_named() {
    let mut script = Script::start(hats());
    script.ends(4, |exited| exited.state = Some(AgentState::Idle));
    let text = plain(&script.records, Verbosity::Normal);
    assert!(text.contains("#1 executor idle 4s"), "{text}");
}

#[test]
fn in_a_window_a_payload_makes_room_for_who_gets_it() {
    let script = exhausting();
    let published: Vec<&TopicPublished> = script
        .records
        .iter()
        .filter_map(|record| match &record.event {
            Event::TopicPublished(published) => Some(published),
            _ => None,
        })
        .collect();
    let line = |n: usize, columns| {
        topics::line(published[n], Timestamp::from_millis(START), columns, &Style::plain())
    };
    assert_eq!(
        line(1, None),
        "10:00:00.000  #1    executor         implementation.done: look at a.rs  → code_reviewer"
    );
    assert!(line(1, Some(80)).width() <= 80 && line(1, Some(80)).ends_with("…  → code_reviewer"));
    let whole = line(4, None);
    assert!(whole.contains(r#""payload":"again"#) && whole.ends_with("→ nobody"), "{whole}");
    for columns in [80, 100] {
        let cut = line(4, Some(columns));
        assert!(cut.width() <= columns && cut.ends_with("…  → nobody"), "{cut}");
    }
    assert!(line(4, Some(10)).contains(r#": {…"#), "{}", line(4, Some(10)));
}

#[test]
fn status_tells_how_often_each_hat_was_put_on() {
    let mut script = exhausting();
    let shown = |script: &Script| status::render(&script.snapshot(), script.now, &Style::plain());
    assert!(
        shown(&script).contains("hats       executor 2, code_reviewer 2 of 2 (exhausted)\n"),
        "{}",
        shown(&script)
    );
    assert!(script.snapshot().hats[1].exhausted);
    script = Script::start(hats());
    assert!(shown(&script).contains("hats       executor 0 (1 pending), code_reviewer 0 of 2\n"));
}
