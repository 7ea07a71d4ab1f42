//! What an agent prints, on disk as it arrives: the beginning and the end, whatever the length.
//!
//! `0003-1.log` holds the first bytes. What comes after goes in turn into two tail files, which are written over in place
//! again and again: a file that is made anew each time costs twice as much. `0003-1.end` says where the end is.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const PART: u64 = 8 << 20;

pub struct Spool {
    base: PathBuf,
    file: Option<File>,
    /// Open once there are tails.
    end: Option<File>,
    at: WritePlace,
    total: u64,
    part_size: u64,
}

/// The current part, and how many bytes it has so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct WritePlace {
    part: u64,
    filled: u64,
}

impl Spool {
    pub fn create(path: &Path) -> io::Result<Self> {
        Self::with_part_size(path, PART)
    }

    fn with_part_size(path: &Path, part_size: u64) -> io::Result<Self> {
        let file = Some(open(path, true)?);
        let at = WritePlace { part: 0, filled: 0 };
        Ok(Self { base: path.to_owned(), file, end: None, at, total: 0, part_size })
    }

    /// Takes output as it comes. A log that cannot be written does not stop the agent: the journal is what counts.
    pub fn write(&mut self, mut bytes: &[u8]) {
        self.total += bytes.len() as u64;
        while !bytes.is_empty() {
            if self.at.filled == self.part_size {
                self.next_part();
            }
            let room = usize::try_from(self.part_size - self.at.filled).unwrap_or(usize::MAX);
            let (now, later) = bytes.split_at(bytes.len().min(room));
            if let Some(file) = &self.file
                && file.write_all_at(now, self.at.filled).is_err()
            {
                self.file = None;
            }
            self.at.filled += now.len() as u64;
            bytes = later;
        }
        if let Some(end) = &self.end {
            // The worst that comes of a failure is a log in the wrong order.
            let _ = end.write_all_at(&self.at.encode(), 0);
        }
    }

    fn next_part(&mut self) {
        self.at = WritePlace { part: self.at.part + 1, filled: 0 };
        if self.at.part == 1 {
            self.end = open(&self.base.with_extension("end"), true).ok();
        }
        self.file = open(&part_path(&self.base, self.at.part), self.at.part <= 2).ok();
    }

    pub fn total(&self) -> u64 {
        self.total
    }
}

impl WritePlace {
    /// Always of one length, so that one is written over another.
    fn encode(self) -> [u8; 42] {
        let mut out = [b'\n'; 42];
        let text = format!("{:020} {:020}", self.part, self.filled);
        out.iter_mut().zip(text.bytes()).for_each(|(to, from)| *to = from);
        out
    }

    fn read(base: &Path) -> Option<WritePlace> {
        let text = fs::read_to_string(base.with_extension("end")).ok()?;
        let (part, filled) = text.trim_end().split_once(' ')?;
        Some(WritePlace { part: part.parse().ok()?, filled: filled.parse().ok()? })
    }
}

/// Copies a log to `out`, with a note where something was left out. `total` is what the agent printed in all, if it has
/// ended.
pub fn print(path: &Path, total: Option<u64>, out: &mut dyn Write) -> io::Result<()> {
    let size = path.metadata()?.len();
    io::copy(&mut File::open(path)?, out)?;
    let Some(WritePlace { part, filled }) = WritePlace::read(path).filter(|end| end.part > 0) else {
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
        let Ok(mut file) = File::open(path) else { continue };
        file.seek(SeekFrom::Start(from))?;
        io::copy(&mut file.take(len), out)?;
    }
    Ok(())
}

fn left_out(total: u64, kept: u64, out: &mut dyn Write) -> io::Result<()> {
    match total.checked_sub(kept).filter(|bytes| *bytes > 0) {
        Some(bytes) => writeln!(out, "\n[... {bytes} bytes left out ...]"),
        None => Ok(()),
    }
}

fn part_path(base: &Path, part: u64) -> PathBuf {
    base.with_extension(if part % 2 == 1 { "tail1" } else { "tail2" })
}

fn open(path: &Path, truncate: bool) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(truncate).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is printed of a log, after the agent's end and in the middle of its work.
    fn printed(part_size: u64, bytes: usize) -> String {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("0001-1.log");
        let mut spool = Spool::with_part_size(&path, part_size).expect("a spool");
        let text: Vec<u8> = (0..bytes).map(|i| b'a' + (i % 26) as u8).collect();
        text.chunks(7).for_each(|chunk| spool.write(chunk));
        let shown = |total| {
            let mut out = Vec::new();
            print(&path, total, &mut out).expect("print");
            String::from_utf8(out).expect("text")
        };
        let after = shown(Some(spool.total()));
        assert_eq!(after, shown(None), "the end is known without the total");
        after
    }

    #[test]
    fn short_output_is_kept_whole() {
        assert_eq!(printed(10, 0), "");
        assert_eq!(printed(10, 10), "abcdefghij");
        assert_eq!(printed(10, 11), "abcdefghijk");
        assert_eq!(printed(10, 30), "abcdefghijklmnopqrstuvwxyzabcd");
    }

    #[test]
    fn of_long_output_the_beginning_and_the_end_are_kept() {
        assert_eq!(printed(10, 31), "abcdefghij\n[... 1 bytes left out ...]\nlmnopqrstuvwxyzabcde");
        // Parts: 0..10 head, 10..20 tail1, 20..30 tail2, 30..40 tail1 again, 40..45 over the first half of tail2.
        assert_eq!(printed(10, 45), "abcdefghij\n[... 15 bytes left out ...]\nzabcdefghijklmnopqrs");
        assert_eq!(printed(10, 50), "abcdefghij\n[... 20 bytes left out ...]\nefghijklmnopqrstuvwx");
    }

    #[test]
    fn a_lost_or_damaged_end_shows_the_beginning() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("0001-1.log");
        let mut spool = Spool::with_part_size(&path, 4).expect("a spool");
        spool.write(b"abcdefghijklmn");
        fs::write(path.with_extension("end"), "99999999999999999999999 x").expect("write");
        let mut out = Vec::new();
        print(&path, Some(14), &mut out).expect("print");
        assert_eq!(String::from_utf8_lossy(&out), "abcd\n[... 10 bytes left out ...]\n");
    }
}
