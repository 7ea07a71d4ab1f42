//! Iterations that bring nothing new. This is the detector that decides.
//!
//! An iteration is *quiet* if it tells no progress and next to nothing that the run has not seen: a few words may be new, since
//! the same thing can be said in many ways, but hardly a name, a path or a piece of code. A quiet iteration *repeats* with
//! period p if it also shares its substance with the one p iterations back. p + 1 repeats in a row are the third time around
//! the circle, and that is an alarm. Saying that there is nothing to do, and saying nothing at all, are counted apart.

mod memory;
mod novelty;
mod pattern;
mod repeats;

use std::collections::{HashMap, VecDeque};

use ralph_core::event::DetectorKey;
use ralph_core::plan::Use;
use serde::{Deserialize, Serialize};

use super::sample::{Overlap, Sample, share};
use super::sketch::{AMBIGUOUS, Counts, Sketch};
use super::{Detector, DetectorDef, Suspicion};

use memory::{Memory, Trail};
use novelty::NEW_FACTS;
pub use novelty::Novelty;
pub use pattern::Pattern;

pub(super) const DEF: DetectorDef = DetectorDef {
    key: DetectorKey::new("no_progress"),
    summary: "Iterations that bring nothing new, go in circles, or say nothing. It decides.",
    role: |_| Use::Decide,
    build: |plan| Box::new(NoProgress::new(Settings { window: plan.window, patience: plan.patience })),
};

/// The share of an iteration's words that makes it one that says it has nothing to do, or that it waits.
const MOSTLY: f64 = 0.4;
/// Longer texts do not just say that there is nothing to do.
const SHORT: u32 = 150;
/// New words in a short text that says the same as before.
const FEW_WORDS: f64 = 9.0;
/// The share of facts that may be new in the second of them.
const NEW_FACTS_SHARE: f64 = 0.1;
/// Iterations in a row that say nothing, or that there is nothing to do.
const NOTHINGS: u32 = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The longest circle that is looked for, in iterations.
    pub window: usize,
    /// How many repeats more than usual it takes.
    pub patience: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { window: 6, patience: 0 }
    }
}

/// What one more iteration adds to the suspicion.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Judgement {
    /// From 0, all new, to 1, an alarm.
    pub score: f64,
    /// What it looks like, once there is anything.
    pub pattern: Option<Pattern>,
    pub alarm: bool,
    /// How many of the last iterations it is about, this one included.
    pub iterations: usize,
    /// Iterations in a row that only tell that a service is overloaded or refuses more: a reason to wait, not to stop.
    pub outages: u32,
    /// It says that there is nothing to do.
    pub nothing: bool,
    pub novelty: Novelty,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct NoProgress {
    settings: Settings,
    past: VecDeque<Sketch>,
    /// Iterations so far.
    count: u64,
    facts: Memory,
    words: Memory,
    shingles: Memory,
    named: Memory,
    calls: Memory,
    /// Values that were seen of each mark.
    marks: HashMap<u32, Vec<u32>>,
    numbers: HashMap<u32, Trail>,
    /// In how many of the iterations that brought something a triple stood.
    common: HashMap<u32, u32>,
    eventful: u32,
    streaks: Streaks,
    /// What the last look counted, for when its iteration is learned.
    looked: Option<(Streaks, bool)>,
}

/// What is counted in a row.
#[derive(Debug, Clone, Default, PartialEq)]
struct Streaks {
    /// Repeats for each period, from 1.
    repeats: Vec<u32>,
    /// Those before counting began anew, as long as they go on: for what is said, not for what is decided.
    before: Vec<u32>,
    nothing: u32,
    empty: u32,
    outages: u32,
}

impl NoProgress {
    pub fn new(settings: Settings) -> Self {
        Self { settings, ..Self::default() }
    }

    /// Takes the next iteration.
    pub fn observe(&mut self, now: &Sketch) -> Judgement {
        let (judgement, streaks) = self.judge(now);
        self.streaks = streaks;
        self.remember(now, judgement.novelty.is_eventful());
        judgement
    }

    fn judge(&self, now: &Sketch) -> (Judgement, Streaks) {
        let novelty = self.novelty(now);
        if now.tells_outage() {
            // No evidence for anything: it calls for patience, and what was counted before still stands.
            let streaks = Streaks { outages: self.streaks.outages + 1, ..self.streaks.clone() };
            return (Judgement { novelty, outages: streaks.outages, ..Judgement::default() }, streaks);
        }
        let repeats = self.count_repeats(now, novelty);
        let (nothing, empty) = self.count_nothings(now, novelty);
        let goes_on = |(at, repeats): (usize, &u32)| match repeats {
            0 => 0,
            _ => self.streaks.before.get(at).copied().unwrap_or(0),
        };
        let before = repeats.iter().enumerate().map(goes_on).collect();
        let streaks = Streaks { repeats, before, nothing, empty, outages: 0 };
        (Judgement { novelty, nothing: nothing > 0, ..self.judgement(now, &streaks) }, streaks)
    }

    /// The sketches that are remembered, the newest last.
    pub fn past(&self) -> impl DoubleEndedIterator<Item = &Sketch> {
        self.past.iter()
    }

    fn count_nothings(&self, now: &Sketch, novelty: Novelty) -> (u32, u32) {
        let says = now.says;
        let idle = says.words > 0 && f64::from(says.idle) >= MOSTLY * f64::from(says.words.max(says.idle));
        let idle = idle && says.words < SHORT && now.calls.changing == 0;
        // No tool, no change and hardly a word: whatever the words are, nothing is done.
        let unchanged_by = |then: &Sketch| now.state.is_some() && now.state == then.state;
        let inert = now.calls.known && now.calls.count == 0 && (1..SHORT / 2).contains(&says.words);
        let inert = inert && novelty.all_facts <= NEW_FACTS;
        let stands = self.past.back().is_some_and(unchanged_by) || novelty.words <= FEW_WORDS;
        let idle = idle || (inert && stands);
        // The first of them may sum up what was done before.
        let few_facts = novelty.facts <= NEW_FACTS.min(NEW_FACTS_SHARE * novelty.all_facts);
        let calm = !novelty.progress && few_facts;
        let nothing = match (idle, calm) {
            (false, _) => 0,
            (true, true) => self.streaks.nothing + 1,
            (true, false) => 1,
        };
        let unchanged = match (&now.state, self.past.back().map(|past| &past.state)) {
            (Some(now), Some(Some(then))) => now == then,
            _ => true,
        };
        let empty = now.tokens == 0 && now.calls.count == 0 && unchanged;
        (nothing, if empty { self.streaks.empty + 1 } else { 0 })
    }

    fn judgement(&self, now: &Sketch, streaks: &Streaks) -> Judgement {
        let says = now.says;
        let waits = (1..SHORT / 2).contains(&says.words)
            && f64::from(says.waiting) >= MOSTLY * f64::from(says.words.max(says.waiting));
        // An agent whose tools are not known may say the same about other work, as long as its files tell of some.
        let new_state = now.state.is_some() && self.past.iter().all(|past| past.state != now.state);
        let works_unseen = !now.calls.known && new_state;
        let slower = if waits || works_unseen { 2 } else { 1 };
        let patience = self.settings.patience;
        let mut best = Judgement::default();
        let mut consider = |seen: u32, needed: u32, period: usize, pattern: Pattern| {
            let score = (f64::from(seen) / f64::from(needed)).min(1.0);
            if seen > 0 && score > best.score {
                let (alarm, iterations) = (seen >= needed, seen as usize + period);
                best = Judgement { score, pattern: Some(pattern), alarm, iterations, ..Judgement::default() };
            }
        };
        for ((period, seen), before) in (1..).zip(streaks.repeats.iter().copied()).zip(&streaks.before) {
            let needed = (period as u32 + 1 + patience) * slower;
            let times = (seen + before).div_ceil(period as u32) + 1;
            let same_error = now.failed == Some(true) && now.error.is_some();
            let pattern = if same_error {
                Pattern::SameError { period, times }
            } else {
                Pattern::Repeats { period, times }
            };
            consider(seen, needed, period, pattern);
        }
        // One of them is nothing to talk about.
        consider(
            streaks.nothing.saturating_sub(1),
            NOTHINGS - 1 + patience,
            1,
            Pattern::NothingToDo { times: streaks.nothing },
        );
        consider(
            streaks.empty.saturating_sub(1),
            NOTHINGS - 1 + patience,
            1,
            Pattern::Empty { times: streaks.empty },
        );
        best
    }
}

impl Detector for NoProgress {
    fn look(&mut self, now: &Sketch) -> Suspicion {
        let (judgement, streaks) = self.judge(now);
        self.looked = Some((streaks, judgement.novelty.is_eventful()));
        let Judgement { score, pattern, alarm, iterations, outages, nothing, .. } = judgement;
        let period = match pattern {
            Some(Pattern::Repeats { period, .. } | Pattern::SameError { period, .. }) => period,
            Some(Pattern::NothingToDo { .. } | Pattern::Empty { .. }) => 1,
            None => 0,
        };
        let pattern = pattern.map(|pattern| pattern.to_string()).unwrap_or_default();
        Suspicion { score, alarm, period, iterations, pattern, ratio: None, outage: outages > 0, nothing }
    }

    fn learn(&mut self, now: &Sketch) {
        let (streaks, eventful) = self.looked.take().unwrap_or_else(|| {
            let (judgement, streaks) = self.judge(now);
            (streaks, judgement.novelty.is_eventful())
        });
        self.streaks = streaks;
        self.remember(now, eventful);
    }

    fn start_over(&mut self) {
        self.looked = None;
        let Streaks { repeats, before, .. } = std::mem::take(&mut self.streaks);
        let all = |(at, repeats): (usize, u32)| repeats + before.get(at).copied().unwrap_or(0);
        self.streaks.before = repeats.into_iter().enumerate().map(all).collect();
    }
}

#[cfg(test)]
mod tests;
