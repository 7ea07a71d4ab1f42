use super::*;
use crate::event::Outcome;
use crate::marker::{Rules, TailScanner};
use crate::memory::{FailedGate, IterationNote};
use crate::plan::{AgentPlan, EventLoop, Gate, NoErrors, Stop, Task};

fn plan(task: Task, promise: Option<&str>) -> Plan {
    let event_loop = EventLoop { completion_promise: promise.map(str::to_owned), ..EventLoop::default() };
    Plan { event_loop, ..Plan::new("test", "/w", task, AgentPlan::command("agent")) }
}

fn full() -> Draft {
    Draft { iteration: Some(IterationNumber(u32::MAX)), context_too_long: true, ..Draft::default() }
}

fn everything_required() -> Plan {
    let stop = Stop {
        require_passing_tests: true,
        require_lint: true,
        require_typecheck: true,
        require_no_errors: NoErrors::Strict,
        ..Stop::default()
    };
    let gates = vec![Gate::new("tests", &["make", "test"])];
    Plan { stop, gates, ..plan(Task::Text("do it".into()), None) }
}

fn signals_in(text: &str, plan: &Plan) -> bool {
    // Without knowing the prompt: the text by itself must not hold a signal.
    let mut scanner = TailScanner::new(Rules::new(&plan.signals(), ""));
    scanner.push(text.as_bytes());
    let found = scanner.finish();
    found.complete || found.blocked.is_some()
}

#[test]
fn what_ralph_adds_around_a_task_is_short() {
    let added = render(&everything_required(), &full(), "");
    assert!(added.len() < 1500, "{} bytes:\n{added}", added.len());
}

#[test]
fn an_echo_of_the_rules_is_no_claim() {
    for promise in [None, Some("LOOP_COMPLETE")] {
        let plan = plan(Task::Text(String::new()), promise);
        let prompt = render(&plan, &full(), "do it");
        assert!(!signals_in(&prompt, &plan), "{prompt}");
    }
}

#[test]
fn each_condition_that_is_on_has_a_sentence() {
    let prompt = render(&everything_required(), &full(), "");
    for part in
        ["run the tests", "run the linter", "run the type checker", "a tool call failed", "running: tests"]
    {
        assert!(prompt.contains(part), "{part}:\n{prompt}");
    }
    let bare = render(&plan(Task::Text("t".into()), None), &full(), "");
    assert!(!bare.contains("Before that"), "{bare}");
}

#[test]
fn the_sections_stand_in_their_order_and_only_where_there_is_something() {
    let mut plan = everything_required();
    plan.core.guardrails = vec!["Tests are law".into()];
    plan.context.include_last_n_messages = 1;
    let mut memory = Memory::new(1200, 1, 16_384);
    let note = IterationNote::new(IterationNumber(1), Outcome::Ok);
    memory.add(IterationNote { tail: "I did it\n<ralph>COMPLETE</ralph>".into(), ..note });
    let gate = FailedGate {
        name: "tests".into(),
        exit_code: Some(1),
        tail: "2 failed".into(),
        ..FailedGate::default()
    };
    let feedback = Feedback { failed_gates: vec![gate], ..Feedback::default() };
    let draft = Draft { memory: Some(memory), feedback, guidance: vec!["hurry".into()], ..full() };
    let prompt = render(&plan, &draft, "do it");
    let places: Vec<usize> =
        ["## Task", "## Ralph Summary", "## Ralph Feedback", "hurry", "## Guardrails", "## Rules"]
            .map(|part| prompt.find(part).unwrap_or_else(|| panic!("{part}:\n{prompt}")))
            .to_vec();
    assert!(places.is_sorted(), "{places:?}\n{prompt}");
    assert!(!signals_in(&prompt, &plan), "what an agent said is quoted:\n{prompt}");
    let first = render(&plan, &Draft::default(), "do it");
    assert!(!first.contains("Ralph Summary") && !first.contains("Ralph Feedback"), "{first}");
}

#[test]
fn the_body_of_a_ralph_md_is_sent_as_written_and_guidance_can_not_pass_for_a_section() {
    let plan = plan(Task::RalphMd("RALPH.md".into()), None);
    assert_eq!(render(&plan, &Draft::default(), "Hello"), "Hello");
    let draft = Draft { guidance: vec!["one\n## Task\ntwo".to_owned()], ..Draft::default() };
    let prompt = render(&plan, &draft, "Hello");
    assert!(prompt.starts_with("Hello\n\n## Ralph Feedback"), "{prompt}");
    assert!(prompt.contains("one") && !prompt.contains("\n## Task"), "{prompt}");
}

#[test]
fn the_files_repeat_the_objective_and_are_there_from_the_first_iteration_on() {
    let plan = plan(Task::Text("t".into()), None);
    assert_eq!(memory_files(&plan, &Draft::default(), "t"), None, "no memory, no files");
    let file = IterationFile {
        run_id: crate::ids::RunId("r".into()),
        started_at: crate::time::Timestamp::from_millis(0),
        updated_at: crate::time::Timestamp::from_millis(0),
        iteration: IterationNumber(2),
        stop_reason: None,
        stop_message: None,
        completion_promise_matched: false,
        errors: Vec::new(),
    };
    let mut memory = Memory::new(1200, 0, 0);
    let draft = Draft { memory: Some(memory.clone()), file: Some(file.clone()), ..Draft::default() };
    let files = memory_files(&plan, &draft, "build a shop").unwrap_or_default();
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["ralph-summary.md", "ralph-feedback.md", "ralph-iteration.json"]);
    memory.add(IterationNote::new(IterationNumber(1), Outcome::Ok));
    let draft = Draft { memory: Some(memory), file: Some(file), ..Draft::default() };
    let files = memory_files(&plan, &draft, "build a shop").unwrap_or_default();
    assert!(files[0].1.contains("build a shop"), "{}", files[0].1);
    assert!(!render(&plan, &draft, "x").contains("build a shop"));
}
