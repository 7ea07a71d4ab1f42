//! kill -9 of ralph at random moments: nothing of it stays alive, nothing is lost, nothing is done twice.
//!
//! `RALPH_TEST_KILLS=200 cargo test -p ralph-cli --test cli crash -- --nocapture` kills more often and prints what it saw.

use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use crate::harness::*;

const KILLS: u32 = 20;
/// Long enough for a start and some iterations.
const LONGEST_LIFE_MS: u64 = 400;

#[test]
fn killed_at_random_moments_it_goes_on_exactly() {
    let world = World::new();
    let script = "append runs.txt\nspawn-child\ndaemon\nsay working on %i\nsleep 20ms\nsay done with %i";
    let mut slowest = Duration::ZERO;
    let kills = std::env::var("RALPH_TEST_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(KILLS);
    for kill in 0..kills {
        let live = start_or_resume(&world, script);
        let life = RandomState::new().hash_one(kill) % LONGEST_LIFE_MS;
        std::thread::sleep(Duration::from_millis(life));
        live.kill();
        // Every other time the next one is started into the last one's dying processes.
        if kill % 2 == 0 {
            let killed = Instant::now();
            world.expect_no_survivors();
            slowest = slowest.max(killed.elapsed());
        }
    }
    if !has_begun(&world) {
        start_or_resume(&world, script).kill();
    }
    let finished = world.wait_until("a start", |events| !events.0.is_empty()).finished().len() + 3;
    world.ralph(["resume", "-n", &finished.to_string()]).expect(3);
    world.expect_no_survivors();
    let events = world.events();
    assert_eq!(events.finished(), (1..=finished as u64).collect::<Vec<_>>());
    assert!(!events.of("iteration.interrupted").is_empty(), "no kill hit a working agent");
    nothing_ran_again_after_its_finish(&world, &events);
    world.verify();
    println!(
        "{kills} kills: {} iterations finished, {} cut short and run again, everything dead after at most {} ms",
        finished,
        events.of("iteration.interrupted").len(),
        slowest.as_millis()
    );
}

fn has_begun(world: &World) -> bool {
    !world.run_dirs().is_empty() && std::fs::metadata(world.journal()).is_ok_and(|meta| meta.len() > 0)
}

fn start_or_resume(world: &World, script: &str) -> Live {
    match has_begun(world) {
        true => world.start(["resume"]),
        false => world.start_run(script, &["-n", "100000", "--set", "event_loop.max_attempts=100000"]),
    }
}

/// The agents' own list of who ran, against the journal.
fn nothing_ran_again_after_its_finish(world: &World, events: &Events) {
    let number = |event: &Value, key: &str| event[key].as_u64().expect("a number");
    let finished: BTreeMap<u64, u64> = events
        .of("iteration.finished")
        .into_iter()
        .map(|event| (number(event, "iteration"), number(event, "attempt")))
        .collect();
    let mut ran = HashSet::new();
    for line in world.read("runs.txt").lines() {
        let words: Vec<&str> = line.split(' ').collect();
        // A run that was killed before its first record was safe has started no agent.
        assert_eq!(words[0], world.run_id());
        let (iteration, attempt): (u64, u64) = (words[1].parse().expect("n"), words[2].parse().expect("n"));
        assert!(ran.insert((iteration, attempt)), "attempt {attempt} of iteration {iteration} ran twice");
        assert!(attempt <= finished[&iteration], "iteration {iteration} ran again after its finish");
    }
    for (iteration, attempt) in finished {
        assert!(ran.contains(&(iteration, attempt)), "iteration {iteration} is finished but never ran");
    }
}

#[test]
fn an_iteration_that_brings_ralph_down_each_time_is_given_up() {
    let world = World::new();
    let mut live = world.start_run(
        "append runs.txt\non 1: say up\non 1: sleep 120s",
        &["-n", "2", "--set", "event_loop.max_attempts=2"],
    );
    for attempt in 1..=2 {
        world.wait_for("agent.text", attempt);
        live.kill();
        world.expect_no_survivors();
        live = world.start(["resume"]);
    }
    live.wait().expect(3);
    let events = world.events();
    assert_eq!(events.finished(), [1, 2]);
    assert_eq!(events.fields("iteration.finished", "outcome"), ["failed", "ok"]);
    assert_eq!(world.read("runs.txt").lines().count(), 3);
    world.verify();
}
