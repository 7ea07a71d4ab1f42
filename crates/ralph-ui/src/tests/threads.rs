//! A screen on its own thread.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use ralph_core::event::{AgentText, Event};
use ralph_core::ids::{IterationNumber, Seq};
use ralph_core::record::Record;
use ralph_core::time::Timestamp;

use super::script::*;
use crate::{JsonScreen, LiveScreen, PlainScreen, Screen, ScreenThread, Verbosity};

fn clock() -> impl Fn() -> Timestamp + Send + 'static {
    let at = AtomicU64::new(0);
    move || Timestamp::from_millis(START + at.fetch_add(125, Ordering::Relaxed) as i64)
}

#[test]
fn finish_writes_every_line() {
    let records = eventful().records;
    let captured = Captured::default();
    let screen = PlainScreen::new(Box::new(captured.clone()), options(false, Verbosity::Verbose));
    let thread = ScreenThread::start(Box::new(screen), clock()).unwrap();
    records.iter().for_each(|record| thread.send(record.clone()));
    thread.finish();
    assert_eq!(captured.text(), plain(&records, Verbosity::Verbose));
}

/// Says when it is written to, and does not go on before it may.
struct Gate {
    reached: Sender<()>,
    open: Receiver<()>,
    out: Captured,
}

impl Write for Gate {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.reached.send(());
        let _ = self.open.recv();
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_blocked_reader_blocks_no_sender_and_costs_bounded_memory() {
    let (reached, at_gate) = channel();
    let (let_go, open) = channel();
    let out = Captured::default();
    let thread = ScreenThread::start(
        Box::new(JsonScreen::new(Box::new(Gate { reached, open, out: out.clone() }))),
        clock(),
    )
    .unwrap();
    let records = eventful().records;
    thread.send(records[0].clone());
    at_gate.recv().unwrap();
    // The reader hangs. 64 MB of talk, and the facts between.
    let text = "x".repeat(1 << 20);
    for seq in 0..64 {
        let said =
            AgentText { iteration: IterationNumber(1), attempt: 1, text: text.clone(), truncated: false };
        thread.send(Record { seq: Seq(seq), at: records[0].at, event: Event::AgentText(said) });
    }
    records[1..].iter().for_each(|record| thread.send(record.clone()));
    drop(let_go);
    thread.finish();
    let written = out.text();
    assert!(written.len() < 8 << 20, "{}", written.len());
    let facts: Vec<&Record> =
        records.iter().filter(|record| !matches!(record.event, Event::AgentText(_))).collect();
    let lines: std::collections::HashSet<&str> = written.lines().collect();
    assert!(facts.iter().all(|record| lines.contains(record.to_json().expect("a line").as_str())));
}

#[test]
fn a_reader_that_never_reads_can_be_given_up() {
    let (reached, at_gate) = channel();
    let (let_go, open) = channel();
    let screen = JsonScreen::new(Box::new(Gate { reached, open, out: Captured::default() }));
    let thread = ScreenThread::start(Box::new(screen), clock()).unwrap();
    thread.send(eventful().records[0].clone());
    at_gate.recv().unwrap();
    assert!(thread.finish_within(Duration::from_millis(1)).is_err());
    drop(let_go);

    let captured = Captured::default();
    let screen = PlainScreen::new(Box::new(captured.clone()), options(false, Verbosity::Normal));
    let thread = ScreenThread::start(Box::new(screen), clock()).unwrap();
    thread.send(eventful().records[0].clone());
    assert_eq!(thread.finish_within(Duration::from_secs(60)), Ok(()));
    assert!(captured.text().contains("0119a4c2"));
}

/// Counts ticks, and moves from the first record to the second.
struct Counter {
    events: u32,
    ticked: Sender<u32>,
}

impl Screen for Counter {
    fn event(&mut self, _record: &Record) {
        self.events += 1;
    }

    fn tick(&mut self, _now: Timestamp) {
        let _ = self.ticked.send(self.events);
    }

    fn moves(&self) -> bool {
        self.events == 1
    }

    fn finish(&mut self) {}
}

#[test]
fn ticks_come_only_while_something_moves() {
    let (ticked, ticks) = channel();
    let thread = ScreenThread::start(Box::new(Counter { events: 0, ticked }), clock()).unwrap();
    let record = eventful().records.remove(0);
    thread.send(record.clone());
    assert_eq!([ticks.recv(), ticks.recv()], [Ok(1), Ok(1)]);
    thread.send(record);
    thread.finish();
    assert!(ticks.iter().all(|events| events == 1));
}

#[test]
fn a_live_screen_on_a_thread_ends_with_its_line_erased() {
    let script = eventful();
    let captured = Captured::default();
    let screen = LiveScreen::new(Box::new(captured.clone()), options(false, Verbosity::Normal), || Some(80));
    let now = Arc::new(script.now);
    let thread = ScreenThread::start(Box::new(screen), move || *now).unwrap();
    script.records.iter().for_each(|record| thread.send(record.clone()));
    thread.finish();
    let terminal = terminal(60, 80, &captured.text());
    assert_eq!(terminal.screen().contents().trim_end(), plain(&script.records, Verbosity::Normal).trim_end());
}

/// Never moves, counts how often it is asked, and says when a record has arrived.
struct Still {
    asked: Arc<AtomicU64>,
    seen: Sender<()>,
}

impl Screen for Still {
    fn event(&mut self, _record: &Record) {
        let _ = self.seen.send(());
    }

    fn moves(&self) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed);
        false
    }

    fn finish(&mut self) {}
}

#[test]
fn a_still_screen_wakes_only_for_records() {
    let asked = Arc::new(AtomicU64::new(0));
    let (seen, arrived) = channel();
    let thread = ScreenThread::start(Box::new(Still { asked: Arc::clone(&asked), seen }), clock()).unwrap();
    let records = eventful().records;
    for record in &records {
        thread.send(record.clone());
        arrived.recv().unwrap();
    }
    thread.finish();
    // Before and after each record, and once more before the end.
    assert_eq!(asked.load(Ordering::Relaxed), 2 * records.len() as u64 + 1);
}
