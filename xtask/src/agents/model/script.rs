//! What the model says, turn by turn.

use std::time::{Duration, Instant};

#[derive(Debug, Clone, PartialEq)]
pub enum Turn {
    Say {
        text: String,
        calls: Vec<Call>,
    },
    /// From the first request that comes here, nothing is answered for this long.
    Limit(Duration),
    /// Every request from here on is refused with this status, and told to come back after so many seconds.
    Refuse {
        status: u16,
        retry_after: u64,
        message: String,
    },
    /// The stream of an answer breaks in the middle of it.
    Cut(String),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Call {
    Shell(String),
    /// A file by its absolute path.
    Write {
        path: String,
        content: String,
    },
}

impl Turn {
    pub fn say(text: &str, calls: Vec<Call>) -> Turn {
        Turn::Say { text: text.to_owned(), calls }
    }
}

/// What one turn is said to cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tokens {
    pub input: u64,
    pub cached: u64,
    pub output: u64,
}

impl Tokens {
    /// The same for every turn, so that a total is a number of turns.
    pub const TURN: Tokens = Tokens { input: 1000, cached: 3000, output: 40 };
}

pub struct Script {
    turns: Vec<Turn>,
    at: usize,
    limited_until: Option<Instant>,
}

pub enum Next {
    Turn {
        number: u64,
        turn: Turn,
        tokens: Tokens,
    },
    Limited {
        left: Duration,
    },
    /// Not a question of the main loop.
    Aside,
    Refused {
        status: u16,
        retry_after: u64,
        message: String,
    },
    Over,
}

impl Script {
    pub fn new(turns: Vec<Turn>) -> Script {
        Script { turns, at: 0, limited_until: None }
    }

    pub fn next(&mut self) -> Next {
        self.next_at(Instant::now())
    }

    fn next_at(&mut self, now: Instant) -> Next {
        if let Some(Turn::Limit(time)) = self.turns.get(self.at) {
            let until = *self.limited_until.get_or_insert(now + *time);
            if until > now {
                return Next::Limited { left: until - now };
            }
            self.limited_until = None;
            self.at += 1;
        }
        let Some(turn) = self.turns.get(self.at).cloned() else { return Next::Over };
        if let Turn::Refuse { status, retry_after, message } = turn {
            return Next::Refused { status, retry_after, message };
        }
        self.at += 1;
        Next::Turn { number: self.at as u64, turn, tokens: Tokens::TURN }
    }

    pub fn lift_limit(&mut self) {
        self.limited_until = self.limited_until.map(|_| Instant::now());
    }

    /// Turns with words in them.
    pub fn played(&self) -> usize {
        self.turns[..self.at].iter().filter(|turn| matches!(turn, Turn::Say { .. })).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_ends_by_itself_and_counts_as_no_turn() {
        let mut script = Script::new(vec![Turn::Limit(Duration::from_secs(9)), Turn::say("a", Vec::new())]);
        let now = Instant::now();
        assert!(matches!(script.next_at(now), Next::Limited { left } if left.as_secs() == 9));
        let later = now + Duration::from_secs(4);
        assert!(matches!(script.next_at(later), Next::Limited { left } if left.as_secs() == 5));
        assert_eq!(script.played(), 0);
        assert!(matches!(script.next_at(now + Duration::from_secs(9)), Next::Turn { .. }));
        assert_eq!(script.played(), 1);
        assert!(matches!(script.next_at(later), Next::Over));
    }

    #[test]
    fn who_is_refused_is_refused_for_ever() {
        let refuse = Turn::Refuse { status: 402, retry_after: 9, message: "no".into() };
        let mut script = Script::new(vec![Turn::Cut("a".into()), refuse, Turn::say("b", Vec::new())]);
        assert!(matches!(script.next(), Next::Turn { turn: Turn::Cut(_), .. }));
        for _ in 0..3 {
            assert!(matches!(script.next(), Next::Refused { status: 402, retry_after: 9, .. }));
        }
        assert_eq!(script.played(), 0);
    }
}
