//! One run per workspace.

use crate::harness::*;

const STARTERS: usize = 20;

#[test]
fn of_twenty_starters_one_runs_and_the_others_name_it() {
    let world = World::new();
    let agent = world.agent("append runs.txt\nwait-for go");
    let mut starters: Vec<Live> =
        (0..STARTERS).map(|_| world.start(["run", "-p", "x", "-a", &agent, "-n", "1"])).collect();
    let mut losers = Vec::new();
    wait_until("nineteen to give up", || {
        let (ended, alive) = std::mem::take(&mut starters).into_iter().partition(|_| true);
        starters = alive;
        for mut one in ended as Vec<Live> {
            if one.has_ended() { losers.push(one.wait()) } else { starters.push(one) }
        }
        losers.len() == STARTERS - 1
    });
    let winner = starters.pop().expect("the winner");
    world.wait_for("agent.spawned", 1);
    let id = world.run_id();
    assert_eq!(world.run_dirs().len(), 1, "a run that could not start leaves nothing behind");
    for done in losers {
        let done = done.expect(5);
        assert!(done.stderr.contains(&id) && done.stderr.contains("ralph stop"), "{}", done.stderr);
    }
    // A resume is a starter too.
    world.ralph(["resume"]).expect(5);
    // Another workspace is free.
    std::fs::create_dir(world.path("other")).expect("a folder");
    let other = world.agent("say hi");
    world.ralph(["run", "-C", "../other", "-p", "x", "-a", &other, "--once"]).expect(0);
    world.write("go", "");
    winner.wait().expect(3);
    assert_eq!(world.read("runs.txt").lines().count(), 1);
}

#[test]
fn a_workspace_inside_of_a_busy_one_or_around_it_is_refused_and_siblings_are_not() {
    let world = World::new();
    let agent = world.agent("wait-for go");
    for folder in ["a", "a/deep", "b", "ab"] {
        std::fs::create_dir(world.work(folder)).expect("a folder");
    }
    let holder = world.start(["run", "-C", "a", "-p", "x", "-a", &agent, "-n", "1"]);
    world.wait_for("agent.spawned", 1);
    let id = world.run_id();
    let quick = world.agent("say hi");
    let start = |folder: &str| world.ralph(["run", "-C", folder, "-p", "x", "-a", &quick, "--once"]);
    let a = world.work("a").canonicalize().expect("the folder").display().to_string();
    let inside = start("a/deep").expect(5).stderr;
    assert!(
        inside.contains(&format!("run {id} is working in {a}, which {a}/deep is inside of\n")),
        "{inside}"
    );
    let around = start(".").expect(5).stderr;
    assert!(around.contains(&format!("run {id} is working in {a}, which is inside of ")), "{around}");
    for sibling in ["b", "ab"] {
        start(sibling).expect(0);
    }
    assert_eq!(world.run_dirs().len(), 3, "who is refused leaves nothing behind");
    std::fs::write(world.work("a/go"), "").expect("write");
    holder.wait().expect(3);
    for free in ["a/deep", ".", "a"] {
        start(free).expect(0);
    }
}

#[test]
fn a_run_in_a_worktree_works_beside_one_in_the_checkout_wherever_the_state_folder_is() {
    let world = World::new();
    for args in [&["init", "-q"][..], &["commit", "-q", "--allow-empty", "-m", "x"]] {
        world.git(args);
    }
    let state = world.work(".state").display().to_string();
    let agent = world.agent("wait-for go");
    let mut command = world.command(RALPH);
    command.env("RALPH_STATE_DIR", &state).args(["run", "-p", "x", "-a", &agent, "-n", "1"]);
    let holder = world.spawn(command);
    wait_until("the run", || {
        let mut list = world.command(RALPH);
        list.env("RALPH_STATE_DIR", &state).args(["list", "--json"]);
        world.spawn(list).wait().expect(0).stdout.contains("\"running\"")
    });
    let quick = world.agent("say hi");
    let mut command = world.command(RALPH);
    command.env("RALPH_STATE_DIR", &state).args(["run", "--worktree=x", "-p", "x", "-a", &quick, "--once"]);
    world.spawn(command).wait().expect(0);
    world.write("go", "");
    holder.wait().expect(3);
}

#[test]
fn after_a_kill_the_next_one_starts_without_help() {
    let world = World::new();
    let holder = world.start_run("ignore-term\nspawn-child\ndaemon\nsay up\nsleep 120s", &[]);
    world.wait_for("agent.text", 1);
    holder.kill();
    // Not waited for: the start itself waits for the old run's processes to die.
    world.run("say fine", &["--once"]).expect(0);
    assert_eq!(world.run_dirs().len(), 2);
    world.expect_no_survivors();
}
