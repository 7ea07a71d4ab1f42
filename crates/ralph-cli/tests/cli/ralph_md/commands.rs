//! Commands whose output is in the prompt.

use super::*;

#[test]
fn commands_are_split_into_words_without_a_shell() {
    let ralph = Ralph::new();
    let settings =
        "commands:\n  - {name: a, run: echo a | cat}\n  - {name: b, run: 'echo $HOME * ~ \"x  y\"'}";
    let prompt = ralph.write(settings, "{{ commands.a }}{{ commands.b }}").prompt(&[]);
    assert_eq!(prompt, "a | cat\n$HOME * ~ x  y\n");
}

#[test]
fn commands_run_in_the_workspace_or_beside_their_file() {
    let ralph = Ralph::new();
    script(&ralph.world, "r/here.sh", "pwd");
    let settings =
        "commands:\n  - {name: a, run: ./here.sh}\n  - {name: b, run: pwd}\n  - {name: c, run: r/here.sh}";
    let prompt = ralph.write(settings, "{{ commands.a }}{{ commands.b }}{{ commands.c }}").prompt(&[]);
    let (work, beside) = (ralph.world.path("work"), ralph.world.work("r"));
    assert_eq!(prompt, format!("{}\n{}\n{}\n", beside.display(), work.display(), work.display()));
}

#[test]
fn the_output_of_a_command_is_stdout_then_stderr_whatever_its_exit_code() {
    let ralph = Ralph::new();
    script(&ralph.world, "r/both.sh", "echo err1 >&2; echo out1; echo err2 >&2; echo out2; exit 7");
    script(&ralph.world, "r/count.sh", "echo x >> count.txt");
    let settings = "commands:\n  - {name: both, run: ./both.sh}\n  - {name: unused, run: ./count.sh}\n  - {name: last, run: cat r/count.txt}";
    ralph.write(settings, "{{ commands.both }}{{ commands.last }}").run(&["-n", "2"]).expect(3);
    assert_eq!(ralph.world.read("prompt-1.txt"), "out1\nout2\nerr1\nerr2\nx\n");
    assert_eq!(ralph.world.read("prompt-2.txt"), "out1\nout2\nerr1\nerr2\nx\nx\n");
    let events = ralph.world.events();
    assert_eq!(events.fields("command.finished", "name").len(), 6);
    let both = events.of("command.finished")[0];
    assert_eq!((&both["exit_code"], &both["output_bytes"]), (&json!(7), &json!(20)));
    assert_eq!(both["tail"], "out1\nout2\nerr1\nerr2");
    ralph.world.verify();
}

#[test]
fn an_argument_is_one_word_of_a_command() {
    let ralph = Ralph::new();
    let settings = "args: [a, b]\ncommands:\n  - {name: c, run: \"printf '[%s]' {{ args.a }} {{ args.b }} x{{ args.a }} {{ commands.c }}{{ ralph.name }}\"}";
    let prompt = ralph.write(settings, "{{ commands.c }}").prompt(&["one 'two'; $(rm)"]);
    assert_eq!(prompt, "[one 'two'; $(rm)][xone 'two'; $(rm)][{{][commands.c][}}{{][ralph.name][}}]");
}

#[test]
fn a_command_that_times_out_shows_its_output_so_far_and_the_run_goes_on() {
    let ralph = Ralph::new();
    script(&ralph.world, "r/slow.sh", "printf begun; sleep 100; echo never");
    let settings =
        "commands:\n  - {name: slow, run: ./slow.sh, timeout: 0.3}\n  - {name: next, run: echo next}";
    let prompt = ralph.write(settings, "{{ commands.slow }}{{ commands.next }}").prompt(&[]);
    assert!(prompt.starts_with("begun\n[") && prompt.ends_with("]\nnext\n"), "{prompt}");
    assert!(prompt.contains("`slow` timed out after 300ms") && prompt.contains("incomplete"), "{prompt}");
    let events = ralph.world.events();
    assert_eq!(events.fields("command.finished", "timed_out"), [json!(true), Value::Null]);
    let timeouts = events.0[0]["plan"]["commands"].as_array().expect("commands");
    let timeouts: Vec<&Value> = timeouts.iter().map(|command| &command["timeout_ms"]).collect();
    assert_eq!(timeouts, [&json!(300), &json!(60_000)], "a minute, unless it says otherwise");
    let duration = events.last("iteration.finished")["duration_ms"].as_u64();
    assert!(duration >= Some(300), "commands are work: {duration:?}");
}

#[test]
fn a_command_that_times_out_is_killed_with_all_its_processes() {
    let ralph = Ralph::of("save-prompt prompt-%i.txt\nwrite begun x\nwait-for go");
    let stubborn = format!("{FAKE_AGENT} -c 'daemon; spawn-child; ignore-term; sleep 100s'");
    let holding = format!("{FAKE_AGENT} -c 'say held; hold-stdout 100s'");
    let settings = format!(
        "commands:\n  - name: stubborn\n    run: {stubborn}\n    timeout: 0.2\n  - name: holding\n    run: {holding}"
    );
    let live = ralph.write(&settings, "[{{ commands.holding }}]").start(&["-n", "1"]);
    let events = ralph.world.wait_for("command.finished", 2);
    assert_eq!(events.fields("command.finished", "timed_out"), [json!(true), Value::Null]);
    ralph.world.wait_for_file("begun");
    // The run goes on, and nothing of the two commands does.
    let left = || ralph.world.survivors().into_iter().filter(|one| one.contains("sleep 1")).count();
    wait_until("the end of what the commands started", || left() == 0);
    ralph.world.write("go", "");
    live.wait().expect(3);
    assert_eq!(ralph.world.read("prompt-1.txt"), "[held\n]");
}

#[test]
fn a_command_that_cannot_run_is_an_error_that_names_the_command() {
    let ralph = Ralph::new();
    let with = |run: &str| ralph.write(&format!("args: [a]\ncommands:\n  - name: bad\n    run: {run}"), "x");
    with("no-such-program x").refuses(&[], &["`bad`", "`no-such-program` was not found", "RALPH.md:7:10"]);
    with("./gone.sh").refuses(&[], &["`bad`", "`./gone.sh`", "folder of its definition"]);
    with("\"echo 'x\"").refuses(&[], &["`bad`", "quote", "RALPH.md:7:10"]);
    with("\"{{ args.a }}\"").refuses(&[], &["`bad`", "the command is empty"]);
    with("\"{{ args.a }}\"").refuses(&["no-such-program"], &["`bad`", "`no-such-program` was not found"]);
    with("cd sub").refuses(&[], &["`bad`", "no shell"]);
    for run in ["''", "", "5", "[a]"] {
        with(run).refuses(&[], &["run", "RALPH.md:7:"]);
    }
    let check = ralph.world.ralph(["check", "r"]).expect(2);
    assert!(check.stderr.contains("run"), "{}", check.stderr);
    with("\"{{ args.a }} x\"");
    ralph.world.ralph(["check", "r"]).expect(0);

    let ralph = Ralph::of("sh rm r/there.sh");
    script(&ralph.world, "r/there.sh", "echo x");
    let done = ralph.write("commands: [{name: bad, run: ./there.sh}]", "x").run(&["-n", "3"]).expect(1);
    assert!(done.stdout.contains("cannot run the command `bad`"), "{}", done.stdout);
    assert_eq!(ralph.world.stopped(), ("error".to_owned(), 1));
    assert_eq!(ralph.world.events().finished(), [1]);
    ralph.world.verify();
}

#[test]
fn commands_get_no_standard_input() {
    let ralph = Ralph::new();
    let mut run = ralph.write("commands: [{name: c, run: cat}]", "[{{ commands.c }}]").world.command(RALPH);
    run.args(["run", "r", "-n", "1"]);
    // A person types, and means ralph.
    let (typed, mut keys) = std::io::pipe().expect("a pipe");
    std::io::Write::write_all(&mut keys, b"typed\n").expect("room in a pipe");
    run.stdin(typed);
    ralph.world.spawn(run).wait().expect(3);
    drop(keys);
    assert_eq!(ralph.world.read("prompt-1.txt"), "[]");
}

#[test]
fn commands_that_may_do_so_run_at_the_same_time() {
    let ralph = Ralph::new();
    // Each waits for what the other one does.
    let meet =
        |mine: &str, other: &str| format!("{FAKE_AGENT} -c 'write {mine} x; wait-for {other}; say {mine}'");
    let settings = format!(
        "commands:\n  - {{name: first, run: echo first}}\n  - name: a\n    run: {}\n    parallel: true\n  - name: b\n    run: {}\n    parallel: true",
        meet("a", "b"),
        meet("b", "a")
    );
    let prompt = ralph.write(&settings, "{{ commands.first }}{{ commands.a }}{{ commands.b }}").prompt(&[]);
    assert_eq!(prompt, "first\na\nb\n");
    let ralph = Ralph::new();
    let settings = settings.replace("    parallel: true", "    timeout: 20");
    let prompt =
        ralph.write(&format!("parallel: true\n{settings}"), "{{ commands.a }}{{ commands.b }}").prompt(&[]);
    assert_eq!(prompt, "a\nb\n");
}

#[test]
fn commands_end_with_the_run_that_is_stopped_or_killed() {
    let slow = format!(
        "commands:\n  - name: slow\n    run: {FAKE_AGENT} -c 'write begun x; daemon; sleep 100s'\n    timeout: 1h"
    );
    for signal in [Signal::TERM, Signal::HUP] {
        let ralph = Ralph::new();
        let live = ralph.write(&slow, "x").start(&["-n", "1"]);
        ralph.world.wait_for_file("begun");
        live.signal(signal);
        live.wait().expect(128 + signal.as_raw());
        ralph.world.expect_no_survivors();
        ralph.world.verify();
    }
    let ralph = Ralph::new();
    let live = ralph.write(&slow, "x").start(&["-n", "1"]);
    ralph.world.wait_for_file("begun");
    ralph.world.ralph(["stop", "--now"]).expect(0);
    live.wait().expect(130);
    ralph.world.expect_no_survivors();
    assert_eq!(ralph.world.events().of("iteration.interrupted").len(), 1);

    let ralph = Ralph::new();
    let live = ralph.write(&slow, "x").start(&["-n", "1"]);
    ralph.world.wait_for_file("begun");
    live.kill();
    ralph.world.expect_no_survivors();
    ralph.write("commands: []", "x");
    std::fs::remove_file(ralph.world.work("begun")).expect("the file");
    let resumed = ralph.world.start(["resume"]);
    ralph.world.wait_for_file("begun");
    resumed.signal(Signal::TERM);
    resumed.wait().expect(143);
    ralph.world.expect_no_survivors();
}

#[test]
fn max_runtime_ends_a_command_too() {
    let ralph = Ralph::new();
    let settings =
        format!("commands:\n  - name: slow\n    run: {FAKE_AGENT} -c 'daemon; sleep 100s'\n    timeout: 1h");
    ralph.write(&settings, "x").run(&["--max-runtime", "0.3"]).expect(3);
    assert_eq!(ralph.world.stopped(), ("max_runtime".to_owned(), 3));
    ralph.world.expect_no_survivors();
    ralph.world.verify();
}

#[test]
fn the_iteration_timeout_is_the_agents() {
    let ralph = Ralph::of("sleep 100s");
    let settings = format!("commands:\n  - name: slow\n    run: {FAKE_AGENT} -c 'sleep 600ms'");
    ralph.write(&settings, "x").run(&["-n", "1", "-t", "0.5"]).expect(3);
    let events = ralph.world.events();
    assert_eq!(events.fields("iteration.finished", "outcome"), ["timed_out"]);
    let millis = |kind: &str| {
        let at = events.last(kind)["at"].as_str().expect("a time").to_owned();
        at.parse::<ralph_core::time::Timestamp>().expect("a time").as_millis()
    };
    let (ended, killed) = (millis("command.finished"), millis("agent.killed"));
    assert!(killed - ended >= 500, "the time of the command was counted");
}
