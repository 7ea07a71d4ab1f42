//! A file that spares listing the look into every journal. It can be thrown away at any time and is never believed by
//! itself: an entry counts only while the journal has the size and the time of writing that the entry names.

use std::collections::HashMap;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, SystemTime};

use ralph_core::ids::RunId;
use ralph_core::time::Timestamp;
use ralph_model::RunListing;
use serde::{Deserialize, Serialize};

use crate::run_dir::Summary;

/// Changed with the form of an entry. Another version may count otherwise, so its index is none.
const HEAD: &str = concat!("ralph-index-4-", env!("CARGO_PKG_VERSION"));
/// A longer file is none of ours.
const MAX_SIZE: u64 = 256 << 20;
/// A journal written to within this time may be written to again without its time changing, so it is not noted.
const SETTLED: Duration = Duration::from_secs(1);
/// A new index that is older was left by a process that died.
const STALE: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(crate) struct Index {
    pub entries: HashMap<RunId, Entry>,
    /// The file says something else.
    pub changed: bool,
}

/// What is known of a journal that nobody writes to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub stamp: Stamp,
    /// When the last thing happened that can be read.
    pub last_at: Option<Timestamp>,
    /// Nothing if the journal does not begin with a start.
    pub summary: Option<Summary>,
    /// Of a run that did not come to its end: what all of its records say, once somebody has read them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<RunListing>,
    /// Bytes on disk, once somebody has counted them. What a run leaves changes only together with its journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

/// Two equal stamps of a journal mean that it has not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    inode: u64,
    size: u64,
    seconds: i64,
    nanos: i64,
}

impl Stamp {
    pub(crate) fn of(journal: &Metadata) -> Self {
        let (inode, size) = (journal.ino(), journal.len());
        Self { inode, size, seconds: journal.mtime(), nanos: journal.mtime_nsec() }
    }

    /// Whether a change from now on would show.
    pub(crate) fn is_settled(journal: &Metadata) -> bool {
        let written = journal.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        written.elapsed().is_ok_and(|age| age > SETTLED)
    }
}

impl Index {
    /// Whatever is wrong with the file: then there is no index.
    pub(crate) fn read(path: &Path) -> Self {
        Self::try_read(path).unwrap_or_default()
    }

    fn try_read(path: &Path) -> Option<Self> {
        let file = OpenOptions::new().read(true).custom_flags(libc_nofollow()).open(path).ok()?;
        let meta = file.metadata().ok().filter(|meta| meta.is_file() && meta.len() <= MAX_SIZE)?;
        let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).ok()?);
        file.take(MAX_SIZE).read_to_end(&mut bytes).ok()?;
        let newline = memchr::memchr(b'\n', &bytes)?;
        let (head, body) = bytes.split_at(newline + 1);
        (head == header(body).as_bytes())
            .then(|| serde_json::from_slice(body).ok())?
            .map(|entries| Self { entries, changed: false })
    }

    /// Puts a new index in the place of the old one, at once. Where two do so, one of them wins; both are right.
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        let new = path.with_extension("new");
        if fs::metadata(&new)
            .and_then(|meta| meta.modified())
            .is_ok_and(|at| at.elapsed().is_ok_and(|age| age > STALE))
        {
            fs::remove_file(&new)?;
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        let written = self.write_to(&mut file).and_then(|()| fs::rename(&new, path));
        if written.is_err() {
            let _ = fs::remove_file(&new);
        }
        written
    }

    fn write_to(&self, file: &mut File) -> io::Result<()> {
        let body = serde_json::to_vec(&self.entries)?;
        file.write_all(header(&body).as_bytes())?;
        file.write_all(&body)
    }
}

fn header(body: &[u8]) -> String {
    format!("{HEAD} {:08x}\n", crc32fast::hash(body))
}

fn libc_nofollow() -> i32 {
    (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits() as i32
}
