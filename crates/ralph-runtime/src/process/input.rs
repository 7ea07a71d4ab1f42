//! What ralph says to a program that reads its standard input while it works.
//!
//! Nothing here ever waits: bytes are kept until the pipe takes them, and are written by the thread that reads the program's
//! output, whenever there is room. A program that does not read can neither stop that thread nor fill the memory; one that
//! has closed its end is not written to any more, which is no error.

use std::os::fd::OwnedFd;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;

/// What may wait for a program to read it, besides what is said first.
const MAX_WAITING: usize = 4 << 20;

/// The standard input of a program. Of one that has none, whatever is written is dropped.
#[derive(Debug, Default)]
pub struct Input {
    pipe: Option<OwnedFd>,
    waiting: Vec<u8>,
    /// How much of `waiting` has been written.
    written: usize,
    /// So much may wait.
    most: usize,
    closing: bool,
    unread: bool,
}

impl Input {
    /// `pipe` is the end that is written to.
    pub(super) fn new(pipe: OwnedFd) -> Result<Self, Errno> {
        // Of this end only: the program's own is another open file.
        fcntl_setfl(&pipe, fcntl_getfl(&pipe)? | OFlags::NONBLOCK)?;
        Ok(Self { pipe: Some(pipe), most: MAX_WAITING, ..Self::default() })
    }

    /// What is said before the program has said anything. It may be long: a prompt.
    pub fn open(&mut self, bytes: &[u8]) {
        self.most = self.most.saturating_add(bytes.len());
        self.write(bytes);
    }

    /// Says something. If too much has been said that the program did not read, its input ends here.
    pub fn write(&mut self, bytes: &[u8]) {
        if self.pipe.is_none() || self.closing || bytes.is_empty() {
            return;
        }
        if self.waiting.len() - self.written + bytes.len() > self.most {
            self.unread = true;
            self.drop_pipe();
            return;
        }
        self.waiting.drain(..self.written);
        self.written = 0;
        self.waiting.extend_from_slice(bytes);
    }

    /// The input ends behind what has been said.
    pub fn close(&mut self) {
        self.closing = true;
        self.flush();
    }

    /// The program was told more than it cared to read, and is told nothing any more.
    pub fn was_not_read(&self) -> bool {
        self.unread
    }

    /// The pipe, while something waits for it.
    pub(super) fn busy_pipe(&self) -> Option<&OwnedFd> {
        self.pipe.as_ref().filter(|_| self.written < self.waiting.len())
    }

    /// Writes as much as the pipe takes.
    pub(super) fn flush(&mut self) {
        while let Some(pipe) = &self.pipe
            && self.written < self.waiting.len()
        {
            match rustix::io::write(pipe, &self.waiting[self.written..]) {
                Ok(written) => self.written += written,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                // The program has closed its end. It may have good reasons.
                Err(_) => return self.drop_pipe(),
            }
        }
        self.waiting = Vec::new();
        self.written = 0;
        if self.closing {
            self.drop_pipe();
        }
    }

    /// The program has ended.
    pub(super) fn drop_pipe(&mut self) {
        self.pipe = None;
        self.waiting = Vec::new();
        self.written = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn pipe() -> (std::fs::File, Input) {
        let (read, write) = rustix::pipe::pipe().expect("a pipe");
        (read.into(), Input::new(write).expect("an input"))
    }

    #[test]
    fn what_the_pipe_does_not_take_waits_and_arrives_whole() {
        let (mut read, mut input) = pipe();
        let text: Vec<u8> = (0..1_000_000).map(|n| b'a' + (n % 26) as u8).collect();
        input.open(&text);
        input.flush();
        assert!(input.busy_pipe().is_some(), "a pipe is smaller");
        input.write(b" and more");
        input.close();
        let mut got = Vec::new();
        let mut chunk = [0; 7777];
        loop {
            let n = read.read(&mut chunk).expect("read");
            if n == 0 {
                break;
            }
            got.extend_from_slice(&chunk[..n]);
            input.flush();
        }
        assert_eq!(got, [text, b" and more".to_vec()].concat());
        assert!(input.busy_pipe().is_none() && !input.was_not_read());
    }

    #[test]
    fn who_never_reads_is_told_no_more_and_needs_no_memory() {
        let (_read, mut input) = pipe();
        input.open(&[b'p'; 1 << 20]);
        for _ in 0..10_000 {
            input.write(&[b'x'; 10_000]);
            input.flush();
        }
        assert!(input.was_not_read() && input.busy_pipe().is_none());
        assert_eq!(input.waiting.capacity(), 0);
    }

    #[test]
    fn a_closed_end_is_no_error() {
        let (read, mut input) = pipe();
        drop(read);
        input.write(b"hello");
        input.flush();
        assert!(input.busy_pipe().is_none() && !input.was_not_read());
        input.write(b"anybody?");
        input.close();
    }
}
