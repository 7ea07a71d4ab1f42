//! Tokens and money, as agents report them.

use serde::{Deserialize, Serialize};

/// Tokens by price class. `input` is what was not served from a cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct Usage {
    pub input: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub output: u64,
    pub reasoning: u64,
}

impl Usage {
    pub fn is_zero(&self) -> bool {
        *self == Usage::default()
    }

    /// All tokens that were sent or received. Reasoning tokens are part of `output` in every agent we know.
    pub fn total(&self) -> u64 {
        [self.input, self.cache_read, self.cache_write, self.output].into_iter().fold(0, u64::saturating_add)
    }

    pub fn add(&mut self, other: &Usage) {
        self.input = self.input.saturating_add(other.input);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.output = self.output.saturating_add(other.output);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
    }
}
