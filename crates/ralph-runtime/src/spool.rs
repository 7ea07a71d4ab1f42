//! What an agent prints, on disk as it arrives: the beginning and the end, whatever the length.
//!
//! `0003-1.log` holds the first bytes. What comes after goes in turn into two tail files, each of which is begun anew when
//! the other is full, so that at least the last bytes of one such file are always there.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

const PART: u64 = 8 << 20;

pub struct Spool {
    base: PathBuf,
    file: Option<File>,
    /// Bytes in the current part, and how many parts there were before it.
    filled: u64,
    part: u64,
    total: u64,
    part_size: u64,
}

impl Spool {
    pub fn create(path: &Path) -> io::Result<Self> {
        Self::with_part_size(path, PART)
    }

    fn with_part_size(path: &Path, part_size: u64) -> io::Result<Self> {
        let file = Some(open(path)?);
        Ok(Self { base: path.to_owned(), file, filled: 0, part: 0, total: 0, part_size })
    }

    /// Takes output as it comes. A log that can not be written does not stop the agent: the journal is what counts.
    pub fn write(&mut self, mut bytes: &[u8]) {
        self.total += bytes.len() as u64;
        while !bytes.is_empty() {
            if self.filled == self.part_size {
                self.part += 1;
                self.filled = 0;
                self.file = open(&part_path(&self.base, self.part)).ok();
            }
            let room = usize::try_from(self.part_size - self.filled).unwrap_or(usize::MAX);
            let (now, later) = bytes.split_at(bytes.len().min(room));
            if let Some(file) = &mut self.file
                && file.write_all(now).is_err()
            {
                self.file = None;
            }
            self.filled += now.len() as u64;
            bytes = later;
        }
    }

    pub fn total(&self) -> u64 {
        self.total
    }
}

/// Copies a log to `out`, with a note where something was left out.
pub fn print(path: &Path, total: Option<u64>, out: &mut dyn Write) -> io::Result<()> {
    let mut tails: Vec<(std::time::SystemTime, PathBuf)> = [1, 2]
        .into_iter()
        .map(|part| part_path(path, part))
        .filter_map(|path| Some((path.metadata().ok()?.modified().ok()?, path)))
        .collect();
    tails.sort();
    let mut kept = path.metadata()?.len();
    io::copy(&mut File::open(path)?, out)?;
    let sizes: u64 = tails.iter().filter_map(|(_, path)| path.metadata().ok()).map(|meta| meta.len()).sum();
    kept += sizes;
    if let Some(left_out) = total.and_then(|total| total.checked_sub(kept)).filter(|n| *n > 0) {
        writeln!(out, "\n[... {left_out} bytes left out ...]")?;
    }
    for (_, path) in tails {
        io::copy(&mut File::open(path)?.take(u64::MAX), out)?;
    }
    Ok(())
}

fn part_path(base: &Path, part: u64) -> PathBuf {
    base.with_extension(if part % 2 == 1 { "tail1" } else { "tail2" })
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(parts_of: u64, bytes: usize) -> String {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("0001-1.log");
        let mut spool = Spool::with_part_size(&path, parts_of).expect("a spool");
        let text: Vec<u8> = (0..bytes).map(|i| b'a' + (i % 26) as u8).collect();
        text.chunks(7).for_each(|chunk| spool.write(chunk));
        let mut out = Vec::new();
        print(&path, Some(spool.total()), &mut out).expect("print");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn short_output_is_kept_whole() {
        assert_eq!(printed(10, 10), "abcdefghij");
        assert_eq!(printed(10, 25), "abcdefghijklmnopqrstuvwxy");
    }

    #[test]
    fn of_long_output_the_beginning_and_the_end_are_kept() {
        // Parts: 0..10 head, 10..20 tail1, 20..30 tail2, 30..40 tail1 again, 40..45 tail2 again.
        assert_eq!(printed(10, 45), "abcdefghij\n[... 20 bytes left out ...]\nefghijklmnopqrs");
    }
}
