//! Ctrl-C once and twice, SIGTERM and SIGHUP: what becomes of the iteration, the processes and the run.

use crate::harness::*;

/// Leaves a child and a daemon that ignore TERM; the first attempt works until it is let go.
const SCRIPT: &str = "spawn-child\ndaemon\nsay up\nattempt 1: wait-for go\nsay done";

#[test]
fn the_first_ctrl_c_lets_the_iteration_finish() {
    let world = World::new();
    let mut live = world.start_run(SCRIPT, &[]);
    world.wait_for("agent.text", 1);
    live.ctrl_c();
    let events = world.wait_for("stop.requested", 1);
    assert_eq!(events.last("stop.requested")["how"], "after_iteration");
    assert!(!live.has_ended());
    world.write("go", "");
    live.wait().expect(130);
    let events = world.events();
    assert_eq!(events.finished(), [1]);
    assert_eq!(events.last("run.stopped")["reason"], "interrupted");
    world.expect_no_survivors();
    // Nothing of it has to be done again.
    world.ralph(["resume", "-n", "2"]).expect(3);
    assert_eq!(world.events().fields("iteration.started", "attempt"), [1, 1]);
}

#[test]
fn the_second_ctrl_c_kills_it() {
    let world = World::new();
    let live = world.start_run(&format!("ignore-term\n{SCRIPT}"), &["-n", "1"]);
    world.wait_for("agent.text", 1);
    live.ctrl_c();
    world.wait_for("stop.requested", 1);
    live.ctrl_c();
    live.wait().expect(130);
    was_interrupted_and_runs_again(&world);
}

#[test]
fn sigterm_ends_it_with_143() {
    let world = World::new();
    let live = world.start_run(&format!("ignore-term\n{SCRIPT}"), &["-n", "1"]);
    world.wait_for("agent.text", 1);
    live.signal(Signal::TERM);
    live.wait().expect(143);
    was_interrupted_and_runs_again(&world);
}

#[test]
fn sighup_ends_it_with_129() {
    let world = World::new();
    let live = world.start_run(SCRIPT, &["-n", "1"]);
    world.wait_for("agent.text", 1);
    live.signal(Signal::HUP);
    live.wait().expect(129);
    was_interrupted_and_runs_again(&world);
}

fn was_interrupted_and_runs_again(world: &World) {
    world.expect_no_survivors();
    let events = world.events();
    assert_eq!(events.finished(), [] as [u64; 0]);
    assert_eq!(events.last("iteration.interrupted")["why"], "stop");
    assert_eq!(events.last("run.stopped")["reason"], "interrupted");
    world.verify();
    world.ralph(["resume"]).expect(3);
    let events = world.events();
    assert_eq!(events.finished(), [1]);
    assert_eq!(events.fields("iteration.started", "attempt"), [1, 2]);
    assert_eq!(events.last("iteration.finished")["attempt"], 2);
    // Cut short by a person: that is no failure of the agent.
    assert_eq!(events.last("iteration.finished")["outcome"], "ok");
    world.verify();
    world.expect_no_survivors();
}

#[test]
fn ctrl_c_ends_a_wait_at_once() {
    let world = World::new();
    let live = world.start_run("say hi", &["-d", "1h"]);
    world.wait_for("delay.started", 1);
    live.ctrl_c();
    live.wait().expect(130);
    assert_eq!(world.events().finished(), [1]);
}
