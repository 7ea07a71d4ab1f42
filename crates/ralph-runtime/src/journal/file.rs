//! The journal's files.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_store::{JOURNAL, MARK, Mark};
use rustix::fs::{FlockOperation, flock};

use super::Storage;

const RESERVE: &str = "reserve";
/// Room for the closing records: a batch that did not fit, and `run.stopped`.
const RESERVE_SIZE: usize = 64 * 1024;

pub struct FileStorage {
    journal: File,
    mark: File,
    reserve: PathBuf,
}

impl FileStorage {
    /// Makes the files of a new run. The folder's own entry is synced too: a power cut must not lose the whole run.
    pub fn create(dir: &Path) -> io::Result<Self> {
        let journal = options().create_new(true).open(dir.join(JOURNAL))?;
        let storage = Self::with(dir, journal)?;
        for folder in [Some(dir), dir.parent()].into_iter().flatten() {
            File::open(folder)?.sync_all()?;
        }
        Ok(storage)
    }

    /// Opens the files of a run that goes on.
    pub fn open(dir: &Path) -> io::Result<Self> {
        let journal = options().open(dir.join(JOURNAL))?;
        Self::with(dir, journal)
    }

    fn with(dir: &Path, journal: File) -> io::Result<Self> {
        lock(&journal)?;
        let mut mark = OpenOptions::new();
        let mark =
            mark.read(true).write(true).create(true).truncate(false).mode(0o600).open(dir.join(MARK))?;
        let reserve = dir.join(RESERVE);
        // Not having it costs nothing now; the run may still end without ever needing it.
        let _ = fill_reserve(&reserve);
        Ok(Self { journal, mark, reserve })
    }

    pub fn journal(&self) -> &File {
        &self.journal
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

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).append(true).mode(0o600);
    options
}

fn fill_reserve(path: &Path) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|meta| meta.len() == RESERVE_SIZE as u64) {
        return Ok(());
    }
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    // Real bytes, not a hole: a hole reserves nothing.
    file.write_all(&[b'.'; RESERVE_SIZE])
}

impl Storage for FileStorage {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.journal.write_all(bytes)
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.journal.set_len(len)
    }

    fn sync(&mut self, mark: Mark) -> io::Result<()> {
        self.journal.sync_data()?;
        self.mark.write_all_at(&mark.encode(), 0)
    }

    fn release_reserve(&mut self) {
        let _ = fs::remove_file(&self.reserve);
    }
}
