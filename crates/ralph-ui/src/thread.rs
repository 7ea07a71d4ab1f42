//! A screen on a thread of its own: a reader that does not read never holds up the run.
//!
//! Records wait in a queue. Of what the agent says only so much is queued; past that it is left out on the screen, while the
//! journal and the log have it all. Everything else is little and is kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ralph_model::event::Event;
use ralph_model::record::Record;
use ralph_model::time::Timestamp;

use crate::{Order, Screen};

const TICK: Duration = Duration::from_millis(125);
/// Bytes of agent text that may wait for a slow reader.
const QUEUED_TEXT: usize = 4 << 20;

/// What comes to a screen.
enum Incoming {
    Record(Box<Record>),
    Order(Order),
}

pub struct ScreenThread {
    records: Option<Sender<Incoming>>,
    queued: Arc<AtomicUsize>,
    done: Receiver<Option<String>>,
    thread: Option<JoinHandle<()>>,
}

impl ScreenThread {
    /// `clock` tells the time of the ticks.
    pub fn start(
        screen: Box<dyn Screen>,
        clock: impl Fn() -> Timestamp + Send + 'static,
    ) -> std::io::Result<ScreenThread> {
        let (records, incoming) = channel();
        let (finished, done) = channel();
        let queued = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&queued);
        let thread = std::thread::Builder::new().name("screen".to_owned()).spawn(move || {
            // Moved in here, so that a panic drops it: that wakes whoever waits for it.
            let finished: Sender<Option<String>> = finished;
            let _ = finished.send(serve(screen, &incoming, &counter, &clock));
        })?;
        Ok(ScreenThread { records: Some(records), queued, done, thread: Some(thread) })
    }

    /// Never blocks.
    pub fn send(&self, record: Record) {
        if let Event::AgentText(said) = &record.event {
            let size = text_size(&said.text);
            if self.queued.load(Ordering::Relaxed).saturating_add(size) > QUEUED_TEXT {
                return;
            }
            self.queued.fetch_add(size, Ordering::Relaxed);
        }
        if let Some(records) = &self.records {
            // A screen that is gone takes nothing; the run goes on.
            let _ = records.send(Incoming::Record(Box::new(record)));
        }
    }

    /// The way for keys to ask something of the screen. The screen ends only after this is dropped.
    pub fn orders(&self) -> impl Fn(Order) + Send + 'static {
        let records = self.records.clone();
        move |order| {
            if let Some(records) = &records {
                let _ = records.send(Incoming::Order(order));
            }
        }
    }

    /// Waits until everything is written.
    pub fn finish(mut self) {
        self.records = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }

    /// The same, but gives up on a reader that does not read. An error says why not everything was written.
    pub fn finish_within(mut self, patience: Duration) -> Result<(), String> {
        self.records = None;
        match self.done.recv_timeout(patience) {
            Ok(Some(failure)) => Err(failure),
            Ok(None) | Err(RecvTimeoutError::Disconnected) => {
                self.finish();
                Ok(())
            }
            Err(RecvTimeoutError::Timeout) => Err("nobody reads what is written there".to_owned()),
        }
    }
}

/// A record without text still takes room.
fn text_size(text: &str) -> usize {
    text.len().saturating_add(128)
}

fn serve(
    mut screen: Box<dyn Screen>,
    incoming: &Receiver<Incoming>,
    queued: &AtomicUsize,
    clock: &dyn Fn() -> Timestamp,
) -> Option<String> {
    let mut next_tick = Instant::now();
    loop {
        let record = if screen.moves() {
            incoming.recv_timeout(next_tick.saturating_duration_since(Instant::now()))
        } else {
            incoming.recv().map_err(|_| RecvTimeoutError::Disconnected)
        };
        match record {
            Ok(Incoming::Order(order)) => screen.order(order),
            Ok(Incoming::Record(record)) => {
                if let Event::AgentText(said) = &record.event {
                    queued.fetch_sub(text_size(&said.text), Ordering::Relaxed);
                }
                screen.event(&record);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        // Also between records that come without a pause.
        if screen.moves() && Instant::now() >= next_tick {
            screen.tick(clock());
            next_tick = Instant::now() + TICK;
        }
    }
    screen.finish();
    screen.failure()
}
