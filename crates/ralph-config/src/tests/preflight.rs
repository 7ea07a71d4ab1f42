//! Everything that is wrong with a definition, at once, and what is only worth a word.

use super::*;

/// The titles of all that is wrong.
fn wrong(workspace: &Workspace) -> Vec<String> {
    let error = workspace.preflight().expect_err("something is wrong");
    error.diagnostics().iter().map(|one| one.title.clone()).collect()
}

#[test]
fn an_agent_that_is_missing_is_pointed_at() {
    let error = yml("prompt: x\nagent: nowhere --flag\n").preflight().unwrap_err().to_string();
    assert!(error.contains("ralph.yml:2:8") && error.contains("give its path with -a"), "{error}");
    let error = yml("prompt: x\ncli: {backend: nowhere}\n").preflight().unwrap_err().to_string();
    assert!(error.contains("ralph.yml:2:16"), "{error}");
    let error = yml("prompt: x\nagent: ./locked.sh\n").preflight().unwrap_err().to_string();
    assert!(error.contains("chmod +x ./locked.sh"), "{error}");
}

#[test]
fn rules_plans_and_programs_are_all_told_at_once() {
    let found = wrong(&yml(
        "agent: nowhere\nprompt: x\nevent_loop: {max_iterations: none, max_runtime: none}\nloop_detection: {window: 41}\n\
         commands: [{name: git, run: git-nowhere}, {name: cd, run: cd-nowhere}]\n\
         gates: [{name: tests, run: make-nowhere}, {name: lint, run: ./locked.sh}]\nwake: {run: wake-nowhere}\n\
         hats: {a: {triggers: [x.start]}}\n",
    ));
    let parts = [
        "needs another limit",
        "`loop_detection.window` must be at most 40",
        "`nowhere` was not found",
        "`wake.run` cannot run",
        "the command `git` cannot run",
        "the command `cd` cannot run",
        "the gate `tests` cannot run",
        "the gate `lint` cannot run",
        "`task.start`",
    ];
    for part in parts {
        assert_eq!(found.iter().filter(|title| title.contains(part)).count(), 1, "{part}: {found:#?}");
    }
    let fallbacks = wrong(&yml(
        "agent: {name: claud}\nprompt: x\ncommands: [{name: a, run: \"x '\"}, {name: b, run: \"y '\"}]\nwake: {every: 5s}\n",
    ));
    assert_eq!(fallbacks.len(), 4, "{fallbacks:#?}");
}

#[test]
fn a_gate_that_the_agent_may_still_make_is_only_noted() {
    let gate =
        |run: &str| yml(&format!("agent: a\nprompt: x\ngates: [{{name: tests, run: {run}}}]\n")).preflight();
    let notes = gate("./nowhere/test.sh").expect("a plan").notes;
    assert_eq!(notes, ["gate `tests` cannot run yet: `./nowhere/test.sh` was not found"]);
    assert!(gate("../nowhere/test.sh").is_err() && gate("nowhere").is_err() && gate("./locked.sh").is_err());
    assert_eq!(gate("ralph status").expect("a plan").notes, [] as [&str; 0]);
}

#[test]
fn a_limit_that_cannot_hold_is_an_error_and_an_argument_without_a_place_is_noted() {
    let limited = md("---\nagent: ./agent.sh\nevent_loop: {max_tokens: 9}\n---\nDo it").preflight();
    let error = limited.expect_err("a limit that cannot hold").to_string();
    for part in [
        "max_tokens cannot be enforced: ./agent.sh does not report tokens",
        "RALPH.md:3:26",
        "leave max_tokens out",
    ] {
        assert!(error.contains(part), "`{part}` is not in\n{error}");
    }
    let mut workspace = md("---\nagent: ./agent.sh\n---\nDo it");
    workspace.sources.given =
        Some(vec![Given::Named { name: "zzz".to_owned(), value: Some("v".to_owned()) }]);
    let notes = workspace.preflight().expect("a plan").notes;
    assert!(notes[0].contains("`--zzz`: ralph has no such option"), "{notes:?}");
    assert!(notes[1].contains("not told how to finish"), "{notes:?}");
}
