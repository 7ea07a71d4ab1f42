//! The log of an attempt: everything the agent prints, as it comes.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use ralph_core::ids::IterationNumber;
use ralph_core::time::Timestamp;
use ralph_evidence::redact::Redactor;
use ralph_store::plain;

use crate::spool::Spool;

pub(crate) struct Log {
    redactor: Arc<Redactor>,
    spool: Spool,
    /// The user's own copy, where one was asked for.
    copy: Option<File>,
}

impl Log {
    pub(crate) fn new(spool: Spool, copy: Option<File>, redactor: Arc<Redactor>) -> Self {
        Self { redactor, spool, copy }
    }

    /// What no secret may get past on its way to the log and to everybody else.
    pub(super) fn redactor(&self) -> Arc<Redactor> {
        Arc::clone(&self.redactor)
    }

    /// A log that cannot be written keeps no agent from working.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        self.spool.write(bytes);
        if let Some(copy) = &mut self.copy
            && copy.write_all(bytes).is_err()
        {
            self.copy = None;
        }
    }

    /// All bytes that the agent has printed.
    pub(super) fn total(&self) -> u64 {
        self.spool.total()
    }
}

/// The user's own copy of the log: one file per iteration, everything in it.
pub(crate) fn create_copy(dir: &Path, iteration: IterationNumber, at: Timestamp) -> io::Result<File> {
    plain::make_folders(dir)?;
    let time = at.to_string();
    let stamp: String = time.chars().take(19).filter(|c| !matches!(c, '-' | ':')).collect();
    let name = format!("{:03}_{}.log", iteration.0, stamp.replace('T', "-"));
    plain::append(&dir.join(name))
}
