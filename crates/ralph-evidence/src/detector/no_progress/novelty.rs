//! How much of an iteration is new to the run, and whether it tells progress.
//!
//! Apart from the counting: here one iteration is held against all that is remembered.

use super::memory::Memory;
use super::{AMBIGUOUS, Counts, NoProgress, Sample, Sketch};

/// What is new is judged at the coarsest sample of so many iterations.
pub(super) const RECENT: usize = 8;
/// New words and new word triples in an iteration that still is quiet: two or three sentences.
const NEW_WORDS: f64 = 18.0;
const NEW_SHINGLES: f64 = 45.0;
/// New triples around a name that are put down to noise: so many, and this share of all of them.
const NEW_NAMED: f64 = 1.5;
const NEW_NAMED_SHARE: f64 = 0.02;
/// New names: one may be noise, two are news. Of very many a few more may be noise.
pub(super) const NEW_FACTS: f64 = 1.0;
const NEW_FACTS_IN_FLOOD: f64 = 0.003;
/// New words and new names together, each as a part of what is put down to paraphrase and to noise.
const MOST_NEW: f64 = 1.15;
/// With a larger share of new words, prose alone is never quiet.
const MOST_NEW_WORDS: f64 = 0.5;
/// With a larger share of new triples around names an iteration is never quiet.
const MOST_NAMED_SHARE: f64 = 0.2;
/// The least items of a list.
const LIST: usize = 3;
/// Numbers that move in one output: more of them are noise.
const MOST_MOVING: usize = 3;

/// How much of an iteration is new to the run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Novelty {
    /// It tells progress.
    pub progress: bool,
    /// All that is known of it is what it says, and that is not that it failed.
    pub prose: bool,
    pub words: f64,
    pub all_words: f64,
    /// Words in threes.
    pub shingles: f64,
    pub all_shingles: f64,
    /// Words in threes, one of them a fact.
    pub named: f64,
    pub all_named: f64,
    /// Paths, identifiers, codes.
    pub facts: f64,
    pub all_facts: f64,
}

impl Novelty {
    pub(super) fn is_quiet(self) -> bool {
        let prose = (self.words / NEW_WORDS).max(self.shingles / NEW_SHINGLES);
        let named = self.named / (NEW_NAMED + NEW_NAMED_SHARE * self.all_named);
        let names = named.max(self.facts / (NEW_FACTS + NEW_FACTS_IN_FLOOD * self.all_facts));
        // Prose around an error or around known calls is cheap. Where there is nothing but prose, it is all there is.
        let told = self.prose && self.words > MOST_NEW_WORDS * self.all_words;
        !self.progress
            && !told
            && self.named <= MOST_NAMED_SHARE * self.all_named
            && prose + names <= MOST_NEW
    }

    /// Whether it surely brought something.
    pub(super) fn is_eventful(self) -> bool {
        self.shingles > NEW_SHINGLES || self.named > 4.0 * NEW_NAMED || self.facts >= 2.0 * NEW_FACTS
    }
}

impl NoProgress {
    pub(super) fn novelty(&self, now: &Sketch) -> Novelty {
        let (words, all_words) = self.unseen(now, &self.words, |sketch| &sketch.words);
        let (shingles, all_shingles) = self.unseen(now, &self.shingles, |sketch| &sketch.shingles);
        let (named, all_named) = self.unseen(now, &self.named, |sketch| &sketch.named);
        let (facts, all_facts) = self.unseen(now, &self.facts, |sketch| &sketch.facts);
        Novelty {
            progress: self.tells_progress(now),
            prose: now.calls.count == 0 && !now.fails(),
            words,
            all_words,
            shingles,
            all_shingles,
            named,
            all_named,
            facts,
            all_facts,
        }
    }

    /// How many of a sketch's hashes the run has not seen, and how many there are besides boilerplate.
    fn unseen(&self, now: &Sketch, memory: &Memory, of: fn(&Sketch) -> &Sample) -> (f64, f64) {
        let recent = self.past.iter().rev().take(RECENT).map(|sketch| of(sketch).level());
        let level = recent.fold(of(now).level(), u8::max);
        let each = f64::from(1u32 << level.min(31));
        let new = of(now).at(level).filter(|hash| !memory.knows(*hash)).count();
        let all = of(now).at(level).filter(|hash| !self.is_boilerplate(*hash)).count();
        (new as f64 * each, all as f64 * each)
    }

    /// A checkbox or a test result that is what it never was before; a count that is higher or lower than ever; or any number
    /// that keeps going one way.
    fn tells_progress(&self, now: &Sketch) -> bool {
        let news = |(key, value): (u32, u32)| {
            let known = self.marks.get(&key);
            known.is_some_and(|known| ![value, AMBIGUOUS].iter().any(|value| known.contains(value)))
        };
        if now.standing().any(news) || self.moves_down_a_list(now) {
            return true;
        }
        let fails = now.fails();
        let (mut moving, mut sizes) = (Vec::new(), Vec::new());
        for (key, value, counts) in &now.numbers {
            let Some(known) = self.numbers.get(key) else { continue };
            let mut trail = known.clone();
            trail.step(*value, self.count);
            // The number of the iteration, or of the try at what fails.
            let counts_tries = match counts {
                Counts::Work => false,
                Counts::Frame | Counts::FrameParts => trail.ordinal.is_some() && now.says.words > 0,
                _ => trail.ordinal.is_some() && fails,
            };
            if counts_tries || (known.low..=known.high).contains(value) {
                continue;
            }
            // What stood still and now moves, and what goes in even steps, is no noise.
            let stood = known.seen > 1 && known.low == known.high;
            match counts {
                Counts::Work | Counts::Parts | Counts::FrameParts => return true,
                _ if trail.even >= 2 || stood => return true,
                _ if trail.erratic => {}
                Counts::Share => return true,
                Counts::Size => sizes.push(trail.steps),
                Counts::Unknown | Counts::Frame => moving.push(trail.steps),
            }
        }
        let go_on = |moving: &[u32]| moving.len() <= MOST_MOVING && moving.iter().all(|steps| *steps >= 2);
        match (moving.is_empty(), sizes.is_empty()) {
            (false, _) => go_on(&moving),
            (true, false) => go_on(&sizes),
            (true, true) => false,
        }
    }

    /// Of a list of what is done and what is not, another part is shown: things that were never there, beside things that were.
    fn moves_down_a_list(&self, now: &Sketch) -> bool {
        let known = now.marks.keys().filter(|key| self.marks.contains_key(key)).count();
        let all = now.marks.keys().count();
        all >= LIST && (1..all).contains(&known)
    }
}
