//! Hats in definitions: what they come to, what is wrong with them, and what is worth a warning.

use ralph_core::hat::{HatsPlan, Instructions};
use ralph_core::plan::{Plan, PromptVia};

use super::*;

fn snapshot(text: String) {
    let name =
        std::thread::current().name().unwrap_or_default().rsplit("::").next().unwrap_or_default().to_owned();
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// A definition with these lines below `hats`.
fn hats(lines: &str) -> Workspace {
    let lines: String = lines.lines().map(|line| format!("  {line}\n")).collect();
    yml(&format!("agent: ./agent.sh\nprompt: do it\nhats:\n{lines}"))
}

fn promising(hat: &str) -> Workspace {
    yml(&format!("agent: a\nprompt: p\nevent_loop: {{completion_promise: ALL_DONE}}\nhats:\n  {hat}\n"))
}

fn gated(hat: &str) -> Workspace {
    yml(&format!(
        "agent: a\nprompt: p\nstop: {{require_passing_tests: true}}\ngates:\n  - {{name: tests, run: t, kind: test}}\n  \
         - {{name: lint, run: l}}\nhats:\n  {hat}\n"
    ))
}

fn plan(workspace: &Workspace) -> Plan {
    workspace.ok().to_plan(None, false).unwrap_or_else(|error| panic!("{error}"))
}

fn planned(workspace: &Workspace) -> HatsPlan {
    *plan(workspace).hats.expect("hats")
}

#[test]
fn the_order_of_the_file_is_kept_and_defaults_are_filled_in() {
    let plan = planned(&hats("zoe: {triggers: [task.start], publishes: [a.b]}\nadam: {triggers: ['*']}"));
    let ids: Vec<&str> = plan.hats.iter().map(|hat| hat.id.as_str()).collect();
    assert_eq!(ids, ["zoe", "adam"]);
    assert_eq!((plan.starting_event.as_str(), plan.max_consecutive_blocked), ("task.start", 3));
    let zoe = &plan.hats[0];
    assert!(
        zoe.completes && zoe.agent.is_none() && zoe.max_activations.is_none() && zoe.instructions.is_none()
    );
    assert_eq!(event_loop("delay: 1").ok().to_plan(None, false).unwrap().hats, None);
}

#[test]
fn a_hat_of_ralph_orchestrator_keeps_working() {
    let text = "cli: {backend: claude}\nprompt: do it\nevent_loop:\n  starting_event: tdd.start\n  max_iterations: 50\n\
        hats:\n  tester:\n    name: \"Test Writer\"\n    description: Writes tests\n    triggers: [\"tdd.start\"]\n    \
        publishes: [\"test.written\"]\n    default_publishes: \"test.written\"\n    max_activations: 4\n    \
        backend: gemini\n    backend_args: [\"--model\", \"pro\"]\n    instructions: |\n      Write one test.\n    \
        extra_instructions: [\"Then stop.\"]\n";
    let plan = planned(&yml(text));
    let hat = &plan.hats[0];
    assert_eq!((hat.name.as_deref(), hat.max_activations), (Some("Test Writer"), Some(4)));
    assert_eq!(hat.default_publishes.as_ref().map(|topic| topic.as_str()), Some("test.written"));
    assert_eq!(hat.instructions, Some(Instructions::Text("Write one test.".to_owned())));
    assert_eq!(hat.extra_instructions.as_deref(), Some("Then stop."));
    let agent = hat.agent.as_ref().expect("an agent");
    assert_eq!((agent.name.as_str(), agent.program.as_str()), ("gemini", "gemini"));
    assert!(agent.args.windows(2).any(|pair| pair == ["--model", "pro"]), "{:?}", agent.args);
    assert_eq!(plan.starting_event.as_str(), "tdd.start");
}

#[test]
fn a_hat_may_have_its_own_agent_model_and_arguments() {
    let workspace = yml(
        "agent: claude\nprompt: do it\nhats:\n  a: {triggers: [task.start], model: opus, args: [-x, 5]}\n  \
         b: {triggers: [a.b], agent: ./b.sh fast}\n  c: {triggers: [c], agent: {command: c, prompt: arg}}\n",
    );
    let plan = planned(&workspace);
    let agent = |n: usize| plan.hats[n].agent.clone().expect("an agent");
    assert_eq!((agent(0).name.as_str(), agent(0).model.as_deref()), ("claude", Some("opus")));
    assert!(
        agent(0).args.ends_with(&["-x".to_owned(), "5".to_owned()])
            || agent(0).args.contains(&"-x".to_owned())
    );
    assert_eq!((agent(1).program.as_str(), agent(1).args), ("./b.sh", vec!["fast".to_owned()]));
    assert_eq!(agent(2).prompt, PromptVia::Arg { flag: None });
}

#[test]
fn the_completion_promise_of_a_run_is_known_to_its_hats() {
    let workspace = promising("a: {triggers: [task.start], publishes: [ALL_DONE]}");
    assert_eq!(
        planned(&workspace).completion_promise.map(|topic| topic.to_string()),
        Some("ALL_DONE".into())
    );
    assert_eq!(
        workspace.preflight().expect("a plan").warnings.len(),
        0,
        "it is no topic that nobody handles"
    );
    // What can be no topic is a promise all the same.
    let words = yml(
        "agent: a\nprompt: p\nevent_loop: {completion_promise: all is done}\nhats: {a: {triggers: [x]}}\n",
    );
    assert_eq!(planned(&words).completion_promise, None);
}

#[test]
fn instructions_may_stand_in_a_file_beside_the_definition() {
    let text =
        "agent: a\nprompt: do it\nhats:\n  a: {triggers: [task.start], instructions_file: hats/a.md}\n";
    let workspace = Workspace::new(&[("ralph.yml", text), ("hats/a.md", "Do.")]);
    assert_eq!(
        planned(&workspace).hats[0].instructions,
        Some(Instructions::File(workspace.path("hats/a.md")))
    );
    std::fs::remove_file(workspace.path("hats/a.md")).unwrap();
    let error = workspace.ok().to_plan(None, false).unwrap_err().to_string();
    assert!(error.contains("there is no such file") && error.contains("^^^"), "{error}");
}

#[test]
fn a_task_that_is_a_file_is_what_the_run_starts_with() {
    let text = "agent: a\nhats:\n  a: {triggers: [task.start]}\n";
    let workspace = Workspace::new(&[("ralph.yml", text), ("PROMPT.md", "Build it.\n")]);
    assert_eq!(planned(&workspace).task.as_deref(), Some("Build it."));
    assert_eq!(planned(&hats("a: {triggers: [task.start]}")).task, None);
}

#[test]
fn hat_errors() {
    let cases = [
        ("a name with a dot", hats("a.b: {triggers: [x]}")),
        ("the coordinator's name", hats("ralph: {triggers: [x]}")),
        ("an unknown key", hats("a: {trigers: [x]}")),
        ("of ralph-orchestrator", hats("a: {triggers: [x], disallowed_tools: [Edit]}")),
        ("a hat of another file", hats("a: {import: ./shared/a.yml}")),
        ("a promise it may not give", promising("a: {publishes: [ALL_DONE], completes: false}")),
        ("a gate it cannot do without", gated("a: {triggers: [task.start], gates: [lint]}")),
        ("no topic", hats("a: {triggers: ['no topic']}")),
        ("a star in a word", hats("a: {triggers: ['review*']}")),
        ("a pattern for a topic", hats("a: {publishes: ['x.*'], default_publishes: 'x.*'}")),
        ("a default it may not publish", hats("a: {publishes: [x.y], default_publishes: x.z}")),
        ("an exhaustion of its own", hats("a: {publishes: [b.exhausted]}\nb: {triggers: [x]}")),
        ("two instructions", hats("a: {instructions: x, instructions_file: y}")),
        ("agent and backend", hats("a: {agent: x, backend: y}")),
        ("a limit of nothing", hats("a: {max_activations: 0}")),
        ("a gate that is not there", hats("a: {triggers: [x], gates: [tests]}")),
        ("a list of hats", yml("agent: a\nprompt: p\nhats: [a]\n")),
        ("settings without hats", event_loop("starting_event: x\nrequired_events: [y]")),
        ("an empty topic", event_loop("starting_event: a..b")),
    ];
    let mut out = String::new();
    for (name, workspace) in cases {
        let error = workspace.load().map(|_| ()).unwrap_err();
        out.push_str(&format!("== {name}\n{error}\n\n"));
    }
    snapshot(out);
}

#[test]
fn hat_warnings() {
    let text = "agent: a\nprompt: p\nevent_loop:\n  starting_event: work.start\n  required_events: [deploy.done, review.changes_requestd]\nhats:\n  \
        executor:\n    triggers: [work.start, review.changes_requested]\n    publishes: [implementation.done]\n  \
        reviewer:\n    triggers: [implementation.done]\n    publishes: [review.aproved, review.changes_requested]\n  \
        writer:\n    triggers: [review.approved]\n  \
        second:\n    triggers: [implementation.done]\n  \
        lost:\n    publishes: [x.y]\n  far:\n    triggers: [x.y]\n  shadow:\n    triggers: [\"implementation.*\"]\n";
    let workspace = yml(text);
    let warnings = workspace.preflight().expect("a plan").warnings;
    let text: Vec<String> = warnings
        .into_iter()
        .map(|one| clean(&ConfigError::from(one).to_string(), workspace.dir.path()))
        .collect();
    snapshot(text.join("\n\n"));
}

#[test]
fn a_start_that_nobody_hears_is_pointed_out_where_it_is_not_set() {
    let workspace = hats("a: {triggers: [x.start]}");
    let error = workspace.preflight().expect_err("nobody hears it");
    let found: Vec<&Diagnostic> = error.diagnostics().iter().filter(|one| !one.is_warning).collect();
    assert!(found.len() == 1 && found[0].title.contains("`task.start`"), "{error}");
    assert_eq!(found[0].place.as_ref().map(|place| place.text.as_str()), Some("hats:"));
}
