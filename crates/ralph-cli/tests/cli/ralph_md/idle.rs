//! An agent that has nothing to do.

use super::*;

const IDLE: &str = "say Nothing to do.\nsay <!-- ralph:state idle -->";

#[test]
fn an_agent_that_stays_idle_is_waited_for_until_the_limit_stops_the_run() {
    let ralph = Ralph::of(IDLE);
    let settings = "idle: {delay: 0.2s, backoff: 2, max_delay: 0.5s, max: 1.2s}";
    let done = ralph.write(settings, "x").run(&["-d", "0.01"]).expect(3);
    let events = ralph.world.events();
    assert_eq!(events.fields("delay.started", "wait_ms"), [json!(200), json!(400), json!(500)]);
    assert_eq!(events.fields("delay.started", "reason"), ["idle", "idle", "idle"]);
    assert_eq!(events.fields("delay.ended", "early"), [json!(false), json!(false), json!(false)]);
    assert_eq!(events.fields("iteration.idle", "streak"), [json!(1), json!(2), json!(3), json!(4)]);
    assert_eq!(ralph.world.stopped(), ("max_idle".to_owned(), 3));
    assert!(done.stdout.contains("Stopped (idle): idle for 1s100ms"), "{}", done.stdout);
    assert!(done.stdout.contains("◇ #1 idle "), "{}", done.stdout);
    assert!(done.stdout.contains("saved   about "), "{}", done.stdout);
    let waits = done.stdout.lines().filter(|line| line.starts_with("waiting: idle"));
    assert_eq!(waits.count(), 3, "a line for each wait: {}", done.stdout);
    ralph.world.verify();
}

#[test]
fn work_between_idle_iterations_starts_the_idle_time_again() {
    let idle = [1, 2, 4, 5].map(|iteration| format!("on {iteration}: say <!-- ralph:state idle -->"));
    let ralph = Ralph::of(&format!("say done\n{}", idle.join("\n")));
    ralph.write("idle: {delay: 100ms, backoff: 1, max: 250ms}", "x").run(&["-n", "6"]).expect(3);
    assert_eq!(ralph.world.stopped().0, "max_iterations");
    let events = ralph.world.events();
    assert_eq!(events.fields("iteration.idle", "streak"), [json!(1), json!(2), json!(1), json!(2)]);
    assert_eq!(events.of("delay.started").len(), 4);
}

#[test]
fn a_failed_agent_with_the_idle_marker_has_failed() {
    let ralph = Ralph::of("say <!-- ralph:state idle -->\non 1: exit 1\nsleep 100s");
    let args = [&["-n", "2", "-t", "0.4"], &NO_BACKOFF[..]].concat();
    ralph.write("idle: {}", "x").run(&args).expect(3);
    let events = ralph.world.events();
    assert_eq!(events.fields("iteration.finished", "outcome"), ["failed", "timed_out"]);
    assert!(events.of("iteration.idle").is_empty());
    assert_eq!(events.fields("delay.started", "reason"), ["failure"]);
}

#[test]
fn absent_and_empty_idle_settings_wait_by_the_defaults_and_false_never_waits() {
    let ralph = Ralph::of(IDLE);
    ralph.write("idle: false", "x").run(&["-n", "2"]).expect(3);
    let events = ralph.world.events();
    assert_eq!((events.of("iteration.idle").len(), events.of("delay.started").len()), (2, 0));

    for (settings, by_default) in [("", true), ("idle:", false), ("idle: ~", false), ("idle: {}", false)] {
        let ralph = Ralph::of(IDLE);
        let live = ralph.write(settings, "x").start(&["-n", "2"]);
        let events = ralph.world.wait_for("delay.started", 1);
        assert_eq!(events.last("delay.started")["wait_ms"], 30_000, "{settings}");
        let told_plan = if by_default { json!(null) } else { json!({"delay": "30s", "backoff": 2.0}) };
        let plan = &events.0[0]["plan"]["idle"];
        assert_eq!(
            (&plan["delay"], &plan["backoff"]),
            (&told_plan["delay"], &told_plan["backoff"]),
            "{settings}"
        );
        let told = "no `idle` is set: 30s at first, 5m at most; change it with `idle: {delay: 5m}`";
        wait_until("that it waits", || live.stdout().contains("\nwaiting: idle: next look in 30s, at "));
        ralph.world.ralph(["stop"]).expect(0);
        assert_eq!(live.wait().expect(130).stdout.contains(told), by_default, "{settings}");
        assert_eq!(ralph.world.events().last("delay.ended")["early"], true);
    }
}

#[test]
fn an_agent_that_says_three_times_that_there_is_nothing_to_do_is_waited_for() {
    let ralph = Ralph::of("say There is nothing to do.");
    let live = ralph.write("", "x").start(&["-n", "9"]);
    let events = ralph.world.wait_for("delay.started", 1);
    assert_eq!(events.finished(), [1, 2, 3], "not a fourth time at full speed");
    let wait = events.last("delay.started");
    assert_eq!((&wait["reason"], &wait["wait_ms"]), (&json!("idle"), &json!(30_000)));
    let list = ralph.world.ralph(["list"]).expect(0).stdout;
    assert!(list.contains("  idle (3 in a row): next look in "), "{list}");
    let status = ralph.world.ralph(["status"]).expect(0).stdout;
    assert!(status.contains("waiting: idle (3 in a row): next look in "), "{status}");
    // The alarm did not start the count over.
    ralph.world.ralph(["unpause", "--now"]).expect(0);
    let events = ralph.world.wait_for("delay.started", 2);
    assert_eq!((events.finished().len(), &events.last("delay.started")["wait_ms"]), (4, &json!(60_000)));
    ralph.world.ralph(["stop"]).expect(0);
    live.wait().expect(130);
    ralph.world.verify();
}

#[test]
fn wrong_settings_are_errors_at_their_place() {
    let ralph = Ralph::of(IDLE);
    for (settings, what) in [
        ("idle: {dealy: 5}", "did you mean `delay`?"),
        ("on_state: {blocked: {dely: 5}}", "did you mean `delay`?"),
        ("idle: {delay: 9m, max_delay: 1m}", "longer than"),
        ("idle: 30s", "expected a mapping, or `false`"),
        ("idle: [1]", "expected a mapping"),
        ("on_state: {idle: wait}", "unknown key `on_state.idle`"),
        ("on_state: {blocked: sleep}", "unknown value `sleep`"),
        ("on_state: {blocked: {do: stop, delay: 5}}", "only `do: wait`"),
        ("wake: {file: [a]}", "did you mean `files`?"),
        ("wake: {every: 5}", "`wake.run`"),
        ("wake: {files: [inbox, 'new/*.md']}", "name the folder"),
        ("wake: {run: no-such-program}", "was not found"),
    ] {
        ralph.write(settings, "x").refuses(&[], &[what, "RALPH.md:4:"]);
    }
    for (value, what) in [
        ("0", "more than 0"),
        ("0s", "more than 0"),
        ("-1", "negative"),
        ("-1s", "negative"),
        (".inf", "finite"),
        ("-.inf", "finite"),
        (".nan", "finite"),
        ("soon", "not a duration"),
        ("true", "expected a duration"),
        ("[5]", "expected a duration"),
    ] {
        for key in ["idle.delay", "idle.max_delay", "idle.max", "wake.every", "on_state.blocked.max"] {
            let (first, last) = key.rsplit_once('.').expect("a section");
            let section = first.replace('.', ": {") + ": {";
            let close = "}".repeat(key.matches('.').count());
            let settings = format!("{section}{last}: {value}{close}");
            ralph.write(&settings, "x").refuses(&[], &[what, "RALPH.md:4:", key]);
        }
    }
    for value in ["0", "-2", "0.5", ".inf", ".nan"] {
        let settings = format!("idle:\n  delay: 1s\n  backoff: {value}");
        ralph.write(&settings, "x").refuses(&[], &["at least 1", "RALPH.md:6:12", "idle.backoff"]);
    }
}

#[test]
fn a_wake_that_has_nothing_to_end_is_worth_a_warning() {
    let ralph = Ralph::of(IDLE);
    let done = ralph.write("wake: {files: [inbox]}\nidle: false", "x").world.ralph(["check", "r"]).expect(0);
    for part in ["warning: `wake`", "r/RALPH.md:4:7", "remove `idle: false`"] {
        assert!(done.stderr.contains(part), "{}", done.stderr);
    }
    let done = ralph.write("wake: {files: [inbox]}\nidle: {}", "x").world.ralph(["check", "r"]).expect(0);
    assert_eq!(done.stderr, NO_FINISH);
    let plan = ralph.write("wake: {run: 'true'}\nidle: {}", "x").run(&["--dry-run"]).expect(0).stdout;
    assert!(plan.contains("\"every\": \"10s\""), "asked every ten seconds: {plan}");
}

#[test]
fn an_idle_marker_that_is_only_mentioned_does_not_count() {
    let ralph = Ralph::of("echo-prompt\nsay I do not say <!-- ralph:state idle --> now");
    ralph.write("idle: {}", "Nothing to do? Print\n\n<!-- ralph:state idle -->").run(&["-n", "2"]).expect(3);
    assert!(ralph.world.events().of("iteration.idle").is_empty());
}

#[test]
fn guidance_and_a_changed_file_and_a_command_end_a_wait() {
    let ralph = Ralph::of(IDLE);
    script(&ralph.world, "r/has-work.sh", "test -e work");
    let settings =
        "idle: {delay: 1h, max_delay: 2h}\nwake: {files: [pm/INBOX.md], run: ./has-work.sh, every: 50ms}";
    let live = ralph.write(settings, "x").start(&["-n", "4"]);
    ralph.world.wait_for("delay.started", 1);
    ralph.world.ralph(["say", "go on"]).expect(0);
    ralph.world.wait_for("delay.started", 2);
    // The folder is not there yet.
    ralph.world.write("pm/INBOX.md", "- [ ] more\n");
    ralph.world.wait_for("delay.started", 3);
    ralph.world.write("r/work", "");
    live.wait().expect(3);
    let events = ralph.world.events();
    assert_eq!(events.fields("wake.triggered", "by"), ["file", "command"]);
    let path = events.of("wake.triggered")[0]["path"].as_str().expect("a path");
    assert!(path.ends_with("/pm/INBOX.md"), "{path}");
    assert_eq!(events.fields("delay.ended", "early"), [json!(true), json!(true), json!(true)]);
    ralph.world.expect_no_survivors();
    ralph.world.verify();
}

#[test]
fn a_wait_that_was_cut_by_kill_9_is_waited_to_its_end_only() {
    let ralph = Ralph::of(IDLE);
    script(&ralph.world, "r/never.sh", "sleep 100");
    let settings = "idle: {delay: 1500ms}\nwake: {run: ./never.sh, every: 50ms}";
    let live = ralph.write(settings, "x").start(&["-n", "2"]);
    let before = ralph.world.wait_for("delay.started", 1);
    live.kill();
    ralph.world.expect_no_survivors();
    ralph.world.ralph(["resume"]).expect(3);
    let events = ralph.world.events();
    assert_eq!(events.of("delay.started").len(), 1, "it is one wait");
    assert_eq!(events.last("delay.ended")["early"], false);
    let until = before.last("delay.started")["until"].as_str().expect("a time").to_owned();
    let started = events.of("iteration.started")[1]["at"].as_str().expect("a time").to_owned();
    assert!(started >= until, "{started} is before {until}");
    assert_eq!(events.finished(), [1, 2]);
    ralph.world.verify();
}

#[test]
fn work_that_came_while_ralph_was_down_ends_the_wait() {
    let ralph = Ralph::of(IDLE);
    let settings = "idle: {delay: 1h, max_delay: 1h}\nwake: {files: [inbox]}";
    let live = ralph.write(settings, "x").start(&["-n", "2"]);
    ralph.world.wait_for("delay.started", 1);
    live.kill();
    ralph.world.write("inbox", "more");
    // The clock of files is coarse.
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(1);
    let inbox = std::fs::File::options().write(true).open(ralph.world.work("inbox")).expect("the file");
    inbox.set_modified(later).expect("a time");
    ralph.world.ralph(["resume"]).expect(3);
    assert_eq!(ralph.world.events().fields("wake.triggered", "by"), ["file"]);
}

#[test]
fn agents_that_need_a_person_wait_stop_or_ask() {
    let ralph = Ralph::of("say <!-- ralph:state waiting_for_review -->");
    let wait = "on_state: {waiting_for_review: {do: wait, delay: 20ms, backoff: 1}}";
    ralph.write(wait, "x").run(&["-n", "3"]).expect(3);
    let events = ralph.world.events();
    assert_eq!(events.fields("delay.started", "reason"), ["waiting_for_review", "waiting_for_review"]);
    assert_eq!(events.fields("delay.started", "wait_ms"), [json!(20), json!(20)]);

    let ralph = Ralph::of("say <!-- ralph:state blocked -->");
    ralph.write("", "x").run(&["-n", "3"]).expect(4);
    assert_eq!(ralph.world.stopped().0, "blocked");

    let ralph = Ralph::of("save-prompt prompt-%i.txt\non 1: say <ralph>BLOCKED: which one?</ralph>");
    let live = ralph.write("on_state: {blocked: ask}", "x").start(&["-n", "2"]);
    ralph.world.wait_for("delay.started", 1);
    wait_until("that it asks", || live.stdout().contains("needs you: which one? ralph say 'ANSWER' --run "));
    ralph.world.ralph(["say", "the small one"]).expect(0);
    live.wait().expect(3);
    assert!(ralph.world.read("prompt-2.txt").contains("the small one"));

    let ralph = Ralph::of("say <!-- ralph:state blocked -->");
    let settings = "on_state: {blocked: ask}\nevent_loop: {max_wait: 0.2}";
    ralph.write(settings, "x").run(&[]).expect(4);
    assert_eq!(ralph.world.stopped().0, "blocked");
}

#[test]
fn an_agent_may_choose_the_next_wait() {
    let ralph = Ralph::of("on 1: say <!-- ralph:delay 30ms -->\non 2: say <!-- ralph:delay 1h -->");
    ralph.write("idle: {delay: 10ms, max_delay: 50ms}", "x").run(&["-n", "3"]).expect(3);
    let events = ralph.world.events();
    assert_eq!(events.fields("delay.started", "wait_ms"), [json!(30), json!(50)]);
    assert_eq!(events.fields("delay.started", "reason"), ["agent", "agent"]);
}

#[test]
fn what_changes_while_the_agent_looks_is_looked_at_once_more() {
    // It touches the file in every iteration.
    let ralph = Ralph::of("sh echo x >> inbox\nsay <!-- ralph:state idle -->");
    let settings = "idle: {delay: 1h, max_delay: 1h}\nwake: {files: [inbox]}";
    let live = ralph.write(settings, "x").start(&["-n", "4"]);
    ralph.world.wait_for("delay.started", 2);
    ralph.world.ralph(["say", "go on"]).expect(0);
    live.wait().expect(3);
    let kinds = ralph.world.events();
    let ends = ["wake.triggered", "guidance.added", "iteration.idle"];
    let kinds: Vec<&str> = kinds.kinds().into_iter().filter(|kind| ends.contains(kind)).collect();
    let [woken, said, idle] = ends;
    assert_eq!(kinds, [idle, woken, idle, said, idle, woken, idle], "never twice in a row");
}
