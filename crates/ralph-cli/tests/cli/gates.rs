//! Gates: a claim is only the start of the check, whatever happens to the gates, to ralph or to the tree meanwhile.

use std::path::PathBuf;

use crate::harness::*;

/// What an agent says that claims to be done. It counts its calls.
const CLAIM: &str = "append runs.txt\nsay <ralph>COMPLETE</ralph>";

/// The gates of every run in this world, and what else its definition says.
fn define(world: &World, gates: &[&str], more: &str) {
    let gates: String = gates.iter().map(|gate| format!("  - {gate}\n")).collect();
    world.write("ralph.yml", &format!("gates:\n{gates}{more}"));
}

fn calls(world: &World) -> usize {
    world.read("runs.txt").lines().count()
}

fn git(world: &World, args: &[&str]) -> String {
    let mut git = world.command("git");
    git.args(["-c", "user.name=t", "-c", "user.email=t@localhost"]).args(args);
    world.spawn(git).wait().expect(0).stdout
}

/// A gate that says where it is and then waits. What it touches is beside the workspace: the tree stands still.
struct Slow {
    run: String,
    up: PathBuf,
    go: PathBuf,
}

impl Slow {
    /// It leaves a child and a grandchild in a session of its own, both deaf to TERM. Then it ends with this code.
    fn new(world: &World, code: u8) -> Self {
        let (up, go) = (world.path("gate-up"), world.path("gate-go"));
        let steps = [
            "spawn-child".to_owned(),
            "daemon".to_owned(),
            "say checking".to_owned(),
            format!("write {} x", up.display()),
            format!("wait-for {}", go.display()),
            format!("exit {code}"),
        ];
        Self { run: world.agent(&steps.join("\n")), up, go }
    }

    fn define(&self, world: &World) {
        define(world, &[&format!("{{name: slow, run: {}}}", self.run)], "");
    }

    fn wait(&self) {
        wait_until("the gate", || self.up.exists());
    }

    fn let_go(&self) {
        std::fs::write(&self.go, "").expect("write");
    }
}

#[test]
fn a_refused_claim_is_told_to_the_next_iteration_and_the_repaired_one_is_believed() {
    let world = World::new();
    git(&world, &["init", "-q"]);
    world.write("check.sh", "test -e fixed && exit 0\necho two tests failed >&2\nexit 7\n");
    git(&world, &["add", "."]);
    git(&world, &["commit", "-qm", "first"]);
    define(&world, &["{name: unit tests, run: sh check.sh, kind: test}"], "");
    let script = format!("save-prompt prompt-%i.txt\non 2: write fixed yes\n{CLAIM}");
    let done = world.run(&script, &[]).expect(0);
    assert!(done.stdout.contains("unit tests"), "{}", done.stdout);
    let told = world.read("prompt-2.txt");
    for part in ["unit tests", "exit code 7", "two tests failed", "sh check.sh"] {
        assert!(told.contains(part), "no {part} in {told}");
    }
    assert!(!world.read("prompt-1.txt").contains("two tests failed"));
    let events = world.events();
    assert_eq!(events.finished(), [1, 2]);
    assert_eq!(events.fields("gate.finished", "passed"), [false, true]);
    assert_eq!(events.fields("gate.finished", "exit_code"), [7, 0]);
    assert_eq!(events.fields("completion.rejected", "why"), ["unit tests: exit code 7"]);
    let accepted = events.last("completion.accepted");
    assert_eq!((&accepted["iteration"], &accepted["gates"]), (&json!(2), &json!(1)));
    let head = git(&world, &["rev-parse", "HEAD"]);
    assert_eq!(accepted["tree"]["commit"], head.trim());
    assert_eq!(accepted["tree"]["hash"].as_str().map(str::len), Some(64));
    assert_eq!(world.stopped(), ("complete".to_owned(), 0));
    world.verify();
}

#[test]
fn a_single_pass_that_is_refused_has_failed() {
    let world = World::new();
    define(&world, &["{name: tests, run: \"sh -c 'exit 3'\"}"], "");
    world.run(CLAIM, &["--once"]).expect(1);
    assert_eq!(world.stopped(), ("once".to_owned(), 1));
    let events = world.events();
    let message = events.last("run.stopped")["message"].to_string();
    assert!(message.contains("tests: exit code 3"), "{message}");
    // The same pass without a claim is fine: nothing was said that is not true.
    world.run("say not yet", &["--once"]).expect(0);
}

#[test]
fn a_run_that_ends_at_a_limit_says_that_its_last_claim_was_refused() {
    let world = World::new();
    define(&world, &["{name: tests, run: \"sh -c 'exit 3'\"}"], "");
    let done = world.run(CLAIM, &["-n", "2"]).expect(3);
    let line = "  refused the last claim (#2): gate tests: exit code 3\n";
    assert!(done.stdout.contains(line), "{}", done.stdout);
    let done = world.run("say not yet", &["-n", "2"]).expect(3);
    assert!(!done.stdout.contains("refused"), "{}", done.stdout);
}

#[test]
fn claims_refused_again_and_again_end_the_run_with_what_the_gate_said() {
    let world = World::new();
    let gates = ["{name: tests, run: \"sh -c 'echo it is still broken; exit 1'\"}"];
    define(&world, &gates, "stop:\n  max_rejected_completions: 2\n");
    let done = world.run(CLAIM, &[]).expect(1);
    assert!(done.stdout.contains("still broken"), "{}", done.stdout);
    assert_eq!(world.stopped(), ("rejected_completions".to_owned(), 1));
    let events = world.events();
    assert_eq!(events.finished(), [1, 2]);
    let message = events.last("run.stopped")["message"].to_string();
    assert!(message.contains("tests") && message.contains("it is still broken"), "{message}");
    world.verify();
}

#[test]
fn a_gate_that_is_out_of_time_is_ended_with_everything_it_started() {
    let world = World::new();
    let run = world.agent("spawn-child\ndaemon\nsay stuck here\nsleep 120s");
    define(&world, &[&format!("{{name: slow, run: {run}, timeout: 2s}}")], "");
    world.run(CLAIM, &["--once"]).expect(1);
    world.expect_no_survivors();
    let events = world.events();
    let result = events.last("gate.finished");
    assert_eq!((&result["passed"], &result["exit_code"]), (&json!(false), &json!(null)));
    assert_eq!(result["error"], "out of time after 2s");
    assert_eq!(result["tail"], "stuck here");
    world.verify();
}

#[test]
fn a_gate_that_leaves_processes_behind_passes_and_they_are_gone() {
    let world = World::new();
    let run = world.agent("spawn-child\ndaemon");
    define(&world, &[&format!("{{name: messy, run: {run}}}")], "");
    world.run(CLAIM, &[]).expect(0);
    world.expect_no_survivors();
}

#[test]
fn kill_9_during_a_gate_leaves_nothing_alive_and_the_claim_is_settled_without_another_agent() {
    for (code, exit) in [(0, 0), (5, 3)] {
        let world = World::new();
        let slow = Slow::new(&world, code);
        slow.define(&world);
        let live = world.start_run(CLAIM, &["-n", "1"]);
        slow.wait();
        live.kill();
        world.expect_no_survivors();
        slow.let_go();
        world.ralph(["resume"]).expect(exit);
        world.expect_no_survivors();
        is_settled_without_another_agent(&world, code == 0);
    }
}

#[test]
fn the_first_ctrl_c_lets_the_gates_finish() {
    for (code, ends) in [(0, ("complete", 0)), (5, ("interrupted", 130))] {
        let world = World::new();
        let slow = Slow::new(&world, code);
        slow.define(&world);
        let live = world.start_run(CLAIM, &[]);
        slow.wait();
        live.ctrl_c();
        world.wait_for("stop.requested", 1);
        slow.let_go();
        live.wait().expect(ends.1);
        let events = world.events();
        assert_eq!(events.last("run.stopped")["reason"], ends.0);
        assert_eq!(events.fields("gate.finished", "exit_code"), [code]);
        assert_eq!(events.of("gates.killed").len(), 0);
        assert_eq!(events.finished(), [1]);
        world.verify();
    }
}

#[test]
fn a_stop_at_once_ends_the_gates_and_the_claim_is_settled_after_the_resume() {
    type Stop = fn(&World, &Live);
    let twice: Stop = |world, live| {
        live.ctrl_c();
        world.wait_for("stop.requested", 1);
        live.ctrl_c();
    };
    let term: Stop = |_, live| live.signal(Signal::TERM);
    for (stop, exit) in [(twice, 130), (term, 143)] {
        let world = World::new();
        let slow = Slow::new(&world, 0);
        slow.define(&world);
        let live = world.start_run(CLAIM, &["-n", "1"]);
        slow.wait();
        stop(&world, &live);
        live.wait().expect(exit);
        world.expect_no_survivors();
        let events = world.events();
        assert_eq!(events.last("run.stopped")["reason"], "interrupted");
        assert_eq!(events.last("gates.killed")["why"], "stop");
        assert_eq!(events.of("completion.rejected").len(), 0, "the agent is not to blame");
        slow.let_go();
        world.ralph(["resume"]).expect(0);
        is_settled_without_another_agent(&world, true);
    }
}

#[track_caller]
fn is_settled_without_another_agent(world: &World, accepted: bool) {
    let events = world.events();
    assert_eq!(events.of("iteration.started").len(), 1);
    assert_eq!(calls(world), 1, "nothing is paid for twice");
    assert_eq!(events.fields("gates.started", "round"), [1, 1]);
    let settled = (events.of("completion.accepted").len(), events.of("completion.rejected").len());
    assert_eq!(settled, if accepted { (1, 0) } else { (0, 1) });
    world.verify();
}

#[test]
fn a_limit_of_time_also_ends_gates() {
    let world = World::new();
    let slow = Slow::new(&world, 0);
    slow.define(&world);
    world.run(CLAIM, &["--max-runtime", "3s"]).expect(3);
    world.expect_no_survivors();
    let events = world.events();
    assert_eq!(events.last("run.stopped")["reason"], "max_runtime");
    assert_eq!(events.last("gates.killed")["why"], json!({ "guard": "max_runtime" }));
    slow.let_go();
    world.ralph(["resume", "--max-runtime", "1h"]).expect(0);
    is_settled_without_another_agent(&world, true);
}

#[test]
fn a_gate_of_every_iteration_runs_without_a_claim_and_the_next_prompt_tells() {
    let world = World::new();
    let gates = [
        "{name: style, run: \"sh -c 'echo a tab in line 3; exit 2'\", when: iteration}",
        "{name: never, run: \"sh -c 'exit 1'\"}",
    ];
    define(&world, &gates, "");
    world.run("save-prompt prompt-%i.txt\nsay working", &["-n", "2"]).expect(3);
    let events = world.events();
    assert_eq!(events.fields("gates.started", "gates"), [json!(["style"]), json!(["style"])]);
    assert_eq!(events.fields("gate.finished", "iteration"), [1, 2]);
    assert_eq!(events.of("completion.rejected").len(), 0, "nobody claimed anything");
    let told = world.read("prompt-2.txt");
    for part in ["style", "exit code 2", "a tab in line 3"] {
        assert!(told.contains(part), "no {part} in {told}");
    }
    world.verify();
}

#[test]
fn a_gate_that_is_not_required_only_reports() {
    let world = World::new();
    let gates = [
        "{name: docs, run: \"sh -c 'echo a dead link; exit 4'\", required: false}",
        "{name: tests, run: \"true\"}",
    ];
    define(&world, &gates, "");
    let done = world.run(CLAIM, &[]).expect(0);
    assert!(done.stdout.contains("docs"), "{}", done.stdout);
    let events = world.events();
    let mut results = events.of("gate.finished");
    results.sort_by_key(|result| result["name"].to_string());
    let results: Vec<_> = results.iter().map(|result| (&result["name"], &result["passed"])).collect();
    assert_eq!(results, [(&json!("docs"), &json!(false)), (&json!("tests"), &json!(true))]);
    assert_eq!(events.last("completion.accepted")["gates"], 1);
    // Nothing is bound to what it saw: it may write into the tree.
    define(&world, &["{name: notes, run: \"sh -c 'echo more >> notes.txt'\", required: false}"], "");
    world.run(CLAIM, &[]).expect(0);
    assert_eq!(world.read("notes.txt").lines().count(), 1);
}

#[test]
fn a_gate_whose_program_is_missing_refuses_and_says_so() {
    let world = World::new();
    define(&world, &["{name: tests, run: ./no-such-checker-anywhere}"], "");
    // It is in the workspace, so the agent may still write it.
    let done = world.run(CLAIM, &["--once"]).expect(1);
    let note = "note: gate `tests` cannot run yet: `./no-such-checker-anywhere` was not found\n";
    assert_eq!(done.stderr, format!("{note}{NO_NET}"));
    let events = world.events();
    let why = events.last("completion.rejected")["why"].to_string();
    assert!(why.contains("cannot be started") && why.contains("no-such-checker-anywhere"), "{why}");
}

#[test]
fn a_gate_that_can_not_run_is_a_mistake_before_the_agent_is_paid() {
    let world = World::new();
    world.write("plain.sh", "#!/bin/sh\n");
    for (run, part) in [
        ("no-such-checker-anywhere -x", "`no-such-checker-anywhere` was not found"),
        ("../gone.sh", "`../gone.sh` was not found"),
        ("./plain.sh", "help: chmod +x ./plain.sh"),
    ] {
        define(&world, &["{name: fine, run: \"true\"}", &format!("{{name: tests, run: {run}}}")], "");
        let agent = world.agent(CLAIM);
        for args in
            [&["run", "-p", "x", "-a", &agent][..], &["check", "--set", &format!("agent.command={agent}")]]
        {
            let done = world.ralph(args).expect(2);
            assert!(done.stderr.contains("the gate `tests` cannot run"), "{}", done.stderr);
            assert!(done.stderr.contains(part) && done.stderr.contains("ralph.yml:3:24"), "{}", done.stderr);
        }
    }
    assert!(!world.state().exists());
    // Inside a run that name always means something.
    define(&world, &["{name: itself, run: ralph --version}"], "");
    world.run(CLAIM, &[]).expect(0);
}

#[test]
fn a_gate_that_changes_a_tracked_file_each_time_is_never_believed_and_the_file_is_named() {
    let world = World::new();
    git(&world, &["init", "-q"]);
    world.write("src/counter.txt", "0\n");
    git(&world, &["add", "."]);
    git(&world, &["commit", "-qm", "first"]);
    define(&world, &["{name: tests, run: \"sh -c 'echo more >> src/counter.txt'\"}"], "");
    world.run(CLAIM, &["--once"]).expect(1);
    let events = world.events();
    assert_eq!(events.fields("gates.started", "round"), [1, 2, 3]);
    assert_eq!(events.fields("gate.finished", "passed"), [true; 3]);
    assert_eq!(events.fields("gates.finished", "moved"), vec![json!(["src/counter.txt"]); 3]);
    let rejected = events.last("completion.rejected");
    assert_eq!(rejected["missing"][0]["name"], "tree");
    assert!(rejected["why"].to_string().contains("src/counter.txt"), "{rejected}");
    assert_eq!(world.read("src/counter.txt").lines().count(), 4);
    world.verify();
}

#[test]
fn a_gate_that_changes_a_file_once_is_asked_again_and_believed() {
    let world = World::new();
    define(&world, &["{name: format, run: \"sh -c 'echo tidy > formatted.txt'\"}"], "");
    // Work of the agent: what only gates write would be no part of the proof.
    world.run(&format!("write formatted.txt untidy\n{CLAIM}"), &[]).expect(0);
    let events = world.events();
    assert_eq!(events.fields("gates.started", "round"), [1, 2]);
    assert_eq!(events.of("completion.accepted").len(), 1);
}

#[test]
fn what_ralph_leaves_in_the_workspace_is_whole_and_not_part_of_the_repository() {
    let world = World::new();
    git(&world, &["init", "-q"]);
    define(&world, &["{name: tests, run: test -e fixed}"], "");
    world.run("on 2: write fixed yes\nsay <ralph>COMPLETE</ralph>", &[]).expect(0);
    let text = world.read(".ralph/ralph-iteration.json");
    let file: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"));
    assert_eq!(file["run_id"], world.run_id());
    assert_eq!((&file["iteration"], &file["stop_reason"]), (&json!(2), &json!("complete")));
    let summary = world.read(".ralph/ralph-summary.md");
    assert!(summary.contains("tests"), "{summary}");
    assert_eq!(git(&world, &["status", "--porcelain"]), "?? fixed\n?? ralph.yml\n");
}
