//! Going in circles, in a sentence.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What going in circles looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Pattern {
    /// Iterations repeat what was `period` iterations back.
    Repeats { period: usize, times: u32 },
    /// The same error again and again.
    SameError { period: usize, times: u32 },
    /// They say that there is nothing to do.
    NothingToDo { times: u32 },
    /// They say nothing.
    Empty { times: u32 },
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let round = |period: &usize| match period {
            1 => String::new(),
            period => format!(" in a circle of {period} iterations"),
        };
        match self {
            Pattern::Repeats { period, times } => {
                write!(f, "the same for the {} time{}, and nothing new", nth(*times), round(period))
            }
            Pattern::SameError { period, times } => {
                write!(f, "the same error for the {} time{}, and nothing new", nth(*times), round(period))
            }
            Pattern::NothingToDo { times } => {
                write!(f, "{times} iterations in a row say that there is nothing to do")
            }
            Pattern::Empty { times } => write!(f, "{times} iterations in a row said nothing and did nothing"),
        }
    }
}

fn nth(n: u32) -> String {
    let ending = match (n % 100, n % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{n}{ending}")
}
