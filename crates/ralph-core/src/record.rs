//! One line of the journal: an event with its place, its time and a checksum.
//!
//! `{"seq":7,"at":"2026-01-18T10:00:00.123Z","type":"iteration.finished",…,"crc":"89abcdef"}`
//!
//! The checksum covers the line before it and is seeded with the previous record's, so a line that is changed, lost,
//! moved or put in between breaks the chain. Without its `crc` a line is exactly what `--json` prints.

use serde::Serialize;

use crate::event::Event;
use crate::ids::Seq;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Record {
    pub seq: Seq,
    pub at: Timestamp,
    #[serde(flatten)]
    pub event: Event,
}

/// The checksum of the last record, from which the next is computed. Starts at zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Chain(u32);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    #[error("the line has no checksum")]
    NoChecksum,
    #[error("the checksum does not fit the line and the record before it")]
    Checksum,
    #[error("expected record {expected}, found {found}")]
    Order { expected: Seq, found: Seq },
    #[error("{0}")]
    Content(String),
    /// Sound, and of a type that this version does not have. With the chain as it stands behind the record.
    #[error("its type `{name}` is not known here")]
    Unknown { name: String, chain: Chain },
    /// Sound, and of a type that this version has, but it cannot be understood here.
    #[error("{0}")]
    Newer(String),
}

/// What is wrong with a line whose checksum is right, and which is no record as this version knows them.
fn misread(json: &[u8], expected: Seq, chain: Chain, error: &serde_json::Error) -> Damage {
    #[derive(serde::Deserialize)]
    struct Head<'a> {
        seq: Seq,
        #[serde(borrow, rename = "type")]
        name: std::borrow::Cow<'a, str>,
    }
    match serde_json::from_slice::<Head>(json) {
        Ok(head) if head.seq != expected => Damage::Order { expected, found: head.seq },
        Ok(head) if !Event::NAMES.contains(&head.name.as_ref()) => {
            Damage::Unknown { name: head.name.into_owned(), chain }
        }
        Ok(_) => Damage::Newer(error.to_string()),
        Err(_) => Damage::Content(error.to_string()),
    }
}

const CRC_KEY: &str = ",\"crc\":\"";
const CRC_LEN: usize = CRC_KEY.len() + 8 + 2;

impl Record {
    /// The line as `--json` prints it. A path in it that is not UTF-8 cannot be written down.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }

    /// The line as the journal stores it, with its newline.
    pub fn encode(&self, chain: &mut Chain) -> Result<String, serde_json::Error> {
        let mut body = self.to_json()?;
        body.pop();
        Ok(chain.seal(&body))
    }

    /// Reads one line, without its newline. The chain moves on only if the line is sound.
    pub fn decode(line: &[u8], chain: &mut Chain, expected: Seq) -> Result<Record, Damage> {
        let (body, stored) = split(line)?;
        let next = chain.over(body);
        if next != stored {
            return Err(Damage::Checksum);
        }
        let mut json = Vec::with_capacity(body.len() + 1);
        json.extend_from_slice(body);
        json.push(b'}');
        let record = Record::from_json(&json).map_err(|error| misread(&json, expected, next, &error))?;
        if record.seq != expected {
            return Err(Damage::Order { expected, found: record.seq });
        }
        *chain = next;
        Ok(record)
    }
}

impl Chain {
    /// A line as the journal stores it: `body` is its object without the closing brace.
    pub fn seal(&mut self, body: &str) -> String {
        *self = self.over(body.as_bytes());
        format!("{body}{CRC_KEY}{:08x}\"}}\n", self.0)
    }

    fn over(self, body: &[u8]) -> Chain {
        let mut hasher = crc32fast::Hasher::new_with_initial(self.0);
        hasher.update(body);
        Chain(hasher.finalize())
    }

    /// The chain as it stands after a stored line, taken from the line itself.
    pub fn after(line: &[u8]) -> Result<Chain, Damage> {
        split(line).map(|(_, stored)| stored)
    }

    /// Whether a stored line follows this point of the chain.
    pub fn accepts(self, line: &[u8]) -> bool {
        split(line).is_ok_and(|(body, stored)| self.over(body) == stored)
    }
}

/// The part of a stored line that `--json` shows, to print an old journal without decoding it.
pub fn json_of(line: &[u8]) -> Option<String> {
    let (body, _) = split(line).ok()?;
    Some(format!("{}}}", String::from_utf8_lossy(body)))
}

/// The same as [`json_of`], as it is stored and without its closing brace.
pub fn body_of(line: &[u8]) -> Option<&[u8]> {
    split(line).ok().map(|(body, _)| body)
}

/// The event's type of a stored line, without parsing it: ours is always the third key.
pub fn type_of(line: &[u8]) -> Option<&str> {
    const KEY: &[u8] = b"\"type\":\"";
    // Sequence number and time stand before it, in less than 80 bytes.
    let head = &line[..line.len().min(96)];
    let start = memchr::memmem::find(head, KEY)? + KEY.len();
    let rest = line.get(start..)?;
    let end = memchr::memchr(b'"', rest)?;
    std::str::from_utf8(&rest[..end]).ok()
}

fn split(line: &[u8]) -> Result<(&[u8], Chain), Damage> {
    let at = line.len().checked_sub(CRC_LEN).ok_or(Damage::NoChecksum)?;
    let (body, tail) = line.split_at(at);
    let hex = tail
        .strip_prefix(CRC_KEY.as_bytes())
        .and_then(|t| t.strip_suffix(b"\"}"))
        .ok_or(Damage::NoChecksum)?;
    // Only the form that is written: a flipped bit must not turn `a` into an equally good `A`.
    if !hex.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
        return Err(Damage::NoChecksum);
    }
    let text = std::str::from_utf8(hex).map_err(|_| Damage::NoChecksum)?;
    let stored = u32::from_str_radix(text, 16).map_err(|_| Damage::NoChecksum)?;
    Ok((body, Chain(stored)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{DelayReason, DelayStarted};

    fn record(seq: u64) -> Record {
        let at = Timestamp::from_millis(1_768_730_400_000 + seq as i64);
        let event = Event::DelayStarted(DelayStarted {
            reason: DelayReason::Delay,
            until: at,
            wait: std::time::Duration::from_millis(seq),
        });
        Record { seq: Seq(seq), at, event }
    }

    #[test]
    fn a_record_survives_the_round_trip_and_is_json_without_its_checksum() {
        let (mut out, mut back) = (Chain::default(), Chain::default());
        for seq in 1..4 {
            let line = record(seq).encode(&mut out).expect("a line");
            let line = line.trim_end().as_bytes();
            assert_eq!(type_of(line), Some("delay.started"));
            assert_eq!(json_of(line), record(seq).to_json().ok());
            assert_eq!(Record::decode(line, &mut back, Seq(seq)), Ok(record(seq)));
        }
        assert_eq!(out, back);
    }

    #[test]
    fn no_flipped_bit_is_accepted() {
        let mut chain = Chain::default();
        let line = record(1).encode(&mut chain).expect("a line").trim_end().as_bytes().to_vec();
        for bit in 0..line.len() * 8 {
            let mut bad = line.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            let mut chain = Chain::default();
            assert!(
                Record::decode(&bad, &mut chain, Seq(1)).is_err(),
                "bit {bit} of {}",
                String::from_utf8_lossy(&line)
            );
            assert_eq!(chain, Chain::default(), "a damaged record must not move the chain");
        }
    }

    #[test]
    fn a_lost_or_moved_line_breaks_the_chain() {
        let mut chain = Chain::default();
        let lines: Vec<String> =
            (1..4).map(|seq| record(seq).encode(&mut chain).expect("a line").trim_end().to_owned()).collect();
        let mut chain = Chain::default();
        assert!(Record::decode(lines[0].as_bytes(), &mut chain, Seq(1)).is_ok());
        assert_eq!(Record::decode(lines[2].as_bytes(), &mut chain, Seq(2)), Err(Damage::Checksum));
    }

    /// A line whose checksum is right, with this JSON in it.
    fn sealed(json: &str, chain: &mut Chain) -> Vec<u8> {
        let line = chain.seal(json.strip_suffix('}').expect("an object"));
        line.trim_end().as_bytes().to_vec()
    }

    #[test]
    fn a_sound_record_of_a_newer_ralph_is_no_damage() {
        let of = |json: &str| {
            let line = sealed(json, &mut Chain::default());
            Record::decode(&line, &mut Chain::default(), Seq(1)).expect_err("not known here")
        };
        let at = "\"at\":\"2026-01-18T10:00:00.123Z\"";
        let unknown = of(&format!("{{\"seq\":1,{at},\"type\":\"moon.risen\",\"x\":1}}"));
        assert!(
            matches!(&unknown, Damage::Unknown { name, chain } if name == "moon.risen" && *chain != Chain::default())
        );
        let newer = of(&format!("{{\"seq\":1,{at},\"type\":\"stop.requested\",\"how\":\"by_magic\"}}"));
        assert!(matches!(newer, Damage::Newer(_)), "{newer:?}");
        let moved = of(&format!("{{\"seq\":7,{at},\"type\":\"moon.risen\"}}"));
        assert_eq!(moved, Damage::Order { expected: Seq(1), found: Seq(7) });
        assert!(matches!(of("{\"half\":}"), Damage::Content(_)));
    }
}
