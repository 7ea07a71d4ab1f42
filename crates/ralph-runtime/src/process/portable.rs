//! The weaker keeper for Unix systems without child subreapers (macOS, the BSDs). Compiled, not tested.
//!
//! What is missing compared to Linux, said aloud: the keeper notices the death of ralph just the same and kills the
//! program's *process group*, but a descendant that left the group (`setsid`, `setpgid`, most daemons) is out of its
//! reach and survives. `killed_leftovers` is always 0, as nobody can tell how many a group had. A keeper that is killed
//! itself leaves its program alive.

use std::collections::HashSet;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::Instant;
use std::{env, io};

use ralph_core::event::{KeeperStarted, ProcessMark};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process_group, setsid, wait};

/// The usual size of a pipe where it cannot be asked for.
const PIPE_SIZE: usize = 64 * 1024;

/// The executable to start keepers from: this very program.
pub fn keeper_exe() -> io::Result<PathBuf> {
    env::current_exe()
}

pub(super) fn become_keeper() -> io::Result<()> {
    setsid()?;
    Ok(())
}

/// There are no namespaces here.
pub(super) enum Outside {}

impl Outside {
    pub(super) fn number_of(&self, _pid: Pid) -> Option<i32> {
        match *self {}
    }
}

pub(super) fn enter() -> Result<(), String> {
    Err("this system has no pid namespaces".to_owned())
}

pub(super) fn become_init() -> Result<(i32, Outside), String> {
    Err("this system has no pid namespaces".to_owned())
}

/// There is no such wish here.
pub(super) fn end_with_parent() {}

pub(super) fn grow_pipe(_pipe: impl AsFd) -> usize {
    PIPE_SIZE
}

pub(super) fn sweep(agent: Pid, mut reaped: bool, on_reaped: &mut dyn FnMut(Pid, WaitStatus)) -> u32 {
    let _ = kill_process_group(agent, Signal::KILL);
    while !reaped {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) => {
                reaped = pid == agent;
                on_reaped(pid, status);
            }
            Ok(None) | Err(Errno::INTR) => {}
            Err(_) => break,
        }
    }
    0
}

/// A keeper that is stopped is heard of when the time of its program is over.
pub(super) enum Stoppable {}

impl Stoppable {
    pub(super) fn of(_child: &std::process::Child) -> Option<Self> {
        None
    }

    pub(super) fn await_stop(&self) -> bool {
        match *self {}
    }

    pub(super) fn set_going(&self) {}

    pub(super) fn end(&self) {}
}

/// Without `/proc` nobody is known but the program itself, and that is let alone.
pub(super) fn halt() -> Vec<Pid> {
    Vec::new()
}

pub(super) fn set_going(_halted: &[Pid]) {}

pub(super) fn kill_session(_keeper: u32) -> u32 {
    0
}

pub(super) fn become_reaper() -> io::Result<()> {
    Ok(())
}

pub(super) fn sweep_orphans(_keepers: &HashSet<u32>) -> u32 {
    0
}

pub(super) fn is_gone_by(_pidfd: &impl AsFd, _until: Instant) -> bool {
    true
}

/// Processes cannot be told from later ones here.
pub(super) fn mark(_pid: u32) -> Option<ProcessMark> {
    None
}

pub fn sweep_survivors(_keepers: &[KeeperStarted], _variable: &str) -> io::Result<u32> {
    Ok(0)
}

pub fn end_marked(_variable: &str) -> usize {
    0
}
