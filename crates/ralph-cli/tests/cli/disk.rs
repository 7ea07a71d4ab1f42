//! A disk that is full: the kernel lets no file grow beyond a limit.

use crate::harness::*;

#[test]
fn a_journal_that_can_not_grow_ends_the_run_and_it_goes_on_when_there_is_room() {
    let world = World::new();
    let agent = world.agent("append ../runs.txt\nflood 30000 lines\nsay done with %i");
    let mut limited = world.command("sh");
    // Blocks of 512 bytes: room for the start and for some iterations.
    limited.args([
        "-c",
        "ulimit -f 300; exec \"$@\"",
        "sh",
        RALPH,
        "run",
        "-p",
        "x",
        "-a",
        &agent,
        "-n",
        "60",
        // It says the same each time.
        "--set",
        "loop_detection.enabled=false",
    ]);
    let done = world.spawn(limited).wait().expect(1);
    let said = format!("{}{}", done.stdout, done.stderr);
    assert!(said.contains("cannot write the journal") && said.contains("File too large"), "{said}");
    world.expect_no_survivors();

    let before = world.events().finished().len() as u64;
    assert!((1..60).contains(&before), "{before}");
    let total = before + 3;
    world.ralph(["resume", "-n", &total.to_string()]).expect(3);
    let events = world.events();
    assert_eq!(events.finished(), (1..=total).collect::<Vec<_>>());
    world.verify();
    // No attempt ran twice, and only the one that was cut short has a second.
    let runs = read(&world.path("runs.txt"));
    let attempts: Vec<&str> =
        runs.lines().filter_map(|line| line.rsplit_once(' ')).map(|(head, _)| head).collect();
    let mut unique = attempts.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), attempts.len());
    assert!(attempts.len() as u64 <= total + 1, "{attempts:?}");
}

#[test]
fn a_state_folder_that_can_not_be_written_is_an_error_before_the_start() {
    let world = World::new();
    std::fs::write(world.state(), "in the way").expect("write");
    let done = world.run("append runs.txt", &["-n", "1"]).expect(1);
    assert!(done.stderr.contains("state"), "{}", done.stderr);
    assert!(!world.work("runs.txt").exists());
}
