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
