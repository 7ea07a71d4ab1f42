//! Damage to a journal: what stands before it survives, nothing damaged is accepted.

use std::time::Duration;

use ralph_core::engine::Engine;
use ralph_core::event::{AgentExited, AgentText, Event, Exit, Guidance, RunStarted, TimerId, TimerSlot};
use ralph_core::ids::{IterationNumber, Seq};
use ralph_core::input::{Command, Input, Report};
use ralph_core::plan::{EventLoop, Stop};
use ralph_core::record::{Chain, Record};
use ralph_core::time::Timestamp;
use ralph_core::usage::Usage;

use super::sim::plans::started;
use super::sim::rng::Rng;

const DAMAGES: u64 = 24_000;

/// The journal of a run with failures, waits, guidance and text of every kind.
fn journal() -> Vec<Record> {
    let mut now = Timestamp::from_millis(1_768_730_400_000);
    let mut first: RunStarted = started(&mut Rng::new(7));
    first.plan.event_loop =
        EventLoop { max_iterations: Some(12), max_consecutive_failures: 99, ..EventLoop::default() };
    first.plan.once = false;
    // Nobody here runs gates.
    (first.plan.stop, first.plan.gates) = (Stop::default(), Vec::new());
    let (mut engine, step) = Engine::start(now, first);
    let mut events: Vec<(Timestamp, Event)> = step.events.into_iter().map(|e| (now, e)).collect();
    while !engine.is_stopped() {
        now = now.plus(Duration::from_millis(1234));
        let number = engine.state().iterations_finished + 1;
        let (iteration, attempt) = (IterationNumber(number), engine.state().attempts);
        let text = format!("{number}: \"quoted\" \\ \u{1f600} \n\t\u{7f} é");
        let exit = if number.is_multiple_of(3) { Exit::Code(1) } else { Exit::Code(0) };
        let exited = AgentExited {
            duration: Duration::from_millis(1234),
            output_bytes: 9,
            usage: Usage { input: 5, ..Usage::default() },
            cost_usd: Some(0.1),
            ..AgentExited::new(iteration, attempt, exit)
        };
        let mut inputs: Vec<Input> = vec![
            Command::AddGuidance(Guidance { text: text.clone() }).into(),
            Report::AgentText(AgentText { iteration, attempt, text, truncated: false }).into(),
            Report::AgentExited(Box::new(exited)).into(),
        ];
        let epoch = engine.state().events;
        inputs.push(Report::TimerFired(TimerId { slot: TimerSlot::Wait, epoch }).into());
        for input in inputs {
            events.extend(engine.handle(now, input).events.into_iter().map(|e| (now, e)));
        }
    }
    let numbered = events.into_iter().zip(1..);
    numbered.map(|((at, event), seq)| Record { seq: Seq(seq), at, event }).collect()
}

fn read(bytes: &[u8]) -> Vec<Record> {
    read_from(bytes, Chain::default(), 0)
}

/// Reads lines until one is unsound or unfinished. `before` records stand before these, and end with `chain`.
fn read_from(bytes: &[u8], mut chain: Chain, before: usize) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    let mut rest = bytes;
    while let Some(end) = rest.iter().position(|b| *b == b'\n') {
        match Record::decode(&rest[..end], &mut chain, Seq((before + records.len() + 1) as u64)) {
            Ok(record) => records.push(record),
            Err(_) => break,
        }
        rest = &rest[end + 1..];
    }
    records
}

#[test]
fn records_before_any_damage_survive_and_nothing_damaged_is_accepted() {
    let records = journal();
    assert!(records.len() > 60, "{} records", records.len());
    let mut chain = Chain::default();
    let mut bytes = Vec::new();
    let mut ends = vec![(0, chain)];
    for record in &records {
        bytes.extend_from_slice(record.encode(&mut chain).expect("a line").as_bytes());
        ends.push((bytes.len(), chain));
    }
    assert_eq!(read(&bytes), records);
    let mut rng = Rng::new(0x5eed);
    for round in 0..DAMAGES {
        let mut damaged = bytes.clone();
        let at = rng.below(bytes.len() as u64) as usize;
        match round % 4 {
            0 => damaged.truncate(at),
            1 | 2 => damaged[at] ^= 1 << rng.below(8),
            // A whole block that the disk never wrote.
            _ => {
                let end = damaged.len().min(at + rng.between(1, 600) as usize);
                damaged[at..end].fill(0);
            }
        }
        let sound = ends[1..].iter().filter(|(end, _)| *end <= at).count();
        // The bytes long before the damage are those that were read above: read from two records before it.
        let before = sound.saturating_sub(2);
        let (from, chain) = ends[before];
        let found = read_from(&damaged[from..], chain, before);
        assert_eq!(before + found.len(), sound, "round {round}, damage at byte {at}");
        assert_eq!(found[..], records[before..sound], "round {round}");
    }
}

#[test]
fn records_that_are_lost_moved_or_repeated_break_the_chain() {
    let records = journal();
    let mut chain = Chain::default();
    let lines: Vec<String> =
        records.iter().map(|record| record.encode(&mut chain).expect("a line")).collect();
    for i in 0..lines.len() - 1 {
        let mut lost = lines.clone();
        lost.remove(i);
        assert_eq!(read(lost.concat().as_bytes()).len(), i, "record {} was lost", i + 1);
        let mut moved = lines.clone();
        moved.swap(i, i + 1);
        assert_eq!(read(moved.concat().as_bytes()).len(), i, "record {} was moved", i + 1);
        let mut repeated = lines.clone();
        repeated.insert(i, lines[i].clone());
        assert_eq!(read(repeated.concat().as_bytes()).len(), i + 1, "record {} was repeated", i + 1);
    }
}

#[test]
fn the_list_of_names_is_what_can_be_read() {
    let error = serde_json::from_str::<Event>(r#"{"type":"no.such"}"#).expect_err("no event").to_string();
    let mut known: Vec<&str> = error.split('`').skip(3).step_by(2).collect();
    let mut listed = Event::NAMES.to_vec();
    known.sort_unstable();
    listed.sort_unstable();
    assert_eq!(listed, known, "{error}");
}
