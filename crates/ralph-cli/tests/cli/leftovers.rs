//! What an agent leaves running.

use crate::harness::*;

#[test]
fn a_child_that_holds_stdout_does_not_delay_the_next_iteration() {
    let world = World::new();
    // Longer than any test waits.
    world.run("hold-stdout 100s\nspawn-child\nsay %i", &["-n", "2"]).expect(3);
    let events = world.events();
    assert_eq!(events.fields("agent.exited", "leftovers"), [2, 2]);
    assert_eq!(events.fields("iteration.finished", "outcome"), ["ok", "ok"]);
    world.expect_no_survivors();
}

#[test]
fn a_daemon_is_found_and_killed_too() {
    let world = World::new();
    world.run("daemon\nsay hi", &["-n", "2"]).expect(3);
    assert_eq!(world.events().fields("agent.exited", "leftovers"), [1, 1]);
    world.expect_no_survivors();
}

#[test]
fn leftovers_are_kept_for_those_who_ask() {
    let world = World::new();
    let keep = ["--set", "event_loop.kill_leftovers=false"];
    world.run("on 1: hold-stdout 110s\nsay %i", &[&keep[..], &["-n", "2"]].concat()).expect(3);
    let only_the_child = || wait_until("only the child to be left", || world.survivors().len() == 1);
    only_the_child();
    assert!(world.survivors()[0].contains("sleep 110s"), "{:?}", world.survivors());
    // It holds neither the workspace nor the next run.
    world.run("say fine", &["--once"]).expect(0);
    only_the_child();
    world.kill_survivors();
    world.expect_no_survivors();
}
