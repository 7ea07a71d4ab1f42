//! A connection that has subscribed: the records from a number on, those there are and then each as it comes.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use ralph_core::ids::Seq;
use ralph_core::record::json_of;
use ralph_model::{Complaint, Reply};
use ralph_store::Follower;

use super::{Service, connection};
use crate::lock;

/// Sent at once; all that a subscriber costs in memory, unless one record is longer.
const BATCH: usize = 64 * 1024;
/// A subscriber looks for new records at most once in this time, so a flood of them does not wake it for each.
const PAUSE: Duration = Duration::from_millis(20);
/// The end of the run wakes a subscriber by its socket; this is for the case that it does not.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// At the end of the run, a subscriber that takes nothing for this long is left behind.
const STALLED: Duration = Duration::from_millis(25);
/// At the end of the run, the others get this long for what they have not seen yet.
const LAST_ROUND: Duration = Duration::from_secs(2);

/// Serves until the other side goes away or the run has ended.
pub(super) fn serve(stream: &UnixStream, service: &Service, from: Seq) {
    // A reader may take its time: only this thread waits for it.
    let _ = stream.set_write_timeout(None);
    let from = from.max(Seq(1));
    let opened = Follower::new(&service.run.journal(), from);
    let mut follower = match opened {
        Ok(follower) => follower,
        Err(error) => {
            let message = format!("the journal cannot be read: {error}");
            let _ = connection::reply(stream, &Reply::error(Complaint::Failed, message));
            return;
        }
    };
    let Ok(_listed) = service.subscribers.add(stream) else { return };
    if connection::reply(stream, &Reply::Subscribed { from }).is_ok() {
        // Whatever ends this, the other side sees the connection end.
        let _ = send_all(stream, service, &mut follower);
    }
}

fn send_all(mut stream: &UnixStream, service: &Service, follower: &mut Follower) -> io::Result<()> {
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        // Asked before reading: what was written before the end is then still sent.
        let last_round = service.is_over();
        while collect(follower, &mut batch)? {
            stream.write_all(&batch)?;
            service.subscribers.moved();
            batch.clear();
        }
        if last_round {
            return Ok(());
        }
        if follower.wait(LOOK_AGAIN, Some(stream.as_fd()))? && is_gone(stream) && !service.is_over() {
            return Ok(());
        }
        if !service.is_over() {
            std::thread::sleep(PAUSE);
        }
    }
}

/// Puts the next records into the batch, as `--json` prints them. Tells whether there are any.
fn collect(follower: &mut Follower, batch: &mut Vec<u8>) -> io::Result<bool> {
    while batch.len() < BATCH {
        let Some(line) = follower.read()? else { break };
        // A line without a checksum is no record.
        if let Some(json) = json_of(line) {
            batch.extend_from_slice(json.as_bytes());
            batch.push(b'\n');
        }
    }
    Ok(!batch.is_empty())
}

/// Whether the other side has closed the connection. What it says after its subscription is not answered.
fn is_gone(mut stream: &UnixStream) -> bool {
    let mut said = [0; 1024];
    matches!(stream.read(&mut said), Ok(0) | Err(_))
}

/// Those that are served now.
#[derive(Default)]
pub(super) struct Subscribers {
    now: Mutex<Served>,
    changed: Condvar,
}

#[derive(Default)]
struct Served {
    next: u64,
    streams: Vec<(u64, UnixStream)>,
    /// Counts batches that were taken by a reader.
    moves: u64,
    /// Answers to what was asked of the run that are on their way.
    answering: usize,
}

pub(super) struct Answering<'a>(&'a Subscribers);

impl Drop for Answering<'_> {
    fn drop(&mut self) {
        lock(&self.0.now).answering -= 1;
        self.0.changed.notify_all();
    }
}

impl Subscribers {
    fn add(&self, stream: &UnixStream) -> io::Result<Listed<'_>> {
        let stream = stream.try_clone()?;
        let mut now = lock(&self.now);
        let number = now.next;
        now.next += 1;
        now.streams.push((number, stream));
        Ok(Listed { subscribers: self, number })
    }

    fn moved(&self) {
        lock(&self.now).moves += 1;
        self.changed.notify_all();
    }

    /// An answer is being given until this is dropped.
    pub(super) fn answering(&self) -> Answering<'_> {
        lock(&self.now).answering += 1;
        Answering(self)
    }

    /// Waits for answers that are being given. Wakes all subscribers for their last round, and waits as long as any of them
    /// gets on with it.
    pub(super) fn finish(&self) {
        let start = Instant::now();
        let left = || LAST_ROUND.saturating_sub(start.elapsed());
        let mut now = lock(&self.now);
        while now.answering > 0 && !left().is_zero() {
            let Ok((later, _)) = self.changed.wait_timeout(now, left()) else { return };
            now = later;
        }
        for (_, stream) in &now.streams {
            let _ = stream.shutdown(Shutdown::Read);
        }
        while !now.streams.is_empty() && !left().is_zero() {
            let before = (now.moves, now.streams.len());
            let Ok((later, time)) = self.changed.wait_timeout(now, STALLED) else { return };
            now = later;
            if time.timed_out() && before == (now.moves, now.streams.len()) {
                return;
            }
        }
    }
}

/// A subscriber's place in the list, until it is dropped.
struct Listed<'a> {
    subscribers: &'a Subscribers,
    number: u64,
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        lock(&self.subscribers.now).streams.retain(|(number, _)| *number != self.number);
        self.subscribers.changed.notify_all();
    }
}
