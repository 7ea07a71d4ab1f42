//! Mistakes that cost a night, told before it begins.

use crate::harness::*;

/// A world with a RALPH.md in a folder of its own, and an agent that keeps its prompts.
fn world(settings: &str, body: &str) -> World {
    let world = World::new();
    let agent = world.agent("save-prompt prompt-%i.txt");
    world.write("r/RALPH.md", &format!("---\nagent: {agent}\ncredit: false\n{settings}\n---\n{body}"));
    world
}

fn script(world: &World, name: &str, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    world.write(name, &format!("#!/bin/sh\n{text}\n"));
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(world.work(name), mode).expect("chmod");
}

/// On one line, wherever it was broken.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn an_empty_prompt_is_no_task() {
    let world = World::new();
    let agent = world.agent("say hello");
    world.write("EMPTY.md", " \n\t\n");
    let done = world.ralph(["run", "-f", "EMPTY.md", "-a", &agent]).expect(2);
    for part in ["`prompt_file`: `EMPTY.md` is empty", "write the task into it"] {
        assert!(done.stderr.contains(part), "{}", done.stderr);
    }
    world.write("PROMPT.md", "\n");
    let done = world.ralph(["run", "-a", &agent]).expect(2);
    assert!(done.stderr.contains("the prompt PROMPT.md is empty"), "{}", done.stderr);
    assert!(world.run_dirs().is_empty(), "a run was started");
}

#[test]
fn a_prompt_that_becomes_empty_pauses_the_run_until_it_is_written() {
    let world = World::new();
    let agent = world.agent("on 1: write PROMPT.md\nsave-prompt prompt-%i.txt");
    world.write("PROMPT.md", "build it");
    let live = world.start(["run", "-a", &agent, "-n", "2", "--set", "stop.tampering=off"]);
    let events = world.wait_for("run.paused", 1);
    assert_eq!(events.finished(), [1]);
    let exits = events.fields("agent.exited", "exit");
    assert!(
        exits[1]["no_prompt"]["message"].as_str().unwrap_or_default().ends_with("has become empty"),
        "{exits:?}"
    );
    let status = flat(&world.ralph(["status"]).expect(0).stdout);
    let told = "PROMPT.md has become empty: write it, then: ralph unpause";
    assert!(status.contains("needs you the prompt") && status.contains(told), "{status}");
    wait_until("that it says so", || live.stdout().contains("paused; needs you: the prompt"));
    world.write("PROMPT.md", "build the rest");
    world.ralph(["unpause"]).expect(0);
    live.wait().expect(3);
    assert!(world.read("prompt-2.txt").contains("build the rest"));
    assert_eq!(world.events().finished(), [1, 2]);
    world.verify();
}

#[test]
fn a_task_in_prompt_md_and_an_agent_are_enough() {
    let world = World::new();
    let agent = world.agent("save-prompt prompt-%i.txt");
    world.write("PROMPT.md", "build the shop");
    world.ralph(["run", "-a", &agent, "-n", "1"]).expect(3);
    assert!(world.read("prompt-1.txt").contains("build the shop"));
    let done = world.ralph(["run"]).expect(2);
    assert!(done.stderr.contains("there is no agent to run"), "{}", done.stderr);
}

#[test]
fn placeholders_that_stand_for_nothing_are_shown_where_they_stand() {
    let settings = "args: [focus]\ncommands: [{name: tests, run: 'echo {{ args.gone }}'}]";
    let body = "<!-- {{ args.comment }} -->\nrun {{ commands.test }} on {{ args.fcous }}\n{{ ralph.iterations }} {{ args.focus }}";
    let world = world(settings, body);
    let check = world.ralph(["check", "r"]).expect(0);
    for part in [
        "warning: `{{ commands.test }}` stands for nothing: there is no such command",
        "r/RALPH.md:8:5",
        "did you mean `tests`?",
        "r/RALPH.md:8:28",
        "did you mean `focus`?",
        "r/RALPH.md:9:1",
        "did you mean `iteration`?",
        "`{{ args.gone }}`",
        "^^^^^^^^^^^^^^^^^^^",
    ] {
        assert!(check.stderr.contains(part), "`{part}` is not in\n{}", check.stderr);
    }
    assert!(!check.stderr.contains("args.comment") && check.stdout.contains("with 4 warnings"), "{check:?}");
    // A run shows them as well, and they are empty.
    let run = world.ralph(["run", "r", "-n", "1", "--focus", "F"]).expect(3);
    assert!(run.stderr.contains("r/RALPH.md:8:5") && !run.stderr.contains("has a warning"), "{}", run.stderr);
    assert_eq!(world.read("prompt-1.txt"), "run  on \n F");
    // What is given on the command line is declared by that.
    let run = world.ralph(["run", "r", "-n", "1", "--fcous", "F"]);
    assert!(!run.stderr.contains("`{{ args.fcous }}` stands for nothing"), "{}", run.stderr);
}

#[test]
fn an_unknown_option_is_told_as_one_and_swallows_no_other() {
    let world = World::new();
    let agent = world.agent("say hello");
    let done = world.ralph(["run", "--sandboxed", "x", "-a", &agent]).expect(2);
    assert!(done.stderr.contains("there is no option `--sandboxed`"), "{}", done.stderr);
    let done = world.ralph(["run", "--sandboxed", "-p", "x", "-a", &agent]).expect(2);
    assert!(done.stderr.contains("there is no option `--sandboxed`"), "{}", done.stderr);
    for (name, ours) in
        [("backend", "--agent"), ("completion-promise", "stop.success_regex"), ("num", "--max-iterations")]
    {
        let done = world.ralph(["run", &format!("--{name}"), "x", "-p", "x", "-a", &agent]).expect(2);
        assert!(done.stderr.contains(ours), "{name}: {}", done.stderr);
    }
}

#[test]
fn what_other_loops_call_a_setting_is_answered_with_ours() {
    let world = World::new();
    for (line, who, ours) in [
        ("stopCriteria: {requireLint: true}", "TalkCody", "use `stop`"),
        ("ralphLoopEnabled: true", "TalkCody", "use `enabled`"),
        ("event_loop: {maxWallTimeMs: 5}", "TalkCody", "`event_loop.max_wall_time`, with a unit"),
        ("memory: {summaryFileName: x}", "TalkCody", "`memory.summary_file`"),
        ("checks: [x]", "ralphify", "use `gates`"),
        ("event_loop: {cooldownDelaySeconds: 5}", "ralph-orchestrator", "`event_loop.delay`"),
    ] {
        world.write("ralph.yml", &format!("agent: ./a\nprompt: x\n{line}\n"));
        let done = world.ralph(["check"]).expect(2);
        for part in [who, ours, "ralph.yml:3:"] {
            assert!(done.stderr.contains(part), "`{part}` is not in\n{}", done.stderr);
        }
    }
}

#[test]
fn check_says_which_folder_a_dot_means() {
    let world = World::new();
    for name in ["r/agent.sh", "r/tests.sh", "agent.sh"] {
        script(&world, name, "cat >/dev/null");
    }
    let settings = "commands: [{name: t, run: ./tests.sh}]";
    world.write("r/RALPH.md", &format!("---\nagent: ./agent.sh\n{settings}\n---\n{{{{ commands.t }}}}"));
    let done = world.ralph(["check", "r"]).expect(0);
    for part in
        ["`./agent.sh` is looked up in the workspace", "`./tests.sh` in `commands` in `r`", "r/RALPH.md:2:8"]
    {
        assert!(done.stderr.contains(part), "`{part}` is not in\n{}", done.stderr);
    }
    world.write("r/RALPH.md", &format!("---\nagent: ./r/agent.sh\n{settings}\n---\n{{{{ commands.t }}}}"));
    let done = world.ralph(["check", "r"]).expect(0);
    assert!(done.stderr.contains("`./r/agent.sh` is looked up in the workspace"), "{}", done.stderr);
}

#[test]
fn whatever_needs_a_person_says_so_in_one_sentence_with_the_command() {
    let world = World::new();
    let agent = world.agent(
        "on 1: say <ralph>BLOCKED: which database?</ralph>\nsay <!-- ralph:state waiting_for_review -->",
    );
    let done = world.ralph(["run", "-p", "x", "-a", &agent, "-n", "9"]).expect(4);
    let run = world.events().0[0]["run"].as_str().expect("an id").to_owned();
    let sentence =
        format!("needs you: which database? ralph say 'ANSWER' --run {run}, then: ralph resume {run}");
    assert!(flat(&done.stdout).contains(&sentence), "{}", done.stdout);
    world.ralph(["say", "the small one", "--run", &run]).expect(0);
    let live = world.start(["resume", &run]);
    world.wait_for("delay.started", 1);
    wait_until("that it asks", || {
        live.stdout().contains("needs you: the agent waits for a review: ralph say 'WHAT")
    });
    let status = flat(&world.ralph(["status"]).expect(0).stdout);
    assert!(status.contains("needs you the agent waits for a review: ralph say"), "{status}");
    world.ralph(["stop"]).expect(0);
    live.wait().expect(130);
}
