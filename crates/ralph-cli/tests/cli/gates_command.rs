//! `ralph gates list` and `ralph gates run`.

use crate::harness::*;

#[test]
fn they_are_listed_with_where_they_come_from_and_need_no_agent() {
    let world = World::new();
    world.write(
        "ralph.yml",
        "agent: no-such-agent\ngates:\n  - {name: tests, run: sh -c 'exit 3', kind: test}\n  - {name: docs, run: 'true', required: false, when: iteration, timeout: 5s}\n",
    );
    let listed = world.ralph(["gates", "list"]).expect(0).stdout;
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(
        lines[0],
        "tests  sh -c 'exit 3'  test  required      at every completion  10m  ralph.yml:3:5"
    );
    assert_eq!(
        lines[1],
        "docs   true            -     reports only  at every iteration   5s   ralph.yml:4:5"
    );
    let json: Value =
        serde_json::from_str(&world.ralph(["gates", "list", "--json"]).expect(0).stdout).expect("JSON");
    assert_eq!(json[0]["run"], json!(["sh", "-c", "exit 3"]));
    assert_eq!((&json[1]["required"], &json[1]["timeout_ms"]), (&json!(false), &json!(5000)));
    let set = world.ralph(["gates", "list", "--set", "gates=[{name: other, run: ls}]"]).expect(0).stdout;
    assert!(set.starts_with("other  ls") && set.contains("--set"), "{set}");
}

#[test]
fn without_a_definition_they_are_those_of_the_project() {
    let world = World::new();
    let none = world.ralph(["gates", "run"]).expect(2);
    assert!(
        none.stderr.contains("there is no gate") && none.stderr.contains("gates: [{name"),
        "{}",
        none.stderr
    );
    world.write("Cargo.toml", "[package]\n");
    assert!(world.ralph(["gates", "list"]).expect(0).stdout.contains("cargo test"));
    // A definition that has none says so itself.
    world.write("ralph.yml", "agent: x\n");
    let none = world.ralph(["gates", "run"]).expect(2);
    assert!(
        none.stderr.contains("`gates: auto` in the definition would run `cargo test`"),
        "{}",
        none.stderr
    );
    world.write("ralph.yml", "agent: x\ngates: auto\n");
    assert!(world.ralph(["gates", "list"]).expect(0).stdout.contains("found: Cargo.toml"));
    let wrong = world.ralph(["gates", "list", "--set", "gates=automatic"]).expect(2);
    assert!(wrong.stderr.contains("gates"), "{}", wrong.stderr);
}

#[test]
fn a_failing_required_gate_is_shown_with_its_output_and_fails_the_command() {
    let world = World::new();
    world.write(
        "ralph.yml",
        "gates:\n  - {name: good, run: 'true'}\n  - {name: lint, run: \"sh -c 'echo; exit 9'\", required: false}\n  - {name: bad, run: \"sh -c 'printf \\\"\\\\033[31mtwo tests failed\\\\033[0m\\\"; exit 3'\"}\n",
    );
    let done = world.ralph(["gates", "run"]).expect(1);
    assert!(
        done.stdout.contains("passed  good") && done.stdout.contains("failed  lint: exit code 9"),
        "{}",
        done.stdout
    );
    assert!(done.stdout.contains("FAILED  bad: exit code 3"), "{}", done.stdout);
    assert!(done.stdout.contains("    two tests failed") && !done.stdout.contains('\x1b'), "{}", done.stdout);
    world.ralph(["gates", "run", "good", "lint"]).expect(0);
    let json: Value =
        serde_json::from_str(&world.ralph(["gates", "run", "bad", "--json"]).expect(1).stdout).expect("JSON");
    assert_eq!((&json[0]["passed"], &json[0]["exit_code"]), (&json!(false), &json!(3)));
    let unknown = world.ralph(["gates", "run", "god"]).expect(2);
    assert!(unknown.stderr.contains("did you mean `good`?"), "{}", unknown.stderr);
    assert_eq!(world.run_dirs().len(), 0, "no run was made");
}

#[test]
fn ctrl_c_leaves_nothing_behind() {
    let world = World::new();
    let up = world.path("up");
    let run = world.agent(&format!("spawn-child\ndaemon\nwrite {} x\nsleep 120s", up.display()));
    world.write("ralph.yml", &format!("gates: [{{name: slow, run: {run}}}]\n"));
    for args in [vec!["gates", "run"], vec!["gates", "run", "--copy"], vec!["gates", "audit"]] {
        let _ = std::fs::remove_file(&up);
        let live = world.start(&args);
        wait_until("the gate", || up.exists());
        live.ctrl_c();
        live.wait().expect(130);
        world.expect_no_survivors();
        let scratch = std::fs::read_dir(world.state().join("scratch"));
        assert_eq!(scratch.map_or(0, Iterator::count), 0, "{args:?}");
    }
}

#[test]
fn gates_do_not_run_under_the_hands_of_a_run_unless_in_a_copy() {
    let world = World::new();
    world.write("ralph.yml", "gates: [{name: writes, run: \"sh -c 'pwd > where'\"}]\n");
    let go = world.path("go");
    let live = world.start_run(&format!("write up x\nwait-for {}", go.display()), &["-n", "1"]);
    world.wait_for_file("up");
    let busy = world.ralph(["gates", "run"]).expect(5);
    assert!(busy.stderr.contains("--copy") && busy.stderr.contains("is working in"), "{}", busy.stderr);
    world.ralph(["gates", "run", "--copy"]).expect(0);
    assert!(!world.work("where").exists());
    std::fs::write(&go, "").expect("write");
    live.wait().expect(3);
    world.ralph(["gates", "run"]).expect(0);
    assert_eq!(world.read("where").trim(), world.path("work").display().to_string());
}
