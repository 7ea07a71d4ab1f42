//! What a prompt tells of earlier iterations, and within which budget.

mod hostile;

use super::*;
use crate::event::{DetectorKey, LoopAnswer, LoopIteration};
use crate::ids::RunId;
use crate::plan::SignalPlan;
use crate::time::Timestamp;

fn note(number: u32) -> IterationNote {
    IterationNote::new(IterationNumber(number), Outcome::Ok)
}

fn memory(notes: impl IntoIterator<Item = IterationNote>) -> Memory {
    let mut memory = Memory::default();
    notes.into_iter().for_each(|note| memory.add(note));
    memory
}

#[test]
fn a_summary_tells_the_newest_in_full_and_the_rest_in_a_line() {
    let mut memory = memory((1..=3).map(|number| IterationNote {
        files: Some(FilesChanged { count: number, paths: vec!["src/a.rs".to_owned()], digest: None }),
        duration: Duration::from_secs(61),
        tail: format!("I am at {number}.\n\nMore to do."),
        ..note(number)
    }));
    memory.add(IterationNote {
        outcome: Outcome::Failed,
        error: Some("exit code 1".to_owned()),
        claim: Claim::Claimed,
        files: Some(FilesChanged { count: 3, paths: vec!["a".to_owned(), "b".to_owned()], digest: None }),
        tool_calls: 12,
        failed_calls: 2,
        stop: Some(StopNote::new("error", Some("exit code 1"))),
        tools: ToolLog {
            results: vec![
                ToolNote { tool: "shell", command: "npm run build".to_owned(), result: "passed" },
                ToolNote { tool: "shell", command: "npm test".to_owned(), result: "failed" },
            ],
            failures: vec![ToolFailure::new("npm test", Some(1), "FAIL a.test.js\n  expected 3\n  got 4\n")],
        },
        tail: "It fails.".to_owned(),
        ..note(4)
    });
    memory.settle(IterationNumber(4), Claim::Rejected { why: "gate tests failed".to_owned() });
    let iterations = "### Iteration 4\n\n- Outcome: failed\n- Stop candidate: error\n\
        - Completion marker: matched, and rejected\n- Stop message: exit code 1\n\
        - Files changed: 3 files: `a`, `b` and 1 more\n\
        - Tool calls: 12, 2 failed\n- Tool result: shell (`npm run build`): passed\n\
        - Tool result: shell (`npm test`): failed\n\
        - Error: `npm test` failed with exit code 1: FAIL a.test.js expected 3 got 4\n\
        - Last output, its end:\n\n> It fails.\n\n\
        ### Iteration 3\n\n- Outcome: ok after 61 s\n- Stop candidate: none\n- Completion marker: not found\n\
        - Files changed: 3 files: `src/a.rs` and 2 more\n- Last output, its end:\n\n> I am at 3.\n> \n> More to do.\n\n\
        ### Iteration 2\n\n- Outcome: ok after 61 s\n- Stop candidate: none\n- Completion marker: not found\n\
        - Files changed: 2 files: `src/a.rs` and 1 more\n- Last output, its end:\n\n> I am at 2.\n> \n> More to do.\n\n\
        ### Previous summary\n\n- Iteration 1: ok, 1 file\n";
    let file = format!("# Ralph Loop Summary\n\n### Objective\n\n> Fix it.\n> All of it.\n\n{iterations}");
    assert_eq!(memory.summary("Fix it.\nAll of it.", SUMMARY_BUDGET), file);
    assert_eq!(memory.summary("", SUMMARY_BUDGET), format!("## Ralph Summary\n\n{iterations}"));
    // Where the output of the last one is told as it was, only its place is named.
    let beside = memory.summary_beside_outputs(1, SUMMARY_BUDGET);
    assert!(!beside.contains("> It fails.") && beside.contains("> I am at 3."), "{beside}");
    assert!(beside.contains("- Last output: see \"Last outputs\"\n\n### Iteration 3"), "{beside}");
    assert_eq!(Memory::default().summary("Fix it.", SUMMARY_BUDGET), "");
}

#[test]
fn the_oldest_are_a_count() {
    let memory = memory((1..=200).map(|number| IterationNote {
        outcome: if number % 10 == 0 { Outcome::Failed } else { Outcome::Ok },
        claim: if number == 7 { Claim::Rejected { why: "x".to_owned() } } else { Claim::None },
        ..note(number)
    }));
    let text = memory.summary("o", SUMMARY_BUDGET);
    assert!(
        text.ends_with("- Iteration 138: ok\n- Iterations 1-137: 124 ok, 13 failed, 1 claims rejected.\n"),
        "{text}"
    );
    let small = memory.summary("o", LEAST_BUDGET);
    assert!(small.contains("### Iteration 200\n") && small.contains("- Iterations 1-1"), "{small}");
    assert!(small.len() <= LEAST_BUDGET);
}

#[test]
fn size_does_not_grow_with_the_run() {
    let big = |number| IterationNote {
        error: Some("e".repeat(10_000)),
        files: Some(FilesChanged { count: 9999, paths: vec!["p".repeat(1000); 100], digest: None }),
        stop: Some(StopNote::new("blocked", Some(&"s".repeat(10_000)))),
        tail: "t".repeat(20_000),
        ..note(number)
    };
    let size = |count: u32| format!("{:?}", memory((1..=count).map(big))).len();
    let after = size(100);
    assert!(after < 100_000, "{after}");
    // The numbers have more digits; nothing else is more.
    assert!(size(400) <= after + 200, "{} after more, {after} before", size(400));
}

#[test]
fn half_of_the_budget_after_a_context_that_was_too_long() {
    assert_eq!(budget(8192, false), 8192);
    assert_eq!(budget(8192, true), 4096);
    assert_eq!(budget(100, true), LEAST_BUDGET);
}

#[test]
fn the_end_of_an_output_is_what_is_kept() {
    let text = format!("{}the end", "é\n".repeat(5000));
    let of_many = memory([IterationNote { tail: text, ..note(1) }]);
    let summary = of_many.summary("o", SUMMARY_BUDGET);
    assert!(summary.contains("> the end\n"), "{summary}");
    let kept = of_many.last().map(|note| note.tail.chars().count());
    assert_eq!(kept, Some(OUTPUT_TAIL + 1), "and the sign that something is missing");
    let long = format!("{}the end", "x".repeat(5000));
    let one_line = memory([IterationNote { tail: long, ..note(1) }]).summary("o", LEAST_BUDGET);
    assert!(one_line.contains("> …xx") && one_line.contains("xthe end\n"), "{one_line}");
}

#[test]
fn last_outputs_are_told_oldest_first_and_within_their_budget() {
    let memory = {
        let mut memory = Memory::new(100, 5, 1000);
        (1..=9).for_each(|n| memory.add(IterationNote { tail: format!("words of {n}"), ..note(n) }));
        memory
    };
    assert_eq!(
        memory.outputs(2, 1000),
        "## Last outputs\n\n### Iteration 8\n\n> words of 8\n\n### Iteration 9\n\n> words of 9\n\n"
    );
    assert_eq!(memory.outputs(50, 10_000).matches("###").count(), 5);
    assert_eq!(memory.outputs(0, 1000), "");
    assert!(memory.outputs(5, 120).len() <= 120);
    // Who said nothing has no output: the one before is told instead, and not in the summary as well.
    let mut memory = memory;
    memory.add(note(10));
    assert_eq!(memory.outputs(1, 1000), "## Last outputs\n\n### Iteration 9\n\n> words of 9\n\n");
    let beside = memory.summary_beside_outputs(1, SUMMARY_BUDGET);
    assert!(!beside.contains("words of 9") && beside.contains("> words of 8\n"), "{beside}");
}

#[test]
fn last_outputs_are_whole_where_the_budget_allows_and_share_it_where_it_does_not() {
    let outputs = |sizes: &[usize], budget: usize| {
        let mut memory = Memory::new(50, 3, budget);
        for (n, size) in (1..).zip(sizes) {
            let tail = format!("begin{n} {} end{n}", "x".repeat(*size));
            memory.add(IterationNote { tail, ..note(n) });
        }
        (memory.outputs(3, budget), memory.summary("o", SUMMARY_BUDGET))
    };
    let (all, summary) = outputs(&[3000, 10, 3000], 8000);
    assert!(
        (1..=3).all(|n| all.contains(&format!("begin{n} ")) && all.contains(&format!(" end{n}\n"))),
        "{all}"
    );
    assert!(!summary.contains("begin3") && summary.contains("end3"), "the summary has the end alone");
    // The short one is whole, and the older long one has as much as the newer.
    let (all, _) = outputs(&[9000, 10, 9000], 2000);
    assert!(all.len() <= 2000 && all.contains("> begin2 "), "{all}");
    let lengths: Vec<usize> = all.lines().map(str::len).filter(|length| *length > 100).collect();
    assert_eq!(lengths.len(), 2, "{all}");
    assert!(lengths[0].abs_diff(lengths[1]) < 20 && lengths[0] > 800, "{lengths:?}");
    assert!(all.contains(" end1\n") && all.contains(" end3\n"), "{all}");
}

#[test]
fn what_a_run_stopped_for_is_told_when_it_goes_on() {
    let mut memory = memory([note(1)]);
    memory.stopped("max_iterations", "6 iterations are done");
    let summary = memory.summary("", SUMMARY_BUDGET);
    assert!(summary.contains("- Stop candidate: max_iterations\n"), "{summary}");
    assert!(summary.contains("- Stop message: 6 iterations are done\n"), "{summary}");
    let claim = |claims_complete, blocked: Option<&str>, outcome| {
        let finished = crate::event::IterationFinished {
            claims_complete,
            blocked: blocked.map(str::to_owned),
            error: Some("exit code 1".to_owned()).filter(|_| outcome != Outcome::Ok),
            ..crate::event::IterationFinished::new(IterationNumber(1), 1, outcome)
        };
        StopNote::of(&finished).map(|stop| (stop.key, stop.message.unwrap_or_default()))
    };
    let told = |key: &str, message: &str| Some((key.to_owned(), message.to_owned()));
    assert_eq!(claim(true, None, Outcome::Ok), told("complete", ""));
    assert_eq!(claim(false, Some("no key"), Outcome::Ok), told("blocked", "no key"));
    assert_eq!(claim(false, None, Outcome::Failed), told("error", "exit code 1"));
    assert_eq!(claim(false, None, Outcome::Ok), None);
}

#[test]
fn feedback_says_what_failed_and_how() {
    let feedback = Feedback {
        guidance: vec!["Use the other API.\nReally.".to_owned()],
        rejected_claim: Some("gate tests failed".to_owned()),
        stuck: None,
        failed_gates: vec![
            FailedGate {
                name: "tests".to_owned(),
                command: "cargo test".to_owned(),
                exit_code: Some(101),
                required: true,
                tail: "test a ... FAILED\n\n\n\nfailed".to_owned(),
                ..FailedGate::default()
            },
            FailedGate {
                name: "docs".to_owned(),
                command: "./docs".to_owned(),
                timed_out: true,
                ran_after: Some(IterationNumber(2)),
                ..FailedGate::default()
            },
        ],
        failed_tools: vec![
            ToolFailure::new("npm test", Some(1), "FAIL a.test.js\nexpected 3, got 4"),
            ToolFailure::new("edit", None, ""),
        ],
        failure: Some("timed out after 30m".to_owned()),
        warnings: vec!["2 iterations are left".to_owned()],
    };
    let expected = "## Ralph Feedback\n\n### Guidance from the person in charge\n\n> Use the other API.\n> Really.\n\n\
        ### The task is not complete\n\nThe last claim that it is was rejected: gate tests failed\n\n\
        ### Gate `tests` failed with exit code 101\n\nCommand: `cargo test`\n\n> test a ... FAILED\n> \n> failed\n\n\
        ### Gate that is not required `docs` timed out\n\nCommand: `./docs`\n\n\
        It ran after iteration 2, and not since.\n\n\
        ### The last iteration failed\n\n> timed out after 30m\n\n\
        ### What failed in the last iteration\n\n\
        - `npm test` failed with exit code 1\n\n> FAIL a.test.js\n> expected 3, got 4\n\n- `edit` failed\n\n\
        ### Warnings\n\n- 2 iterations are left\n";
    assert_eq!(feedback.render(FEEDBACK_BUDGET), expected);
    assert_eq!(Feedback::default().render(FEEDBACK_BUDGET), "");
    assert!(Feedback::default().is_empty() && !feedback.is_empty());
}

#[test]
fn every_failed_gate_is_named_however_long_the_others_outputs_are() {
    let gate = |n: usize| FailedGate {
        name: format!("gate{n}"),
        command: "check".to_owned(),
        exit_code: Some(1),
        tail: format!("{}end of {n}", "noise\n".repeat(10_000)),
        ..FailedGate::default()
    };
    let feedback = Feedback {
        failed_gates: (0..8).map(gate).collect(),
        failure: Some("x".repeat(10_000)),
        warnings: vec!["careful".to_owned()],
        ..Feedback::default()
    };
    let text = feedback.render(4096);
    assert!(text.len() <= 4096);
    for n in 0..8 {
        assert!(text.contains(&format!("### Gate that is not required `gate{n}`")), "{text}");
        assert!(text.contains(&format!("> end of {n}\n")), "{text}");
    }
    assert!(text.contains("- careful"), "{text}");
}

#[test]
fn the_iteration_file_is_json() {
    let file = IterationFile {
        run_id: RunId("r1".to_owned()),
        started_at: Timestamp::from_millis(0),
        updated_at: Timestamp::from_millis(1500),
        iteration: IterationNumber(3),
        stop_reason: crate::stop::StopKey::by_name("complete"),
        stop_message: Some("a \"quoted\"\nline".to_owned()),
        completion_promise_matched: true,
        errors: vec!["</ralph>".to_owned()],
    };
    let text = file.render();
    let back: IterationFile = serde_json::from_str(&text).expect("JSON");
    assert_eq!(back, file);
    assert!(text.ends_with("}\n"));
}
