//! Every way a run ends: its exit code and the reason in `run.stopped`.

use std::fs;
use std::os::unix::fs::symlink;

use crate::harness::*;

#[track_caller]
fn ends(world: &World, done: Done, reason: &str, code: i32) -> Events {
    done.expect(code);
    let events = world.events();
    let stopped = events.last("run.stopped");
    assert_eq!(
        (stopped["reason"].as_str(), stopped["exit_code"].as_i64()),
        (Some(reason), Some(code.into()))
    );
    world.verify();
    world.expect_no_survivors();
    events
}

#[test]
fn complete_on_a_line_of_its_own() {
    let lines = [
        "say <ralph>COMPLETE</ralph>",
        "say   <RALPH>complete</Ralph>  ",
        "sh printf '<ralph>COMPLETE</ralph>'",
        "sh printf 'all good\\r\\n<ralph>COMPLETE</ralph>\\r\\n'",
    ];
    for line in lines {
        let world = World::new();
        let done = world.run(&format!("on 1: say not yet\non 2: {line}\non 3: write never.txt"), &[]);
        let events = ends(&world, done, "complete", 0);
        assert_eq!(events.finished(), [1, 2]);
        assert!(!world.work("never.txt").exists());
    }
}

#[test]
fn a_completion_on_the_last_allowed_iteration_is_a_completion() {
    let world = World::new();
    let done = world.run("on 2: say <ralph>COMPLETE</ralph>", &["-n", "2"]);
    let events = ends(&world, done, "complete", 0);
    assert_eq!(events.finished(), [1, 2]);
}

#[test]
fn a_marker_that_is_only_mentioned_is_no_completion() {
    let cases = [
        "say I would print <ralph>COMPLETE</ralph> but it is not done",
        "say ```\nsay <ralph>COMPLETE</ralph>\nsay ```",
        "say ~~~\nsay <ralph>COMPLETE</ralph>\nsay ~~~",
        "err <ralph>COMPLETE</ralph>",
        "say <ralph>COMPLETE</ralph>\nexit 3",
        "say <ralph>COMPLETE</ralph>\nflood 4000 lines",
    ];
    for script in cases {
        let world = World::new();
        let done = world.run(script, &["-n", "1"]);
        ends(&world, done, "max_iterations", 3);
    }
}

#[test]
fn an_agent_that_repeats_its_prompt_has_said_nothing() {
    let world = World::new();
    world.write("task.md", "Do the work. When it is done say\n\n<ralph>COMPLETE</ralph>\n\nor, if you cannot\n\n<ralph>BLOCKED: why</ralph>\n");
    let agent = world.agent("echo-prompt");
    let done = world.ralph(["run", "-f", "task.md", "-a", &agent, "-n", "1"]);
    ends(&world, done, "max_iterations", 3);
}

#[test]
fn blocked_needs_a_person_and_says_why() {
    let world = World::new();
    let done = world.run("say <ralph>BLOCKED: no key\nsay for the door</ralph>", &[]);
    assert!(done.stdout.contains("no key") && done.stdout.contains("for the door"), "{}", done.stdout);
    ends(&world, done, "blocked", 4);
}

#[test]
fn max_runtime_holds_inside_an_iteration() {
    let world = World::new();
    let done = world.run("spawn-child\nsay begun\nsleep 120s", &["--max-runtime", "400ms"]);
    let events = ends(&world, done, "max_runtime", 3);
    assert_eq!(events.finished(), [] as [u64; 0]);
    assert_eq!(events.last("iteration.interrupted")["why"], json!({ "guard": "max_runtime" }));
}

#[test]
fn max_wall_time_holds_during_a_wait() {
    let world = World::new();
    let done = world.run("say hi", &["-d", "1h", "--set", "event_loop.max_wall_time=1s"]);
    let events = ends(&world, done, "max_wall_time", 3);
    assert_eq!(events.finished(), [1]);
    assert_eq!(events.of("delay.started").len(), 1);
    assert_eq!(events.last("delay.ended")["early"], true, "every wait has an end");
}

#[test]
fn failures_in_a_row_end_it_and_a_success_starts_the_count_again() {
    let world = World::new();
    let max = ["--set", "event_loop.max_consecutive_failures=2"];
    let done = world.run("on 2: exit 0\nexit 7", &[max, NO_BACKOFF].concat());
    assert!(done.stdout.contains("exit code 7"), "{}", done.stdout);
    let events = ends(&world, done, "consecutive_failures", 1);
    assert_eq!(events.fields("iteration.finished", "outcome"), ["failed", "ok", "failed", "failed"]);
}

#[test]
fn a_failure_tells_what_the_agent_said_last_on_stderr() {
    let world = World::new();
    let failing =
        "on 2: save-prompt prompt\nerr a warning\nerr \u{1b}[31mboom\u{1b}[0m on stderr\nerr\nexit 9";
    let done = world.run(failing, &[&["-n", "2"], &NO_BACKOFF[..]].concat()).expect(3);
    let why = "exit code 9: boom on stderr";
    assert!(done.stdout.contains(why), "{}", done.stdout);
    assert_eq!(world.events().fields("iteration.finished", "error"), [why, why]);
    assert!(world.read("prompt").contains(why), "the next iteration has to know");
    let done = world.run(failing, &["-s"]).expect(1);
    assert!(done.stdout.contains(&format!("\n  error   {why}\n")), "{}", done.stdout);
    for command in ["status", "explain"] {
        let told = world.ralph([command]).expect(0).stdout;
        assert!(told.contains(why), "{told}");
    }
    world.verify();
    // What a program prints that does well is no failure.
    world.run("err chatter", &["-n", "1"]).expect(3);
    assert_eq!(world.events().last("agent.exited")["stderr"], Value::Null);
}

#[test]
fn stop_on_error_ends_at_the_first_failure() {
    let world = World::new();
    let done = world.run("on 2: kill-self 11", &["-s"]);
    let events = ends(&world, done, "stop_on_error", 1);
    assert_eq!(events.finished(), [1, 2]);
    assert_eq!(events.last("iteration.finished")["error"], "killed by signal 11 (SIGSEGV)");
}

#[test]
fn a_single_pass_ends_as_its_agent_did() {
    let world = World::new();
    ends(&world, world.run("say fine", &["--once"]), "once", 0);
    ends(&world, world.run("exit 1", &["--once"]), "once", 1);
    let events = ends(&world, world.run("say <ralph>COMPLETE</ralph>", &["--once"]), "complete", 0);
    assert_eq!(events.finished(), [1]);
    let agent = world.agent("say fine");
    world.write("ralph.yml", &format!("agent: {agent}\nprompt: x\nenabled: false\n"));
    let events = ends(&world, world.ralph(["run"]), "once", 0);
    assert_eq!(events.finished(), [1]);
}

#[test]
fn an_iteration_that_takes_too_long_is_killed_and_has_failed() {
    let world = World::new();
    let done = world.run("on 1: sleep 120s", &[&["-t", "300ms", "-n", "2"], &NO_BACKOFF[..]].concat());
    // The limit, whatever the agent itself took.
    assert!(done.stdout.contains("#1 timed out after 300ms, "), "{}", done.stdout);
    let events = ends(&world, done, "max_iterations", 3);
    assert_eq!(events.fields("iteration.finished", "outcome"), ["timed_out", "ok"]);
}

#[test]
fn an_agent_that_ignores_term_is_killed_all_the_same() {
    let world = World::new();
    let done = world.run(
        "ignore-term\nspawn-child\ndaemon\nsay <ralph>COMPLETE</ralph>\nsleep 120s",
        &["-t", "2s", "-s"],
    );
    let events = ends(&world, done, "stop_on_error", 1);
    assert_eq!(events.fields("iteration.finished", "outcome"), ["timed_out"]);
    assert_eq!(events.last("agent.exited")["exit"], json!({ "signal": 9 }));
}

#[test]
fn silence_is_a_failure_and_talking_is_not() {
    let world = World::new();
    let done = world.run("say hi\nsleep 120s", &["--set", "event_loop.silence_timeout=300ms", "--once"]);
    let events = ends(&world, done, "once", 1);
    assert_eq!(events.fields("iteration.finished", "outcome"), ["silent"]);
    let talk = "say hi\nsleep 250ms\nerr there\nsleep 250ms\n".repeat(8);
    let done = world.run(&talk, &["--set", "event_loop.silence_timeout=3s", "--once"]);
    ends(&world, done, "once", 0);
}

#[test]
fn an_agent_that_is_missing_before_the_start_is_a_mistake() {
    let world = World::new();
    for agent in ["no-such-agent-anywhere", "./agent.sh"] {
        let done = world.ralph(["run", "-p", "x", "-a", agent]).expect(2);
        assert!(done.stderr.contains(agent), "{}", done.stderr);
    }
    assert!(!world.state().exists());
}

#[test]
fn an_agent_that_can_not_be_started_is_told_with_what_to_do() {
    let world = World::new();
    world.write("agent.sh", "echo hi\n");
    let done = world.ralph(["run", "-p", "x", "-a", "./agent.sh"]).expect(2);
    assert!(done.stderr.contains("help: chmod +x ./agent.sh\n"), "{}", done.stderr);
    let done = world.ralph(["run", "-p", "x", "-a", "cat | tee x"]).expect(2);
    assert!(done.stderr.contains("no shell runs, so `|` is only a word"), "{}", done.stderr);
    assert!(done.stderr.contains("write a script, or `sh -c '…'`"), "{}", done.stderr);
    for (key, value) in [("fallback", "[a && b]"), ("hats", "{x: {agent: a > b, triggers: [y]}}")] {
        let set = format!("{key}={value}");
        let done = world.ralph(["run", "-p", "x", "-a", "cat", "--set", &set]).expect(2);
        assert!(done.stderr.contains("is only a word"), "{}", done.stderr);
    }
    assert!(!world.state().exists());
    let mut chmod = world.command("chmod");
    chmod.args(["+x", "agent.sh"]);
    world.spawn(chmod).wait().expect(0);
    let done = world.ralph(["run", "-p", "x", "-a", "./agent.sh"]);
    let events = ends(&world, done, "error", 1);
    let message = events.last("run.stopped")["message"].as_str().expect("a message").to_owned();
    let path = world.work("./agent.sh");
    assert_eq!(
        message,
        format!(
            "cannot start the agent: {} has no first line that names its interpreter, such as #!/bin/sh",
            path.display()
        )
    );
}

#[test]
fn an_agent_that_vanishes_needs_a_person_and_the_run_can_go_on() {
    let world = World::new();
    symlink(FAKE_AGENT, world.work("tool")).expect("link");
    let script = world.path("script");
    fs::write(&script, "on 1: sh rm -f tool").expect("write");
    let agent = format!("./tool {}", script.display());
    let done = world.ralph(["run", "-p", "x", "-a", &agent, "-n", "3"]);
    let events = ends(&world, done, "agent_missing", 4);
    assert_eq!(events.finished(), [1]);
    symlink(FAKE_AGENT, world.work("tool")).expect("link");
    let events = ends(&world, world.ralph(["resume"]), "max_iterations", 3);
    assert_eq!(events.finished(), [1, 2, 3]);
}

#[test]
fn a_script_without_its_interpreter_is_told_as_such() {
    let world = World::new();
    world.write("agent.sh", "#!/no/such/interpreter\n");
    let mut chmod = world.command("chmod");
    chmod.args(["+x", "agent.sh"]);
    world.spawn(chmod).wait().expect(0);
    let done = world.ralph(["run", "-p", "x", "-a", "./agent.sh"]);
    assert!(done.stdout.contains("interpreter"), "{}", done.stdout);
    ends(&world, done, "agent_missing", 4);
    world.write("agent.sh", "#!/bin/sh\necho '<ralph>COMPLETE</ralph>'\n");
    ends(&world, world.ralph(["resume"]), "complete", 0);
}

#[test]
fn a_prompt_file_that_goes_away_ends_the_run_and_names_it() {
    let world = World::new();
    world.write("task.md", "x");
    let agent = world.agent("sh rm task.md");
    let done = world.ralph(["run", "-f", "task.md", "-a", &agent]);
    assert!(done.stdout.contains("task.md"), "{}", done.stdout);
    let events = ends(&world, done, "error", 1);
    assert_eq!(events.finished(), [1]);
}

#[test]
fn a_delay_stands_between_iterations_and_not_behind_the_last() {
    let world = World::new();
    let done = world.run("say hi", &["-d", "7ms", "-n", "3"]);
    let events = ends(&world, done, "max_iterations", 3);
    assert_eq!(events.fields("delay.started", "wait_ms"), [7, 7]);
    assert_eq!(events.fields("delay.started", "reason"), ["delay", "delay"]);
    assert_eq!(events.fields("delay.ended", "early"), [false, false]);
    let done = world.run("say <ralph>COMPLETE</ralph>", &["-d", "1h"]);
    assert_eq!(ends(&world, done, "complete", 0).of("delay.started").len(), 0);
    let done = world.run("say hi", &["-d", "1h", "--once"]);
    assert_eq!(ends(&world, done, "once", 0).of("delay.started").len(), 0);
}

#[test]
fn failures_back_off_longer_each_time_up_to_a_bound() {
    let world = World::new();
    world.write("ralph.yml", "event_loop:\n  max_consecutive_failures: 5\n  failure_backoff: {initial: 3ms, factor: 2, max: 10ms}\n");
    let done = world.run("exit 1", &[]);
    let events = ends(&world, done, "consecutive_failures", 1);
    assert_eq!(events.fields("delay.started", "wait_ms"), [3, 6, 10, 10]);
    assert_eq!(events.fields("delay.started", "reason"), ["failure"; 4]);
}

#[test]
fn a_run_can_not_be_made_endless() {
    let world = World::new();
    let agent = world.agent("append runs.txt");
    let run = ["run", "-p", "x", "-a", &agent];
    let done = world.ralph([&run[..], &["-n", "none", "--max-runtime", "none"]].concat()).expect(2);
    assert!(done.stderr.contains("max_iterations") && done.stderr.contains("max_runtime"), "{}", done.stderr);
    // A plain command never says what it costs, so a limit of cost would never hold.
    world.ralph([&run[..], &["-n", "none", "--max-runtime", "none", "--max-cost", "1"]].concat()).expect(2);
    assert!(!world.state().exists() && !world.work("runs.txt").exists());
    world.ralph([&run[..], &["-n", "none", "--max-runtime", "300ms"]].concat()).expect(3);
    assert_eq!(world.stopped().0, "max_runtime");
    world.ralph([&run[..], &["-n", "1", "--max-runtime", "none"]].concat()).expect(3);
    // Neither on resume.
    world.ralph(["resume", "-n", "none"]).expect(2);
}

#[test]
fn ralph_stop_lets_the_iteration_finish_and_now_does_not() {
    let world = World::new();
    let live = world.start_run("write up x\nwait-for go", &[]);
    world.wait_for_file("up");
    let told = world.ralph(["stop"]).expect(0);
    assert!(told.stdout.contains(&world.run_id()) && told.stdout.contains("--now"), "{}", told.stdout);
    world.write("go", "");
    let events = ends(&world, live.wait(), "interrupted", 130);
    assert_eq!(events.finished(), [1]);
    // There is nothing left to stop.
    world.ralph(["stop"]).expect(2);

    let live = world.start_run("ignore-term\nspawn-child\nsay up\nsleep 120s", &[]);
    world.wait_for("agent.text", 1);
    world.ralph(["stop", "--now"]).expect(0);
    let events = ends(&world, live.wait(), "interrupted", 130);
    assert_eq!(events.finished(), [] as [u64; 0]);
    assert_eq!(events.of("iteration.interrupted").len(), 1);
}
