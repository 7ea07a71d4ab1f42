//! How far a journal goes, and how far it is known to be on disk.

use std::path::Path;

use ralph_core::ids::Seq;
use ralph_core::record::Chain;

use crate::plain::{self, Links};

pub const JOURNAL: &str = "journal.jsonl";
pub const MARK: &str = "journal.mark";

/// The end of a journal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Position {
    pub seq: Seq,
    pub chain: Chain,
    pub len: u64,
}

/// The mark of the run in this folder. Nothing if there is none or if it is torn.
pub fn read_mark(dir: &Path) -> Option<Mark> {
    Mark::decode(&plain::read(&dir.join(MARK), Links::Refuse, plain::SMALL).ok()?)
}

/// Written after every sync, so it never promises too much. A torn or missing mark promises nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    pub len: u64,
    pub seq: u64,
}

impl Mark {
    /// Every mark has this size, so that writing one never needs new room on the disk.
    pub const SIZE: usize = 64;

    pub fn at(position: Position) -> Self {
        Self { len: position.len, seq: position.seq.0 }
    }

    pub fn encode(self) -> [u8; Self::SIZE] {
        let body = self.body();
        let text = format!("{body} {:08x}", crc32fast::hash(body.as_bytes()));
        let mut out = [b' '; Self::SIZE];
        // 20 digits twice, the words and the sum are at most 60 bytes.
        for (to, from) in out.iter_mut().zip(text.bytes()) {
            *to = from;
        }
        out[Self::SIZE - 1] = b'\n';
        out
    }

    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let mut words = text.split_ascii_whitespace();
        let mark = Self { len: words.next()?.parse().ok()?, seq: words.next()?.parse().ok()? };
        (mark.encode() == bytes).then_some(mark)
    }

    fn body(self) -> String {
        format!("{} {}", self.len, self.seq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_round_trips_and_no_flipped_bit_is_believed() {
        for mark in [Mark { len: 0, seq: 0 }, Mark { len: u64::MAX, seq: u64::MAX }] {
            let bytes = mark.encode();
            assert_eq!(Mark::decode(&bytes), Some(mark));
            for bit in 0..bytes.len() * 8 {
                let mut bad = bytes;
                bad[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(Mark::decode(&bad), None);
            }
            assert_eq!(Mark::decode(&bytes[..40]), None);
        }
    }
}
