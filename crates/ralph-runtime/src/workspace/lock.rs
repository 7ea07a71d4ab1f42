//! One run per workspace, by a lock on the folder itself.
//!
//! The lock belongs to an open file description that ralph shares with the keepers of its processes. So it is free exactly
//! when ralph and everything it started are dead, and never has to be cleaned up.
//!
//! Any user who may read a folder may lock it. A stranger who does so must not keep anybody from working: then a file of our own,
//! which nobody else can open, stands for the folder. It is always taken first, so two runs of one user find each other either way.
//!
//! A run also takes, shared, the files that stand for the folders around its workspace. So a run inside of a busy workspace and one
//! around it find each other, and runs of sibling folders do not.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ralph_store::plain;
use rustix::fs::{FlockOperation, flock};

pub struct WorkspaceLock {
    dir: File,
    own: File,
    /// They stand for the folders around this one.
    _above: Vec<File>,
    /// A stranger holds the folder.
    by_own: bool,
}

#[derive(Debug)]
pub enum LockError {
    Io(io::Error),
    /// Of the file that stands for the workspace.
    Own(io::Error),
    /// Held, by a run if one could be found.
    Held {
        by: Option<Holder>,
    },
}

/// A live run, and where it works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    pub run: String,
    pub workspace: PathBuf,
}

const ALONE: FlockOperation = FlockOperation::NonBlockingLockExclusive;

/// How long the processes of a run that was killed may take to die.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(10);
/// A run that has just ended may look alive for a moment: a process that it was about to start still shares its files.
const LOOKS: u32 = 10;

impl WorkspaceLock {
    /// Takes the lock. `locks` is a private folder for files that stand for workspaces, `around` the folders that this workspace is
    /// in. `holder` names a live run that works here, inside of here or around, if there is one: then nothing is waited for. A lock
    /// without one belongs to the keepers of a run that was just killed, or to a run that is just starting.
    pub fn acquire(
        workspace: &Path,
        locks: &Path,
        around: &[&Path],
        holder: &dyn Fn() -> Option<Holder>,
    ) -> Result<Self, LockError> {
        let dir = File::open(workspace).map_err(LockError::Io)?;
        let lock_of = |meta: Metadata| own_lock(&meta, locks).map_err(LockError::Own);
        let own = lock_of(dir.metadata().map_err(LockError::Io)?)?;
        // A folder that cannot be looked at is nobody's workspace.
        let around = around.iter().filter_map(|folder| std::fs::metadata(folder).ok());
        let above: Vec<File> = around.map(lock_of).collect::<Result<_, _>>()?;
        let deadline = Instant::now() + PATIENCE;
        let (mut alive, mut has_own) = (0, false);
        loop {
            // This order, so that of two who start at once one gets through.
            has_own = has_own || (try_lock(&own, ALONE)? && try_all(&above)?);
            let dir_is_free = has_own && try_lock(&dir, ALONE)?;
            if dir_is_free || (has_own && is_held_by_strangers(&dir)) {
                return Ok(Self { dir, own, _above: above, by_own: !dir_is_free });
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
        if self.by_own { self.own.as_fd() } else { self.dir.as_fd() }
    }
}

fn own_lock(meta: &Metadata, locks: &Path) -> io::Result<File> {
    plain::make_folders(locks)?;
    plain::append(&locks.join(format!("{:x}-{:x}", meta.dev(), meta.ino())))
}

/// Beside others inside of the same folder.
fn try_all(above: &[File]) -> Result<bool, LockError> {
    for file in above {
        if !try_lock(file, FlockOperation::NonBlockingLockShared)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn try_lock(file: &File, how: FlockOperation) -> Result<bool, LockError> {
    match flock(file, how) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(LockError::Io(error.into())),
    }
}

/// Whether all who hold the folder are users that have no business here: neither we, nor its owner, nor root.
#[cfg(target_os = "linux")]
fn is_held_by_strangers(dir: &File) -> bool {
    let (Ok(meta), Ok(locks)) = (dir.metadata(), std::fs::read_to_string("/proc/locks")) else {
        return false;
    };
    let own = rustix::process::geteuid().as_raw();
    let mut holders = holders(&locks, meta.ino()).peekable();
    holders.peek().is_some()
        && holders.all(|pid| match std::fs::metadata(format!("/proc/{pid}")) {
            Ok(process) => ![own, meta.uid(), 0].contains(&process.uid()),
            // Dead: a lock that it took is shared by what it started, as our keepers do.
            Err(_) => false,
        })
}

#[cfg(not(target_os = "linux"))]
fn is_held_by_strangers(_: &File) -> bool {
    false
}

/// The processes that took a lock on a file with this number. On another disk there may be one of the same number; then one more
/// has to be a stranger.
#[cfg(target_os = "linux")]
fn holders(locks: &str, ino: u64) -> impl Iterator<Item = u32> {
    let ino = format!(":{ino}");
    locks.lines().filter_map(move |line| {
        let mut words = line.split_ascii_whitespace().skip(1);
        let (kind, pid) = (words.next()?, words.nth(2)?);
        let is_it = kind == "FLOCK" && words.next()?.ends_with(&ino);
        is_it.then(|| pid.parse().unwrap_or(0))
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_holders_of_a_lock_are_read_and_waiters_are_not() {
        let locks = "1: POSIX  ADVISORY  WRITE 11 00:1a:77 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 22 00:1a:77 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 33 00:1a:77 0 EOF\n\
                     3: FLOCK  ADVISORY  READ  44 00:1a:177 0 EOF\n\
                     4: FLOCK  ADVISORY  READ  55 08:01:77 0 EOF\n";
        assert_eq!(holders(locks, 77).collect::<Vec<_>>(), [22, 55]);
        assert_eq!(holders(locks, 78).count(), 0);
    }
}
