//! `ralph resume` after a stop, a crash in a wait, a raised limit and a damaged journal.

use std::fs;
use std::time::Duration;

use ralph_core::event::Event;
use ralph_core::ids::Seq;
use ralph_core::record::{Chain, Record};
use ralph_core::time::Timestamp;
use serde_json::json;

use crate::harness::*;

#[test]
fn a_wait_that_was_cut_off_only_lasts_for_its_rest() {
    let world = World::new();
    let live = world.start_run("append runs.txt", &["-d", "3s", "-n", "2"]);
    let events = world.wait_for("delay.started", 1);
    live.kill();
    let until = events.last("delay.started")["until"].as_str().expect("a time").to_owned();
    let resumed = world.start(["resume"]);
    let status = || world.ralph(["status", "--json"]).expect(0).json();
    wait_until("the resumed run", || status()["pid"].is_u64());
    assert_eq!(status()["phase"]["until"], until.as_str());
    resumed.wait().expect(3);
    let events = world.events();
    assert_eq!(events.of("delay.started").len(), 1, "the wait was not begun anew");
    let ended = events.last("delay.ended");
    assert_eq!(ended["early"], false);
    assert!(ended["at"].as_str() >= Some(&until));
    assert_eq!(events.finished(), [1, 2]);
    assert_eq!(world.read("runs.txt").lines().count(), 2);
    world.verify();
}

#[test]
fn a_wait_that_is_over_by_then_is_not_waited_for() {
    let world = World::new();
    let live = world.start_run("append runs.txt", &["-d", "1h", "-n", "2"]);
    world.wait_for("delay.started", 1);
    live.kill();
    world.expect_no_survivors();
    make_older(&world, Duration::from_secs(2 * 3600));
    world.ralph(["resume"]).expect(3);
    let events = world.events();
    assert_eq!(
        (events.of("delay.started").len(), events.last("delay.ended")["early"].clone()),
        (1, json!(false))
    );
    assert_eq!(events.finished(), [1, 2]);
    world.verify();
}

#[test]
fn a_complete_run_is_opened_again_with_more_to_do_and_proves_itself_again() {
    let world = World::new();
    world.write("ralph.yml", "gates:\n  - {name: made, run: 'test -e prompt-1.txt'}\n");
    let script = "save-prompt prompt-%i.txt\nsay <ralph>COMPLETE</ralph>";
    world.run(script, &[]).expect(0);
    let id = world.run_id();
    for again in [world.ralph(["resume"]), world.ralph(["say", "more"])] {
        assert!([again.stdout, again.stderr].concat().contains(&format!("ralph resume {id} -p 'AND NOW …'")));
    }
    assert!(world.ralph(["resume", "-p", " "]).expect(2).stderr.contains("is empty"));
    assert_eq!(world.events().finished(), [1]);
    world.ralph(["resume", &id, "-p", "and now the docs"]).expect(0);
    assert!(world.read("prompt-2.txt").contains("and now the docs"));
    let events = world.events();
    assert_eq!(events.finished(), [1, 2], "the same run goes on counting");
    assert_eq!(events.of("gate.finished").len(), 2);
    assert_eq!((&events.last("run.stopped")["proved"], world.run_dirs().len()), (&json!(true), 1));
    world.verify();
}

/// Everything in the journal happened so much earlier.
fn make_older(world: &World, by: Duration) {
    let earlier = |at: Timestamp| Timestamp::from_millis(at.as_millis() - by.as_millis() as i64);
    let text = fs::read(world.journal()).expect("the journal");
    let (mut read, mut written) = (Chain::default(), Chain::default());
    let lines = text.split_inclusive(|byte| *byte == b'\n').zip(1..).map(|(line, seq)| {
        let line = line.strip_suffix(b"\n").expect("a whole line");
        let mut record = Record::decode(line, &mut read, Seq(seq)).expect("a record");
        record.at = earlier(record.at);
        if let Event::DelayStarted(delay) = &mut record.event {
            delay.until = earlier(delay.until);
        }
        record.encode(&mut written).expect("a line")
    });
    let text: String = lines.collect();
    fs::write(world.journal(), text).expect("write");
    // The old one speaks of the other journal.
    let mark = ralph_store::Mark { len: 0, seq: 0 };
    fs::write(world.run_dir().join("journal.mark"), mark.encode()).expect("the mark");
}

#[test]
fn the_screen_of_a_resumed_run_knows_what_was_before() {
    let world = World::new();
    world.write("ralph.yml", "gates:\n  - {name: never, run: 'false'}\n");
    let first = world.run("on 1: say <ralph>COMPLETE</ralph>", &["-n", "2"]).expect(3).stdout;
    let refused = "refused the last claim (#1): gate never: exit code 1";
    assert!(first.contains(refused), "{first}");
    // The limit stands, so nothing but the end is told anew.
    let again = world.ralph(["resume", "-q"]).expect(3).stdout;
    assert!(again.contains(refused), "{again}");
    let closing = |text: &str| text[text.find("limit reached").expect("an end")..].to_owned();
    let same = |text: String| -> Vec<String> {
        closing(&text).lines().filter(|line| !line.contains("  total ")).map(str::to_owned).collect()
    };
    assert_eq!(same(again), same(first));
}

#[test]
fn a_complete_run_says_so_and_nothing_is_done() {
    let world = World::new();
    world.run("append runs.txt\nsay <ralph>COMPLETE</ralph>", &[]).expect(0);
    let before = fs::read(world.journal()).expect("the journal");
    let done = world.ralph(["resume", "-n", "50"]).expect(0);
    assert!(
        done.stdout.contains(&world.run_id()) && done.stdout.contains("nothing to resume"),
        "{}",
        done.stdout
    );
    // A reader of events gets none.
    let done = world.ralph(["resume", "--json"]).expect(0);
    assert!(done.stdout.is_empty() && done.stderr.contains("nothing to resume"), "{done:?}");
    assert_eq!(fs::read(world.journal()).expect("the journal"), before);
    assert_eq!(world.read("runs.txt").lines().count(), 1);
}

#[test]
fn limits_may_be_raised() {
    let world = World::new();
    world.run("append runs.txt", &["-n", "2"]).expect(3);
    // As it was, it is at its limit still.
    world.ralph(["resume"]).expect(3);
    assert_eq!(world.events().finished(), [1, 2]);
    let done = world.ralph(["resume", "-n", "4"]).expect(3);
    assert!(done.stdout.contains("resumed run") && done.stdout.contains("#4 ok"), "{}", done.stdout);
    let events = world.events();
    assert_eq!(events.finished(), [1, 2, 3, 4]);
    assert_eq!(events.last("run.resumed")["settings"], json!({ "event_loop": { "max_iterations": 4 } }));
    assert_eq!(events.last("run.stopped")["iterations"], 4);
    assert_eq!(world.run_dirs().len(), 1);
    world.verify();
}

#[test]
fn a_resume_takes_the_plan_from_the_journal_and_the_body_from_disk() {
    let world = World::new();
    let agent = world.agent("save-prompt got-%i");
    let write = |settings: &str, body: &str| {
        world.write(
            "RALPH.md",
            &format!("---\nagent: {agent}\ncredit: no\nevent_loop:\n  {settings}\n---\n{body}\n"),
        )
    };
    write("max_iterations: 1", "the first text");
    world.ralph(["run"]).expect(3);
    write("max_iterations: 9", "a better text");
    world.ralph(["resume"]).expect(3);
    assert_eq!(world.events().finished(), [1]);
    world.ralph(["resume", "-n", "2"]).expect(3);
    assert_eq!((world.read("got-1"), world.read("got-2")), ("the first text".into(), "a better text".into()));
}

#[test]
fn a_run_is_resumed_from_anywhere_by_its_name() {
    let world = World::new();
    world.run("append runs.txt", &["-n", "1"]).expect(3);
    fs::create_dir(world.path("other")).expect("a folder");
    world.ralph(["resume", "-C", "../other"]).expect(2);
    world.ralph(["resume", &world.run_id(), "-n", "2", "-C", "../other"]).expect(3);
    assert_eq!(world.read("runs.txt").lines().count(), 2);
}

#[test]
fn damage_is_reported_and_recover_goes_on_before_it() {
    let world = World::new();
    world.run("append runs.txt\nsay hello from %i", &["-n", "4"]).expect(3);
    let text = fs::read_to_string(world.journal()).expect("the journal");
    let damaged = text.replacen("hello from 3", "hullo from 3", 1);
    assert_ne!(damaged, text);
    fs::write(world.journal(), &damaged).expect("write");

    let done = world.ralph(["resume", "-n", "5"]).expect(1);
    for part in ["journal.jsonl", "damaged at record", "end of iteration 2", "--recover"] {
        assert!(done.stderr.contains(part), "{part} is not in {}", done.stderr);
    }
    assert_eq!(fs::read_to_string(world.journal()).expect("the journal"), damaged, "nothing was touched");

    world.ralph(["resume", "-n", "5", "--recover"]).expect(3);
    let events = world.events();
    assert_eq!(events.finished(), [1, 2, 3, 4, 5]);
    let kept = fs::read_to_string(world.run_dir().join("journal.damaged-1.jsonl")).expect("the copy");
    assert_eq!(kept, damaged);
    world.verify();
}

#[test]
fn the_torn_end_of_a_journal_is_cut_and_the_run_goes_on() {
    let world = World::new();
    let live = world.start_run("say up\nattempt 1: sleep 120s", &["-n", "1"]);
    world.wait_for("agent.text", 1);
    live.kill();
    world.expect_no_survivors();
    let mut bytes = fs::read(world.journal()).expect("the journal");
    bytes.extend_from_slice(b"{\"seq\":99,\"at\":\"2026-01-");
    fs::write(world.journal(), &bytes).expect("write");
    let done = world.ralph(["resume"]).expect(3);
    assert!(done.stderr.contains("24 bytes"), "{}", done.stderr);
    assert_eq!(world.events().last("journal.cut")["bytes"], 24);
    assert_eq!(world.events().finished(), [1]);
    world.verify();
}
