//! How a program is ended: TERM, grace, KILL, and a keeper that gets hurt.

use std::time::Duration;

use ralph_core::plan::Contain;
use ralph_runtime::process::{Exit, Finished, Handle, Supervisor};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{
    Mark, PATIENCE, SUPERVISOR, await_end, await_stopped, contain, run, sh, start, start_with, stat,
    write_file,
};

crate::trials![
    term_lets_the_agent_finish_and_sweeps_the_rest,
    an_agent_that_ignores_term_is_killed_after_the_grace,
    kill_escalates_a_grace_that_is_running,
    a_second_terminate_brings_the_kill_forward_and_sends_no_second_term,
    a_stopped_agent_hears_term,
    orders_before_the_start_and_after_the_end_are_safe,
    told_to_end_leftovers_die_even_with_the_opt_out,
    the_keeper_survives_signals,
    a_killed_keeper_is_reported_and_its_agent_killed,
    a_sink_that_panics_ends_the_agent,
    a_stopped_keeper_still_obeys,
    a_sweep_that_does_not_end_is_reported_after_a_bound,
    a_keeper_that_talks_nonsense_is_lost,
];

const LONG: Duration = Duration::from_secs(3600);

fn term_lets_the_agent_finish_and_sweeps_the_rest() {
    let mark = Mark::new();
    let run = start(
        mark.on(sh("trap 'exit 3' TERM; setsid sh -c 'echo up; exec sleep 1000' & while :; do wait; done")),
    );
    run.await_output("up");
    run.handle.terminate(LONG);
    let end = run.await_exit().end;
    assert_eq!((end.exit, end.killed_leftovers), (Exit::Code(3), 1));
    mark.assert_nothing_alive();
}

fn an_agent_that_ignores_term_is_killed_after_the_grace() {
    let mark = Mark::new();
    let run = start(mark.on(sh("trap '' TERM; echo up; while :; do sleep 1000; done")));
    run.await_output("up");
    let grace = Duration::from_millis(100);
    run.handle.terminate(grace);
    let end = run.await_exit().end;
    assert_eq!(end.exit, Exit::Signal(9));
    assert!(end.duration >= grace, "{:?}", end.duration);
    mark.assert_nothing_alive();
}

fn kill_escalates_a_grace_that_is_running() {
    let run = start(sh("trap 'echo deaf' TERM; echo up; while :; do sleep 1000 & wait; done"));
    run.await_output("up");
    run.handle.terminate(LONG);
    run.await_output("deaf");
    run.handle.kill();
    run.handle.kill();
    assert_eq!(run.await_exit().end.exit, Exit::Signal(9));
}

fn a_second_terminate_brings_the_kill_forward_and_sends_no_second_term() {
    let run = start(sh("trap 'echo deaf' TERM; echo up; while :; do sleep 1000 & wait; done"));
    run.await_output("up");
    run.handle.terminate(LONG);
    run.await_output("deaf");
    run.handle.terminate(Duration::from_millis(300));
    run.handle.terminate(LONG);
    let done = run.await_exit();
    assert_eq!(done.end.exit, Exit::Signal(9));
    assert_eq!(done.stdout.matches("deaf").count(), 1);
}

fn a_stopped_agent_hears_term() {
    let run = start(sh("trap 'exit 4' TERM; echo up; kill -STOP $$; while :; do sleep 1000 & wait; done"));
    run.await_output("up");
    await_stopped(run.handle.pid().unwrap());
    run.handle.terminate(LONG);
    assert_eq!(run.await_exit().end.exit, Exit::Code(4));
}

fn orders_before_the_start_and_after_the_end_are_safe() {
    let run = start(sh("sleep 1000"));
    run.handle.kill();
    let handle: Handle = run.handle.clone();
    assert_eq!(run.await_exit().end.exit, Exit::Signal(9));
    handle.kill();
    handle.terminate(Duration::ZERO);

    let run = start(sh("sleep 1000"));
    run.handle.terminate(Duration::ZERO);
    assert!(matches!(run.await_exit().end.exit, Exit::Signal(9 | 15)));
}

fn told_to_end_leftovers_die_even_with_the_opt_out() {
    let mark = Mark::new();
    let mut spec =
        mark.on(sh("trap 'exit 3' TERM; setsid sh -c 'echo up; exec sleep 1000' & while :; do wait; done"));
    spec.kill_leftovers = false;
    let run = start(spec);
    run.await_output("up");
    run.handle.terminate(LONG);
    let end = run.await_exit().end;
    assert_eq!((end.exit, end.killed_leftovers), (Exit::Code(3), 1));
    mark.assert_nothing_alive();
}

fn the_keeper_survives_signals() {
    let done = run(sh(
        "for s in TERM INT HUP QUIT PIPE USR1 USR2 ALRM; do kill -$s $PPID || exit 1; done; echo fine",
    ));
    assert_eq!((done.end.exit, done.stdout.as_str()), (Exit::Code(0), "fine\n"));
}

fn a_killed_keeper_is_reported_and_its_agent_killed() {
    let mark = Mark::new();
    let run = start(mark.on(sh("sleep 1000 & (trap '' TERM; echo up; exec sleep 1000) & wait")));
    run.await_output("up");
    let keeper = stat(run.handle.pid().unwrap(), 1).parse().ok().and_then(Pid::from_raw).unwrap();
    let alive = mark.processes();
    assert_eq!(alive.len(), 3, "{alive:?}");
    kill_process(keeper, Signal::KILL).unwrap();
    let end = run.await_exit().end;
    // The kernel does not say how many there were in a namespace.
    let killed = if contain() == Contain::Namespace { 0 } else { 3 };
    assert_eq!((end.exit, end.killed_leftovers), (lost(), killed));
    alive.iter().for_each(|(pid, ..)| await_end(*pid));
    mark.assert_nothing_alive();
}

fn lost() -> Exit {
    Exit::Lost { message: "its keeper process was killed".to_owned() }
}

fn a_sink_that_panics_ends_the_agent() {
    let mark = Mark::new();
    let (ended, ends) = std::sync::mpsc::channel();
    SUPERVISOR.spawn(
        mark.on(sh("setsid sleep 1000 & echo up; wait")),
        None,
        |_, _| panic!("a sink that panics on purpose"),
        move |end| ended.send(end).unwrap(),
    );
    assert_eq!(ends.recv_timeout(PATIENCE).unwrap().exit, lost());
    mark.processes().iter().for_each(|(pid, ..)| await_end(*pid));
    mark.assert_nothing_alive();
}

fn a_stopped_keeper_still_obeys() {
    let run = start(sh("echo up; exec sleep 1000"));
    run.await_output("up");
    let keeper: u32 = stat(run.handle.pid().unwrap(), 1).parse().unwrap();
    kill_process(Pid::from_raw(keeper as i32).unwrap(), Signal::STOP).unwrap();
    run.handle.kill();
    assert_eq!(run.await_exit().end.exit, Exit::Signal(9));
}

/// A keeper of our own making: it is ready, takes the work, and then says `lines`.
fn under_a_fake_keeper(lines: &[&str]) -> Finished {
    let dir = tempfile::tempdir().unwrap();
    let exe = dir.path().join("keeper");
    let says: String = lines.iter().map(|line| format!("echo '{line}' >&0\n")).collect();
    write_file(
        &exe,
        format!("#!/bin/sh\necho '{{\"ready\":{{}}}}' >&0\nread work\n{says}read never\n").as_bytes(),
        0o755,
    );
    start_with(&Supervisor::new(exe, 0, Contain::Keeper), sh("exit 0"), None).await_exit().end
}

fn a_sweep_that_does_not_end_is_reported_after_a_bound() {
    let started = r#"{"started":{"pid":1}}"#;
    let exited = r#"{"exited":{"exit":{"code":7},"micros":5,"told":false}}"#;
    let end = under_a_fake_keeper(&[started, exited]);
    assert_eq!((end.exit, end.leftovers_alive, end.drained), (Exit::Code(7), true, false));
    assert!(!end.was_told, "the agent ended by itself");
    assert_eq!(end.duration, Duration::from_micros(5));
    // The agent itself cannot be killed.
    let end = under_a_fake_keeper(&[started, r#""killing""#]);
    assert_eq!((end.exit, end.leftovers_alive), (Exit::Signal(9), true));
}

fn a_keeper_that_talks_nonsense_is_lost() {
    for nonsense in ["nonsense", "{}", r#"{"exited":{"code":"x"}}"#] {
        assert_eq!(under_a_fake_keeper(&[nonsense]).exit, lost(), "{nonsense}");
    }
}
