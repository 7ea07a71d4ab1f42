//! What an agent prints, on disk as it arrives: the beginning and the end, whatever the length.
//!
//! `0003-1.log` holds the first bytes. What comes after goes in turn into two tail files, which are written over in place
//! again and again: a file that is made anew each time costs twice as much. `0003-1.end` says where the end is.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use ralph_store::output::{WritePlace, part_path};
use ralph_store::plain;

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

fn open(path: &Path, truncate: bool) -> io::Result<File> {
    match truncate {
        true => plain::create(path),
        false => plain::open_to_change(path),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ralph_store::output::print;

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
    fn a_follower_reads_everything_once_wherever_it_looks_and_tells_what_it_missed() {
        for (part_size, every) in [(10, 1), (10, 3), (4, 1), (1000, 2)] {
            let dir = tempfile::tempdir().expect("a folder");
            let path = dir.path().join("0001-1.log");
            let mut follower = ralph_store::output::Follower::default();
            let mut seen = Vec::new();
            follower.copy(&path, &mut seen).expect("nothing is there yet");
            let mut spool = Spool::with_part_size(&path, part_size).expect("a spool");
            let text: Vec<u8> = (0..97).map(|i| b'a' + (i % 26) as u8).collect();
            for (at, chunk) in text.chunks(3).enumerate() {
                spool.write(chunk);
                if at % every == 0 {
                    follower.copy(&path, &mut seen).expect("copied");
                }
            }
            follower.copy(&path, &mut seen).expect("copied");
            assert_eq!(String::from_utf8_lossy(&seen), String::from_utf8_lossy(&text), "{part_size} {every}");
        }
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("0001-1.log");
        let mut spool = Spool::with_part_size(&path, 10).expect("a spool");
        let mut follower = ralph_store::output::Follower::default();
        let mut seen = Vec::new();
        spool.write(b"abcde");
        follower.copy(&path, &mut seen).expect("copied");
        spool.write(&[b'x'; 50]);
        follower.copy(&path, &mut seen).expect("copied");
        let text = String::from_utf8_lossy(&seen);
        assert!(
            text.starts_with("abcdexxxxx\n[... ") && text.contains(" bytes left out ...]\nxxxx"),
            "{text}"
        );
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
