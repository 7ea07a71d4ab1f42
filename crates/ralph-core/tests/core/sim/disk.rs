//! A disk that loses and damages what was not synced.
//!
//! What is synced is decoded once, at the sync, and then forgotten: nothing may change it any more.

use ralph_core::event::Event;
use ralph_core::ids::Seq;
use ralph_core::record::{Chain, Record};
use ralph_core::time::Timestamp;

use super::rng::Rng;

#[derive(Default)]
pub struct Disk {
    /// Written, not synced.
    tail: Vec<u8>,
    /// Where the writer stands.
    written: (Chain, Seq),
    /// Where the synced part ends.
    synced: (Chain, Seq),
}

impl Disk {
    pub fn append(&mut self, events: &[(Timestamp, Event)]) {
        let (chain, seq) = &mut self.written;
        for (at, event) in events {
            *seq = seq.next();
            let record = Record { seq: *seq, at: *at, event: event.clone() };
            self.tail.extend_from_slice(record.encode(chain).expect("a line").as_bytes());
        }
    }

    /// Everything written so far is safe from here on. Gives what became safe.
    pub fn sync(&mut self) -> Result<Vec<Record>, String> {
        let (records, good, end) = decode(&self.tail, self.synced);
        if good != self.tail.len() || end != self.written {
            return Err(format!("a synced record does not decode: {}", String::from_utf8_lossy(&self.tail)));
        }
        self.tail.clear();
        self.synced = end;
        Ok(records)
    }

    /// Keeps some of what was not synced, perhaps with a flipped bit. Gives what can still be read of it; the file is cut
    /// there, and is still not synced.
    pub fn crash(&mut self, rng: &mut Rng) -> Result<Vec<Record>, String> {
        let before = self.tail.clone();
        let keep = match rng.below(4) {
            0 => self.tail.len(),
            1 => 0,
            _ => rng.below(self.tail.len() as u64 + 1) as usize,
        };
        self.tail.truncate(keep);
        if !self.tail.is_empty() && rng.one_in(3) {
            let bit = rng.below(self.tail.len() as u64 * 8) as usize;
            self.tail[bit / 8] ^= 1 << (bit % 8);
        }
        let (records, good, end) = decode(&self.tail, self.synced);
        if self.tail[..good] != before[..good] {
            return Err(format!("damage was accepted: {}", String::from_utf8_lossy(&self.tail[..good])));
        }
        self.tail.truncate(good);
        self.written = end;
        Ok(records)
    }
}

/// The records up to the first damage or unfinished line, how many bytes they take, and where they end.
fn decode(bytes: &[u8], from: (Chain, Seq)) -> (Vec<Record>, usize, (Chain, Seq)) {
    let (mut chain, mut seq) = from;
    let mut records = Vec::new();
    let mut good = 0;
    while let Some(length) = bytes[good..].iter().position(|b| *b == b'\n') {
        let Ok(record) = Record::decode(&bytes[good..good + length], &mut chain, seq.next()) else { break };
        seq = record.seq;
        records.push(record);
        good += length + 1;
    }
    (records, good, (chain, seq))
}
