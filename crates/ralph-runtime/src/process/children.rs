//! The children of this process that it knows of. Any other is an orphan: something below a keeper that was killed, which came
//! to ralph because ralph asked for it (`PR_SET_CHILD_SUBREAPER`).

use std::collections::HashSet;
use std::io;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::platform;

/// Whether orphans come here, and all children but the keepers are orphans. Only the program itself can promise that.
static REAPER: AtomicBool = AtomicBool::new(false);

/// For a process whose only children are keepers: what is left of a keeper that was killed comes to it, and is ended.
pub fn become_reaper() -> io::Result<()> {
    platform::become_reaper()?;
    REAPER.store(true, Ordering::Release);
    Ok(())
}

#[derive(Default)]
pub(super) struct Children {
    keepers: Mutex<HashSet<u32>>,
}

impl Children {
    fn keepers(&self) -> MutexGuard<'_, HashSet<u32>> {
        self.keepers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a child. Nobody looks for orphans meanwhile.
    pub(super) fn add(&self, start: impl FnOnce() -> io::Result<Child>) -> io::Result<Child> {
        let mut keepers = self.keepers();
        let child = start()?;
        keepers.insert(child.id());
        Ok(child)
    }

    /// Waits for a child that is ending.
    pub(super) fn collect(&self, child: &mut Child) {
        let id = child.id();
        // Until it is collected its number is nobody else's.
        let _ = child.wait();
        self.keepers().remove(&id);
    }

    /// Ends and collects all orphans. Returns how many were killed.
    pub(super) fn sweep_orphans(&self) -> u32 {
        if !REAPER.load(Ordering::Acquire) {
            return 0;
        }
        let keepers = self.keepers();
        platform::sweep_orphans(&keepers)
    }
}
