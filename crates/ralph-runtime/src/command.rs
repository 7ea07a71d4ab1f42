//! Runs a program to its end, or to the end of its time, and keeps what it printed within bounds.

use std::os::fd::AsFd;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ralph_core::engine::GRACE;

use crate::executor::Slot;
use crate::lock;
use crate::process::{Exit, Spec, Status, Stream, Supervisor};
use crate::workspace::WorkspaceLock;

/// Of each stream, the beginning and the end are kept.
const HEAD: usize = 512 * 1024;
const TAIL: usize = 512 * 1024;

/// What came of a program.
pub(crate) struct Ran {
    pub(crate) exit: Exit,
    pub(crate) timed_out: bool,
    pub(crate) stdout: Kept,
    pub(crate) stderr: Kept,
}

impl Ran {
    pub(crate) fn exit_code(&self) -> Option<i32> {
        match self.exit.status {
            Status::Code(code) => Some(code),
            _ => None,
        }
    }

    /// Everything it printed: first what came on its standard output, then the rest.
    pub(crate) fn text(&self) -> String {
        self.stdout.text() + &self.stderr.text()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.stdout.total + self.stderr.total
    }
}

/// Starts the program under a guard and waits for it. What ends the slot's work ends it too.
pub(crate) fn run(
    supervisor: &Supervisor,
    workspace: &WorkspaceLock,
    slot: &Slot,
    spec: Spec,
    timeout: Duration,
) -> Ran {
    let kept: Arc<Mutex<(Kept, Kept)>> = Arc::default();
    let sink = Arc::clone(&kept);
    let (tell, ended) = mpsc::channel();
    let handle = supervisor.spawn(
        spec,
        Some(workspace.as_fd()),
        move |stream, bytes| {
            let mut kept = lock(&sink);
            match stream {
                Stream::Stdout => kept.0.push(bytes),
                Stream::Stderr => kept.1.push(bytes),
            }
        },
        move |exit| drop(tell.send(exit)),
    );
    slot.hold(handle.clone());
    let (exit, timed_out) = match ended.recv_timeout(timeout) {
        Ok(exit) => (Ok(exit), false),
        Err(RecvTimeoutError::Timeout) => {
            handle.terminate(GRACE);
            (ended.recv(), true)
        }
        Err(RecvTimeoutError::Disconnected) => (ended.recv(), false),
    };
    // The supervisor always tells; this only satisfies the types.
    let exit = exit.unwrap_or(Exit {
        status: Status::GuardLost,
        duration: Duration::ZERO,
        killed_leftovers: 0,
        leftovers_alive: false,
        drained: false,
    });
    let (stdout, stderr) = std::mem::take(&mut *lock(&kept));
    Ran { exit, timed_out, stdout, stderr }
}

/// The beginning and the end of a stream.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    head: Vec<u8>,
    tail: Vec<u8>,
    pub(crate) total: u64,
}

impl Kept {
    fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = HEAD - self.head.len();
        let (head, rest) = bytes.split_at(bytes.len().min(room));
        self.head.extend_from_slice(head);
        self.tail.extend_from_slice(&rest[rest.len().saturating_sub(TAIL)..]);
        // Cutting at twice the size moves each byte once on average.
        if self.tail.len() >= 2 * TAIL {
            self.tail.drain(..self.tail.len() - TAIL);
        }
    }

    fn text(&self) -> String {
        let tail = &self.tail[self.tail.len().saturating_sub(TAIL)..];
        let left_out = self.total - (self.head.len() + tail.len()) as u64;
        if left_out == 0 {
            return String::from_utf8_lossy(&[&self.head, tail].concat()).into_owned();
        }
        let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(tail));
        format!("{head}\n[… {left_out} bytes left out …]\n{tail}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_kept_whole_or_at_its_two_ends() {
        let mut kept = Kept::default();
        kept.push(b"one\xff\n");
        kept.push(b"two");
        assert_eq!(kept.text(), "one\u{fffd}\ntwo");
        let mut kept = Kept::default();
        kept.push(b"begin ");
        (0..1000).for_each(|_| kept.push(&[b'x'; 10_000]));
        kept.push(b" end");
        assert!(kept.head.len() + kept.tail.len() <= HEAD + 2 * TAIL);
        let text = kept.text();
        assert!(text.starts_with("begin x") && text.ends_with("x end"));
        assert!(text.contains(&format!("{} bytes left out", 10_000_010 - HEAD - TAIL)));
        let mut whole = Kept::default();
        let bytes: Vec<u8> = (0..HEAD + TAIL).map(|i| b'a' + (i % 26) as u8).collect();
        bytes.chunks(7777).for_each(|chunk| whole.push(chunk));
        assert_eq!(whole.text().as_bytes(), bytes, "as much as is kept is kept whole");
    }
}
