//! What an agent does to its own checks is no proof, and what nobody did is no change.

use crate::harness::*;

const CLAIM: &str = "say <ralph>COMPLETE</ralph>";

fn git(world: &World, args: &[&str]) {
    let mut git = world.command("git");
    git.args(["-c", "user.name=t", "-c", "user.email=t@localhost"]).args(args);
    world.spawn(git).wait().expect(0);
}

fn define(world: &World, text: &str) {
    world.write("ralph.yml", text);
}

/// `ralph run` by a shell, as a person types it.
fn shell(world: &World, script: &str, line: &str) -> Done {
    let mut shell = world.command("sh");
    let run = format!("{} run -p work -a '{}'", env!("CARGO_BIN_EXE_ralph"), world.agent(script));
    shell.args(["-c", &line.replace("RALPH", &run)]);
    world.spawn(shell).wait()
}

#[test]
fn ralphs_own_log_in_the_workspace_is_neither_a_change_nor_work() {
    let slow = "{name: one, run: \"sh -c 'sleep 0.2; echo x'\"}, {name: two, run: \"sh -c 'sleep 0.4'\"}";
    for line in [
        "RALPH > nohup.out 2>&1",
        "RALPH 2>&1 | tee out.txt",
        "RALPH --json > run.json",
        "RALPH -v | cat | tee a.log >/dev/null",
    ] {
        let world = World::new();
        git(&world, &["init", "-q"]);
        define(&world, &format!("gates: [{slow}]\n"));
        shell(&world, "write work done\nsay <ralph>COMPLETE</ralph>", line).expect(0);
        let events = world.events();
        assert_eq!(world.stopped(), ("complete".to_owned(), 0), "{line}");
        assert_eq!(events.of("gates.started").len(), 1, "{line}");
        assert_eq!(events.fields("iteration.finished", "files_changed"), [1], "{line}");
    }
}

#[test]
fn a_log_that_grows_next_to_it_does_not_keep_a_stuck_agent_going() {
    let world = World::new();
    shell(&world, "say the same again", "RALPH -n 12 -l logs > run.log").expect(1);
    let events = world.events();
    assert!(events.finished().len() < 12, "it was noticed");
    assert!(events.fields("iteration.finished", "files_changed").iter().all(|count| *count == 0));
}

#[test]
fn a_report_that_only_the_gates_write_is_left_out_of_the_proof_and_named_once() {
    let world = World::new();
    git(&world, &["init", "-q"]);
    define(&world, "gates: [{name: tests, run: sh ../gate.sh}, {name: never, run: sh ../never.sh}]\n");
    std::fs::write(world.path("gate.sh"), "date +%s%N > junit.xml\n").expect("write");
    std::fs::write(world.path("never.sh"), "test -e fixed\n").expect("write");
    let script = format!("write work-%i x\non 2: write fixed yes\n{CLAIM}");
    let done = world.run(&script, &[]).expect(0);
    let events = world.events();
    assert_eq!(events.fields("proof.narrowed", "paths"), [json!(["junit.xml"])], "each name once");
    assert_eq!(events.of("gates.started").len(), 2, "one round a claim");
    assert!(done.stdout.contains("junit.xml changed while the gates ran"), "{}", done.stdout);
    assert!(done.stdout.contains("proof_ignore"), "{}", done.stdout);
    world.verify();
}

#[test]
fn a_report_that_the_agent_writes_too_is_left_out_after_a_second_round() {
    let world = World::new();
    git(&world, &["init", "-q"]);
    define(&world, "gates: [{name: tests, run: sh ../gate.sh}]\n");
    std::fs::write(world.path("gate.sh"), "date +%s%N > junit.xml\n").expect("write");
    world.run(&format!("sh sh ../gate.sh\n{CLAIM}"), &[]).expect(0);
    let events = world.events();
    assert_eq!(events.of("gates.started").len(), 2);
    assert_eq!(events.fields("proof.narrowed", "paths"), [json!(["junit.xml"])]);
    assert_eq!(events.last("run.stopped")["proved"], true);
}

#[test]
fn a_tracked_file_that_moves_each_time_refuses_the_claim_with_the_cure_unless_it_is_ignored_by_name() {
    let world = World::new();
    git(&world, &["init", "-q"]);
    world.write("count.txt", "0\n");
    git(&world, &["add", "."]);
    let gates = "gates: [{name: tests, run: \"sh -c 'date +%s%N > count.txt'\"}]\n";
    define(&world, gates);
    world.run(CLAIM, &["-n", "1"]).expect(3);
    let why = world.events().fields("completion.rejected", "why")[0].to_string();
    assert!(why.contains("count.txt") && why.contains("proof_ignore"), "{why}");
    define(&world, &format!("{gates}proof_ignore: [\"count.*\"]\n"));
    world.run(CLAIM, &["-n", "1"]).expect(0);
}

#[test]
fn an_agent_that_rewrites_the_gate_is_not_believed_and_is_told_so() {
    let world = World::new();
    world.write("check.sh", "#!/bin/sh\nexit 1\n");
    define(&world, "gates: [{name: check, run: sh check.sh}]\n");
    let script = format!("save-prompt prompt-%i.txt\nwrite check.sh exit 0\n{CLAIM}");
    let done = world.run(&script, &["-n", "2"]).expect(3);
    let events = world.events();
    assert_eq!(events.of("gate.finished").len(), 0, "nothing is run that the agent wrote");
    let why = events.fields("completion.rejected", "why");
    for (at, part) in
        [(0, "check.sh was changed by iteration 1"), (1, "iteration 1"), (0, "-exit 1"), (0, "+exit 0")]
    {
        assert!(why[at].to_string().contains(part), "no {part} in {why:?}");
    }
    assert!(world.read("prompt-2.txt").contains("check.sh was changed by iteration 1"));
    assert!(done.stdout.contains("check.sh"), "{}", done.stdout);
    world.verify();
}

#[test]
fn a_protected_file_that_is_put_back_counts_as_never_changed() {
    let world = World::new();
    world.write("check.sh", "test -e done");
    define(&world, "gates: [{name: check, run: sh check.sh}]\n");
    let script =
        format!("on 1: write check.sh true\non 2: write check.sh test -e done\non 2: write done x\n{CLAIM}");
    // What `write` writes ends with a new line or not: the file is as it was only byte for byte.
    let done = world.run(&script, &["-n", "3"]);
    let events = world.events();
    let refused = events.of("completion.rejected").len();
    assert!(refused >= 1, "{}", done.stdout);
    let same = world.read("check.sh") == "test -e done";
    assert_eq!(world.stopped().0 == "complete", same);
}

#[test]
fn the_policy_restore_puts_files_back_and_warn_only_tells() {
    for (policy, code) in [("restore", 3), ("warn", 0)] {
        let world = World::new();
        world.write("check.sh", "exit 1\n");
        define(&world, &format!("gates: [{{name: check, run: sh check.sh}}]\nprotect_policy: {policy}\n"));
        let script = format!("save-prompt prompt-%i.txt\nwrite check.sh exit 0\n{CLAIM}");
        let done = world.run(&script, &["-n", "2"]).expect(code);
        assert!(done.stdout.contains("check.sh"), "{}", done.stdout);
        if policy == "restore" {
            assert_eq!(world.read("check.sh"), "exit 1\n");
            assert_eq!(world.events().fields("gate.finished", "passed"), [false, false]);
            assert!(world.read("prompt-2.txt").contains("put back"));
        }
    }
}

#[test]
fn protect_names_more_files_and_allow_sets_some_free() {
    let world = World::new();
    for name in ["tests/a.txt", "tests/b.txt", "check.sh"] {
        world.write(name, "true\n");
    }
    let gates = "gates: [{name: check, run: sh check.sh}]\n";
    define(
        &world,
        &format!("{gates}protect: {{paths: [\"tests/**\"], allow: [\"tests/b.txt\", check.sh]}}\n"),
    );
    let change = |name: &str| world.run(&format!("write {name} changed %r\n{CLAIM}"), &["-n", "1"]);
    change("tests/b.txt").expect(0);
    change("check.sh").expect(3);
    world.write("check.sh", "true\n");
    change("tests/a.txt").expect(3);
    change("tests/new.txt").expect(3);
    let why = world.events().fields("completion.rejected", "why")[0].to_string();
    assert!(why.contains("tests/new.txt") && why.contains("a new file"), "{why}");
}

#[test]
fn what_a_person_changes_between_two_sessions_is_the_new_standard() {
    let world = World::new();
    world.write("check.sh", "exit 1\n");
    define(&world, "gates: [{name: check, run: sh check.sh}]\n");
    world.run(CLAIM, &["-n", "1"]).expect(3);
    world.write("check.sh", "exit 0\n");
    world.ralph(["resume", "-n", "2"]).expect(0);
    assert_eq!(world.events().of("files.protected").len(), 2);
    world.verify();
}

#[test]
fn what_an_agent_changed_stays_refused_after_a_resume() {
    let world = World::new();
    world.write("check.sh", "exit 1\n");
    define(&world, "gates: [{name: check, run: sh check.sh}]\n");
    let script = format!("on 1: write check.sh exit 0\n{CLAIM}");
    world.run(&script, &["-n", "1"]).expect(3);
    world.ralph(["resume", "-n", "2"]).expect(3);
    assert_eq!(world.events().of("completion.rejected").len(), 2);
    world.verify();
}

#[test]
fn a_file_that_is_replaced_by_a_pipe_or_a_link_is_changed_and_nobody_waits_for_it() {
    for act in ["rm check.sh && mkfifo check.sh", "ln -sf /dev/zero check.sh", "rm check.sh"] {
        let world = World::new();
        world.write("check.sh", "exit 1\n");
        define(&world, "gates: [{name: check, run: sh check.sh}]\n");
        world.run(&format!("sh {act}\n{CLAIM}"), &["-n", "1"]).expect(3);
        let why = world.events().fields("completion.rejected", "why")[0].to_string();
        assert!(why.contains("check.sh was changed"), "{act}: {why}");
    }
}

#[test]
fn programs_are_found_where_they_were_at_the_start_and_not_in_the_folder_of_ralph() {
    let world = World::new();
    define(&world, "gates: [{name: check, run: git rev-parse --verify refs/heads/nonexistent}]\n");
    let fake = "sh for name in git sh; do printf '#!/bin/sh\\nexit 0\\n' > $(dirname $RALPH_BIN)/$name; chmod +x $(dirname $RALPH_BIN)/$name; done";
    let done = world.run(&format!("{fake}\n{CLAIM}"), &["-n", "2"]).expect(3);
    let events = world.events();
    assert_eq!(events.fields("gate.finished", "passed"), [false, false]);
    assert_eq!(events.fields("bin.cleaned", "removed"), [json!(["git", "sh"])]);
    assert!(done.stdout.contains("removed from the folder that offers ralph"), "{}", done.stdout);
    let pinned = events.last("programs.pinned")["programs"].to_string();
    assert!(pinned.contains("/git\""), "{pinned}");
}

#[test]
fn a_ralph_that_an_agent_replaced_does_not_speak_for_the_next_one() {
    let world = World::new();
    let script = "on 1: sh rm $RALPH_BIN; printf '#!/bin/sh\\ntouch fooled\\n' > $RALPH_BIN; chmod +x $RALPH_BIN\non 2: sh ralph --version > version.txt";
    world.run(script, &["-n", "2"]).expect(3);
    assert!(!world.work("fooled").exists());
    assert!(world.read("version.txt").contains("ralph"));
}

#[test]
fn the_word_at_the_end_is_exact() {
    let world = World::new();
    let done = world.run(CLAIM, &[]).expect(0);
    assert!(done.stdout.contains("unproved: the agent says so, and there was no gate"), "{}", done.stdout);
    assert!(done.stdout.contains("gates   none"), "{}", done.stdout);
    assert_eq!(world.events().last("run.stopped")["proved"], false);
    let listed = world.ralph(["list", "--json"]).expect(0);
    assert!(
        listed.stdout.contains("\"proved\":false") || listed.stdout.contains("\"proved\": false"),
        "{}",
        listed.stdout
    );
    let world = World::new();
    define(&world, "gates: [{name: tests, run: \"true\"}, {name: lint, run: \"false\", required: false}]\n");
    let done = world.run(CLAIM, &[]).expect(0);
    assert!(done.stdout.contains("complete: proved by tests (tree "), "{}", done.stdout);
    let stopped = world.events().last("run.stopped").clone();
    assert_eq!((&stopped["proved"], &stopped["proved_by"]), (&json!(true), &json!(["tests"])));
}

#[test]
fn a_gate_that_is_only_reported_proves_nothing_and_proof_can_be_demanded() {
    let world = World::new();
    define(&world, "gates: [{name: tests, run: \"true\", required: false}]\n");
    world.run(CLAIM, &[]).expect(0);
    assert_eq!(world.events().last("run.stopped")["proved"], false);
    let done = world.run(CLAIM, &["--set", "stop.require_proof=true"]).expect(2);
    assert!(done.stderr.contains("can never be met"), "{}", done.stderr);
}

#[test]
fn a_gate_that_ended_in_time_is_never_out_of_time() {
    let world = World::new();
    let (up, done) = (world.path("up"), world.path("done"));
    let gate = format!("touch {}; sleep 0.3; touch {}", up.display(), done.display());
    define(&world, &format!("gates: [{{name: tests, run: \"sh -c '{gate}'\", timeout: 2s}}]\n"));
    let run = world.start_run(CLAIM, &[]);
    wait_until("the gate", || up.exists());
    run.signal(Signal::STOP);
    wait_until("the gate's end", || done.exists());
    // Longer than the gate's time.
    std::thread::sleep(std::time::Duration::from_millis(2500));
    run.signal(Signal::CONT);
    run.wait().expect(0);
    assert_eq!(world.events().fields("gate.finished", "passed"), [true]);
}

#[test]
fn two_gates_never_share_a_log() {
    let world = World::new();
    define(
        &world,
        "gates: [{name: a.b, run: echo first}, {name: a-b, run: echo second}, {name: a b, run: echo third}]\n",
    );
    world.run(CLAIM, &[]).expect(0);
    let logs = std::fs::read_dir(world.run_dir().join("logs")).expect("logs");
    let mut texts: Vec<String> = logs
        .flatten()
        .filter(|file| file.file_name().to_string_lossy().contains("gate"))
        .map(|file| read(&file.path()))
        .collect();
    texts.sort();
    assert_eq!(texts, ["first\n", "second\n", "third\n"]);
}

const TESTS: &str = "def test_sum():\n    assert 1 + 1 == 2\n\ndef test_product():\n    assert 2 * 2 == 4\n";

#[test]
fn tampering_with_tests_is_told_by_default_and_refused_where_that_is_asked_for() {
    for (policy, code) in [("warn", 0), ("refuse", 3), ("off", 0)] {
        let world = World::new();
        world.write("test_math.py", TESTS);
        define(&world, &format!("gates: [{{name: tests, run: \"true\"}}]\nstop: {{tampering: {policy}}}\n"));
        let script = format!("save-prompt prompt-%i.txt\nsh rm -f test_math.py\n{CLAIM}");
        let done = world.run(&script, &["-n", "2"]).expect(code);
        assert_eq!(done.stdout.contains("test_math.py"), policy != "off", "{policy}: {}", done.stdout);
        if policy == "refuse" {
            let why = world.events().fields("completion.rejected", "why")[0].to_string();
            assert!(why.contains("tampering") && why.contains("test_math.py"), "{why}");
            assert!(world.read("prompt-2.txt").contains("test_math.py"));
        }
        world.verify();
    }
}

#[test]
fn a_gate_that_suddenly_counts_fewer_tests_is_no_proof_where_tampering_is_refused() {
    let world = World::new();
    define(
        &world,
        "gates: [{name: tests, run: cat ../counted}, {name: other, run: sh ../other.sh}]\nstop: {tampering: refuse}\n",
    );
    std::fs::write(world.path("other.sh"), "test -e fixed\n").expect("write");
    let count =
        |n: u32| format!("test result: ok. {n} passed; 0 failed; 0 ignored; 0 measured; 0 filtered out");
    let script = format!(
        "write ../counted {}\non 2+: write ../counted {}\non 2+: write fixed x\n{CLAIM}",
        count(12),
        count(3)
    );
    world.run(&script, &["-n", "2"]).expect(3);
    let why = world.events().fields("completion.rejected", "why");
    assert!(why[1].to_string().contains("3 ran"), "{why:?}");
    let events = world.events();
    let counts = events.of("gate.finished").into_iter().filter(|gate| gate["name"] == "tests");
    assert_eq!(counts.map(|gate| gate["tests"]["ran"].clone()).collect::<Vec<_>>(), [12, 3]);
}

/// A run with one visible gate, and one whose check and files the agent must not see.
fn held_out(world: &World) {
    std::fs::create_dir_all(world.path("held-out/secret")).expect("a folder");
    std::fs::write(world.path("held-out/secret/acceptance.sh"), "echo the-answer-is-42\ntest -e feature\n")
        .expect("write");
    define(
        world,
        "gates:\n  - {name: tests, run: \"true\"}\n  - {name: customer-check, run: sh secret/acceptance.sh, hidden: true, files: ../held-out}\n",
    );
}

#[test]
fn a_hidden_gate_decides_and_the_agent_learns_only_that_it_failed() {
    let world = World::new();
    held_out(&world);
    let look = "sh find . -type f | sort > seen-%i.txt; env > env-%i.txt; cat .ralph/* >> dot-ralph-%i.txt";
    let ask = "sh for c in events 'events --json' logs replay status 'status --json' explain 'explain --json' 'gates list'; do $RALPH_BIN $c; done > asked-%i.txt 2>&1; true";
    let script = format!("save-prompt prompt-%i.txt\n{look}\n{ask}\non 2: write feature x\n{CLAIM}");
    let done = world.run(&script, &[]).expect(0);
    let events = world.events();
    let hidden: Vec<bool> = events
        .of("gate.finished")
        .iter()
        .filter(|gate| gate["name"] == "customer-check")
        .map(|gate| gate["passed"] == true)
        .collect();
    assert_eq!(hidden, [false, true]);
    for n in 1..=2 {
        for file in ["prompt", "seen", "env", "dot-ralph", "asked"] {
            let text = world.read(&format!("{file}-{n}.txt"));
            for secret in ["customer-check", "acceptance.sh", "secret/", "the-answer-is-42", "held-out"] {
                assert!(!text.contains(secret), "{secret} in {file}-{n}: {text}");
            }
        }
    }
    assert!(world.read("prompt-2.txt").contains("acceptance check"), "{}", world.read("prompt-2.txt"));
    assert!(!world.work("secret").exists(), "the workspace is as it was");
    assert!(done.stdout.contains("visible 1 of 1 passed, hidden 1 of 1"), "{}", done.stdout);
    let scratch = world.state().join("scratch");
    let left = std::fs::read_dir(scratch).map(|all| all.count()).unwrap_or(0);
    assert_eq!(left, 0, "no copy is left behind");
    world.verify();
}

#[test]
fn held_out_files_inside_the_workspace_or_without_a_hidden_gate_are_refused() {
    let world = World::new();
    world.write("inside/x", "x");
    for (gate, why) in [
        ("{name: a, run: \"true\", hidden: true, files: inside}", "inside the workspace"),
        ("{name: a, run: \"true\", files: ../elsewhere}", "hidden: true"),
        ("{name: a, run: \"true\", hidden: true, files: ../nowhere}", "there is no folder"),
    ] {
        define(&world, &format!("gates: [{gate}]\n"));
        let done = world.run(CLAIM, &[]).expect(2);
        assert!(done.stderr.contains(why), "{}", done.stderr);
    }
}

#[test]
fn a_log_that_a_shell_opens_for_every_line_is_ralphs_own_until_something_else_stands_in_it() {
    let log = "2>&1 | while read l; do echo \"$(date) $l\" >> run.log; done";
    let world = World::new();
    git(&world, &["init", "-q"]);
    shell(&world, "say the same again", &format!("RALPH -n 12 {log}")).expect(0);
    let events = world.events();
    assert!(events.finished().len() < 12, "it was noticed");
    let changed = events.fields("iteration.finished", "files_changed");
    assert!(changed.iter().all(|count| *count == 0), "{changed:?}");
    // What an agent writes into it is work, as in any file.
    let world = World::new();
    git(&world, &["init", "-q"]);
    // The shell writes when it gets to it: each iteration is over when the line about the one before stands there.
    let work = "on 3: sh echo 'fn work() {}' >> run.log\non 4: sh until grep -q '#3 ' run.log; do sleep 0.01; done\nsay step %i";
    shell(&world, work, &format!("RALPH -n 4 {log}")).expect(0);
    let changed = world.events().fields("iteration.finished", "files_changed");
    assert_eq!(changed, [0, 0, 1, 1]);
    // And a file that git tracks is no log, whatever stands in it.
    let world = World::new();
    git(&world, &["init", "-q"]);
    world.write("run.log", "");
    git(&world, &["add", "-A"]);
    let wait = |n: u32| format!("on {}: sh until grep -q '#{n} ' run.log; do sleep 0.01; done\n", n + 1);
    let work = format!("{}{}say step %i", wait(1), wait(2));
    shell(&world, &work, &format!("RALPH -n 3 {log}")).expect(0);
    let changed = world.events().fields("iteration.finished", "files_changed");
    assert_eq!(changed[1..], [1, 1]);
}
