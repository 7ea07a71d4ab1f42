//! Topics in the journal, the graph and the check.

use super::*;

#[test]
fn events_shows_topics_by_default_and_filters_and_counts_them() {
    let world = world(REVIEW_LOOP);
    world.run(UNSATISFIED, &[]).expect(4);
    let shown = world.ralph(["events"]).expect(0).stdout;
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines.len(), 10, "{shown}");
    let (time, line) = lines[1].split_at(12);
    assert!(time.starts_with(|c: char| c.is_ascii_digit()));
    assert_eq!(line, "  #1    executor         implementation.done: try 1  → code_reviewer");
    assert!(lines[9].ends_with("escalation.logged: noted  → nobody"), "{}", lines[9]);
    // Everything is one option away, and programs get everything anyway.
    assert!(world.ralph(["events", "--type", "*"]).expect(0).stdout.contains("iteration.started"));
    assert!(world.ralph(["events", "--json"]).expect(0).stdout.contains("iteration.started"));
    let some = world.ralph(["events", "--topic", "review.*", "--json"]).expect(0).json_lines();
    assert_eq!(some.len(), 3);
    assert!(some.iter().all(|event| event["topic"] == "review.changes_requested"));
    assert_eq!(world.ralph(["events", "--topic", "*", "--last", "2"]).expect(0).stdout.lines().count(), 2);
    assert_eq!(
        world.ralph(["events", "--topic", "**", "--iteration", "4"]).expect(0).stdout.lines().count(),
        1
    );
    world.ralph(["events", "--topic", "a b"]).expect(2);
    let counted = world.ralph(["events", "--count"]).expect(0).stdout;
    let rows: Vec<String> =
        counted.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(
        rows,
        [
            "1 code_reviewer.exhausted ralph → escalator",
            "1 escalation.logged escalator → nobody",
            "4 implementation.done executor → code_reviewer",
            "3 review.changes_requested code_reviewer → executor",
            "1 task.start ralph → executor",
        ]
    );
    let json = world.ralph(["events", "--count", "--topic", "escalation.*", "--json"]).expect(0).json();
    assert_eq!(json, json!([{ "topic": "escalation.logged", "from": "escalator", "to": null, "count": 1 }]));
}

#[test]
fn a_run_without_hats_shows_its_events() {
    let world = World::new();
    world.run("say hello", &["-n", "1"]).expect(3);
    assert!(world.ralph(["events"]).expect(0).stdout.contains("iteration.finished"));
    assert_eq!(world.ralph(["events", "--count"]).expect(0).stdout.trim(), "");
}

#[test]
fn follow_shows_topics_as_they_are_published() {
    let world = world(REVIEW_LOOP);
    let live = world.start_run(&format!("on 2: wait-for go\n{UNSATISFIED}"), &[]);
    world.wait_for("topic.published", 2);
    let follow = world.start(["events", "--follow", "--topic", "*.exhausted"]);
    world.write("go", "");
    live.wait().expect(4);
    let shown = follow.wait().expect(0).stdout;
    assert_eq!(shown.lines().count(), 1, "{shown}");
    assert!(shown.contains("code_reviewer.exhausted"), "{shown}");
}

#[test]
fn graph_draws_a_definition_and_a_run() {
    let world = world(&format!("agent: cat\n{REVIEW_LOOP}"));
    let drawn = world.ralph(["graph"]).expect(0).stdout;
    assert!(drawn.contains("code_reviewer  at most 3×\n") && !drawn.contains("×4"), "{drawn}");
    assert!(world.ralph(["graph", "--mermaid"]).expect(0).stdout.starts_with("flowchart LR"));
    assert!(world.ralph(["graph", "--dot", "ralph.yml"]).expect(0).stdout.starts_with("digraph"));
    assert!(world.ralph(["graph", "--svg", "--preset", "tdd"]).expect(0).stdout.starts_with("<svg "));
    world.run(UNSATISFIED, &[]).expect(4);
    let drawn = world.ralph(["graph", "--run"]).expect(0).stdout;
    assert!(drawn.contains("implementation.done  → code_reviewer ×4"), "{drawn}");
    let drawn = world.ralph(["graph", "--run", &world.run_id(), "--mermaid"]).expect(0).stdout;
    assert!(drawn.contains("h1 -.->|\"code_reviewer.exhausted ×1\"| h2"), "{drawn}");
    world.ralph(["graph", "--svg", "--dot"]).expect(2);
    let none = World::new();
    none.run("exit 0", &["-n", "1"]).expect(3);
    assert!(none.ralph(["graph", "--run"]).expect(2).stderr.contains("no hats"));
}

#[test]
fn check_says_what_can_not_work_with_line_and_caret() {
    let world =
        world(&format!("agent: cat\nprompt: x\n{}", REVIEW_LOOP.replace("    max_activations: 3\n", "")));
    let done = world.ralph(["check"]).expect(0);
    assert!(done.stdout.contains("with 5 warnings"), "{}", done.stdout);
    for part in [
        "executor → implementation.done → code_reviewer → review.changes_requested → executor",
        "no hat handles `escalation.logged`",
        "nobody can publish `*.exhausted`",
        "`executor` may complete the run before `code_reviewer` has seen its work",
        "^^^^^^^^^^^^^",
        "help: set `max_activations`",
    ] {
        assert!(done.stderr.contains(part), "{part}:\n{}", done.stderr);
    }
}

/// The loop as it is first written down, what the check says about it, and that its advice is right.
#[test]
fn the_advice_of_check_is_right_when_it_is_followed() {
    let hats = "hats:\n  executor: {triggers: [task.start, review.changes_requested], publishes: [implementation.done]}\n  \
        code_reviewer: {triggers: [implementation.done], publishes: [review.approved, review.changes_requested], \
        max_activations: 3}\n";
    // The executor claims each time; the reviewer is satisfied the second time and claims nothing.
    let script = "hat executor: write a.txt %i\nhat executor: emit implementation.done ok\n\
        hat executor: say <ralph>COMPLETE</ralph>\non 2: emit review.changes_requested no\non 4: emit review.approved good";
    let advised = world(&format!("agent: cat\nprompt: x\n{hats}"));
    let done = advised.ralph(["check"]).expect(0);
    for part in
        ["no hat handles `review.approved`", "`event_loop.required_events`", "`executor` may complete"]
    {
        assert!(done.stderr.contains(part), "{part}:\n{}", done.stderr);
    }
    // Without the advice the approval lets the executor's claim through, and nothing else does.
    let done = world(hats).run(script, &[]).expect(0);
    assert!(done.stdout.contains("the claim of executor is judged"), "{}", done.stdout);
    let silent = script.replace("hat executor: say <ralph>COMPLETE</ralph>\n", "");
    let done = world(hats).run(&silent, &[]).expect(4);
    assert!(done.stdout.contains("`event_loop.required_events`"), "{}", done.stdout);
    let followed = format!("event_loop: {{required_events: [review.approved]}}\n{hats}");
    let done = world(&format!("agent: cat\nprompt: x\n{followed}")).ralph(["check"]).expect(0);
    assert!(done.stdout.contains("is fine") && done.stderr.is_empty(), "{}", done.stderr);
    let world = world(&followed);
    let done = world.run(script, &[]).expect(0);
    assert!(
        done.stdout.contains("#1 says that the task is complete; first comes code_reviewer"),
        "{}",
        done.stdout
    );
    assert_eq!(world.events().of("completion.deferred").len(), 2);
    assert_eq!(world.events().finished().len(), 4);
    world.verify();
}
