//! Where the work stands, as keys and values.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::detector::hash::{Hasher, short};
use crate::detector::sample::{decode, encode};

const MOST_NUMBERS: usize = 48;

/// Keys and values, sampled by the key: the same keys are kept of any two iterations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Marks {
    level: u8,
    pub(super) values: BTreeMap<u32, u32>,
}

impl Marks {
    pub(in crate::detector) fn keys(&self) -> impl Iterator<Item = u32> + '_ {
        self.values.keys().copied()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Several values of one key count as one that is made of them all, in any order.
    pub(super) fn add(&mut self, key: u32, value: u32, most: usize) {
        let value = short(Hasher::new().number(value.into()).finish());
        self.put(key, most, |known| known.unwrap_or_default().wrapping_add(value));
    }

    /// Several values of one key are none.
    pub(super) fn set(&mut self, key: u32, value: u32, most: usize) {
        self.put(key, most, |known| if known.is_none_or(|known| known == value) { value } else { AMBIGUOUS });
    }

    fn put(&mut self, key: u32, most: usize, value: impl Fn(Option<u32>) -> u32) {
        if key.leading_zeros() < u32::from(self.level) {
            return;
        }
        let new = value(self.values.get(&key).copied());
        self.values.insert(key, new);
        while self.values.len() > most && self.level < 32 {
            self.level += 1;
            let level = u32::from(self.level);
            self.values.retain(|key, _| key.leading_zeros() >= level);
        }
    }
}

impl Serialize for Marks {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let flat: Vec<u32> = self.values.iter().flat_map(|(key, value)| [*key, *value]).collect();
        serializer.serialize_str(&format!("{}:{}", self.level, encode(&flat)))
    }
}

impl<'de> Deserialize<'de> for Marks {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let parsed = || {
            let (level, flat) = text.split_once(':')?;
            let flat = decode(flat).filter(|flat| flat.len().is_multiple_of(2))?;
            let values = flat.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
            Some(Marks { level: level.parse().ok().filter(|level| *level <= 32)?, values })
        };
        parsed().ok_or_else(|| serde::de::Error::custom("not marks"))
    }
}

/// The value of a key that has several.
pub(in crate::detector) const AMBIGUOUS: u32 = 0;

/// What a number counts, as far as its surroundings tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Counts {
    /// Tests, errors, what is left to do.
    #[serde(rename = "w")]
    Work,
    /// Parts of a whole: `3/12`.
    #[serde(rename = "p")]
    Parts,
    /// Bytes.
    #[serde(rename = "s")]
    Size,
    /// Unknown, on a line that frames the output or says nothing of the work: it may count iterations.
    #[serde(rename = "f")]
    Frame,
    /// Parts of a whole on such a line.
    #[serde(rename = "q")]
    FrameParts,
    /// A percentage.
    #[serde(rename = "c")]
    Share,
    #[serde(rename = "u")]
    Unknown,
}

/// Numbers, sampled by their keys: the same are kept of any two iterations. Several with one key add up.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    level: u32,
    pub(super) values: BTreeMap<u32, (f64, Counts)>,
}

impl Numbers {
    pub(super) fn add(&mut self, key: u32, value: f64, counts: Counts) {
        if key.leading_zeros() < self.level {
            return;
        }
        let known = self.values.entry(key).or_insert((0.0, counts));
        // A number that no computer can hold must not become one that the journal cannot hold.
        known.0 = (known.0 + value).clamp(f64::MIN, f64::MAX);
        while self.values.len() > MOST_NUMBERS && self.level < 32 {
            self.level += 1;
            let level = self.level;
            self.values.retain(|key, _| key.leading_zeros() >= level);
        }
    }
}
