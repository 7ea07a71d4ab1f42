use super::*;
use crate::engine::Engine;
use crate::event::{AgentExited, AgentText, Exit, Guidance, RunResumed, RunStarted};
use crate::ids::Seq;
use crate::input::{Command, Input, Report};
use crate::plan::{AgentPlan, Limits, Plan, Task};
use crate::stop::StopKind;
use crate::usage::Usage;

fn plan() -> Plan {
    let limits = Limits { max_iterations: Some(4), max_consecutive_failures: 2, ..Limits::default() };
    let plan = Plan::new("shop", "/w", Task::Text("t".to_owned()), AgentPlan::command("agent"));
    Plan { limits, ..plan }
}

/// A run by the real engine, seen through a view.
struct Run {
    engine: Engine,
    view: View,
    now: Timestamp,
    seq: Seq,
    events: Vec<Event>,
}

impl Run {
    fn start() -> Run {
        let now = Timestamp::from_millis(1_768_730_400_000);
        let run = RunId("r1".to_owned());
        let started = RunStarted { run, format: 1, version: "0".to_owned(), pid: 1, plan: plan() };
        let (engine, step) = Engine::start(now, started);
        let mut run = Run { engine, view: View::default(), now, seq: Seq(0), events: Vec::new() };
        run.see(step.events);
        run
    }

    fn see(&mut self, events: Vec<Event>) {
        for event in events {
            self.seq = self.seq.next();
            self.events.push(event.clone());
            self.view.apply(&Record { seq: self.seq, at: self.now, event });
        }
    }

    fn input(&mut self, input: impl Into<Input>) {
        let step = self.engine.handle(self.now, input.into());
        self.see(step.events);
    }

    fn pass(&mut self, seconds: u64) {
        self.now = self.now.plus(Duration::from_secs(seconds));
    }

    fn says(&mut self, text: &str) {
        let (iteration, attempt) = self.view.current().unwrap();
        let text = text.to_owned();
        self.input(Report::AgentText(AgentText { iteration, attempt, text, truncated: false }));
    }

    fn exits(&mut self, code: i32) {
        self.pass(10);
        let (iteration, attempt) = self.view.current().unwrap();
        self.input(Report::AgentExited(Box::new(AgentExited {
            duration: Duration::from_secs(10),
            usage: Usage { input: 5, ..Usage::default() },
            cost_usd: Some(0.5),
            ..AgentExited::new(iteration, attempt, Exit::Code(code))
        })));
    }

    /// Guidance ends a wait at once, like its timer.
    fn skip_wait(&mut self) {
        self.input(Command::AddGuidance(Guidance { text: "go".to_owned() }));
    }
}

#[test]
fn cleaning_leaves_what_can_stand_in_a_line() {
    assert_eq!(clean("  plain\ttext \n"), "plain text");
    assert_eq!(clean("\u{1b}[1;31mred\u{1b}[0m \u{1b}(Bx\u{1b}7y\u{1b}=z"), "red xyz");
    assert_eq!(clean("a\u{1b}]0;title\u{7}b\u{1b}]8;;http://x\u{1b}\\c\u{1b}Pdata\u{9c}d"), "abcd");
    assert_eq!(clean("\u{9b}31ma\u{9d}title\u{7}b"), "ab");
    assert_eq!(clean("a\u{0}\u{7}\u{8}\u{7f}\u{85}b\u{202e}\u{2066}\u{feff}c\u{2028}d"), "abc d");
    assert_eq!(clean("日本語 👩‍👩‍👧 e\u{301}"), "日本語 👩‍👩‍👧 e\u{301}");
    // A string that is never closed takes its line with it, and no more.
    assert_eq!(clean("a\u{1b}]0;never\nb"), "a b");
    for broken in
        ["\u{1b}", "\u{1b}[", "\u{1b}[12", "\u{1b}]", "\u{1b}(", "\u{1b}\u{1b}[", "\u{9b}", "\u{90}\u{1b}"]
    {
        assert_eq!(clean(broken), "", "{broken:?}");
    }
    assert_eq!(clean("\u{1b}[31\u{1b}[32mx"), "x");
}

#[test]
fn a_marker_alone_is_nothing_said() {
    let mut run = Run::start();
    let markers = [
        "<ralph>COMPLETE</ralph>",
        " <RALPH>blocked: no key</ralph>",
        "<promise>DONE</promise>",
        "<!-- ralph:state idle -->",
        "<event topic=\"a.done\">x</event>",
    ];
    for marker in markers {
        run.says(&format!("All is done.\n{marker}\n"));
        assert_eq!(run.view.said(), Some("All is done."), "{marker}");
    }
    run.says("I will say <ralph>COMPLETE</ralph> later\n");
    assert_eq!(run.view.said(), Some("I will say <ralph>COMPLETE</ralph> later"));
    run.says("ok\n");
    assert_eq!(run.view.said(), Some("ok"));
}

#[test]
fn the_last_thing_said_is_the_last_line_with_something_in_it() {
    let mut run = Run::start();
    assert_eq!(run.view.said(), None);
    run.says("first\nsecond\n\n  \u{1b}[0m\n");
    assert_eq!(run.view.said(), Some("second"));
    run.says("10%\r20%\r\n");
    assert_eq!(run.view.said(), Some("20%"));
    run.says(" \n\u{1b}[2K");
    assert_eq!(run.view.said(), Some("20%"));
    run.says(&"语".repeat(SAID + 1));
    assert_eq!(run.view.said().map(|said| said.chars().count()), Some(SAID));
    // It stays when the iteration ends, for those who ask why it failed; the next one begins in silence.
    run.exits(1);
    assert!(run.view.said().is_some());
    run.skip_wait();
    assert_eq!(run.view.said(), None);
}

#[test]
fn a_wait_is_seen_until_it_ends() {
    let mut run = Run::start();
    assert_eq!(run.view.wait(), None);
    run.exits(1);
    let until = run.now.plus(Duration::from_secs(1));
    assert_eq!(run.view.wait(), Some(Wait { reason: DelayReason::Failure, since: run.now, until }));
    // Also by a view that was made from the state alone.
    let again = View::from_state(run.view.state().cloned().unwrap());
    assert_eq!(again.wait(), run.view.wait());
    run.skip_wait();
    assert_eq!(run.view.wait(), None);
}

#[test]
fn the_nearest_guard_is_the_one_most_used_up() {
    let mut run = Run::start();
    let nearest = |run: &Run| run.view.nearest(run.now).map(|near| near.def.stop.key);
    // Nothing is used: the first one asked.
    assert_eq!(nearest(&run), Some("max_iterations"));
    run.exits(1);
    assert_eq!(nearest(&run), Some("consecutive_failures"));
    run.skip_wait();
    run.exits(0);
    assert_eq!(nearest(&run), Some("max_iterations"));
    run.pass(3 * 3600);
    assert_eq!(nearest(&run), Some("max_runtime"));
}

#[test]
fn totals_count_the_running_attempt_and_stop_with_the_run() {
    let mut run = Run::start();
    run.exits(0);
    run.pass(5);
    let totals = run.view.totals(run.now).unwrap();
    assert_eq!((totals.iterations, totals.failures, totals.tokens), (1, 0, 5));
    assert_eq!((totals.work.as_secs(), totals.wall.as_secs(), totals.cost_usd), (15, 15, Some(0.5)));
    for _ in 0..3 {
        run.exits(0);
    }
    assert_eq!(run.view.stopped().map(|stopped| stopped.kind), Some(StopKind::Limit));
    let end = run.now;
    // A word to a run that has stopped does not make it older.
    run.pass(1000);
    run.skip_wait();
    assert_eq!(run.view.counts_until(run.now, false), end);
    assert_eq!(run.view.totals(end).unwrap().wall.as_secs(), 45);
}

#[test]
fn a_streak_ends_with_a_success_and_a_resume_clears_the_stop() {
    let mut run = Run::start();
    run.exits(1);
    run.skip_wait();
    run.exits(0);
    run.exits(1);
    run.skip_wait();
    assert!(run.view.evidence().is_empty());
    run.exits(1);
    let kinds = |run: &Run| -> Vec<(u64, &str)> {
        run.view.evidence().iter().map(|record| (record.seq.0, record.event.name())).collect()
    };
    let last = run.seq.0;
    assert_eq!(
        kinds(&run),
        [
            (last - 8, "iteration.finished"),
            (last - 2, "agent.exited"),
            (last - 1, "iteration.finished"),
            (last, "run.stopped")
        ]
    );
    let limits = Limits { max_iterations: Some(9), ..plan().limits };
    run.input(Command::ResumeRun(Box::new(RunResumed::new("0", 2, limits))));
    assert!(run.view.evidence().is_empty() && run.view.stopped().is_none());
    assert_eq!(run.view.counts_until(run.now, true), run.now);
}

#[test]
fn inputs_are_told_from_decisions_like_the_event_itself_does() {
    let mut run = Run::start();
    run.exits(1);
    run.input(Command::PauseRun);
    run.input(Command::UnpauseRun { now: false });
    run.says("x");
    run.exits(0);
    run.exits(1);
    run.skip_wait();
    run.exits(1);
    assert!(run.view.stopped().is_some());
    // The first record begins the run: it is neither an input to a running engine nor a decision of one.
    let (first, rest) = run.events.split_first().expect("a start");
    assert!(!first.is_decision() && first.input().is_none(), "{}", first.name());
    for event in rest {
        assert_eq!(event.is_decision(), event.input().is_none(), "{}", event.name());
    }
}
