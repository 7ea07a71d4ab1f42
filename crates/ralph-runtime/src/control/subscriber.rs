//! A connection that has subscribed: the records from a number on, those there are and then each as it comes.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use ralph_core::ids::Seq;
use ralph_core::record::body_of;
use ralph_model::{Complaint, Reply};
use ralph_store::Follower;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{Service, connection};
use crate::lock;

/// Sent at once; all that a subscriber costs in memory, unless one record is longer.
const BATCH: usize = 64 * 1024;
/// After new records a subscriber waits this long for more, so a flood of them does not wake it for each.
const PAUSE: Duration = Duration::from_millis(20);
/// How much less than the run a subscriber's thread gets of a busy machine, from 0 to 19.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;
/// The end of the run wakes a subscriber by its socket; this is for the case that it does not.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// At the end of the run, a subscriber that has taken nothing for this long is left behind.
const STALLED: Duration = Duration::from_millis(100);
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
    let Ok(listed) = service.subscribers.add(stream) else { return };
    give_way();
    if connection::reply(stream, &Reply::Subscribed { from }).is_ok() {
        // Whatever ends this, the other side sees the connection end.
        let _ = send_all(stream, service, &mut follower, &listed);
    }
}

fn send_all(
    mut stream: &UnixStream,
    service: &Service,
    follower: &mut Follower,
    listed: &Listed<'_>,
) -> io::Result<()> {
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        // Asked before reading: what was written before the end is then still sent.
        let last_round = service.is_over();
        let mut sent = false;
        while collect(follower, &mut batch)? {
            listed.writes(true);
            stream.write_all(&batch)?;
            listed.writes(false);
            batch.clear();
            sent = true;
        }
        if last_round {
            return Ok(());
        }
        let asked = match sent {
            true => is_readable(stream, PAUSE)?,
            false => follower.wait(LOOK_AGAIN, Some(stream.as_fd()))?,
        };
        if asked && is_gone(stream) && !service.is_over() {
            return Ok(());
        }
    }
}

/// Puts the next records into the batch, as `--json` prints them. Tells whether there are any.
fn collect(follower: &mut Follower, batch: &mut Vec<u8>) -> io::Result<bool> {
    while batch.len() < BATCH {
        let Some(line) = follower.read()? else { break };
        // A line without a checksum is no record.
        if let Some(body) = body_of(line) {
            batch.extend_from_slice(body);
            batch.extend_from_slice(b"}\n");
        }
    }
    Ok(!batch.is_empty())
}

/// Waits at most so long for something to read. The end of the run is that, too.
fn is_readable(stream: &UnixStream, at_most: Duration) -> io::Result<bool> {
    let timeout = Timespec { tv_sec: 0, tv_nsec: at_most.subsec_nanos().into() };
    match poll(&mut [PollFd::new(stream, PollFlags::IN)], Some(&timeout)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Who watches a run gets what the run leaves of the machine.
fn give_way() {
    #[cfg(target_os = "linux")]
    // On Linux a thread has a priority of its own. Where that may not be set, things are as they are.
    let _ = rustix::process::nice(NICE);
}

/// Whether the other side has closed the connection. What it says after its subscription is not answered.
fn is_gone(mut stream: &UnixStream) -> bool {
    let mut said = [0; 1024];
    matches!(stream.read(&mut said), Ok(0) | Err(_))
}

/// The subscribers that are served now.
#[derive(Default)]
pub(super) struct Subscribers {
    now: Mutex<Served>,
    changed: Condvar,
}

#[derive(Default)]
struct Served {
    next: u64,
    streams: Vec<Subscriber>,
    /// Answers to what was asked of the run that are on their way.
    answering: usize,
}

struct Subscriber {
    number: u64,
    stream: UnixStream,
    /// Since when the other side has not taken what is sent; nothing while nothing is being sent.
    sending_since: Option<Instant>,
}

impl Subscriber {
    /// How long the other side may still take nothing.
    fn patience(&self) -> Duration {
        self.sending_since.map_or(STALLED, |since| STALLED.saturating_sub(since.elapsed()))
    }
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
        now.streams.push(Subscriber { number, stream, sending_since: None });
        Ok(Listed { subscribers: self, number })
    }

    /// An answer is being given until this is dropped.
    pub(super) fn answering(&self) -> Answering<'_> {
        lock(&self.now).answering += 1;
        Answering(self)
    }

    /// Waits for answers that are being given. Wakes all subscribers for their last round, and waits as long as any of them
    /// takes what it is sent.
    pub(super) fn finish(&self) {
        let start = Instant::now();
        let left = || LAST_ROUND.saturating_sub(start.elapsed());
        let mut now = lock(&self.now);
        while now.answering > 0 && !left().is_zero() {
            let Ok((later, _)) = self.changed.wait_timeout(now, left()) else { return };
            now = later;
        }
        for subscriber in &now.streams {
            let _ = subscriber.stream.shutdown(Shutdown::Read);
        }
        while let Some(patience) = now.streams.iter().map(Subscriber::patience).max() {
            if patience.is_zero() || left().is_zero() {
                return;
            }
            let Ok((later, _)) = self.changed.wait_timeout(now, patience.min(left())) else { return };
            now = later;
        }
    }
}

/// A subscriber's place in the list, until it is dropped.
struct Listed<'a> {
    subscribers: &'a Subscribers,
    number: u64,
}

impl Listed<'_> {
    /// Notes that something is being sent now, or has been taken.
    fn writes(&self, on: bool) {
        let mut now = lock(&self.subscribers.now);
        if let Some(own) = now.streams.iter_mut().find(|other| other.number == self.number) {
            own.sending_since = on.then(Instant::now);
        }
    }
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        lock(&self.subscribers.now).streams.retain(|other| other.number != self.number);
        self.subscribers.changed.notify_all();
    }
}
