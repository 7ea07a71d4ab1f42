//! A bounded sample of a set: of two sets the same members are kept, so samples can be compared as the sets would be.

use std::collections::BTreeSet;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The members whose hash begins with `level` zero bits. Level 0 is the whole set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sample {
    level: u8,
    /// Sorted, each one once.
    members: Vec<u32>,
}

/// Takes any number of members and keeps at most `most` of them.
#[derive(Debug, Clone)]
pub(super) struct Sampler {
    most: usize,
    level: u8,
    members: BTreeSet<u32>,
}

impl Sampler {
    pub(super) fn new(most: usize) -> Self {
        Self { most, level: 0, members: BTreeSet::new() }
    }

    pub(super) fn add(&mut self, member: u32) {
        if !is_in(member, self.level) || !self.members.insert(member) {
            return;
        }
        while self.members.len() > self.most && self.level < 32 {
            self.level += 1;
            let level = self.level;
            self.members.retain(|member| is_in(*member, level));
        }
    }

    pub(super) fn finish(self) -> Sample {
        Sample { level: self.level, members: self.members.into_iter().collect() }
    }
}

fn is_in(member: u32, level: u8) -> bool {
    member.leading_zeros() >= u32::from(level)
}

impl Sample {
    pub(super) fn level(&self) -> u8 {
        self.level
    }

    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The members that a sample of this level has, too.
    pub(super) fn at(&self, level: u8) -> impl Iterator<Item = u32> + '_ {
        self.members.iter().copied().filter(move |member| is_in(*member, level))
    }

    pub(super) fn contains(&self, member: u32) -> bool {
        self.members.binary_search(&member).is_ok()
    }

    /// How many members both have, and how many each has, counted at the level that both can tell.
    pub(super) fn shared(&self, other: &Sample) -> Overlap {
        let level = self.level.max(other.level);
        let both = self.at(level).filter(|member| other.contains(*member)).count();
        Overlap { both, here: self.at(level).count(), there: other.at(level).count() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Overlap {
    pub(super) both: usize,
    pub(super) here: usize,
    pub(super) there: usize,
}

impl Overlap {
    /// How much of the smaller set is in the other one, too.
    pub(super) fn of_smaller(self) -> f64 {
        share(self.both, self.here.min(self.there))
    }

    /// How much of this set is in the other one.
    pub(super) fn of_this(self) -> f64 {
        share(self.both, self.here)
    }
}

pub(super) fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

// On the wire: the level, a colon, and the members as one run of base64, since there are hundreds of them.
impl Serialize for Sample {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{}:{}", self.level, encode(&self.members)))
    }
}

impl<'de> Deserialize<'de> for Sample {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong = || serde::de::Error::custom("not a sample of hashes");
        let (level, members) = text.split_once(':').ok_or_else(wrong)?;
        let level: u8 = level.parse().ok().filter(|level| *level <= 32).ok_or_else(wrong)?;
        let mut members = decode(members).ok_or_else(wrong)?;
        members.sort_unstable();
        members.dedup();
        Ok(Self { level, members })
    }
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// Base64 digits of one hash.
const WIDTH: usize = 6;

pub(super) fn encode(hashes: &[u32]) -> String {
    let mut out = String::with_capacity(hashes.len() * WIDTH);
    for hash in hashes {
        for at in (0..WIDTH).rev() {
            out.push(char::from(DIGITS[(hash >> (6 * at)) as usize & 63]));
        }
    }
    out
}

pub(super) fn decode(text: &str) -> Option<Vec<u32>> {
    let bytes = text.as_bytes();
    if !bytes.len().is_multiple_of(WIDTH) {
        return None;
    }
    bytes
        .chunks_exact(WIDTH)
        .map(|chunk| {
            let wide = chunk.iter().try_fold(0u64, |wide, byte| {
                let digit = DIGITS.iter().position(|digit| digit == byte)?;
                Some(wide << 6 | digit as u64)
            })?;
            u32::try_from(wide).ok()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detector::hash;

    fn sample(most: usize, range: std::ops::Range<u64>) -> Sample {
        let mut sampler = Sampler::new(most);
        range.for_each(|n| sampler.add(hash::short(hash::Hasher::new().number(n).finish())));
        sampler.finish()
    }

    #[test]
    fn a_small_set_is_kept_whole_and_a_large_one_within_its_bound() {
        assert_eq!((sample(256, 0..200).level, sample(256, 0..200).members.len()), (0, 200));
        let large = sample(256, 0..100_000);
        assert!((100..=256).contains(&large.members.len()), "{}", large.members.len());
    }

    #[test]
    fn samples_of_different_sizes_tell_how_much_the_sets_share() {
        let (few, many) = (sample(256, 0..10_000), sample(256, 5_000..45_000));
        let shared = few.shared(&many);
        assert!((shared.of_this() - 0.5).abs() < 0.2, "{shared:?}");
        assert_eq!(few.shared(&few).of_this(), 1.0);
        assert_eq!(few.shared(&sample(256, 50_000..60_000)).both, 0);
    }

    #[test]
    fn a_sample_survives_the_journal_and_nonsense_is_refused() {
        for sample in [Sample::default(), sample(256, 0..9), sample(64, 0..9_000)] {
            let text = serde_json::to_string(&sample).unwrap();
            assert_eq!(serde_json::from_str::<Sample>(&text).unwrap(), sample);
        }
        for wrong in ["", "0", "x:", "0:AAA", "99:", "0:______", "0:AAAAA?"] {
            assert!(serde_json::from_value::<Sample>(wrong.into()).is_err(), "{wrong}");
        }
    }
}
