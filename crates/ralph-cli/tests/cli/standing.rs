//! Ctrl-Z and `fg`: ralph stops with everything that it started, and time that stands still counts for no limit.

use std::time::{Duration, Instant};

use crate::harness::*;

/// Leaves a child and a daemon, and works until it is let go.
const SCRIPT: &str = "spawn-child\ndaemon\nsay up\nwait-for go\nsay done";
/// Beyond every limit that the tests set.
const STILL: Duration = Duration::from_millis(3500);

/// The states of a process of the world by its line, as `/proc` has them. Nothing if it has gone.
fn state(line: &str) -> Option<char> {
    let stat = std::fs::read_to_string(format!("{}/stat", line.split(' ').next()?)).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// All that is no keeper, by what it is doing.
fn programs(world: &World) -> Vec<(String, Option<char>)> {
    let lines = world.survivors().into_iter().filter(|line| !line.contains("__keeper"));
    lines.map(|line| (line.clone(), state(&line))).collect()
}

/// A shell that waits for its child to become another program cannot be stopped, and does nothing while the child stands still.
fn all_stand(world: &World) -> bool {
    let all = programs(world);
    all.iter().any(|(_, state)| *state == Some('T'))
        && all.iter().all(|(_, state)| matches!(state, Some('T' | 'D')))
}

fn stop(world: &World, live: &Live) {
    assert!(programs(world).len() >= 2, "ralph and something to stop: {:?}", programs(world));
    live.signal(Signal::TSTP);
    wait_until("everything stands still", || all_stand(world));
    let start = Instant::now();
    wait_until("the limits are over", || start.elapsed() > STILL);
    assert!(all_stand(world), "{:?}", programs(world));
}

#[test]
fn an_agent_and_what_it_left_stand_still_and_its_time_does_not_run_out() {
    for contain in ["namespace", "keeper"] {
        let world = World::new();
        let keys = ["iteration_timeout", "max_runtime", "max_wall_time", "silence_timeout"];
        let mut settings: Vec<String> = keys.iter().map(|key| format!("--set=event_loop.{key}=3s")).collect();
        settings.extend([format!("--set=contain={contain}"), "-n1".to_owned()]);
        let live = world.start_run(SCRIPT, &settings.iter().map(String::as_str).collect::<Vec<_>>());
        world.wait_for("agent.text", 1);
        assert!(programs(&world).len() >= 4, "{contain}: {:?}", programs(&world));
        stop(&world, &live);
        // Who asks it for something is told at once.
        let asked = world.ralph(["stop"]).expect(1);
        assert!(
            asked.stderr.contains("stands still") && asked.stderr.contains("kill -CONT"),
            "{}",
            asked.stderr
        );
        // Neither the work nor a limit went on.
        assert!(world.events().of("timer.fired").is_empty());
        live.signal(Signal::CONT);
        world.wait_for("run.continued", 1);
        world.write("go", "");
        live.wait().expect(3);
        let events = world.events();
        assert_eq!(events.last("run.stopped")["reason"], "max_iterations", "{contain}");
        assert_eq!(events.last("iteration.finished")["outcome"], "ok");
        assert!(events.last("iteration.finished")["duration_ms"].as_u64() < Some(3000));
        assert!(events.last("run.continued")["stood_ms"].as_u64() >= Some(3000));
        world.verify();
        world.expect_no_survivors();
    }
}

#[test]
fn a_gate_and_a_wait_stand_still() {
    let world = World::new();
    let gate = "gates=[{name: slow, run: 'sh -c \"echo > began; while [ ! -e go ]; do sleep 0.01; done\"', timeout: 3s}]";
    let live = world.start_run("say <ralph>COMPLETE</ralph>", &["--set", gate]);
    world.wait_for_file("began");
    stop(&world, &live);
    live.signal(Signal::CONT);
    world.wait_for("run.continued", 1);
    world.write("go", "");
    live.wait().expect(0);
    world.verify();

    let world = World::new();
    let live = world.start_run("say hi", &["-n", "2", "-d", "1h", "--set", "event_loop.max_wall_time=3s"]);
    world.wait_for("delay.started", 1);
    live.signal(Signal::TSTP);
    wait_until("ralph stands still", || all_stand(&world));
    let start = Instant::now();
    wait_until("the limit is over", || start.elapsed() > STILL);
    live.signal(Signal::CONT);
    world.wait_for("run.continued", 1);
    live.ctrl_c();
    live.wait().expect(130);
    assert_eq!(world.events().last("run.stopped")["reason"], "interrupted", "and not by a limit");
}

#[test]
fn a_ralph_that_is_killed_while_it_stands_leaves_nothing() {
    for contain in ["namespace", "keeper"] {
        let world = World::new();
        let live = world.start_run(SCRIPT, &["--set", &format!("contain={contain}")]);
        world.wait_for("agent.text", 1);
        live.signal(Signal::TSTP);
        wait_until("everything stands still", || all_stand(&world));
        live.kill();
        world.expect_no_survivors();
    }
}
