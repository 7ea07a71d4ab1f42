//! What is done about facts that detectors have found. Detectors and engine together are tested in `ralph-evidence`.

use super::*;
use crate::event::{Circle, DetectorKey, Finding, LoopAnswer, LoopDetected, LoopIteration, StuckEvidence};
use crate::plan::{StuckAction, StuckPlan, Use};

/// A finding of a detector that has raised an alarm.
fn alarm(key: &'static str, role: Use) -> Finding {
    Finding {
        detector: DetectorKey::new(key),
        role,
        score: 1.0,
        alarm: true,
        pattern: "the same".to_owned(),
        kind: None,
        reasons: Vec::new(),
        period: 1,
        ratio: (key == "similarity").then_some(0.97),
        circle: role.decides().then(Box::default),
    }
}

impl Run {
    fn with(action: StuckAction, redirects: u32) -> Run {
        Run::new(Plan { stuck: StuckPlan { action, redirects, ..StuckPlan::default() }, ..plan() })
    }

    /// An iteration ends well, and this was found in it.
    fn finds(&mut self, findings: &[Finding]) -> Vec<&'static str> {
        self.finds_as(2, findings)
    }

    /// The same by another version of the detectors.
    fn finds_as(&mut self, version: u32, findings: &[Finding]) -> Vec<&'static str> {
        let deciding = findings.iter().filter(|finding| finding.role.decides());
        let score = deciding.map(|finding| finding.score).fold(0.0, f64::max);
        let evidence =
            StuckEvidence { version, score, findings: findings.to_vec(), ..StuckEvidence::default() };
        let exited = self.later(1).exited(Exit::Code(0));
        let exited = AgentExited { evidence: Some(Box::new(evidence)), ..exited };
        self.send(Report::AgentExited(Box::new(exited)))
    }

    fn circles(&mut self) -> Vec<&'static str> {
        self.finds(&[alarm("no_progress", Use::Decide)])
    }

    fn last_prompt(&self) -> String {
        let spawned = self.last.effects.iter().find_map(|effect| match effect {
            Effect::SpawnAgent(spawn) => Some(spawn.prompt.feedback.render(8_000)),
            _ => None,
        });
        spawned.expect("an agent")
    }

    fn last_loop(&self) -> &LoopDetected {
        let found = self.last.events.iter().find_map(|event| match event {
            Event::LoopDetected(detected) => Some(detected),
            _ => None,
        });
        found.expect("an alarm")
    }
}

#[test]
fn three_iterations_that_bring_something_are_a_recovery_and_two_are_not() {
    for (fresh, answer) in [(2, LoopAnswer::Stop), (3, LoopAnswer::Redirect)] {
        let mut run = Run::with(StuckAction::Redirect, 1);
        run.circles();
        assert_eq!(
            (run.last_loop().action, run.last_loop().stops_as.as_ref().map(|key| key.as_str())),
            (LoopAnswer::Redirect, None)
        );
        (0..fresh).for_each(|_| drop(run.finds(&[])));
        run.circles();
        assert_eq!(run.last_loop().action, answer, "after {fresh}");
    }
}

#[test]
fn the_alarm_that_ends_the_run_names_the_reason() {
    let mut run = Run::with(StuckAction::Stop, 0);
    run.circles();
    assert_eq!(run.stop_reason(), Some(("loop_detected", 1)));
    let mut run = Run::with(StuckAction::Stop, 0);
    let names = run.finds(&[alarm("no_progress", Use::Decide), alarm("similarity", Use::Evidence)]);
    assert!(names.contains(&"loop.suspected"), "{names:?}");
    assert_eq!(run.last_loop().stops_as.as_ref().map(|key| key.as_str()), Some("output_similarity"));
    assert_eq!(run.stop_reason(), Some(("output_similarity", 1)));
    assert!(run.engine.state().stopped.as_ref().unwrap().message.contains("outputs are 97% alike"));
    let records = run.journal.len();
    run.crash(records - 1);
    assert_eq!(run.resume(), ["run.resumed", "run.stopped"], "the record of the stop was lost");
    assert_eq!(run.stop_reason(), Some(("output_similarity", 1)));
}

#[test]
fn a_detector_nobody_has_heard_of_decides_by_its_role() {
    let mut run = Run::with(StuckAction::Warn, 0);
    run.finds(&[alarm("new_one", Use::Evidence)]);
    assert_eq!(run.names(), ["agent.exited", "iteration.finished", "loop.suspected", "iteration.started"]);
    run.finds(&[alarm("no_progress", Use::Decide), alarm("new_one", Use::Stop)]);
    assert_eq!(run.last_loop().detector, DetectorKey::new("new_one"));
    assert_eq!(run.stop_reason(), Some(("loop_detected", 1)));
}

/// The same alarm over files that are new each time.
fn over_new_files() -> Finding {
    let line = LoopIteration { iteration: IterationNumber(1), hat: None, line: "again".to_owned() };
    let circle = Circle { iterations: vec![line], works: true, ..Circle::default() };
    Finding { circle: Some(Box::new(circle)), ..alarm("no_progress", Use::Decide) }
}

#[test]
fn files_that_are_new_each_time_buy_time_and_no_more() {
    let demanded = [LoopAnswer::Redirect, LoopAnswer::Demand, LoopAnswer::Stop];
    for (action, answers) in [
        (StuckAction::Redirect, &demanded[..]),
        (StuckAction::Stop, &[LoopAnswer::Redirect, LoopAnswer::Stop]),
        (StuckAction::Warn, &[LoopAnswer::Warn, LoopAnswer::Warn, LoopAnswer::Warn, LoopAnswer::Warn]),
    ] {
        let mut run = Run::with(action, 1);
        for answer in answers {
            run.finds(&[over_new_files()]);
            assert_eq!(run.last_loop().action, *answer, "{action:?}");
        }
    }
    let mut run = Run::with(StuckAction::Redirect, 1);
    run.finds(&[over_new_files()]);
    run.circles();
    assert_eq!(run.last_loop().action, LoopAnswer::Stop, "no doubt about the second");
}

#[test]
fn an_agent_that_does_not_heed_is_told_more_strongly_and_once() {
    let mut run = Run::with(StuckAction::Redirect, 1);
    let quiet = Finding { score: 0.5, alarm: false, ..alarm("no_progress", Use::Decide) };
    assert!(
        !run.finds(std::slice::from_ref(&quiet)).contains(&"loop.detected"),
        "nobody has said anything yet"
    );
    run.circles();
    run.finds(std::slice::from_ref(&quiet));
    let told = run.last_loop();
    assert_eq!((told.action, told.unheeded, told.alarm), (LoopAnswer::Demand, true, 1));
    assert_eq!(told.told_after, Some(IterationNumber(2)));
    let prompt = run.last_prompt();
    assert!(
        prompt.contains("Another approach is demanded") && prompt.contains("After iteration 2"),
        "{prompt}"
    );
    assert!(!run.finds(std::slice::from_ref(&quiet)).contains(&"loop.detected"), "once is enough");
    run.circles();
    assert_eq!((run.last_loop().action, run.last_loop().alarm), (LoopAnswer::Stop, 2));
}

#[test]
fn an_agent_that_brings_something_new_after_it_was_told_is_let_go_on() {
    let mut run = Run::with(StuckAction::Redirect, 1);
    let quiet = Finding { score: 0.5, alarm: false, ..alarm("no_progress", Use::Decide) };
    run.circles();
    run.finds(&[]);
    assert!(!run.finds(std::slice::from_ref(&quiet)).contains(&"loop.detected"), "something came of it");
    // One noisy iteration among new ones undoes one of them, and not all.
    (0..3).for_each(|_| drop(run.finds(&[])));
    run.circles();
    assert_eq!(run.last_loop().action, LoopAnswer::Redirect);
}

#[test]
fn evidence_of_an_earlier_version_is_answered_as_it_was_then() {
    let mut run = Run::with(StuckAction::Redirect, 1);
    let sure = alarm("no_progress", Use::Decide);
    run.finds_as(1, std::slice::from_ref(&sure));
    let quiet = Finding { score: 0.5, alarm: false, ..sure.clone() };
    assert!(!run.finds_as(1, &[quiet]).contains(&"loop.detected"));
    for _ in 0..5 {
        run.finds_as(1, &[over_new_files()]);
        assert_eq!(run.last_loop().action, LoopAnswer::Redirect);
    }
    run.finds_as(1, &[sure]);
    assert_eq!((run.last_loop().action, run.last_loop().told_after), (LoopAnswer::Stop, None));
}
