//! Going in circles, in a sentence.

use std::fmt;

use ralph_core::event::LoopKind;
use serde::{Deserialize, Serialize};

use super::{Alarms, NoProgress, Sketch, Streaks};
use crate::detector::model::Evidence;

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
    /// They say that they are blocked, or that a person has to give something first.
    Blocked { times: u32 },
    /// They change files, and leave them as they were before.
    BackAndForth { times: u32 },
    /// They are about what those before them were about.
    NothingNew { times: u32 },
}

/// From these sums on they are what is told.
const BLOCKED: f64 = 0.6;

impl Pattern {
    /// The length of the circle, in iterations.
    pub(super) fn period(self) -> usize {
        match self {
            Pattern::Repeats { period, .. } | Pattern::SameError { period, .. } => period,
            _ => 1,
        }
    }

    pub(super) fn kind(self) -> LoopKind {
        match self {
            Pattern::Repeats { .. } => LoopKind::Repeats,
            Pattern::SameError { .. } => LoopKind::SameError,
            Pattern::NothingToDo { .. } => LoopKind::NothingToDo,
            Pattern::Empty { .. } => LoopKind::Empty,
            Pattern::Blocked { .. } => LoopKind::Blocked,
            Pattern::BackAndForth { .. } => LoopKind::BackAndForth,
            Pattern::NothingNew { .. } => LoopKind::NothingNew,
        }
    }
}

impl NoProgress {
    /// What the last iterations look like, and how many of them it is about.
    pub(super) fn pattern(
        &self,
        now: &Sketch,
        streaks: &Streaks,
        alarms: Alarms,
        evidence: &Evidence,
    ) -> (Option<Pattern>, usize) {
        let counted = (1..).zip(streaks.repeats.iter().copied()).zip(&streaks.before);
        let ways = counted.filter(|((_, seen), _)| *seen > 0).map(|((period, seen), before)| {
            let times = (seen + before).div_ceil(period as u32) + 1;
            let way = f64::from(seen) / (period + 1) as f64;
            (way.min(1.0), period, times, seen as usize + period)
        });
        let best = ways.reduce(|best, way| if way.0 > best.0 { way } else { best });
        let suspect = alarms.suspect.max(1) + 1;
        if streaks.empty > 1 {
            return (Some(Pattern::Empty { times: streaks.empty }), streaks.empty as usize);
        }
        if let Some((_, period, times, iterations)) = best {
            let pattern = match now.failed == Some(true) && now.error.is_some() {
                true => Pattern::SameError { period, times },
                false => Pattern::Repeats { period, times },
            };
            return (Some(pattern), iterations);
        }
        let pattern = match () {
            () if streaks.nothing > 1 => Pattern::NothingToDo { times: streaks.nothing },
            () if evidence.blocked_sum >= BLOCKED => Pattern::Blocked { times: suspect },
            () if now.fails() && evidence.errors_best > 0.0 => {
                Pattern::SameError { period: 1, times: suspect }
            }
            () if evidence.state_back > 0.0 && evidence.state_same == 0.0 => {
                Pattern::BackAndForth { times: suspect }
            }
            () => Pattern::NothingNew { times: suspect },
        };
        let times = if streaks.nothing > 1 { streaks.nothing } else { suspect };
        (Some(pattern), times as usize)
    }
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
            Pattern::Blocked { times } => {
                write!(f, "{times} iterations in a row say that they are blocked or wait for a person")
            }
            Pattern::BackAndForth { times } => {
                write!(f, "{times} iterations in a row leave the files as they were before")
            }
            Pattern::NothingNew { times } => {
                write!(f, "{times} iterations in a row bring nothing that those before them did not")
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
