//! Removing a run: at once out of sight, then for good. Whatever happens in between, no run is left that is half there.

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io;

use rustix::fs::{FlockOperation, flock};

use crate::plain::{self, Links};
use crate::run_dir::RunDir;
use crate::store::Store;

/// Beside the runs: what is being removed.
const TRASH: &str = "trash";

impl Store {
    /// Removes a run, unless somebody works on it. While it is moved away its lock is held, so nobody can begin to: whoever has the
    /// journal open finds afterwards that it is gone. Tells whether it was removed.
    pub fn discard(&self, run: &RunDir) -> io::Result<bool> {
        // A journal that is not there, or is no file, is nobody's.
        let journal = plain::open(&run.journal(), Links::Refuse).ok();
        if let Some(journal) = &journal
            && flock(journal, FlockOperation::NonBlockingLockExclusive).is_err()
        {
            return Ok(false);
        }
        let trash = self.root().join(TRASH);
        plain::make_folder(&trash)?;
        let moved = trash.join(format!("{}-{:08x}", run.id, RandomState::new().hash_one(0) >> 32));
        fs::rename(&run.path, &moved)?;
        drop(journal);
        // From here on it is gone, whatever becomes of the rest.
        let _ = remove_all(&moved);
        Ok(true)
    }

    /// Removes what was being removed when it was interrupted.
    pub fn empty_trash(&self) {
        for entry in fs::read_dir(self.root().join(TRASH)).into_iter().flatten().flatten() {
            let _ = remove_all(&entry.path());
        }
    }
}

/// A folder without the right to change it keeps its files only until its owner takes that right back.
fn remove_all(folder: &std::path::Path) -> io::Result<()> {
    fs::remove_dir_all(folder).or_else(|_| {
        for entry in fs::read_dir(folder)?.flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let _ = rustix::fs::chmod(entry.path(), rustix::fs::Mode::RWXU);
            }
        }
        fs::remove_dir_all(folder)
    })
}

#[cfg(test)]
mod tests {
    use ralph_core::time::Timestamp;

    use super::*;

    #[test]
    fn a_run_that_is_at_work_stays_and_any_other_is_gone_at_once() {
        let dir = tempfile::tempdir().expect("a folder");
        let store = Store::at(dir.path().to_owned()).expect("a store");
        let run = store.create_run(Timestamp::default()).expect("a run");
        fs::write(run.journal(), "x").expect("write");
        let held = fs::File::open(run.journal()).expect("open");
        flock(&held, FlockOperation::LockExclusive).expect("lock");
        assert!(!store.discard(&run).expect("asked") && run.path.exists());
        drop(held);
        assert!(store.discard(&run).expect("removed") && !run.path.exists());
        assert_eq!(fs::read_dir(dir.path().join(TRASH)).expect("the trash").count(), 0);
    }

    #[test]
    fn what_an_interrupted_removal_left_is_no_run_and_goes_with_the_next() {
        let dir = tempfile::tempdir().expect("a folder");
        let store = Store::at(dir.path().to_owned()).expect("a store");
        let run = store.create_run(Timestamp::default()).expect("a run");
        fs::write(run.journal(), "x").expect("write");
        fs::create_dir_all(dir.path().join(TRASH)).expect("the trash");
        fs::rename(&run.path, dir.path().join(TRASH).join("killed")).expect("moved");
        assert!(store.list().is_empty() && store.abandoned().is_empty());
        store.empty_trash();
        assert_eq!(fs::read_dir(dir.path().join(TRASH)).expect("the trash").count(), 0);
    }
}
