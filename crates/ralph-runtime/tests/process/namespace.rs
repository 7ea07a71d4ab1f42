//! What a pid namespace adds: nothing inside can get at what holds it, and everything inside dies with it.

use ralph_core::event::ContainedBy;
use ralph_core::plan::Contain;
use ralph_runtime::process::{Exit, Supervisor, keeper_exe};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Mark, await_end, contain, run, sh, start, start_with, stat};

crate::trials![
    nothing_inside_can_stop_or_kill_what_holds_it,
    a_program_sees_its_own_namespace_and_ralph_its_real_number,
    a_killed_keeper_takes_the_namespace_with_it,
    a_stopped_keeper_changes_nothing,
    a_program_that_may_leave_something_behind_has_no_namespace,
    a_daemon_that_kills_its_guard_does_not_outlive_it,
];

fn parent(pid: u32) -> u32 {
    stat(pid, 1).parse().unwrap()
}

fn pid(number: u32) -> Pid {
    Pid::from_raw(number as i32).unwrap()
}

fn nothing_inside_can_stop_or_kill_what_holds_it() {
    if contain() == Contain::Keeper {
        return;
    }
    let mark = Mark::new();
    let script = "kill -9 $PPID; kill -STOP $PPID; kill -9 1; (setsid sleep 1000 &); echo still here; exit 5";
    let done = run(mark.on(sh(script)));
    assert_eq!((done.end.exit, done.stdout.as_str()), (Exit::Code(5), "still here\n"));
    assert_eq!(done.end.killed_leftovers, 1);
    mark.assert_nothing_alive();
}

fn a_program_sees_its_own_namespace_and_ralph_its_real_number() {
    if contain() == Contain::Keeper {
        return;
    }
    let run = start(sh(
        "echo $$ $PPID; ls -d /proc/[0-9]* | wc -l; read x < /proc/self/stat; echo up; exec sleep 1000",
    ));
    let said = run.await_output("up");
    let outside = run.handle.pid().unwrap();
    let mut lines = said.lines();
    assert_eq!(lines.next(), Some("2 1"), "{said}");
    // Init, the shell, `ls` and `wc`.
    assert!(lines.next().unwrap().trim().parse::<u32>().unwrap() <= 4, "{said}");
    // The shell has said its word and becomes `sleep`.
    let name = || std::fs::read_to_string(format!("/proc/{outside}/comm")).unwrap();
    let patience = std::time::Instant::now();
    while name() != "sleep\n" {
        assert!(patience.elapsed() < std::time::Duration::from_secs(30), "it is still {}", name());
        std::thread::yield_now();
    }
    run.handle.kill();
    assert_eq!(run.await_exit().end.exit, Exit::Signal(9));
}

fn a_killed_keeper_takes_the_namespace_with_it() {
    if contain() == Contain::Keeper {
        return;
    }
    let mark = Mark::new();
    let run =
        start(mark.on(sh("( (setsid sh -c 'trap \"\" TERM; sleep 1000' &) & ); echo up; exec sleep 1000")));
    run.await_output("up");
    let init = parent(run.handle.pid().unwrap());
    let keeper = parent(init);
    assert_ne!(keeper, std::process::id(), "there is somebody between ralph and init");
    kill_process(pid(keeper), Signal::KILL).unwrap();
    let end = run.await_exit().end;
    assert_eq!(end.exit, Exit::Lost { message: "its keeper process was killed".to_owned() });
    mark.assert_nothing_alive();
}

fn a_stopped_keeper_changes_nothing() {
    if contain() == Contain::Keeper {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let go = folder.path().join("go");
    let run = start(sh(&format!("echo up; while [ ! -e {} ]; do sleep 0.01; done; exit 3", go.display())));
    run.await_output("up");
    let keeper = parent(parent(run.handle.pid().unwrap()));
    kill_process(pid(keeper), Signal::STOP).unwrap();
    std::fs::write(go, "").unwrap();
    assert!(matches!(run.await_exit().end.exit, Exit::Code(3)));
    await_end(pid(keeper));
}

fn a_program_that_may_leave_something_behind_has_no_namespace() {
    let supervisor = Supervisor::new(keeper_exe().unwrap(), 1, Contain::Auto);
    let by = supervisor.containment().unwrap().by;
    let mark = Mark::new();
    let mut spec = mark.on(sh("setsid sleep 1000 > /dev/null 2>&1 & exit 0"));
    spec.kill_leftovers = false;
    let done = start_with(&supervisor, spec, None).await_exit();
    assert_eq!((done.end.exit, done.end.killed_leftovers), (Exit::Code(0), 0), "contained by {by:?}");
    let left = mark.processes();
    assert_eq!(left.len(), 1, "{left:?}");
    kill_process(left[0].0, Signal::KILL).unwrap();
    await_end(left[0].0);
    if contain() == Contain::Namespace {
        assert_eq!(by, ContainedBy::Namespace);
    }
}

/// In a namespace it cannot. Without one ralph hears of it, and kills what it finds; all of it only where ralph is a reaper.
fn a_daemon_that_kills_its_guard_does_not_outlive_it() {
    if contain() == Contain::Keeper {
        return;
    }
    for _ in 0..15 {
        let mark = Mark::new();
        let done = run(mark.on(sh("( (setsid sleep 1000 &) & ); kill -9 $PPID; sleep 0.01")));
        mark.assert_nothing_alive();
        assert_eq!(done.end.exit, Exit::Code(0));
    }
}
