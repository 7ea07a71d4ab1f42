//! Reading on while a run writes: by sequence number, each record once, in order.

use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::ids::Seq;

use crate::changes::FileChanges;
use crate::plain::{self, Links};
use crate::read::MAX_LINE;
use crate::seek::{offset_of, seq_of};

/// Read at once. All that a follower holds, unless one line is longer.
const CHUNK: usize = 64 * 1024;

/// A place in a journal that moves on with the run. The run does not know about its followers.
pub struct Follower {
    path: PathBuf,
    file: File,
    changes: FileChanges,
    next: Seq,
    /// What was read of the file and not given yet is between `start` and `filled`; the file is read on at `offset`.
    buffer: Vec<u8>,
    start: usize,
    filled: usize,
    offset: u64,
    /// How long the file was when there was nothing more to read.
    end: u64,
}

impl Follower {
    /// Begins with the record of this number.
    pub fn new(path: &Path, from: Seq) -> io::Result<Self> {
        let changes = FileChanges::of(path)?;
        let offset = offset_of(path, from)?;
        let (path, file) = (path.to_owned(), plain::open(path, Links::Refuse)?);
        Ok(Self {
            path,
            file,
            changes,
            next: from,
            buffer: Vec::new(),
            start: 0,
            filled: 0,
            offset,
            end: offset,
        })
    }

    /// The number of the record that comes next.
    pub fn next_seq(&self) -> Seq {
        self.next
    }

    /// The next line that is whole, without its newline; nothing if there is none yet. A damaged line is given too.
    pub fn read(&mut self) -> io::Result<Option<&[u8]>> {
        loop {
            let Some(len) = self.whole_line()? else { return Ok(None) };
            let line = self.start..self.start + len;
            self.start += len + 1;
            match seq_of(&self.buffer[line.clone()]) {
                // The end was cut and written again.
                Some(seq) if seq < self.next => continue,
                Some(seq) => self.next = seq.next(),
                None => {}
            }
            return Ok(Some(&self.buffer[line]));
        }
    }

    /// Returns when the file was written to since a read found nothing, when there is something to read at `other`, or when
    /// the time is up. Tells whether it was `other`.
    pub fn wait(&mut self, at_most: Duration, other: Option<BorrowedFd<'_>>) -> io::Result<bool> {
        self.changes.watch()?;
        // Looked at after the watch was set: what was written in between is then noticed.
        if self.file.metadata()?.len() != self.end {
            self.changes.forget();
            return Ok(false);
        }
        self.changes.wait(at_most, other)
    }

    fn whole_line(&mut self) -> io::Result<Option<usize>> {
        let mut searched = self.start;
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[searched..self.filled]) {
                return Ok(Some(searched + at - self.start));
            }
            self.buffer.copy_within(self.start..self.filled, 0);
            (self.filled, self.start) = (self.filled - self.start, 0);
            searched = self.filled;
            if searched > MAX_LINE {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "the journal has a line without an end",
                ));
            }
            if self.buffer.len() < searched + CHUNK {
                self.buffer.resize(searched + CHUNK, 0);
            }
            let read = self.file.read_at(&mut self.buffer[searched..], self.offset)?;
            self.filled += read;
            self.offset += read as u64;
            if read == 0 {
                return self.nothing_yet();
            }
        }
    }

    /// What is there of a line may still be cut and written anew, so nothing of it is kept.
    fn nothing_yet(&mut self) -> io::Result<Option<usize>> {
        self.end = self.offset;
        self.offset -= self.filled as u64;
        self.filled = 0;
        let len = self.file.metadata()?.len();
        if len < self.offset {
            self.offset = offset_of(&self.path, self.next)?;
            self.end = len;
        }
        Ok(None)
    }
}

/// Gives every whole line from the record `from` on to `visit`, and waits for more until `visit` or `over` says that it is
/// enough.
pub fn follow(
    path: &Path,
    from: Seq,
    visit: &mut dyn FnMut(&[u8]) -> io::Result<bool>,
    over: &mut dyn FnMut() -> bool,
) -> io::Result<()> {
    let mut follower = Follower::new(path, from)?;
    loop {
        // Asked before reading: what was written before the end is then still seen.
        let last_round = over();
        while let Some(line) = follower.read()? {
            if !visit(line)? {
                return Ok(());
            }
        }
        if last_round {
            return Ok(());
        }
        // The end of the run is no change of the file, so it is asked for once a second.
        follower.wait(Duration::from_secs(1), None)?;
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write;

    use super::*;

    fn line(seq: u64) -> String {
        format!("{{\"seq\":{seq},\"text\":\"{}\"}}\n", "x".repeat((seq % 300) as usize))
    }

    fn seqs(follower: &mut Follower) -> Vec<u64> {
        let mut seqs = Vec::new();
        while let Some(line) = follower.read().expect("read") {
            seqs.push(seq_of(line).expect("a number").0);
        }
        seqs
    }

    #[test]
    fn a_follower_sees_each_record_once_whatever_pieces_it_is_written_in() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("journal");
        let text: String = (1..=2000).map(line).collect();
        std::fs::write(&path, "").expect("write");
        let mut file = OpenOptions::new().append(true).open(&path).expect("open");
        let mut follower = Follower::new(&path, Seq(1)).expect("a follower");
        let mut seen = Vec::new();
        for piece in text.as_bytes().chunks(977) {
            file.write_all(piece).expect("write");
            seen.extend(seqs(&mut follower));
        }
        assert_eq!(seen, (1..=2000).collect::<Vec<_>>());
        assert!(follower.buffer.capacity() <= 4 * CHUNK, "{}", follower.buffer.capacity());
        let mut late = Follower::new(&path, Seq(1999)).expect("a follower");
        assert_eq!((seqs(&mut late), late.next_seq()), (vec![1999, 2000], Seq(2001)));
        let mut early = Follower::new(&path, Seq(2001)).expect("a follower");
        assert_eq!(seqs(&mut early), [0; 0]);
        file.write_all(line(2001).as_bytes()).expect("write");
        assert!(!early.wait(Duration::from_secs(60), None).expect("wait"));
        assert_eq!(seqs(&mut early), [2001]);
    }

    #[test]
    fn what_is_cut_and_written_again_is_not_seen_twice() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("journal");
        std::fs::write(&path, line(1) + &line(2) + "{\"seq\":3,\"half").expect("write");
        let mut follower = Follower::new(&path, Seq(1)).expect("a follower");
        assert_eq!(seqs(&mut follower), [1, 2]);
        let file = OpenOptions::new().append(true).open(&path).expect("open");
        file.set_len(line(1).len() as u64).expect("cut");
        assert_eq!(seqs(&mut follower), [0; 0]);
        (&file).write_all((line(2) + &line(3)).as_bytes()).expect("write");
        assert_eq!(seqs(&mut follower), [3]);
    }

    /// Every line is written when the one before was read, so a change that is not noticed holds this up for minutes.
    #[test]
    fn who_waits_is_woken_by_every_line() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("journal");
        std::fs::write(&path, "").expect("write");
        let mut follower = Follower::new(&path, Seq(1)).expect("a follower");
        let (read, is_read) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let path = &path;
            scope.spawn(move || {
                let mut file = OpenOptions::new().append(true).open(path).expect("open");
                for seq in 1..=200 {
                    // In two pieces: half a line wakes too, and is no reason to go without the rest.
                    let line = line(seq);
                    let (begin, end) = line.split_at(line.len() / 2);
                    file.write_all(begin.as_bytes())
                        .and_then(|()| file.write_all(end.as_bytes()))
                        .expect("write");
                    assert_eq!(is_read.recv(), Ok(seq));
                }
            });
            let mut seen = 0;
            while seen < 200 {
                for seq in seqs(&mut follower) {
                    (seen, _) = (seq, read.send(seq).expect("a writer"));
                }
                if seen < 200 {
                    assert!(!follower.wait(Duration::from_secs(60), None).expect("wait"));
                }
            }
        });
    }
}
