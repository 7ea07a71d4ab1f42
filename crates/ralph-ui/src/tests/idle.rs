//! What is shown while there is nothing to do.

use std::time::Duration;

use super::script::*;
use crate::{LiveScreen, PlainScreen, Screen, ScreenOptions, Verbosity};
use ralph_core::event::{TimerSlot, WakeCause, WakeTriggered};
use ralph_core::input::{Command, Report};
use ralph_core::marker::AgentState;
use ralph_core::plan::{EventLoop, Idle, IdleWait, OnState, Plan, Reaction, Wake};

fn idle_plan(max: Option<u64>) -> Plan {
    let secs = Duration::from_secs;
    let idle = Idle::Waits(IdleWait { max: max.map(secs), ..IdleWait::default() });
    Plan { idle, wake: Wake { files: vec!["inbox".into()], ..Wake::default() }, ..plan() }
}

trait Idles {
    fn idles(&mut self, state: AgentState) -> &mut Script;
}

impl Idles for Script {
    fn idles(&mut self, state: AgentState) -> &mut Script {
        self.ends(4, |exited| {
            exited.state = Some(state);
            exited.cost_usd = Some(0.02);
        })
    }
}

#[test]
fn an_idle_run_on_a_pipe() {
    let mut script = Script::start(idle_plan(Some(100)));
    script.works(41, 2, 0.12).idles(AgentState::Idle).pass(30).fire(TimerSlot::Wait);
    script.idles(AgentState::Idle).pass(10);
    // A wait is named by the number of records there were when it began: its own was the last.
    let epoch = script.records.len() as u64;
    let by = WakeCause::File { path: "/srv/anna/shop/pm/INBOX.md".to_owned() };
    script.input(Report::WakeTriggered(WakeTriggered { epoch, by }));
    script.idles(AgentState::WaitingForReview).pass(1).input(Command::SkipWait);
    script.idles(AgentState::Idle).pass(30).fire(TimerSlot::Wait).idles(AgentState::Idle);
    script.pass(60).fire(TimerSlot::Wait).idles(AgentState::Idle);
    insta::assert_snapshot!(plain(&script.records, Verbosity::Normal));
}

#[test]
fn an_idle_iteration_does_not_catch_the_eye() {
    let mut script = Script::start(idle_plan(None));
    script.works(41, 2, 0.12).idles(AgentState::Idle);
    let captured = Captured::default();
    let mut screen = PlainScreen::new(Box::new(captured.clone()), options(true, Verbosity::Normal));
    script.records.iter().for_each(|record| screen.event(record));
    let text = captured.text();
    let line = |what: &str| text.lines().find(|line| line.contains(what)).unwrap_or_default().to_owned();
    assert!(line("#2").starts_with("\u{1b}[2m◇ #2 idle 4s, $0.02\u{1b}[0m"), "{text:?}");
    assert!(line("waiting: idle").starts_with("\u{1b}[2m"), "{text:?}");
    assert!(line("#1").starts_with("#1 \u{1b}["), "{text:?}");
}

#[test]
fn a_resumed_run_says_what_is_left_of_its_wait() {
    let mut script = Script::start(idle_plan(None));
    script.idles(AgentState::Idle).pass(20).resumes(EventLoop::default());
    let text = plain(&script.records, Verbosity::Normal);
    assert!(
        text.contains(
            "\n  done    1 iteration, goes on with #2\nwaiting: idle: next look in 10s, at 10:00:34\n"
        ),
        "{text}"
    );
}

#[test]
fn a_question_says_how_to_answer_it() {
    let plan = Plan { on_state: OnState { blocked: Reaction::ask(), ..OnState::default() }, ..plan() };
    let mut script = Script::start(plan);
    script.ends(4, |exited| exited.blocked = Some("which database?".to_owned()));
    let text = plain(&script.records, Verbosity::Normal);
    let line = text.lines().find(|line| line.contains("which database?")).unwrap();
    assert_eq!(line, "needs you: which database? ralph say 'ANSWER' --run 0119a4c2");
}

#[test]
fn the_live_line_counts_down_and_says_which_key_to_press() {
    let captured = Captured::default();
    let options = ScreenOptions { keys: true, ..options(false, Verbosity::Normal) };
    let mut screen = LiveScreen::new(Box::new(captured.clone()), options, || Some(78));
    let mut script = Script::start(idle_plan(None));
    script.idles(AgentState::Idle).pass(30).fire(TimerSlot::Wait).idles(AgentState::Idle);
    script.records.iter().for_each(|record| screen.event(record));
    let mut line = |script: &Script| {
        screen.tick(script.now);
        assert!(screen.moves());
        let terminal = terminal(40, 78, &captured.text());
        terminal.screen().contents().lines().last().unwrap_or_default().to_owned()
    };
    assert_eq!(line(&script), "⠼ idle (2 in a row): next look in 1m, at 10:01:38  (r: go on now)");
    assert_eq!(line(script.pass(45)), "⠼ idle (2 in a row): next look in 15s, at 10:01:38  (r: go on now)");
}
