//! What ralph prints, and what it makes of what the agent prints.

use crate::harness::*;

#[test]
fn piped_output_has_no_escapes() {
    let world = World::new();
    let done = world.run("say hi\non 2: exit 1", &[&["-n", "3", "-v"], &NO_BACKOFF[..]].concat()).expect(3);
    assert!(!done.stdout.contains('\u{1b}') && done.stderr == NO_NET, "{done:?}");
    for args in [&["list"][..], &["list", "--all"], &["status"], &["explain"], &["events"], &["replay"]] {
        let done = world.ralph(args).expect(0);
        assert!(
            !done.stdout.is_empty() && !done.stdout.contains('\u{1b}') && done.stderr.is_empty(),
            "{done:?}"
        );
    }
}

#[test]
fn the_screen_tells_the_story_and_ends_with_the_next_command() {
    let world = World::new();
    let done = world
        .run("say hello\nwrite file-%i x\non 2: exit 1", &[&["-n", "2"], &NO_BACKOFF[..]].concat())
        .expect(3);
    let id = world.run_id();
    for part in [
        "#1 ok",
        "1 file changed",
        "#2 failed",
        "exit code 1",
        "limit reached",
        "max_iterations",
        "2 iterations, 1 failed",
    ] {
        assert!(done.stdout.contains(part), "{part} is not in\n{}", done.stdout);
    }
    assert!(done.stdout.contains(&format!("ralph resume {id} -n ")), "{}", done.stdout);
    assert!(!done.stdout.contains("hello"), "only with -v");
    let quiet = world.run("say hello", &["-n", "1", "-q"]).expect(3);
    assert!(!quiet.stdout.contains("#1 ok") && quiet.stdout.contains("limit reached"), "{}", quiet.stdout);
    let loud = world.run("say hello", &["-n", "1", "-v"]).expect(3);
    assert!(loud.stdout.contains("hello"), "{}", loud.stdout);
}

#[test]
fn json_prints_the_events_and_nothing_else() {
    let world = World::new();
    let done = world
        .run("say hi\nerr there\non 2: exit 1", &[&["-n", "2", "--json"], &NO_BACKOFF[..]].concat())
        .expect(3);
    assert_eq!(done.stderr, "");
    assert_eq!(done.stdout, world.ralph(["events", "--json"]).expect(0).stdout);
    let resumed = world.ralph(["resume", "-n", "3", "--json"]).expect(3);
    assert_eq!(resumed.stderr, "");
    assert_eq!(done.stdout + &resumed.stdout, world.ralph(["events", "--json"]).expect(0).stdout);
}

#[test]
fn a_reader_that_goes_away_does_not_stop_the_run() {
    for flags in ["", "--json", "-v"] {
        let world = World::new();
        let agent = world.agent("append runs.txt\nsay hi\nsleep 20ms");
        let mut pipe = world.command("sh");
        pipe.args(["-c", &format!("\"$0\" run -p x -a \"$1\" -n 4 {flags} | head -1"), RALPH, &agent]);
        let done = world.spawn(pipe).wait().expect(0);
        let said = if flags == "--json" { "" } else { NO_NET };
        assert_eq!((done.stdout.lines().count(), done.stderr.as_str()), (1, said));
        assert_eq!(world.stopped().0, "max_iterations");
        assert_eq!(world.read("runs.txt").lines().count(), 4);
    }
    let world = World::new();
    world.run("say hi", &["-n", "200", "--set", "loop_detection.enabled=false"]).expect(3);
    for command in ["events", "events --json", "logs --all", "replay", "list", "explain --json"] {
        let mut pipe = world.command("bash");
        pipe.args(["-c", &format!("set -o pipefail; \"$0\" {command} | head -1"), RALPH]);
        let done = world.spawn(pipe).wait().expect(0);
        assert_eq!(done.stderr, "", "{command}");
    }
}

#[test]
fn invalid_utf8_neither_ends_nor_blinds_a_run() {
    let world = World::new();
    let script = "sh printf 'caf\\351 \\377\\376\\n\\300\\200<ralph>COMPLETE</ralph>\\n'\non 2: sh printf '\\377\\n<ralph>COMPLETE</ralph>\\n'";
    world.run(script, &["-v"]).expect(0);
    let events = world.events();
    assert_eq!(events.finished(), [1, 2]);
    assert!(events.of("agent.text")[0]["text"].as_str().expect("text").contains("caf\u{fffd}"));
    world.verify();
}

#[test]
fn a_flood_is_counted_to_the_byte_and_its_ends_are_kept() {
    const SIZE: u64 = 64 << 20;
    let world = World::new();
    world.run(&format!("flood {SIZE} lines\nsay \nsay <ralph>COMPLETE</ralph>"), &[]).expect(0);
    let tail = "\n<ralph>COMPLETE</ralph>\n";
    assert_eq!(world.events().last("agent.exited")["output_bytes"], SIZE + tail.len() as u64);
    let logs = world.ralph(["logs", "--raw"]).expect(0).stdout;
    assert!(logs.starts_with(&format!("{:079}\n{:079}\n", 0, 1)));
    assert!(logs.contains("bytes left out"));
    let last_whole = SIZE / 80 - 1;
    assert!(logs.contains(&format!("\n{last_whole:079}\n")) && logs.ends_with(tail));
    let on_disk: u64 = std::fs::read_dir(world.run_dir().join("logs"))
        .expect("logs")
        .flatten()
        .map(|entry| entry.metadata().expect("a size").len())
        .sum();
    assert!(on_disk < SIZE / 2, "{on_disk} bytes are kept");
    assert!(std::fs::metadata(world.journal()).expect("the journal").len() < 4 << 20);
}

#[test]
fn one_endless_line_and_noise_are_counted_too() {
    let world = World::new();
    for (flood, size) in
        [("3000001 line", 3_000_001), ("3000007 random", 3_000_007), ("2000003 lines stderr", 2_000_003)]
    {
        world.run(&format!("flood {flood}"), &["--once"]).expect(0);
        assert_eq!(world.events().last("agent.exited")["output_bytes"], size);
        world.verify();
    }
}

#[test]
fn states_delays_and_events_are_recorded_wherever_a_plain_agent_says_them() {
    let world = World::new();
    let script = "say <!-- ralph:state idle -->\nsay <!-- ralph:delay 90s -->\nsay <event topic=\"a.b\">\nsay one\n\
        say </event>\nerr <event topic=\"stderr\">no</event>\nsh seq 100";
    world.run(script, &["--once"]).expect(0);
    let events = world.events();
    let exited = events.last("agent.exited");
    assert_eq!((&exited["state"], &exited["delay_ms"]), (&json!("idle"), &json!(90_000)));
    assert_eq!(exited["published"], json!([{"topic": "a.b", "payload": "one"}]));
    world.verify();
}
