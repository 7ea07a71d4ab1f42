//! Reading a journal without owning it: alive or stopped, sound or damaged, from either end.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use crate::plain::{self, Links};

/// A longer line is no record of ours.
pub(crate) const MAX_LINE: usize = 64 << 20;

pub enum Line<'a> {
    Whole(&'a [u8]),
    /// Without its newline: still being written, or cut by a crash.
    Partial,
}

/// The lines of a journal, one at a time.
pub struct Lines {
    reader: BufReader<File>,
    buffer: Vec<u8>,
}

impl Lines {
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::open_at(path, 0)
    }

    pub fn open_at(path: &Path, offset: u64) -> io::Result<Self> {
        let mut file = plain::open(path, Links::Refuse)?;
        file.seek(SeekFrom::Start(offset))?;
        Ok(Self { reader: BufReader::with_capacity(256 * 1024, file), buffer: Vec::new() })
    }

    pub fn read(&mut self) -> io::Result<Option<Line<'_>>> {
        self.buffer.clear();
        let read = (&mut self.reader).take(MAX_LINE as u64).read_until(b'\n', &mut self.buffer)?;
        Ok(match read {
            0 => None,
            _ if self.buffer.last() == Some(&b'\n') => {
                self.buffer.pop();
                Some(Line::Whole(&self.buffer))
            }
            _ => Some(Line::Partial),
        })
    }
}

/// The last lines that `keep` accepts, oldest first, without reading what stands before them.
pub fn last_lines(path: &Path, count: usize, keep: &dyn Fn(&[u8]) -> bool) -> io::Result<Vec<Vec<u8>>> {
    const BLOCK: u64 = 64 * 1024;
    let mut file = plain::open(path, Links::Refuse)?;
    let mut start = file.metadata()?.len();
    // Bytes from `start` on that belong to a line whose beginning has not been read yet.
    let mut pending: Vec<u8> = Vec::new();
    let mut found: Vec<Vec<u8>> = Vec::new();
    let mut seen_end = false;
    while start > 0 && found.len() < count {
        let size = BLOCK.min(start);
        start -= size;
        let mut block = vec![0; usize::try_from(size).unwrap_or_default()];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut block)?;
        block.append(&mut pending);
        let mut rest = block.as_slice();
        while let Some(newline) = memchr::memrchr(b'\n', rest) {
            let line = &rest[newline + 1..];
            // What stands behind the last newline is not a line yet.
            if seen_end && keep(line) {
                found.push(line.to_vec());
            }
            seen_end = true;
            rest = &rest[..newline];
            if found.len() == count {
                break;
            }
        }
        pending = rest.to_vec();
    }
    if start == 0 && found.len() < count && seen_end && keep(&pending) {
        found.push(pending);
    }
    found.reverse();
    Ok(found)
}
