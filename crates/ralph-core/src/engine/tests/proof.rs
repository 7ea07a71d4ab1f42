//! What a claim has to stand.

use super::*;
use crate::check::{CheckResult, CheckRun, Kind};
use crate::effect::RunGates;
use crate::event::{
    CompletionRejected, GateFinished, GatesFinished, ToolCall, ToolCalled, ToolFinished, ToolKind,
    ToolResult, TreeSeen,
};
use crate::plan::{Gate, GateWhen, NoErrors, Stop};

fn with(stop: Stop) -> Run {
    Run::new(Plan { stop, ..plan() })
}

fn gated() -> Run {
    Run::new(Plan { gates: vec![Gate::new("tests", &["make"])], ..plan() })
}

/// The checks that are recognised in the commands of these tests.
fn checks(command: &str, code: i64) -> Vec<CheckRun> {
    let (kind, program) = match command.split(' ').next() {
        Some("cargo") => (Kind::Test, "cargo test"),
        Some("eslint") => (Kind::Lint, "eslint"),
        _ => return Vec::new(),
    };
    let result = match code {
        _ if command.contains('|') => CheckResult::Unknown,
        0 => CheckResult::Passed,
        _ => CheckResult::Failed,
    };
    let (program, dir, wider) = (program.to_owned(), String::new(), Vec::new());
    vec![CheckRun {
        kind,
        command: program.clone(),
        program,
        dir,
        whole: true,
        wider,
        compiles: false,
        result,
    }]
}

/// A tool of the agent ran a command and ended.
fn tool(run: &mut Run, command: &str, code: i64) {
    let running = run.engine.state().running().unwrap();
    let (iteration, attempt, id) = (running.iteration, running.attempt, command.to_owned());
    let (kind, name, command) = (ToolKind::Shell, "Bash".to_owned(), Some(command.to_owned()));
    let call = ToolCall { id: id.clone(), kind, name, command, path: None };
    run.send(Report::ToolCalled(ToolCalled::new(iteration, attempt, call.clone())));
    let (checks, only_looks) = (checks(&id, code), ["grep", "ls"].iter().any(|look| id.starts_with(look)));
    let result = ToolResult { id, ok: Some(code == 0), exit_code: Some(code), output: String::new() };
    let finished = ToolFinished::new(iteration, attempt, result, Some(call));
    run.send(Report::ToolFinished(ToolFinished { checks, only_looks, ..finished }));
}

fn claim(run: &mut Run) -> Vec<&'static str> {
    let exited = AgentExited { claims_complete: true, ..run.later(1).exited(Exit::Code(0)) };
    run.send(Report::AgentExited(Box::new(exited)))
}

fn round(run: &Run) -> RunGates {
    let found = run.last.effects.iter().find_map(|effect| match effect {
        Effect::RunGates(work) => Some(work.clone()),
        _ => None,
    });
    found.unwrap()
}

fn gates_end(run: &mut Run, work: &RunGates, passed: bool) -> Vec<&'static str> {
    run.later(2);
    let (iteration, round) = (work.iteration, work.round);
    for gate in &work.gates {
        let result = GateFinished {
            iteration,
            round,
            name: gate.name.clone(),
            passed,
            exit_code: Some(i32::from(!passed)),
            timed_out: false,
            error: None,
            duration: secs(1),
            tail: "what it said".into(),
            tests: None,
            tampering: None,
        };
        run.send(Report::GateFinished(result));
    }
    let tree = Some(TreeSeen { hash: "h".into(), commit: Some("c".into()) });
    let finished = GatesFinished {
        iteration,
        round,
        duration: secs(2),
        tree,
        moved: Vec::new(),
        left_out: Vec::new(),
        unseen: None,
    };
    run.send(Report::GatesFinished(finished))
}

fn rejected(run: &Run) -> CompletionRejected {
    run.engine.state().proof.rejected.clone().unwrap()
}

#[test]
fn a_complete_run_that_goes_on_has_to_prove_its_claim_again() {
    let mut run = gated();
    claim(&mut run);
    let work = round(&run);
    gates_end(&mut run, &work, true);
    assert_eq!(run.stop_reason(), Some(("complete", 0)));
    assert!(run.engine.state().stopped.as_ref().is_some_and(|stopped| stopped.proved));
    run.send(say("and now the rest"));
    assert_eq!(run.resume(), ["run.resumed", "iteration.started", "guidance.delivered"]);
    assert_eq!(run.spawned(), Some((2, 1, vec!["and now the rest".into()])));
    let state = run.engine.state();
    assert_eq!((state.iterations_finished, state.proof.is_accepted()), (1, false));
    assert_eq!(state.proof.proved_by, Vec::<String>::new());
    claim(&mut run);
    assert_eq!(run.stop_reason(), None, "the gates are asked again");
    let work = round(&run);
    gates_end(&mut run, &work, false);
    assert_eq!(run.stop_reason(), None);
    assert_eq!(run.spawned().map(|spawned| spawned.0), Some(3));
}

#[test]
fn a_required_kind_of_check_has_to_have_been_run_and_passed() {
    let mut run = with(Stop { require_passing_tests: true, ..Stop::default() });
    claim(&mut run);
    assert_eq!(rejected(&run).why, "require_passing_tests: no test command was run");
    tool(&mut run, "cargo test", 101);
    claim(&mut run);
    assert_eq!(rejected(&run).why, "require_passing_tests: cargo test failed");
    tool(&mut run, "cargo test | tail", 0);
    claim(&mut run);
    assert!(rejected(&run).why.contains("is not known"), "{}", rejected(&run).why);
    tool(&mut run, "cargo test", 101);
    tool(&mut run, "cargo test", 0);
    claim(&mut run);
    assert_eq!(run.stop_reason(), Some(("complete", 0)));
}

#[test]
fn a_check_that_is_left_failing_refuses_a_claim_unless_told_otherwise() {
    for (rule, why) in [
        (NoErrors::Checks, Some("require_no_errors: eslint is left failing")),
        (NoErrors::Strict, Some("require_no_errors: a tool call failed: eslint .")),
        (NoErrors::Off, None),
    ] {
        let mut run = with(Stop { require_no_errors: rule, ..Stop::default() });
        tool(&mut run, "grep -rn todo src", 1);
        tool(&mut run, "eslint .", 1);
        claim(&mut run);
        let refused = run.engine.state().proof.rejected.as_ref().map(|claim| claim.why.as_str());
        assert_eq!(refused, why, "{rule:?}");
    }
    let mut run = with(Stop::default());
    tool(&mut run, "ls missing", 2);
    claim(&mut run);
    assert_eq!(run.stop_reason(), Some(("complete", 0)), "looking around is no error");
}

#[test]
fn what_ralph_ran_outranks_what_the_agent_reported() {
    let gate = Gate { kind: Some(Kind::Test), ..Gate::new("tests", &["make"]) };
    let stop = Stop { require_passing_tests: true, ..Stop::default() };
    let mut run = Run::new(Plan { stop, gates: vec![gate], ..plan() });
    tool(&mut run, "cargo test", 101);
    claim(&mut run);
    let work = round(&run);
    gates_end(&mut run, &work, true);
    assert_eq!(run.stop_reason(), Some(("complete", 0)));
}

#[test]
fn a_claim_whose_gates_died_with_ralph_is_proved_again_and_their_time_counts() {
    let mut run = gated();
    claim(&mut run);
    let work = round(&run);
    run.later(30).send(Report::GateStarted(crate::event::GateStarted {
        iteration: work.iteration,
        round: 1,
        name: "tests".into(),
    }));
    run.later(3600);
    assert_eq!(run.crash_and_resume(), ["run.resumed", "gates.started"]);
    assert_eq!(run.engine.state().runtime, secs(31), "a second of the agent, thirty of the gates");
    let again = round(&run);
    gates_end(&mut run, &again, true);
    assert_eq!(run.stop_reason(), Some(("complete", 0)));
}

#[test]
fn a_claim_whose_gates_were_cut_short_is_still_open_after_a_resume() {
    let mut run = gated();
    claim(&mut run);
    let work = round(&run);
    assert_eq!(run.send(stop(StopHow::Kill)), ["stop.requested", "gates.killed"]);
    let (iteration, moved) = (work.iteration, Vec::new());
    let cut = GatesFinished {
        iteration,
        round: 1,
        duration: secs(1),
        tree: None,
        moved,
        left_out: Vec::new(),
        unseen: None,
    };
    assert_eq!(run.send(Report::GatesFinished(cut)), ["gates.finished", "run.stopped"]);
    assert_eq!(run.stop_reason(), Some(("interrupted", 130)));
    assert_eq!(run.crash_and_resume(), ["run.resumed", "gates.started"], "nothing is paid for twice");
}

#[test]
fn the_same_in_the_second_round_and_a_polite_stop_takes_nothing_back() {
    let mut run = gated();
    claim(&mut run);
    let iteration = round(&run).iteration;
    let ended = |round: u32, moved: &[&str]| {
        let moved = moved.iter().map(|path| (*path).to_owned()).collect();
        Report::GatesFinished(GatesFinished {
            iteration,
            round,
            duration: secs(1),
            tree: None,
            moved,
            left_out: Vec::new(),
            unseen: None,
        })
    };
    assert_eq!(run.send(ended(1, &["a.rs"])), ["gates.finished", "gates.started"]);
    assert_eq!(round(&run).round, 2);
    run.send(stop(StopHow::Kill));
    run.send(stop(StopHow::AfterIteration));
    assert_eq!(run.send(ended(2, &[])), ["gates.finished", "run.stopped"]);
    assert_eq!(run.crash_and_resume(), ["run.resumed", "gates.started"]);
}

#[test]
fn a_gate_without_a_result_has_not_passed_and_results_of_another_round_do_not_count() {
    let mut run = gated();
    claim(&mut run);
    let work = round(&run);
    let late = RunGates { round: 7, ..work.clone() };
    assert_eq!(gates_end(&mut run, &late, true), Vec::<&str>::new());
    let (iteration, moved) = (work.iteration, Vec::new());
    let lost = GatesFinished {
        iteration,
        round: 1,
        duration: secs(1),
        tree: None,
        moved,
        left_out: Vec::new(),
        unseen: None,
    };
    run.send(Report::GatesFinished(lost));
    assert_eq!(rejected(&run).why, "tests: it did not run");
}

#[test]
fn nobody_knows_what_gates_saw_of_a_tree_that_can_not_be_read() {
    let mut run = gated();
    claim(&mut run);
    let work = round(&run);
    let result = GateFinished {
        iteration: work.iteration,
        round: 1,
        name: work.gates[0].name.clone(),
        passed: true,
        exit_code: Some(0),
        timed_out: false,
        error: None,
        duration: secs(1),
        tail: String::new(),
        tests: None,
        tampering: None,
    };
    run.send(Report::GateFinished(result));
    let unseen = Some("the index is damaged".to_owned());
    let (iteration, moved) = (work.iteration, Vec::new());
    let blind = GatesFinished {
        iteration,
        round: 1,
        duration: secs(1),
        tree: None,
        moved,
        left_out: Vec::new(),
        unseen,
    };
    run.send(Report::GatesFinished(blind));
    assert_eq!(rejected(&run).why, "tree: the state of the tree cannot be read: the index is damaged");
}

#[test]
fn a_gate_that_only_reports_refuses_nothing_and_one_of_every_iteration_asks_nothing_of_the_next() {
    let docs = Gate { required: false, when: GateWhen::Iteration, ..Gate::new("docs", &["make"]) };
    let mut run = Run::new(Plan { gates: vec![docs], ..plan() });
    run.later(1).exit(Exit::Code(0));
    let work = round(&run);
    assert_eq!(gates_end(&mut run, &work, false), ["gates.finished", "iteration.started"]);
    claim(&mut run);
    let work = round(&run);
    gates_end(&mut run, &work, false);
    assert_eq!(run.stop_reason(), Some(("complete", 0)));
}

#[test]
fn a_pause_waits_for_the_gates() {
    let mut run = gated();
    claim(&mut run);
    let work = round(&run);
    assert_eq!(run.send(Command::PauseRun), ["pause.requested"]);
    assert_eq!(gates_end(&mut run, &work, false), ["gates.finished", "completion.rejected", "run.paused"]);
}
