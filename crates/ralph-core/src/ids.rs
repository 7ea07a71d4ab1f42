//! Identifiers as types, so that an iteration's number is never mistaken for a count of something else.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A run: one loop from its start to its stop, over all resumes. Sorts by the time of its start.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct RunId(pub String);

/// Iterations are counted from 1.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct IterationNumber(pub u32);

/// A place in the journal, counted from 1.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct Seq(pub u64);

/// A hat, by its key in the definition.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct HatKey(pub String);

impl IterationNumber {
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl Seq {
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl HatKey {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for HatKey {
    fn from(key: &str) -> Self {
        Self(key.to_owned())
    }
}

/// A key can be read wherever a word can; it cannot be made of any word by accident.
impl std::ops::Deref for HatKey {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// Maps by hat are asked with the word that somebody typed, too.
impl std::borrow::Borrow<str> for HatKey {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for HatKey {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<&str> for HatKey {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

impl fmt::Display for HatKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Display for IterationNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
