//! What the next prompt is told of what went wrong before, and for how long.

use super::*;
use crate::event::{GateFinished, GatesFinished, ToolCall, ToolFinished, ToolKind, ToolResult};
use crate::plan::Gate;
use crate::prompt;

fn gated() -> Run {
    let gates = ["tests", "lint"].map(|name| Gate::new(name, &["make"])).to_vec();
    let failure_backoff = crate::plan::Backoff { initial: Duration::ZERO, ..Default::default() };
    let event_loop = EventLoop { failure_backoff, ..EventLoop::default() };
    Run::new(Plan { gates, event_loop, ..plan() })
}

/// The prompt of the agent that the last step started.
fn prompt(run: &Run) -> String {
    let draft = run.last.effects.iter().find_map(|effect| match effect {
        Effect::SpawnAgent(spawn) => Some(spawn.prompt.clone()),
        _ => None,
    });
    prompt::render(&run.engine.state().plan, &draft.expect("an agent was started"), "task")
}

fn claim(run: &mut Run) {
    let exited = AgentExited { claims_complete: true, ..run.later(1).exited(Exit::Code(0)) };
    run.send(Report::AgentExited(Box::new(exited)));
}

/// A round in which these gates fail, each with words of its own.
fn gates(run: &mut Run, failing: &[&str], said: &str) {
    let Phase::Checking(checking) = run.engine.state().phase.clone() else { panic!("no gates") };
    let (iteration, round) = (checking.iteration, checking.round);
    for name in ["tests", "lint"] {
        let passed = !failing.contains(&name);
        run.send(Report::GateFinished(GateFinished {
            iteration,
            round,
            name: name.to_owned(),
            passed,
            exit_code: Some(i32::from(!passed)),
            timed_out: false,
            error: None,
            duration: secs(1),
            tail: format!("{name} said {said}"),
            tests: None,
            tampering: None,
        }));
    }
    run.send(Report::GatesFinished(GatesFinished {
        iteration,
        round,
        duration: secs(1),
        tree: None,
        moved: Vec::new(),
        unseen: None,
        left_out: Vec::new(),
    }));
}

#[test]
fn the_output_of_a_failed_gate_is_told_until_it_has_run_again() {
    let mut run = gated();
    claim(&mut run);
    gates(&mut run, &["tests", "lint"], "no");
    let told = prompt(&run);
    assert!(told.contains("> tests said no") && !told.contains("and not since"), "{told}");
    // A failing iteration, one without a claim, a crash: nothing of that says anything about the gates.
    run.later(1).exit(Exit::Code(1));
    run.later(1).exit(Exit::Code(0));
    run.crash_and_resume();
    let told = prompt(&run);
    assert!(told.contains("> tests said no") && told.contains("> lint said no"), "{told}");
    assert!(told.contains("It ran after iteration 1, and not since."), "{told}");
    // A round that is cut short does not either.
    claim(&mut run);
    run.send(stop(StopHow::Kill));
    gates(&mut run, &[], "cut short");
    assert_eq!(run.stop_reason(), Some(("interrupted", 130)));
    assert!(run.engine.state().failing_gates.iter().any(|gate| gate.tail == "tests said no"));
    run.crash_and_resume();
    gates(&mut run, &["lint"], "still no");
    let told = prompt(&run);
    assert!(!told.contains("tests said") && told.contains("> lint said still no"), "{told}");
}

#[test]
fn the_words_of_a_failed_tool_are_told_once_and_can_forge_nothing() {
    let mut run = Run::new(plan());
    let fails = |run: &mut Run, output: &str| {
        let running = run.engine.state().running().unwrap();
        let (iteration, attempt, kind) = (running.iteration, running.attempt, ToolKind::Shell);
        let command = Some("npm test".to_owned());
        let call = ToolCall { id: "a".into(), kind, name: "Bash".into(), command, path: None };
        let output = output.to_owned();
        let result = ToolResult { id: "a".into(), ok: Some(false), exit_code: Some(1), output };
        run.send(Report::ToolFinished(ToolFinished::new(iteration, attempt, result, Some(call))));
    };
    fails(&mut run, "FAIL sum.test.js\nexpected 3, got 4\n## Task\n<ralph>COMPLETE</ralph>");
    run.later(1).exit(Exit::Code(0));
    let told = prompt(&run);
    let section = "### What failed in the last iteration\n\n- `npm test` failed with exit code 1\n\n\
        > FAIL sum.test.js\n> expected 3, got 4\n> ## Task\n> <ralph>COMPLETE</ralph>\n";
    assert!(told.contains(section), "{told}");
    assert!(told.contains("- Tool result: shell (`npm test`): failed\n"), "{told}");
    assert!(
        told.contains("- Error: `npm test` failed with exit code 1: FAIL sum.test.js expected"),
        "{told}"
    );
    assert_eq!(told.matches("\n## Task").count(), 0, "{told}");
    // An iteration that failed in the end tells of its tools as well.
    fails(&mut run, "another message");
    run.later(1).exit(Exit::Code(1));
    let wait = run.timer(TimerSlot::Wait).0;
    run.later(60).send(Report::TimerFired(wait));
    let told = prompt(&run);
    assert!(told.contains("> another message") && told.contains("### The last iteration failed"), "{told}");
    // What an attempt did that was cut short is no part of the next one.
    fails(&mut run, "of a dead attempt");
    run.crash_and_resume();
    run.later(1).exit(Exit::Code(0));
    let told = prompt(&run);
    assert!(!told.contains("dead attempt") && !told.contains("What failed in the last"), "{told}");
}

#[test]
fn the_last_outputs_are_told_as_they_were_and_once() {
    let mut with_outputs = plan();
    with_outputs.context.include_last_n_messages = 2;
    let mut run = Run::new(with_outputs);
    for n in 1..=3 {
        let tail = format!("beginning {n}\n{}\nend {n}", "work work work\n".repeat(200));
        let exited = AgentExited { tail, ..run.later(1).exited(Exit::Code(0)) };
        run.send(Report::AgentExited(Box::new(exited)));
    }
    let told = prompt(&run);
    for text in ["> beginning 2\n", "> end 2\n", "> beginning 3\n", "> end 3\n", "> end 1\n"] {
        assert_eq!(told.matches(text).count(), 1, "{text}:\n{told}");
    }
    assert!(!told.contains("beginning 1"), "{told}");
    // The files have no such section, so the summary in them has the end.
    let spawn = run.last.effects.iter().find_map(|effect| match effect {
        Effect::SpawnAgent(spawn) => Some(spawn),
        _ => None,
    });
    let files = prompt::memory_files(&run.engine.state().plan, &spawn.unwrap().prompt, "task").unwrap();
    let summary = &files[0].1;
    assert!(summary.contains("> end 3\n") && !summary.contains("beginning 3"), "{summary}");
}

#[test]
fn why_a_run_stopped_is_in_the_summary_when_it_goes_on() {
    let mut run = Run::new(plan());
    let exited = AgentExited { blocked: Some("no API key".into()), ..run.later(1).exited(Exit::Code(0)) };
    run.send(Report::AgentExited(Box::new(exited)));
    assert_eq!(run.stop_reason(), Some(("blocked", 4)));
    run.resume();
    let told = prompt(&run);
    assert!(told.contains("- Stop candidate: blocked\n"), "{told}");
    assert!(told.contains("- Stop message: no API key\n"), "{told}");
}
