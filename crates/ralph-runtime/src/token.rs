//! Which attempt may publish: each has a token of its own, and only that of the one that is running counts.

use std::hash::{BuildHasher, RandomState};
use std::sync::Mutex;

use ralph_core::ids::IterationNumber;

use crate::lock;

#[derive(Debug, Default)]
pub(crate) struct Tokens(Mutex<Option<Token>>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) secret: String,
    pub(crate) iteration: IterationNumber,
    pub(crate) attempt: u32,
}

impl Tokens {
    /// A new one, in the place of any other.
    pub(crate) fn issue(&self, iteration: IterationNumber, attempt: u32) -> String {
        let secret = format!("{iteration}-{}", random());
        *lock(&self.0) = Some(Token { secret: secret.clone(), iteration, attempt });
        secret
    }

    /// The attempt is over: what it left running publishes nothing.
    pub(crate) fn revoke(&self) {
        *lock(&self.0) = None;
    }

    pub(crate) fn find(&self, secret: &str) -> Option<Token> {
        lock(&self.0).clone().filter(|token| token.secret == secret)
    }
}

/// 128 bits that nobody can guess: keyed hashes, whose keys come from the system.
pub(crate) fn random() -> String {
    let keys = RandomState::new();
    format!("{:016x}{:016x}", keys.hash_one(1), keys.hash_one(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_of_the_running_attempt_counts() {
        let tokens = Tokens::default();
        let first = tokens.issue(IterationNumber(1), 1);
        assert_eq!(tokens.find(&first).map(|token| token.attempt), Some(1));
        let second = tokens.issue(IterationNumber(1), 2);
        assert!(tokens.find(&first).is_none() && tokens.find(&second).is_some());
        tokens.revoke();
        assert!(tokens.find(&second).is_none() && tokens.find("").is_none());
        assert_ne!(random(), random());
    }
}
