//! `ralph demo`: the first thing a new user types.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::harness::*;

/// The records of the run in a folder of the demo.
fn events(world: &World, dir: &Path) -> Events {
    let done = world.ralph(["events".as_ref(), "--json".as_ref(), "-C".as_ref(), dir.as_os_str()]).expect(0);
    Events(done.json_lines())
}

/// A claim is refused, an iteration fails, and one repairs and is believed.
fn expect_the_story(world: &World, dir: &Path) {
    let events = events(world, dir);
    assert_eq!(events.finished(), [1, 2, 3]);
    assert_eq!(events.fields("iteration.finished", "outcome"), ["ok", "failed", "ok"]);
    assert_eq!(events.fields("completion.claimed", "iteration"), [1, 3]);
    assert_eq!(events.fields("completion.rejected", "iteration"), [1]);
    assert_eq!(events.fields("completion.accepted", "iteration"), [3]);
    assert_eq!(events.fields("gate.finished", "passed"), [false, true]);
    let refused = events.of("gate.finished")[0]["tail"].to_string();
    assert!(refused.contains("40: expected XL, got XXXX"), "{refused}");
    assert_eq!(events.last("run.stopped")["reason"], "complete");
    // The program is really repaired, by the check as it was.
    let check = include_str!("../../src/commands/demo/check.sh");
    assert_eq!(read(&dir.join("check.sh")), check);
    let mut checked = world.command("sh");
    checked.arg("check.sh").current_dir(dir);
    assert!(world.spawn(checked).wait().expect(0).stdout.contains("all 7 checks passed"));
}

#[test]
fn the_demo_shows_a_refused_claim_a_failure_and_a_proved_end() {
    let world = World::new();
    let dir = world.path("a demo");
    let done = world.ralph(["demo".as_ref(), dir.as_os_str()]).expect(0);
    expect_the_story(&world, &dir);
    for label in
        ["no model, no key, no network", "__demo-agent", "[demo script]", "is not believed", "git repository"]
    {
        assert!(done.stdout.contains(label), "{label} is missing in:\n{}", done.stdout);
    }
    // What the gate said reaches the next iteration, and the one after it by the summary.
    for told in ["The gate told me: 1994: expected MCMXCIV, got", "says: 1994: expected MCMXCIV, got"] {
        assert!(done.stdout.contains(told), "{told} is missing in:\n{}", done.stdout);
    }
    assert_eq!(done.stderr, "");
    let mut log = world.command("git");
    log.args(["log", "--oneline"]).current_dir(&dir);
    assert_eq!(world.spawn(log).wait().expect(0).stdout.lines().count(), 1, "ralph commits nothing");
    let verified =
        world.ralph(["replay".as_ref(), "--verify".as_ref(), "-C".as_ref(), dir.as_os_str()]).expect(0);
    assert!(verified.stdout.contains("all as recorded"), "{}", verified.stdout);
    world.expect_no_survivors();

    // The three commands to try next work as they are printed; an agent that is here stands in for the real one.
    let next: Vec<&str> = done.stdout.lines().filter_map(|line| line.strip_prefix("  ralph ")).collect();
    assert_eq!(next.len(), 3, "{}", done.stdout);
    for command in next {
        let command = command.replace("-a claude", "-a cat --dry-run");
        let mut shell = world.command("sh");
        let path = Path::new(RALPH).parent().expect("a folder").display().to_string();
        shell.args(["-c", &format!("ralph {command}")]).env("PATH", format!("{path}:/usr/bin:/bin"));
        world.spawn(shell).wait().expect(0);
    }
}

#[test]
fn the_demo_needs_nothing_but_a_shell() {
    let world = World::new();
    let bin = world.path("bin");
    fs::create_dir(&bin).expect("a folder");
    symlink("/bin/sh", bin.join("sh")).expect("a link");
    let dir = world.path("demo");
    let mut ralph = world.command(RALPH);
    ralph.arg("demo").arg(&dir).env("PATH", &bin).env_remove("HOME");
    let done = world.spawn(ralph).wait().expect(0);
    assert!(done.stdout.contains("git is not installed, so it is a plain folder."), "{}", done.stdout);
    assert!(!dir.join(".git").exists());
    expect_the_story(&world, &dir);
}

#[test]
fn each_demo_has_a_folder_of_its_own_and_heeds_no_settings_of_the_user() {
    let world = World::new();
    fs::create_dir(world.path("config/ralph")).expect("a folder");
    fs::write(world.path("config/ralph/config.yml"), "event_loop: {max_iterations: 1}\n").expect("write");
    let demo = || {
        let mut ralph = world.command(RALPH);
        ralph.arg("demo").env("TMPDIR", world.path("files"));
        world.spawn(ralph).wait().expect(0)
    };
    demo();
    demo();
    for n in [1, 2] {
        expect_the_story(&world, &world.path("files").join(format!("ralph-demo-{n}")));
    }
    world.write("mine/notes.txt", "keep");
    let done = world.ralph(["demo", "mine"]).expect(2);
    assert!(done.stderr.contains("not empty"), "{}", done.stderr);
    assert_eq!(fs::read_dir(world.work("mine")).expect("a folder").count(), 1);
}

#[test]
fn bare_ralph_offers_the_demo() {
    let world = World::new();
    let done = world.ralph([""; 0]).expect(2);
    assert!(done.stderr.contains("`ralph demo` shows the loop at work"), "{}", done.stderr);
    assert!(!done.stderr.contains("__demo-agent"), "{}", done.stderr);
}
