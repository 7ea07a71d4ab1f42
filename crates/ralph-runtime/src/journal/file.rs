//! The journal's files.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_store::plain;
use ralph_store::{JOURNAL, MARK, Mark};
use rustix::fs::{FlockOperation, flock};

use super::Storage;

const RESERVE: &str = "reserve";
/// Room for the closing records: a batch that did not fit, and `run.stopped`.
const RESERVE_SIZE: usize = 64 * 1024;

pub struct FileStorage {
    journal: File,
    path: PathBuf,
    /// How long the journal is, if nobody else has touched it.
    len: u64,
    /// Nothing where there is none any more.
    mark: Option<File>,
    reserve: PathBuf,
}

impl FileStorage {
    /// Makes the files of a new run. The folder's own entry is synced too: a power cut must not lose the whole run.
    pub fn create(dir: &Path) -> io::Result<Self> {
        let path = dir.join(JOURNAL);
        if fs::symlink_metadata(&path).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        plain::create(&path)?;
        let mut storage = Self::open(dir)?;
        storage.renew_mark(dir)?;
        for folder in [Some(dir), dir.parent()].into_iter().flatten() {
            File::open(folder)?.sync_all()?;
        }
        Ok(storage)
    }

    /// Opens the files of a run that goes on.
    pub fn open(dir: &Path) -> io::Result<Self> {
        let path = dir.join(JOURNAL);
        // Nothing is made here: a journal that is gone is gone.
        plain::open_to_change(&path)?;
        let journal = plain::append(&path)?;
        lock(&journal)?;
        let mark = plain::open_to_change(&dir.join(MARK)).ok();
        let reserve = dir.join(RESERVE);
        // Not having it costs nothing now; the run may still end without ever needing it.
        let _ = fill_reserve(&reserve);
        let len = journal.metadata()?.len();
        let storage = Self { journal, path, len, mark, reserve };
        // Somebody may have removed the run before the lock was taken.
        storage.check().map_err(|_| io::Error::new(io::ErrorKind::NotFound, "it has just been removed"))?;
        Ok(storage)
    }

    /// A mark that promises nothing, on disk. From then on a mark that is not there, or makes no sense, was removed or damaged:
    /// no crash does that.
    pub(super) fn renew_mark(&mut self, dir: &Path) -> io::Result<()> {
        let mark = plain::create(&dir.join(MARK))?;
        mark.write_all_at(&Mark { len: 0, seq: 0 }.encode(), 0)?;
        mark.sync_data()?;
        self.mark = Some(mark);
        Ok(())
    }

    pub fn journal(&self) -> &File {
        &self.journal
    }

    /// Whether the journal is still the file that was opened, with what was written to it and nothing else.
    fn check(&self) -> io::Result<()> {
        let own = self.journal.metadata()?;
        let what = match fs::symlink_metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => "was deleted",
            Err(error) => return Err(error),
            Ok(now) if (now.dev(), now.ino()) != (own.dev(), own.ino()) => "was replaced",
            Ok(_) if own.len() < self.len => "was cut",
            Ok(_) if own.len() > self.len => "was written to by somebody else",
            Ok(_) => return Ok(()),
        };
        Err(io::Error::other(format!(
            "it {what} while the run was at work; what it says is not to be trusted any more"
        )))
    }
}

/// One writer at a time. A reader asks this lock whether the run is alive, and holds it for a moment; so one failure does not
/// mean much.
fn lock(journal: &File) -> io::Result<()> {
    let mut tries = 0;
    loop {
        match flock(journal, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) if tries < 50 => std::thread::sleep(Duration::from_millis(5)),
            result => return Ok(result?),
        }
        tries += 1;
    }
}

fn fill_reserve(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() == RESERVE_SIZE as u64) {
        return Ok(());
    }
    // Real bytes, not a hole: a hole reserves nothing.
    plain::create(path)?.write_all(&[b'.'; RESERVE_SIZE])
}

impl Storage for FileStorage {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.check()?;
        self.journal.write_all(bytes)?;
        self.len += bytes.len() as u64;
        Ok(())
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.journal.set_len(len)?;
        self.len = len;
        Ok(())
    }

    fn sync(&mut self, mark: Mark) -> io::Result<()> {
        self.journal.sync_data()?;
        self.check()?;
        match &self.mark {
            Some(file) => file.write_all_at(&mark.encode(), 0),
            None => Err(io::Error::other("its mark is gone")),
        }
    }

    fn release_reserve(&mut self) {
        let _ = fs::remove_file(&self.reserve);
    }
}
