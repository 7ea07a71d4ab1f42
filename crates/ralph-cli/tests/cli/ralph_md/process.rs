//! The agent's process, its log, and its promise.

use super::*;

#[test]
fn the_prompt_is_on_standard_input_and_need_not_be_read() {
    let ralph = Ralph::of("say hi");
    ralph.write("", &"long ".repeat(200_000)).run(&["-n", "1"]).expect(3);
    let ralph = Ralph::of("sh cat > got.txt");
    ralph.write("", "all of it").run(&["-n", "1"]).expect(3);
    assert_eq!(ralph.world.read("got.txt"), "all of it");
}

#[test]
fn an_agent_that_takes_too_long_has_failed() {
    let ralph = Ralph::of("append runs.txt\non 1: sleep 100s");
    ralph.write("", "x").run(&[&["-n", "2", "-t", "0.4"], &NO_BACKOFF[..]].concat()).expect(3);
    assert_eq!(ralph.world.events().fields("iteration.finished", "outcome"), ["timed_out", "ok"]);
    let ralph = Ralph::of("sleep 100s");
    ralph.write("", "x").run(&["-n", "2", "-t", "0.1", "-s"]).expect(1);
    assert_eq!(ralph.world.stopped().0, "stop_on_error", "to be out of time is a failure");
    let ralph = Ralph::of("ignore-term\nsleep 100s");
    ralph.write("", "x").run(&["-n", "1", "-t", "2"]).expect(3);
    let events = ralph.world.events();
    assert_eq!(events.last("agent.killed")["grace_ms"], 3000);
    assert_eq!(events.last("agent.exited")["exit"], json!({"signal": 9}));
}

#[test]
fn every_iteration_has_a_log_file() {
    let ralph = Ralph::of("say out %i\nerr err %i");
    let mut far_east = ralph.write("", "x").world.command(RALPH);
    far_east.args(["run", "r", "-n", "2", "--log-dir", "logs/deep"]).env("TZ", "Etc/GMT-14");
    ralph.world.spawn(far_east).wait().expect(3);
    let events = ralph.world.events();
    // `2026-01-18T10:00:00.123Z` as the name of a log has it.
    let utc = |kind: &str, n: usize| {
        let at =
            events.of(kind)[n - 1]["at"].as_str().expect("a time").replace(['-', ':'], "").replace('T', "-");
        at.split('.').next().expect("a time").to_owned()
    };
    let mut names: Vec<String> = std::fs::read_dir(ralph.world.work("logs/deep"))
        .expect("the folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names.len(), 2, "{names:?}");
    for (name, number) in names.iter().zip(1..) {
        let shape: String = name.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        assert_eq!(shape, "000_00000000-000000.log");
        assert!(name.starts_with(&format!("00{number}_")));
        let (at, begin, end) = (&name[4..19], utc("iteration.started", number), utc("agent.exited", number));
        assert!(*begin <= *at && *at <= *end, "{at} is not between {begin} and {end}");
        let text = ralph.world.read(&format!("logs/deep/{name}"));
        assert!(
            text.contains(&format!("out {number}\n")) && text.contains(&format!("err {number}\n")),
            "{text}"
        );
    }
}

#[test]
fn a_log_grows_with_the_output_and_holds_every_byte() {
    const SIZE: u64 = 100_000_000;
    let ralph = Ralph::of(&format!(
        "say begin\nwait-for seen\nflood {SIZE} lines\nwrite flooded x\nwait-for measured\nsh printf 'the end'"
    ));
    let live = ralph.write("", "x").start(&["-n", "1", "-l", "logs"]);
    let log = || {
        let mut entries = std::fs::read_dir(ralph.world.work("logs")).ok()?;
        Some(entries.next()?.ok()?.path())
    };
    wait_until("the log while it grows", || log().is_some_and(|log| read(&log) == "begin\n"));
    ralph.world.write("seen", "");
    ralph.world.wait_for_file("flooded");
    assert!(live.peak_memory() < SIZE / 2, "{} bytes for it", live.peak_memory());
    ralph.world.write("measured", "");
    live.wait().expect(3);
    let log = log().expect("a log");
    assert_eq!(log.metadata().expect("the log").len(), SIZE + 6 + 7);
    let bytes = std::fs::read(&log).expect("the log");
    let flood = bytes.strip_prefix(b"begin\n").and_then(|rest| rest.strip_suffix(b"the end"));
    let flood = std::str::from_utf8(flood.expect("what was printed before and after")).expect("text");
    let misplaced = flood.lines().zip(0_u64..).find(|(line, number)| line.parse() != Ok(*number));
    assert_eq!(misplaced, None, "every line is there, in its place");
}

#[test]
fn a_child_that_holds_stdout_does_not_hold_the_iteration() {
    let ralph = Ralph::of("hold-stdout 120s\nsay done");
    ralph.write("", "x").run(&["-n", "2"]).expect(3);
    let exited = ralph.world.events();
    assert_eq!(exited.fields("agent.exited", "leftovers"), [1, 1], "the child was there until the end");
    ralph.world.expect_no_survivors();
}

#[test]
fn the_first_ctrl_c_lets_the_iteration_finish_and_the_second_kills_the_agent() {
    let ralph = Ralph::of("write begun x\nwait-for go\nwrite finished x");
    let live = ralph.write("", "x").start(&["-n", "3"]);
    ralph.world.wait_for_file("begun");
    live.ctrl_c();
    ralph.world.wait_for("stop.requested", 1);
    wait_until("that it says so", || live.stdout().contains("after this iteration"));
    ralph.world.write("go", "");
    live.wait().expect(130);
    ralph.world.wait_for_file("finished");
    assert_eq!(ralph.world.events().finished(), [1]);

    let ralph = Ralph::of("ignore-term\nspawn-child\nwrite begun x\nsleep 100s");
    let live = ralph.write("", "x").start(&["-n", "3"]);
    ralph.world.wait_for_file("begun");
    live.ctrl_c();
    ralph.world.wait_for("stop.requested", 1);
    live.ctrl_c();
    live.wait().expect(130);
    ralph.world.expect_no_survivors();
    let events = ralph.world.events();
    let grace = events.last("agent.killed")["grace_ms"].as_u64();
    assert!(grace <= Some(1000), "the agent is not given the time of a polite end: {grace:?}");
    assert_eq!(events.last("agent.exited")["exit"], json!({"signal": 9}));
}

#[test]
fn no_process_survives_a_signal_or_its_own_iteration() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129)] {
        let ralph = Ralph::of("daemon\nspawn-child\nwrite begun x\nsleep 100s");
        let live = ralph.write("", "x").start(&["-n", "1"]);
        ralph.world.wait_for_file("begun");
        live.signal(signal);
        live.wait().expect(code);
        ralph.world.expect_no_survivors();
    }
    let ralph = Ralph::of("on 1: daemon\non 1: spawn-child\non 2: write begun x\non 2: wait-for go");
    let live = ralph.write("", "x").start(&["-n", "2"]);
    ralph.world.wait_for_file("begun");
    assert_eq!(ralph.world.wait_for("agent.exited", 1).last("agent.exited")["leftovers"], 2);
    let alive = ralph.world.survivors();
    assert!(!alive.iter().any(|one| one.contains("ignore-term")), "in the next iteration: {alive:#?}");
    ralph.world.write("go", "");
    live.wait().expect(3);
}

#[test]
fn a_promise_completes_the_run_where_it_is_asked_for() {
    let says = |text: &str| format!("say working\nsay {text}");
    let promise = says("<promise> RALPH_PROMISE_COMPLETE </promise>");
    let run = |script: &str, settings: &str, code: i32| {
        let ralph = Ralph::of(script);
        ralph.write(settings, "x").run(&["-n", "2"]).expect(code);
    };
    run(&promise, "stop_on_completion_signal: true", 0);
    run(&promise, "stop_on_completion_signal: false", 3);
    run(&promise, "", 3);
    let settings = "stop_on_completion_signal: yes\ncompletion_signal: ALL DONE";
    run(&says("<promise>ALL   DONE</promise>"), settings, 0);
    run(&says("<promise>all done</promise>"), settings, 3);
    run(&says("not <promise>ALL DONE</promise>"), settings, 3);
    run(&promise, settings, 3);
}

#[test]
fn a_promise_of_a_failed_agent_does_not_count_and_one_in_the_last_iteration_does() {
    let settings = "stop_on_completion_signal: true";
    let ralph = Ralph::of("say <promise>RALPH_PROMISE_COMPLETE</promise>\non 1: exit 1");
    ralph.write(settings, "x").run(&[&["-n", "2"], &NO_BACKOFF[..]].concat()).expect(0);
    assert_eq!(ralph.world.events().fields("iteration.finished", "outcome"), ["failed", "ok"]);
    assert_eq!(ralph.world.stopped().0, "complete");
}
