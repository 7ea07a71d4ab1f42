//! A keeper that is stopped sees nothing, so it is set going again at once; whoever stops it again and again is ended.

use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use ralph_core::event::KeeperStopped;
use ralph_core::plan::Contain;
use ralph_runtime::process::{Exit, KeeperNews, Supervisor, keeper_exe};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Mark, PATIENCE, contain, sh, start_with, stat};

crate::trials![
    a_keeper_that_was_stopped_goes_on_and_its_program_ends_as_it_does,
    who_stops_its_keeper_again_and_again_is_ended_with_all_it_left,
    an_init_that_is_stopped_from_outside_goes_on_and_then_is_ended,
];

fn watched() -> (Supervisor, Receiver<KeeperStopped>) {
    let (tell, told) = channel();
    let supervisor = Supervisor::new(keeper_exe().unwrap(), 0, contain()).telling(move |news| {
        if let KeeperNews::Stopped(stopped) = news {
            let _ = tell.send(stopped);
        }
    });
    (supervisor, told)
}

fn stop(pid: u32) {
    // It may be gone by now.
    let _ = kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::STOP);
}

fn a_keeper_that_was_stopped_goes_on_and_its_program_ends_as_it_does() {
    if contain() == Contain::Namespace {
        return;
    }
    let (supervisor, told) = watched();
    let done = start_with(&supervisor, sh("kill -STOP $PPID; exit 4"), None).await_exit();
    assert_eq!(done.end.exit, Exit::Code(4));
    assert!(!told.recv_timeout(PATIENCE).unwrap().ended);
    assert!(told.try_recv().is_err(), "once");
}

fn who_stops_its_keeper_again_and_again_is_ended_with_all_it_left() {
    if contain() == Contain::Namespace {
        return;
    }
    let (supervisor, told) = watched();
    let mark = Mark::new();
    let script = "sleep 1000 & trap '' TERM; while :; do kill -STOP $PPID; sleep 0.01; done";
    let done = start_with(&supervisor, mark.on(sh(script)), None).await_exit();
    assert!(matches!(&done.end.exit, Exit::Lost { message } if message.contains("stopped again and again")));
    let told: Vec<bool> = told.try_iter().map(|stopped| stopped.ended).collect();
    assert_eq!(told, [false, false, true]);
    mark.assert_nothing_alive();
}

/// A process that has not been set going yet cannot be stopped once more, so it is stopped until somebody notices.
fn stop_until_told(pid: u32, told: &Receiver<KeeperStopped>) -> KeeperStopped {
    let until = Instant::now() + PATIENCE;
    loop {
        stop(pid);
        match told.recv_timeout(Duration::from_millis(100)) {
            Ok(stopped) => return stopped,
            Err(error) => assert!(Instant::now() < until, "nobody noticed: {error}"),
        }
    }
}

/// From inside nobody can.
fn an_init_that_is_stopped_from_outside_goes_on_and_then_is_ended() {
    if contain() == Contain::Keeper {
        return;
    }
    let (supervisor, told) = watched();
    let mark = Mark::new();
    let run = start_with(&supervisor, mark.on(sh("echo up; exec sleep 1000")), None);
    run.await_output("up");
    let init: u32 = stat(run.handle.pid().unwrap(), 1).parse().unwrap();
    for ended in [false, false, true] {
        assert_eq!(stop_until_told(init, &told), KeeperStopped { pid: init, ended });
    }
    let exit = run.await_exit().end.exit;
    assert!(matches!(&exit, Exit::Lost { message } if message.contains("stopped again")), "{exit:?}");
    mark.assert_nothing_alive();
}
