//! Hats as a person and an agent meet them: hand-over, limits, refusals, crashes, and the way out.

mod emit;
mod presets;
mod seeing;

use crate::harness::*;

/// The definition of the issue.
const REVIEW_LOOP: &str = r#"
event_loop: {starting_event: task.start, max_iterations: 60}
core:
  scratchpad: ".agent/scratchpad.md"
  specs_dir: "./specs/"
  guardrails:
    - "Fresh context each iteration - scratchpad is memory"
hats:
  executor:
    description: Implements the task or the requested changes
    triggers: [task.start, review.changes_requested]
    publishes: [implementation.done]
    instructions: Do it.
  code_reviewer:
    triggers: [implementation.done]
    publishes: [review.approved, review.changes_requested]
    max_activations: 3
  escalator:
    triggers: ["*.exhausted"]
    publishes: [escalation.logged]
"#;

/// The executor never satisfies the reviewer.
const UNSATISFIED: &str = "append runs.txt\nsave-prompt prompt-%i.md\nhat executor: emit implementation.done try %i\n\
    hat code_reviewer: say <event topic=\"review.changes_requested\">once more</event>\nhat escalator: emit escalation.logged noted";

fn world(definition: &str) -> World {
    let world = World::new();
    world.write("ralph.yml", definition);
    world
}

/// `topic from>to` for everything published.
fn topics(events: &Events) -> Vec<String> {
    let list = |value: &Value| {
        let hats = value.as_array().map(|hats| hats.iter().filter_map(Value::as_str).collect::<Vec<_>>());
        hats.unwrap_or_default().join(",")
    };
    let show = |event: &&Value| {
        let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
        format!("{} {}>{}", text("topic"), text("from"), list(&event["to"]))
    };
    events.of("topic.published").iter().map(show).collect()
}

fn payloads(events: &Events) -> Vec<Value> {
    events.of("topic.published").iter().map(|event| event["payload"].clone()).collect()
}

#[test]
fn a_review_loop_that_never_ends_ends_by_itself() {
    let world = world(REVIEW_LOOP);
    let done = world.run(UNSATISFIED, &[]).expect(4);
    let events = world.events();
    let round =
        ["implementation.done executor>code_reviewer", "review.changes_requested code_reviewer>executor"];
    let mut wanted = vec!["task.start ralph>executor"];
    (0..3).for_each(|_| wanted.extend(round));
    wanted.extend([round[0], "code_reviewer.exhausted ralph>escalator", "escalation.logged escalator>"]);
    assert_eq!(topics(&events), wanted);
    assert_eq!(world.stopped(), ("no_subscriber".to_owned(), 4));
    assert_eq!(events.of("hat.exhausted").len(), 1);
    // Four tries, three reviews, one escalation, and nobody after that.
    assert_eq!(world.read("runs.txt").lines().count(), 8);
    let told: Value = serde_json::from_str(payloads(&events)[8].as_str().expect("text")).expect("JSON");
    assert_eq!((&told["hat"], &told["activations"]), (&json!("code_reviewer"), &json!(3)));
    assert_eq!(told["undelivered"][0]["payload"], "try 7");
    assert!(
        done.stdout.contains("#4 code_reviewer ")
            && done.stdout.contains("→ review.changes_requested (2 of 3)")
    );
    world.verify();
}

#[test]
fn the_same_with_a_kill_in_every_iteration() {
    let calm = world(REVIEW_LOOP);
    calm.run(UNSATISFIED, &[]).expect(4);
    let world = world(REVIEW_LOOP);
    // What is published before the kill is lost with the attempt, and published again by the next.
    let script = format!(
        "attempt 1: hat executor: emit implementation.done lost\nattempt 1: write up-%i x\nattempt 1: sleep 120s\n{UNSATISFIED}"
    );
    let mut live = world.start_run(&script, &[]);
    for iteration in 1..=8 {
        world.wait_for_file(&format!("up-{iteration}"));
        live.kill();
        world.expect_no_survivors();
        live = world.start(["resume"]);
    }
    live.wait().expect(4);
    assert_eq!(topics(&world.events()), topics(&calm.events()));
    assert_eq!(payloads(&world.events()), payloads(&calm.events()));
    assert_eq!((world.stopped(), world.read("runs.txt").lines().count()), (calm.stopped(), 8));
    world.verify();
}

#[test]
fn a_person_gives_an_exhausted_hat_its_activations_again() {
    let definition = "hats:\n  a: {triggers: [task.start, b.no], publishes: [b.go]}\n  \
        b: {triggers: [b.go], publishes: [b.no], max_activations: 1}\n";
    let world = world(definition);
    let script = "append runs.txt\nhat a: emit b.go %i\nhat b: on 1: say never\nhat b: on 4: emit b.no\n\
        hat b: on 2: emit b.no\nhat b: on 4+: say <ralph>COMPLETE</ralph>";
    let done = world.run(script, &[]).expect(4);
    assert!(done.stdout.contains("--reset-hat b"), "{}", done.stdout);
    assert_eq!(world.stopped().0, "hat_exhausted");
    // Without it nothing has changed, and nobody is called.
    world.ralph(["resume"]).expect(4);
    assert_eq!(world.read("runs.txt").lines().count(), 3);
    let unknown = world.ralph(["resume", "--reset-hat", "c"]).expect(2);
    assert!(unknown.stderr.contains("its hats are: a, b"), "{}", unknown.stderr);
    world.ralph(["say", "--reset-hat", "b"]).expect(0);
    world.ralph(["resume"]).expect(0);
    let events = world.events();
    let activated = events.last("hat.activated");
    assert_eq!(
        (&activated["hat"], &activated["activation"], &activated["events"]),
        (&json!("b"), &json!(1), &json!([4]))
    );
    assert_eq!(world.read("runs.txt").lines().count(), 4);
    world.verify();
}

#[test]
fn a_hat_has_its_own_agent_instructions_time_and_prompt() {
    let world = World::new();
    let other = world
        .agent("save-prompt other.md\nsave-env env.txt RALPH_HAT\nemit a.done\nsay <ralph>COMPLETE</ralph>");
    world.write(
        "ralph.yml",
        &format!(
            "core: {{guardrails: [Be kind], scratchpad: notes.md}}\nhats:\n  a:\n    name: The First\n    triggers: [task.start]\n    \
             publishes: [a.done]\n    agent: {other}\n    instructions_file: a.md\n    scratchpad: own.md\n    iteration_timeout: 90s\n"
        ),
    );
    world.write("a.md", "Work as told in the file.");
    world.run("exit 1", &[]).expect(0);
    assert_eq!(world.read("env.txt"), "RALPH_HAT=a\n");
    let prompt = world.read("other.md");
    for part in
        ["the hat `a` (The First)", "Work as told in the file.", "- Be kind", "`own.md` is the scratchpad"]
    {
        assert!(prompt.contains(part), "{part}:\n{prompt}");
    }
    assert!(!prompt.contains("notes.md"));
}

#[test]
fn guardrails_are_in_every_prompt_hats_or_not() {
    let world = world("core: {guardrails: [Never push]}\n");
    world.run("save-prompt prompt.md\nsay <ralph>COMPLETE</ralph>", &[]).expect(0);
    let prompt = world.read("prompt.md");
    assert!(prompt.contains("- Never push") && !prompt.contains("Your role"), "{prompt}");
}

#[test]
fn required_events_hold_for_the_tree_that_is_there() {
    let world = world(
        "event_loop: {required_events: [review.ok], max_iterations: 9}\nhats:\n  \
         work: {triggers: [task.start, review.no], publishes: [work.done]}\n  \
         review: {triggers: [work.done], publishes: [review.ok, review.no]}\n",
    );
    // Approved, then changed, then claimed: refused. Approved again and claimed: done.
    let script = "hat work: write file.txt %i\nhat work: emit work.done\non 2: emit review.ok\non 2: emit review.no\n\
        on 4: say <ralph>COMPLETE</ralph>\non 5: emit review.ok\non 5: say <ralph>COMPLETE</ralph>";
    world.run(script, &[]).expect(0);
    let events = world.events();
    let why = events.last("completion.rejected")["why"].to_string();
    assert!(why.contains("review.ok"), "{why}");
    assert_eq!(events.finished().len(), 5);
}
