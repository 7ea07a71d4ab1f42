//! Records of a run, decoded.

use std::io;
use std::ops::Range;

use ralph_core::event::Event;
use ralph_core::ids::{IterationNumber, Seq};
use ralph_core::record::{Record, json_of, type_of};

use crate::read::{Line, Lines};
use crate::run_dir::RunDir;
use crate::seek::{iteration_range, newest_range, offset_of};

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("the journal has a line without a checksum")]
    NoChecksum,
    #[error("this ralph ({version}) cannot read a record of the run: {0}", version = env!("CARGO_PKG_VERSION"))]
    Content(serde_json::Error),
}

/// A stored line as a record. The chain of checksums is not looked at: that takes all the lines before it.
pub fn decode(line: &[u8]) -> Result<Record, ReadError> {
    let json = json_of(line).ok_or(ReadError::NoChecksum)?;
    Record::from_json(json.as_bytes()).map_err(ReadError::Content)
}

impl RunDir {
    /// Gives the records of this range to `visit`, those that there are. A line that is still being written is left out; one
    /// that cannot be read ends it with an error.
    pub fn each_record<E: From<ReadError>>(
        &self,
        range: Range<Seq>,
        visit: &mut dyn FnMut(Record) -> Result<(), E>,
    ) -> Result<(), E> {
        let io = |error| E::from(ReadError::Io(error));
        let path = self.journal();
        let offset = if range.start <= Seq(1) { 0 } else { offset_of(&path, range.start).map_err(io)? };
        let mut lines = Lines::open_at(&path, offset).map_err(io)?;
        while let Some(Line::Whole(line)) = lines.read().map_err(io)? {
            // A newer ralph may know more types of events: they are passed over.
            if type_of(line).is_some_and(|name| !Event::NAMES.contains(&name)) {
                continue;
            }
            let record = decode(line)?;
            if record.seq >= range.end {
                break;
            }
            visit(record)?;
        }
        Ok(())
    }

    /// The records of an iteration and of what follows it up to the next one; an empty range if there is no such iteration.
    pub fn iteration_range(&self, iteration: IterationNumber) -> io::Result<Range<Seq>> {
        iteration_range(&self.journal(), iteration)
    }

    /// The records of the newest iterations: of `iterations` of them, but no more than `records` where the last one has fewer.
    /// The last iteration is always whole.
    pub fn newest_range(&self, iterations: u32, records: u64) -> io::Result<Range<Seq>> {
        newest_range(&self.journal(), iterations, records)
    }
}

/// All records there are and will be.
pub const ALL: Range<Seq> = Seq(0)..Seq(u64::MAX);
