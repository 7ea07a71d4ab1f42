//! The journal on disk: appended, synced where something is decided that must survive, and opened again after anything.
//!
//! `journal.jsonl` holds the records. `journal.mark` says up to which byte they are known to be on disk for good; it is
//! written after every sync, and is there from the start. Damage behind the mark is the tail of a crash and is cut; damage before
//! it means that something changed what had been stored, and a mark that is gone that nobody can tell: both are errors, and
//! nothing is done twice before a person has said so. The file is looked at before every write: one that was deleted, replaced,
//! cut or added to under the run ends it. `reserve` is room for the closing records on a disk that is full.

mod file;
mod open;
#[cfg(test)]
mod tests;

use std::io;

use ralph_core::event::Event;
use ralph_core::record::Record;
use ralph_core::time::Timestamp;
use ralph_store::{Mark, Position};

pub use file::FileStorage;
pub use open::{Cut, OpenError, open, recover};

/// Where the bytes go. Real files in the product; tests put in disks that are full or lie.
pub trait Storage: Send {
    /// Appends all of it, or fails, perhaps after a part.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Cuts back to this length.
    fn truncate(&mut self, len: u64) -> io::Result<()>;
    /// Returns when everything appended is on disk, then notes how far that is.
    fn sync(&mut self, mark: Mark) -> io::Result<()>;
    /// Makes room for a last few records. Once.
    fn release_reserve(&mut self);
}

#[derive(Debug, thiserror::Error)]
#[error("cannot write the journal: {0}")]
pub struct JournalError(#[from] pub io::Error);

impl From<serde_json::Error> for JournalError {
    fn from(error: serde_json::Error) -> Self {
        Self(error.into())
    }
}

pub struct Journal {
    storage: Box<dyn Storage>,
    position: Position,
}

impl Journal {
    /// A journal that goes on at this position; the default one for a new file.
    pub fn new(storage: Box<dyn Storage>, position: Position) -> Self {
        Self { storage, position }
    }

    /// Puts something between the journal and its storage: a disk that fills up, for instance.
    pub fn through(self, wrap: impl FnOnce(Box<dyn Storage>) -> Box<dyn Storage>) -> Self {
        Self { storage: wrap(self.storage), ..self }
    }

    pub fn position(&self) -> Position {
        self.position
    }

    /// Appends one batch in a single write, and syncs it if any of it has to survive. After an error the journal ends
    /// where it did before.
    pub fn append(&mut self, batch: &[(Timestamp, Event)]) -> Result<Vec<Record>, JournalError> {
        let mut next = self.position;
        let mut bytes = String::new();
        let mut records = Vec::with_capacity(batch.len());
        for (at, event) in batch {
            next.seq = next.seq.next();
            let record = Record { seq: next.seq, at: *at, event: event.clone() };
            bytes.push_str(&record.encode(&mut next.chain)?);
            records.push(record);
        }
        next.len += bytes.len() as u64;
        let must_sync = batch.iter().any(|(_, event)| event.needs_sync());
        if let Err(error) = self.write(bytes.as_bytes(), must_sync.then(|| Mark::at(next))) {
            // What was half written would be cut on open anyway; this keeps a retry from being glued to it.
            let _ = self.storage.truncate(self.position.len);
            return Err(error.into());
        }
        self.position = next;
        Ok(records)
    }

    fn write(&mut self, bytes: &[u8], mark: Option<Mark>) -> io::Result<()> {
        self.storage.append(bytes)?;
        mark.map_or(Ok(()), |mark| self.storage.sync(mark))
    }

    /// Gives up the reserve so that a few more records fit.
    pub fn make_room(&mut self) {
        self.storage.release_reserve();
    }
}
