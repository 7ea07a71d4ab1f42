//! Known agents, by their recordings: a program of the agent's name that prints what the real one printed, and ends as it did.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::harness::*;

const TRANSCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../ralph-agents/transcripts");

/// A shell program of this name, in a folder of its own.
fn program(world: &World, name: &str, body: &str) -> String {
    let folder = world.path("bin");
    fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{body}\n")).expect("write");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
    path.display().to_string()
}

fn recording(name: &str, scenario: &str) -> PathBuf {
    Path::new(TRANSCRIPTS).join(name).join(scenario)
}

/// What one launch does: print a recording, and end as it did.
fn replay(name: &str, scenario: &str) -> String {
    let base = recording(name, scenario).display().to_string();
    let code = read(Path::new(&format!("{base}.exit")));
    let errors = Path::new(&format!("{base}.stderr.txt")).exists();
    let errors = if errors { format!("cat '{base}.stderr.txt' >&2; ") } else { String::new() };
    format!("cat >/dev/null; cat '{base}.stdout.jsonl'; {errors}exit {}", code.trim())
}

/// One recording for each launch; the last one again and again. The file `launches` counts them.
fn player(world: &World, name: &str, scenarios: &[&str]) -> String {
    let (last, first) = scenarios.split_last().expect("a scenario");
    let mut body = "echo x >> launches; case $(wc -l < launches | tr -d ' ') in\n".to_owned();
    for (index, scenario) in first.iter().enumerate() {
        body.push_str(&format!("{}) {} ;;\n", index + 1, replay(name, scenario)));
    }
    body.push_str(&format!("*) {} ;;\nesac", replay(name, last)));
    program(world, name, &body)
}

fn run(world: &World, agent: &str, args: &[&str]) -> Live {
    let mut all = vec!["run", "-p", "the task", "-a", agent];
    all.extend(args);
    world.start(all)
}

#[test]
fn every_agent_that_succeeds_is_understood() {
    for (name, tokens) in [
        ("claude", [6050, 15300, 160]),
        ("codex", [6050, 15300, 160]),
        ("opencode", [6050, 15300, 160]),
        ("gemini", [6050, 15300, 160]),
        ("qwen", [6050, 15300, 160]),
        ("pi", [6050, 15300, 160]),
        ("cline", [6050, 15300, 160]),
        ("goose", [21350, 0, 160]),
        ("copilot", [0, 0, 0]),
        ("kimi", [0, 0, 0]),
    ] {
        let world = World::new();
        let agent = player(&world, name, &["success"]);
        run(&world, &agent, &[]).wait().expect(0);
        let events = world.events();
        let finished = events.last("iteration.finished");
        let usage = ["input", "cache_read", "output"].map(|key| finished["usage"][key].as_u64().unwrap_or(0));
        assert_eq!((usage, &finished["outcome"]), (tokens, &json!("ok")), "{name}");
        assert_eq!(world.stopped(), ("complete".to_owned(), 0), "{name}");
        // A failing check, a written file, a passing check.
        let tools = events.of("tool.finished");
        assert!(tools.len() >= 3, "{name}: {tools:?}");
        let failed = tools.iter().filter(|tool| tool["ok"] == json!(false)).count();
        let sure = !["gemini"].contains(&name);
        assert_eq!(failed, usize::from(sure), "{name}: {tools:?}");
        world.verify();
    }
}

#[test]
fn an_exit_code_of_zero_is_no_success() {
    for (name, scenario, why) in [
        ("claude", "sigint", "the agent reports an error"),
        ("gemini", "sigterm-group", "its output stopped without an end"),
        ("goose", "badrequest-context", "Context limit still exceeded"),
        ("pi", "badrequest-context", "prompt is too long"),
    ] {
        assert_eq!(read(&recording(name, scenario).with_extension("exit")).trim(), "0");
        let world = World::new();
        let agent = player(&world, name, &[scenario]);
        run(&world, &agent, &["--once"]).wait().expect(1);
        let events = world.events();
        let error = events.last("iteration.finished")["error"].as_str().unwrap_or_default().to_owned();
        assert!(error.contains(why), "{name} {scenario}: {error}");
    }
}

#[test]
fn what_only_a_person_can_cure_stops_at_once() {
    for (name, scenario, reason, hint) in [
        ("claude", "noauth", "sign_in", "sign the agent in"),
        ("pi", "autherror", "sign_in", "sign the agent in"),
        ("gemini", "autherror", "sign_in", "sign the agent in"),
        ("codex", "quota", "billing", "plan or credit"),
    ] {
        let world = World::new();
        let agent = player(&world, name, &[scenario]);
        let done = run(&world, &agent, &[]).wait().expect(4);
        assert!(done.stdout.replace('\n', " ").contains(hint), "{}", done.stdout);
        assert_eq!(world.stopped().0, reason, "{name} {scenario}");
        assert_eq!(world.read("launches").lines().count(), 1, "{name} {scenario}");
        assert_eq!(world.events().finished(), [0; 0]);
    }
}

#[test]
fn a_limit_is_waited_for_and_only_unpause_now_cuts_it_short() {
    let world = World::new();
    let agent = player(&world, "claude", &["usagelimit", "success"]);
    let live = run(&world, &agent, &[]);
    world.wait_for("delay.started", 1);
    // Words do not end a limit.
    world.ralph(["say", "go on"]).expect(0);
    assert!(world.ralph(["status"]).expect(0).stdout.contains("usage limit"));
    live.kill();
    // Neither does a crash.
    let live = world.start(["resume"]);
    world.wait_for("run.resumed", 1);
    world.wait_until("guidance", |events| !events.of("guidance.added").is_empty());
    assert_eq!(world.read("launches").lines().count(), 1);
    world.ralph(["unpause", "--now"]).expect(0);
    live.wait().expect(0);
    assert_eq!(world.read("launches").lines().count(), 2);
    let events = world.events();
    assert_eq!(events.of("limit.hit").len(), 1);
    assert_eq!(events.fields("iteration.interrupted", "why"), ["limit"]);
    assert_eq!((events.finished(), events.last("run.stopped")["failures"].as_u64()), (vec![1], Some(0)));
    world.verify();
}

#[test]
fn a_fallback_takes_over_while_a_limit_lasts() {
    let world = World::new();
    let agent = player(&world, "claude", &["ratelimit"]);
    let other = program(&world, "codex", &replay("codex", "success"));
    let set = format!("fallback=['{other}']");
    let done = run(&world, &agent, &["--set", &set, "--set", "fallback_after=1"]).wait().expect(0);
    assert!(done.stdout.contains("at limits and outages: codex"), "{}", done.stdout);
    let events = world.events();
    assert_eq!(events.fields("agent.switched", "name"), ["codex"]);
    assert_eq!(events.last("iteration.finished")["outcome"], "ok");
    assert_eq!(world.read("launches").lines().count(), 1);
    world.verify();
}

/// The part of a recording before its end, then nothing more.
fn half(name: &str) -> String {
    let all = read(&recording(name, "success.stdout.jsonl"));
    let lines = all.lines().count() * 2 / 3;
    let path = recording(name, "success.stdout.jsonl");
    format!("cat >/dev/null; head -n {lines} '{}'; sleep 120", path.display())
}

#[test]
fn limits_of_tokens_and_money_hold_inside_an_iteration() {
    for (name, limit, reason) in [
        ("opencode", "event_loop.max_tokens=5000", "max_tokens"),
        ("opencode", "event_loop.max_cost_usd=0.001", "max_cost"),
        ("pi", "event_loop.max_cost_usd=0.001", "max_cost"),
        // Money by ralph's own price list: it tells its cost only at its end.
        ("claude", "event_loop.max_cost_usd=0.001", "max_cost"),
    ] {
        let world = World::new();
        let agent = program(&world, name, &half(name));
        run(&world, &agent, &["--set", limit]).wait().expect(3);
        assert_eq!(world.stopped().0, reason, "{name} {limit}");
        let events = world.events();
        let cut = events.last("iteration.interrupted");
        assert!(cut["usage"]["input"].as_u64() > Some(0), "the overshoot is recorded: {cut}");
        assert_eq!(events.finished(), [0; 0]);
        world.expect_no_survivors();
        world.verify();
    }
}

#[test]
fn a_cost_limit_that_can_not_hold_starts_nothing() {
    let world = World::new();
    let agent = player(&world, "codex", &["success"]);
    let done = run(&world, &agent, &["--max-cost", "5"]).wait().expect(2);
    assert!(done.stderr.contains("max_cost cannot be enforced: what codex costs"), "{}", done.stderr);
    assert!(world.run_dirs().is_empty(), "a run was started");
    let done = run(&world, &agent, &[]).wait().expect(0);
    assert!(done.stdout.contains("21.5k tokens, cost unknown"), "{}", done.stdout);
    assert_eq!(world.events().last("iteration.finished")["cost_usd"], Value::Null);

    // The model may be named by the agent's own flag, and the price by the user.
    let prices = "prices=[{model: my-model, input: 1, cache_read: 0.1, output: 10}]";
    let own = format!("{agent} -m my-model");
    let done = run(&world, &own, &["--max-cost", "5", "--set", prices]).wait().expect(0);
    assert!(!done.stderr.contains("enforced"), "{}", done.stderr);
    let cost = world.events().last("iteration.finished")["cost_usd"].as_f64().unwrap_or_default();
    assert!((cost - 0.00918).abs() < 1e-9, "{cost}");

    // A fallback counts too.
    let claude = player(&world, "claude", &["success"]);
    let set = format!("fallback=['{agent}']");
    let done = run(&world, &claude, &["--max-cost", "5", "--set", &set]).wait().expect(2);
    assert!(done.stderr.contains("what codex costs"), "{}", done.stderr);
}

#[test]
fn a_program_that_is_gone_during_the_run_is_no_reason_to_try_again() {
    let world = World::new();
    let agent = program(&world, "claude", &format!("rm \"$0\"; {}", replay("claude", "text")));
    run(&world, &agent, &[]).wait().expect(4);
    assert_eq!(world.stopped().0, "agent_missing");
    assert_eq!(world.events().finished(), [1]);
}

#[test]
fn the_prompt_after_a_context_that_was_too_long_says_so() {
    let world = World::new();
    let first = replay("claude", "badrequest-context").replacen("cat >/dev/null", "cat > prompt-1", 1);
    let second = replay("claude", "success").replacen("cat >/dev/null", "cat > prompt-2", 1);
    let body = format!("if [ -e prompt-1 ]; then {second}; else {first}; fi");
    let agent = program(&world, "claude", &body);
    run(&world, &agent, &NO_BACKOFF).wait().expect(0);
    assert!(!world.read("prompt-1").contains("context grew too long"));
    assert!(world.read("prompt-2").contains("context grew too long"), "{}", world.read("prompt-2"));
    assert_eq!(world.events().of("iteration.finished")[0]["class"], "context_too_long");
    world.verify();
}

#[test]
fn an_agent_given_by_path_is_completed_and_no_flag_comes_twice() {
    let world = World::new();
    let body = format!("printf '%s\\n' \"$@\" > args; {}", replay("claude", "text"));
    let agent = program(&world, "claude", &body);
    let line = format!("{agent} -p --model x --permission-mode plan");
    let done = run(&world, &line, &["--once"]).wait().expect(0);
    let args = world.read("args");
    let args: Vec<&str> = args.lines().collect();
    assert_eq!(
        args,
        [
            "-p",
            "--model",
            "x",
            "--permission-mode",
            "plan",
            "--output-format",
            "stream-json",
            "--verbose",
            "--include-partial-messages"
        ]
    );
    // The user has settled the question of permissions; what ralph adds is told.
    assert!(!done.stdout.contains("--dangerously-skip-permissions"), "{}", done.stdout);
    let done = run(&world, &agent, &["--once"]).wait().expect(0);
    assert!(done.stdout.contains("no permission questions: --dangerously-skip-permissions"));
    let set = format!("agent={{name: claude, command: '{agent}', autonomous: false}}");
    world.ralph(["run", "-p", "x", "--once", "--set", &set]).expect(0);
    assert!(!world.read("args").contains("dangerously"), "{}", world.read("args"));
}

#[test]
fn an_agent_that_does_not_end_after_its_last_word_is_hung() {
    let world = World::new();
    let body = replay("claude", "success").replace("exit 0", "sleep 120");
    let agent = program(&world, "claude", &body);
    run(&world, &agent, &["--once", "--set", "event_loop.silence_timeout=2s"]).wait().expect(1);
    let events = world.events();
    assert_eq!(events.last("iteration.finished")["outcome"], "hung");
    assert!(events.of("completion.claimed").is_empty(), "what a failed agent says does not count");
    world.expect_no_survivors();
}
