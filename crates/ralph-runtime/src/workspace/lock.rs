//! One run per workspace, by a lock on the folder itself.
//!
//! The lock belongs to an open file description that ralph shares with the keepers of its processes. So it is free exactly
//! when ralph and everything it started are dead, and never has to be cleaned up.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

pub struct WorkspaceLock {
    dir: File,
}

#[derive(Debug)]
pub enum LockError {
    Io(io::Error),
    /// Held, by a run if one could be found.
    Held {
        by: Option<String>,
    },
}

/// How long the processes of a run that was killed may take to die.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(10);
/// A run that has just ended may look alive for a moment: a process that it was about to start still shares its files.
const LOOKS: u32 = 10;

impl WorkspaceLock {
    /// Takes the lock. `holder` names the live run of this workspace, if there is one: then nothing is waited for. A lock
    /// without one belongs to the keepers of a run that was just killed, or to a run that is just starting.
    pub fn acquire(workspace: &Path, holder: &dyn Fn() -> Option<String>) -> Result<Self, LockError> {
        let dir = File::open(workspace).map_err(LockError::Io)?;
        let deadline = Instant::now() + PATIENCE;
        let mut alive = 0;
        loop {
            match flock(&dir, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self { dir }),
                Err(rustix::io::Errno::WOULDBLOCK) => {}
                Err(error) => return Err(LockError::Io(error.into())),
            }
            let by = holder();
            alive = if by.is_some() { alive + 1 } else { 0 };
            if alive >= LOOKS || Instant::now() >= deadline {
                return Err(LockError::Held { by });
            }
            std::thread::sleep(PAUSE);
        }
    }
}

impl AsFd for WorkspaceLock {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }
}
