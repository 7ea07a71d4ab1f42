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
    let script = "append runs.txt\nhat a: emit b.go %i\nhat b: on 1: say never\n\
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
             publishes: [a.done]\n    agent: {other}\n    instructions_file: a.md\n    scratchpad: own.md\n    iteration_timeout: 90s\n    \
             extra_instructions: [And as told here.]\n"
        ),
    );
    world.write("a.md", "Work as told in the file.");
    world.run("exit 1", &[]).expect(0);
    assert_eq!(world.read("env.txt"), "RALPH_HAT=a\n");
    let prompt = world.read("other.md");
    for part in [
        "the hat `a` (The First)",
        "Work as told in the file.\n\nAnd as told here.",
        "- Be kind",
        "`own.md` is the scratchpad",
    ] {
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

#[test]
fn a_hat_has_its_own_time() {
    let world = world(
        "event_loop: {iteration_timeout: 1h, max_consecutive_failures: 1}\nhats:\n  \
         slow: {triggers: [task.start], publishes: [x], iteration_timeout: 200ms}\n",
    );
    world.run("sleep 120s", &[]).expect(1);
    let finished = world.events().last("iteration.finished").clone();
    assert_eq!((&finished["outcome"], &finished["hat"]), (&json!("timed_out"), &json!("slow")));
}

/// Nobody knows how to go on: asked once more, then the coordinator, then nobody.
#[test]
fn silence_goes_to_the_coordinator_and_then_ends_the_run() {
    let world = world(
        "hats:\n  a: {description: Makes the tea, triggers: [task.start], publishes: [tea.made]}\n  \
         b: {description: Drinks it, triggers: [tea.made], publishes: []}\n",
    );
    let done = world.run("append runs.txt\nsave-prompt prompt-%i.md\nsay nothing", &[]).expect(1);
    assert_eq!(world.stopped(), ("no_handoff".to_owned(), 1));
    assert_eq!(world.read("runs.txt").lines().count(), 5);
    assert!(world.read("prompt-2.md").contains("ended without publishing anything"));
    let coordinator = world.read("prompt-3.md");
    for part in
        ["`a` was asked twice", "`a`: Makes the tea", "`b`: Drinks it, put on by `tea.made`", "`task.start`"]
    {
        assert!(coordinator.contains(part), "{part}:\n{coordinator}");
    }
    assert!(done.stdout.contains("#3 ralph "), "{}", done.stdout);
    world.verify();
    // A person may let it go on, and the coordinator finds the way.
    world.ralph(["resume"]).expect(1);
    let world = self::world("hats:\n  a: {triggers: [task.start], publishes: [x]}\n  b: {triggers: [x]}\n");
    world.run("hat ralph: emit x go\nhat b: say <ralph>COMPLETE</ralph>", &[]).expect(0);
    assert_eq!(topics(&world.events()), ["task.start ralph>a", "x ralph>b"]);
}

#[test]
fn what_comes_for_an_exhausted_hat_is_dropped_and_kept_for_its_reset() {
    let world = world(
        "hats:\n  a: {triggers: [task.start, b.no, b.exhausted], publishes: [b.go]}\n  \
         b: {triggers: [b.go], publishes: [b.no], max_activations: 1}\n",
    );
    let script = "append runs.txt\nhat a: emit b.go %i\non 2: emit b.no\non 5+: say <ralph>COMPLETE</ralph>\nsave-prompt prompt-%i.md";
    world.run(script, &[]).expect(4);
    assert_eq!((world.stopped().0.as_str(), world.read("runs.txt").lines().count()), ("hat_exhausted", 4));
    let shown = world.ralph(["events", "--topic", "b.go"]).expect(0).stdout;
    assert!(shown.ends_with("b.go: 4  → nobody (dropped for b)\n"), "{shown}");
    assert_eq!(topics(&world.events()).iter().filter(|topic| topic.starts_with("b.exhausted")).count(), 1);
    world.ralph(["resume", "--reset-hat", "b"]).expect(0);
    // What was not delivered before, and what was dropped since, in the order it was published.
    let prompt = world.read("prompt-5.md");
    let at = |text: &str| prompt.find(text).unwrap_or_else(|| panic!("{text}:\n{prompt}"));
    assert!(at("in iteration 3") < at("in iteration 4"));
    world.verify();
}

#[test]
fn a_hat_is_reset_in_a_run_that_goes_on() {
    let world = world(
        "hats:\n  a: {triggers: [task.start, b.no], publishes: [b.go]}\n  \
         b: {triggers: [b.go], publishes: [b.no], max_activations: 1}\n  c: {triggers: ['*.exhausted'], publishes: [c.done]}\n",
    );
    let script = "hat a: emit b.go %i\non 2: emit b.no\nhat c: write up x\nhat c: wait-for go\nhat c: emit c.done\n\
        on 5: say <ralph>COMPLETE</ralph>";
    let live = world.start_run(script, &[]);
    world.wait_for_file("up");
    let said = world.ralph(["say", "--reset-hat", "b"]).expect(0).stdout;
    assert!(said.contains('b'), "{said}");
    world.ralph(["say", "--reset-hat", "d"]).expect(2);
    world.write("go", "");
    live.wait().expect(0);
    let activated = world.events().last("hat.activated").clone();
    assert_eq!((&activated["hat"], &activated["activation"]), (&json!("b"), &json!(1)));
    world.verify();
}

#[test]
fn a_start_that_nobody_hears_is_a_mistake_before_anything_runs() {
    let world = world(
        "agent: sh\nprompt: x\nevent_loop: {starting_event: work.start}\nhats:\n  \
         a: {triggers: [task.start], publishes: [x]}\n",
    );
    for command in ["run", "check"] {
        let refused = world.ralph([command]).expect(2);
        assert!(refused.stderr.contains("error: no hat is triggered by `work.start`"), "{}", refused.stderr);
        assert!(refused.stderr.contains("ralph.yml:3:30"), "{}", refused.stderr);
    }
    assert!(world.run_dirs().is_empty());
    // The picture of it can still be drawn.
    world.ralph(["graph"]).expect(0);
}

#[test]
fn hats_that_lead_nowhere_are_mended_by_a_new_run() {
    let world = world("hats:\n  a: {triggers: [task.start], publishes: [x]}\n");
    let done = world.run("emit x", &[]).expect(4);
    let next: String = done.stdout.split("  next    ").skip(1).collect();
    assert!(
        next.starts_with("ralph run …") && !done.stdout.contains("once that is fixed"),
        "{}",
        done.stdout
    );
}

/// What the documents show has no warnings.
#[test]
fn the_examples_of_the_documents_are_fine() {
    let documents = [include_str!("../../../../README.md"), include_str!("../../../../docs/hats.md")];
    for document in documents {
        let examples = document.split("```yaml\n").skip(1).filter_map(|rest| rest.split_once("```"));
        let example =
            examples.map(|(yaml, _)| yaml).find(|yaml| yaml.contains("\nhats:\n")).expect("an example");
        let world = World::new();
        world.write("ralph.yml", example);
        let checked = world.ralph(["check", "--set", "agent.command=sh"]).expect(0);
        assert!(checked.stdout.contains("is fine") && checked.stderr.is_empty(), "{checked:?}");
    }
}

/// As ralph-orchestrator writes it.
#[test]
fn a_file_of_ralph_orchestrator_runs_to_its_promise() {
    let world = World::new();
    let agent = world.agent(
        "append runs.txt\nhat builder: emit build.done tests: pass\nhat reviewer: sh ralph emit \"LOOP_COMPLETE\" \"All done\"",
    );
    let text = format!(
        "cli:\n  backend: custom\n  command: \"{agent}\"\n  prompt_mode: stdin\nevent_loop:\n  prompt_file: \"PROMPT.md\"\n  completion_promise: \"LOOP_COMPLETE\"\n  \
         starting_event: \"build.task\"\n  max_iterations: 100\n  max_runtime_seconds: 14400\ncore:\n  \
         scratchpad: \".ralph/agent/scratchpad.md\"\n  specs_dir: \".ralph/specs/\"\n  guardrails:\n    - \"Be brief\"\nhats:\n  \
         builder:\n    name: \"Builder\"\n    description: \"Builds.\"\n    triggers: [\"build.task\"]\n    \
         publishes: [\"build.done\", \"build.blocked\"]\n    default_publishes: \"build.done\"\n    max_activations: 5\n    \
         extra_instructions: [\"Be quick.\"]\n    instructions: |\n      ## BUILDER\n      Build it.\n  \
         reviewer:\n    name: \"Reviewer\"\n    triggers: [\"build.done\"]\n    publishes: [\"LOOP_COMPLETE\", \"build.task\"]\n"
    );
    world.write("ralph.yml", &text);
    world.write("PROMPT.md", "Build the thing.");
    world.ralph(["run"]).expect(0);
    let events = world.events();
    assert_eq!(world.stopped(), ("complete".to_owned(), 0));
    assert_eq!(topics(&events), ["build.task ralph>builder", "build.done builder>reviewer"]);
    assert_eq!(payloads(&events)[0], "Build the thing.");
    world.verify();
    world.write("ralph.yml", &text.replace("max_activations", "concurrency"));
    let refused = world.ralph(["run"]).expect(2);
    assert!(refused.stderr.contains("concurrency") && refused.stderr.contains("^^^"), "{}", refused.stderr);
}
