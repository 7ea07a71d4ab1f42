//! What an agent or a gate printed: the beginning and the end of it, in up to four files beside each other.
//!
//! `0003-1.log` holds the first bytes. What comes after goes in turn into two tail files, which are written over in place
//! again and again. `0003-1.end` says where the end is.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::plain::{self, Links};

/// The current part, and how many bytes it has so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WritePlace {
    pub part: u64,
    pub filled: u64,
}

impl WritePlace {
    /// Always of one length, so that one is written over another.
    pub fn encode(self) -> [u8; 42] {
        let mut out = [b'\n'; 42];
        let text = format!("{:020} {:020}", self.part, self.filled);
        out.iter_mut().zip(text.bytes()).for_each(|(to, from)| *to = from);
        out
    }

    fn read(base: &Path) -> Option<WritePlace> {
        let text = plain::read_text(&base.with_extension("end"), Links::Refuse, plain::SMALL).ok()?;
        let (part, filled) = text.trim_end().split_once(' ')?;
        Some(WritePlace { part: part.parse().ok()?, filled: filled.parse().ok()? })
    }
}

/// Copies a log to `out`, with a note where something was left out. `total` is what the agent printed in all, if it has
/// ended.
pub fn print(path: &Path, total: Option<u64>, out: &mut dyn Write) -> io::Result<()> {
    let mut head = plain::open(path, Links::Refuse)?;
    let size = head.metadata()?.len();
    io::copy(&mut (&mut head).take(size), out)?;
    let Some(WritePlace { part, filled }) = WritePlace::read(path).filter(|place| place.part > 0) else {
        return left_out(total.unwrap_or(size), size, out);
    };
    // The oldest first: what is left of the part before the last two, the last whole one, and what is being written.
    let current = part_path(path, part);
    let mut pieces = vec![(&current, 0, filled)];
    let before = part_path(path, part.saturating_sub(1));
    if part > 1 {
        pieces.insert(0, (&before, 0, size));
    }
    if part > 2 {
        pieces.insert(0, (&current, filled, size.saturating_sub(filled)));
    }
    let kept = pieces.iter().fold(size, |sum, (_, _, len)| sum.saturating_add(*len));
    let printed = size.saturating_mul(part).saturating_add(filled);
    left_out(total.unwrap_or(printed), kept, out)?;
    for (path, from, len) in pieces {
        let Ok(mut file) = plain::open(path, Links::Refuse) else { continue };
        file.seek(SeekFrom::Start(from))?;
        io::copy(&mut file.take(len), out)?;
    }
    Ok(())
}

/// Reads a log that is being written: what was not read yet, each time. What is written over before it was read is told as left out.
#[derive(Debug, Default)]
pub struct Follower {
    /// How much of all that was printed has been read.
    at: u64,
}

impl Follower {
    /// Copies what is new to `out`.
    pub fn copy(&mut self, path: &Path, out: &mut dyn Write) -> io::Result<()> {
        let mut head = match plain::open(path, Links::Refuse) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        // The place first: it is written after the part that it names has begun.
        let place = WritePlace::read(path).filter(|place| place.part > 0);
        let size = head.metadata()?.len();
        if self.at < size {
            head.seek(SeekFrom::Start(self.at))?;
            self.at += io::copy(&mut head.take(size - self.at), out)?;
        }
        let Some(WritePlace { part, filled }) = place else { return Ok(()) };
        let end = size.saturating_mul(part).saturating_add(filled);
        // Only the part that is being written and the one before it are there.
        let oldest = size.saturating_mul(part.saturating_sub(1).max(1));
        if self.at < oldest {
            left_out(oldest, self.at, out)?;
            self.at = oldest;
        }
        while self.at < end && size > 0 {
            let (of, within) = (self.at / size, self.at % size);
            let Ok(mut file) = plain::open(&part_path(path, of), Links::Refuse) else { return Ok(()) };
            file.seek(SeekFrom::Start(within))?;
            let most = (end - self.at).min(size - within);
            match io::copy(&mut file.take(most), out)? {
                0 => return Ok(()),
                copied => self.at += copied,
            }
        }
        Ok(())
    }
}

fn left_out(total: u64, kept: u64, out: &mut dyn Write) -> io::Result<()> {
    match total.checked_sub(kept).filter(|bytes| *bytes > 0) {
        Some(bytes) => writeln!(out, "\n[... {bytes} bytes left out ...]"),
        None => Ok(()),
    }
}

/// The file of a part behind the first one.
pub fn part_path(base: &Path, part: u64) -> PathBuf {
    base.with_extension(if part % 2 == 1 { "tail1" } else { "tail2" })
}
