//! The workspace lock goes to the keeper and no further.

use std::fs::{self, File};
use std::os::fd::AsFd;

use rustix::fs::{FlockOperation, flock};
use rustix::io::{FdFlags, fcntl_setfd};

use crate::support::{SUPERVISOR, await_stopped, sh, start_with};

crate::trials![the_lock_is_held_until_the_keeper_is_done, the_agent_has_three_descriptors];

fn the_lock_is_held_until_the_keeper_is_done() {
    let dir = tempfile::tempdir().unwrap();
    let try_lock = || flock(File::open(dir.path()).unwrap(), FlockOperation::NonBlockingLockExclusive);
    let ours = File::open(dir.path()).unwrap();
    flock(&ours, FlockOperation::NonBlockingLockExclusive).unwrap();

    // A setsid grandchild outlives the agent for the moment the sweep takes.
    let run = start_with(&SUPERVISOR, sh("setsid sleep 1000 & echo up; cat; sleep 1000"), Some(ours.as_fd()));
    run.await_output("up");
    drop(ours);
    assert!(try_lock().is_err(), "free while the agent runs");
    run.handle.kill();
    run.await_exit();
    try_lock().expect("free once the exit is reported");
}

fn the_agent_has_three_descriptors() {
    let file = File::open("/dev/null").unwrap();
    fcntl_setfd(&file, FdFlags::empty()).unwrap();
    // A supervisor of its own: the keeper must be started while the stray descriptor is open.
    let supervisor = ralph_runtime::process::Supervisor::new(
        ralph_runtime::process::keeper_exe().unwrap(),
        0,
        crate::support::contain(),
    );
    let run = start_with(&supervisor, sh("echo up; kill -STOP $$"), Some(file.as_fd()));
    run.await_output("up");
    let pid = run.handle.pid().unwrap();
    // Stopped, it has nothing open for a moment only.
    await_stopped(pid);
    let fds = |pid: &str| -> Vec<String> {
        let dir = fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
        let mut names: Vec<String> = dir.map(|fd| fd.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(fds(&pid.to_string()), ["0", "1", "2"]);
    run.handle.kill();
    run.await_exit();
}
