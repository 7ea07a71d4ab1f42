//! `ralph pause`, `unpause`, `say` and `stop`, on a live run and on one that is not.

use crate::harness::*;

#[test]
fn a_run_pauses_after_its_iteration_and_goes_on_when_told() {
    let world = World::new();
    let live = world.start_run("write up-%i x\non 1: wait-for go", &["-n", "2"]);
    world.wait_for_file("up-1");
    assert!(world.ralph(["pause"]).expect(0).stdout.contains("pauses after this iteration"));
    assert!(world.ralph(["pause"]).expect(0).stdout.contains("already"));
    world.write("go", "");
    world.wait_for("run.paused", 1);
    assert_eq!(world.ralph(["status", "--json"]).expect(0).json()["state"], "paused");
    assert!(!world.work("up-2").exists());
    assert!(world.ralph(["unpause"]).expect(0).stdout.contains("goes on"));
    live.wait().expect(3);
    let events = world.events();
    assert_eq!(events.finished(), [1, 2]);
    assert_eq!(events.of("run.unpaused").len(), 1);
    world.verify();
}

#[test]
fn a_paused_run_can_be_stopped() {
    let world = World::new();
    let live = world.start_run("say hi\non 2+: wait-for go", &[]);
    world.wait_for("agent.text", 2);
    world.ralph(["pause"]).expect(0);
    world.write("go", "");
    world.wait_for("run.paused", 1);
    assert!(world.ralph(["stop"]).expect(0).stdout.contains("has stopped"));
    live.wait().expect(130);
    assert_eq!(world.events().finished(), [1, 2]);
    // A person who resumes does not mean the pause any more.
    world.ralph(["resume", "-n", "3"]).expect(3);
    assert_eq!(world.events().finished(), [1, 2, 3]);
    world.verify();
}

#[test]
fn guidance_goes_into_the_next_prompt_once() {
    let world = World::new();
    let live = world.start_run("save-prompt got-%i\nwrite up-%i x\non 1: wait-for go", &["-n", "3"]);
    world.wait_for_file("up-1");
    world.ralph(["say", "mind the gap"]).expect(0);
    world.ralph(["say", "and the door", "--run", &world.run_id()]).expect(0);
    world.write("go", "");
    live.wait().expect(3);
    let second = world.read("got-2");
    assert!(second.contains("mind the gap") && second.contains("and the door"), "{second}");
    for other in ["got-1", "got-3"] {
        assert!(!world.read(other).contains("mind the gap"));
    }
    let events = world.events();
    assert_eq!(events.fields("guidance.added", "text"), ["mind the gap", "and the door"]);
    let delivered = events.last("guidance.delivered");
    assert_eq!((&delivered["iteration"], &delivered["count"]), (&json!(2), &json!(2)));
    assert_eq!(events.of("guidance.delivered").len(), 1);
    world.verify();
}

#[test]
fn guidance_for_a_stopped_run_waits_for_its_resume() {
    let world = World::new();
    world.run("save-prompt got-%i", &["-n", "1"]).expect(3);
    let mut say = world.command("sh");
    say.args(["-c", "printf 'from\\na pipe' | \"$0\" say -", RALPH]);
    let done = world.spawn(say).wait().expect(0);
    assert!(done.stdout.contains("ralph resume"), "{}", done.stdout);
    world.ralph(["resume", "-n", "3"]).expect(3);
    assert!(world.read("got-2").contains("> from\n> a pipe"), "{}", world.read("got-2"));
    assert!(!world.read("got-3").contains("a pipe"));
    world.verify();
}

#[test]
fn guidance_of_an_iteration_that_was_cut_short_is_not_lost() {
    let world = World::new();
    world.run("say hi", &["-n", "1"]).expect(3);
    world.ralph(["say", "do not forget"]).expect(0);
    let events = world.events();
    assert_eq!(events.of("guidance.delivered").len(), 0);

    let world = World::new();
    let live = world.start_run(
        "on 2: save-prompt got-%a\non 1: wait-for go\non 2: say up\non 2: attempt 1: sleep 120s",
        &["-n", "2"],
    );
    world.wait_for("agent.spawned", 1);
    world.ralph(["say", "do not forget"]).expect(0);
    world.write("go", "");
    world.wait_for("agent.text", 1);
    live.kill();
    world.ralph(["resume"]).expect(3);
    assert!(world.read("got-1").contains("do not forget"));
    assert!(world.read("got-2").contains("do not forget"));
    world.verify();
}

#[test]
fn a_script_gets_the_run_and_the_events_of_what_it_asked_for() {
    let world = World::new();
    let live = world.start_run("write up-%i x\non 1: wait-for go", &["-n", "3"]);
    world.wait_for_file("up-1");
    let ask = |args: &[&str]| {
        let answer = world.ralph([args, &["--json"]].concat()).expect(0).json();
        assert_eq!(answer["run"], json!(world.run_id()), "{answer}");
        assert!(answer["message"].as_str().is_some_and(|text| text.contains(&world.run_id())), "{answer}");
        let events = answer["events"].as_array().expect("a list").iter();
        events.map(|event| event["type"].as_str().expect("a type").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ask(&["say", "mind the gap"]), ["guidance.added"]);
    assert_eq!(ask(&["pause"]), ["pause.requested"]);
    assert_eq!(ask(&["pause"]), [] as [&str; 0], "it is paused already");
    assert_eq!(ask(&["unpause"]), ["unpause.requested"]);
    assert_eq!(ask(&["stop"]), ["stop.requested"]);
    world.write("go", "");
    live.wait().expect(130);
    assert_eq!(ask(&["say", "and the door"]), ["guidance.added"], "also when it has stopped");
}

#[test]
fn without_a_name_the_live_run_is_meant_and_then_the_last_one_at_work() {
    let world = World::new();
    world.run("write up-%i x\non 2: wait-for go", &["-n", "1"]).expect(3);
    let old = world.run_id();
    world.run("say hi", &["-n", "1"]).expect(3);
    let new = world.run_id();
    let meant = |args: &[&str]| world.ralph(args).expect(0).json()["run"].clone();
    assert_eq!(meant(&["status", "--json"]), json!(new));
    let live = world.start(["resume", &old, "-n", "3"]);
    world.wait_for_file("up-2");
    assert_eq!(meant(&["status", "--json"]), json!(old));
    let done = world.ralph(["pause"]).expect(0).stdout;
    assert!(done.contains(&format!("`ralph unpause {old}`")), "{done}");
    assert_eq!(meant(&["unpause", "--json"]), json!(old));
    let done = world.ralph(["stop"]).expect(0).stdout;
    assert!(done.contains(&format!("`ralph stop --now {old}` ends it")), "{done}");
    world.write("go", "");
    live.wait().expect(130);
    assert_eq!(meant(&["status", "--json"]), json!(old));
    let listed = world.ralph(["list", "--json"]).expect(0).json();
    assert_eq!((&listed[0]["run"], &listed[1]["run"]), (&json!(old), &json!(new)));
    let cleaned = world.ralph(["clean", "--keep", "1", "--json"]).expect(0).json();
    assert_eq!(cleaned["removed"], json!([new]));
}

#[test]
fn a_run_that_is_done_can_not_be_told_anything() {
    let world = World::new();
    world.run("say <ralph>COMPLETE</ralph>", &["-n", "3"]).expect(0);
    let before = read(&world.journal());
    for args in [&["say", "one more thing"][..], &["say", "x", "--json"], &["say", "--reset-hat", "a"]] {
        let done = world.ralph(args).expect(2);
        assert!(done.stderr.contains(&format!("run {} is done", world.run_id())), "{}", done.stderr);
        assert_eq!(done.stdout, "");
    }
    assert_eq!(read(&world.journal()), before);
}

#[test]
fn there_must_be_something_to_say_and_somebody_to_tell() {
    let world = World::new();
    for args in [&["say", "hi"][..], &["stop"], &["pause"], &["unpause"], &["resume"], &["status"]] {
        let done = world.ralph(args).expect(2);
        assert!(done.stderr.contains("no run here"), "{}", done.stderr);
    }
    world.run("say hi", &["--once"]).expect(0);
    world.ralph(["say", "  "]).expect(2);
    for verb in ["stop", "pause", "unpause"] {
        let done = world.ralph([verb]).expect(2);
        assert!(done.stderr.contains("is not running"), "{}", done.stderr);
    }
}
