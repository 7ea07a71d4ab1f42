//! What a run without end remembers of its iterations, in bounded space: hashes, values of marks, and the trails of numbers.
//!
//! Apart from the judging, so that what is kept and what is dropped stands in one place.

use std::collections::{HashMap, HashSet};

use super::{NoProgress, Sketch};

/// Iterations that are remembered.
pub(super) const MEMORY: usize = 128;
/// Things whose values or numbers of times are kept, before those are dropped that no remembered iteration speaks of. More than
/// the remembered ones can have.
pub(super) const MOST_KEPT: usize = 1 << 17;
/// Values of one mark.
pub(super) const MOST_VALUES: usize = 256;
/// What stood in so many of the iterations that did bring something says nothing.
const BOILERPLATE: f64 = 0.8;

/// Which hashes have been seen, when for the last time, and how often.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Memory(pub(super) HashMap<u32, (u64, u32)>);

impl Memory {
    pub(super) fn learn(&mut self, hashes: impl Iterator<Item = u32>, now: u64) {
        for hash in hashes {
            let known = self.0.entry(hash).or_default();
            *known = (now, known.1.saturating_add(1));
        }
    }

    pub(super) fn forget(&mut self, hashes: impl Iterator<Item = u32>, then: u64) {
        for hash in hashes {
            if self.0.get(&hash).is_some_and(|(last, _)| *last == then) {
                self.0.remove(&hash);
            }
        }
    }

    pub(super) fn knows(&self, hash: u32) -> bool {
        self.0.contains_key(&hash)
    }

    /// In how many iterations it stood.
    pub(super) fn times(&self, hash: u32) -> u32 {
        self.0.get(&hash).map_or(0, |(_, times)| *times)
    }
}

/// The values of one number over the run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Trail {
    pub(super) last: f64,
    pub(super) low: f64,
    pub(super) high: f64,
    /// The last step, and how many there were in a row that were like it.
    pub(super) step: f64,
    pub(super) steps: u32,
    /// It has gone up and down.
    pub(super) erratic: bool,
    pub(super) seen: u64,
    /// How many of the last steps were of exactly the same size.
    pub(super) even: u32,
    /// It has been the number of the iteration so far, plus this.
    pub(super) ordinal: Option<f64>,
}

impl Trail {
    pub(super) fn step(&mut self, value: f64, now: u64) {
        let ahead = value - now as f64;
        if self.seen == 0 {
            let (last, low, high) = (value, value, value);
            let ordinal = Some(ahead).filter(|ahead| (0.0..=1.0).contains(ahead));
            *self = Trail { last, low, high, seen: 1, ordinal, ..Trail::default() };
            return;
        }
        let step = value - self.last;
        // Work goes on in steps of about the same size and never back; noise jumps.
        let like_before = step * self.step > 0.0 && (0.1..=10.0).contains(&(step / self.step));
        self.erratic |= step * self.step < 0.0;
        if step != 0.0 {
            self.steps = if like_before { self.steps + 1 } else { 1 };
            self.even = if step == self.step { self.even + 1 } else { 1 };
            self.step = step;
        }
        self.ordinal = self.ordinal.filter(|known| *known == ahead);
        self.last = value;
        (self.low, self.high) = (self.low.min(value), self.high.max(value));
        self.seen += 1;
    }
}

impl NoProgress {
    pub(super) fn is_boilerplate(&self, hash: u32) -> bool {
        let most = f64::from(self.eventful) * BOILERPLATE;
        self.eventful >= 3 && self.common.get(&hash).is_some_and(|count| f64::from(*count) >= most)
    }

    pub(super) fn remember(&mut self, now: &Sketch, eventful: bool) {
        if self.past.len() == MEMORY
            && let Some(old) = self.past.pop_front()
        {
            let then = self.count - MEMORY as u64;
            self.facts.forget(old.facts.at(0), then);
            self.words.forget(old.words.at(0), then);
            self.shingles.forget(old.shingles.at(0), then);
            self.named.forget(old.named.at(0), then);
            self.calls.forget(old.calls.what.iter().copied(), then);
            self.results.forget(old.calls.results.iter().copied(), then);
            self.errors.forget(old.errors.at(0), then);
        }
        self.facts.learn(now.facts.at(0), self.count);
        self.words.learn(now.words.at(0), self.count);
        self.shingles.learn(now.shingles.at(0), self.count);
        self.named.learn(now.named.at(0), self.count);
        self.calls.learn(now.calls.what.iter().copied(), self.count);
        self.results.learn(now.calls.results.iter().copied(), self.count);
        self.errors.learn(now.errors.at(0), self.count);
        for (key, value) in now.standing() {
            let known = self.marks.entry(key).or_default();
            if !known.contains(&value) {
                known.push(value);
                known.drain(..known.len().saturating_sub(MOST_VALUES));
            }
        }
        for (key, value, _) in &now.numbers {
            self.numbers.entry(*key).or_default().step(*value, self.count);
        }
        if eventful {
            self.eventful += 1;
            let sampled_apart = now.named.at(0).filter(|hash| !now.shingles.contains(*hash));
            let all = now.shingles.at(0).chain(sampled_apart);
            all.chain(now.facts.at(0))
                .chain(now.words.at(0))
                .for_each(|hash| *self.common.entry(hash).or_default() += 1);
        }
        self.past.push_back(now.clone());
        self.count += 1;
        self.stay_small();
    }

    /// Of a run without end, only what the remembered iterations speak of is kept.
    fn stay_small(&mut self) {
        if self.marks.len().max(self.numbers.len()).max(self.common.len()) <= MOST_KEPT {
            return;
        }
        let past = &self.past;
        let keys = |of: fn(&Sketch) -> Vec<u32>| -> HashSet<u32> { past.iter().flat_map(of).collect() };
        let marks = keys(|sketch| sketch.standing().map(|(key, _)| key).collect());
        let numbers = keys(|sketch| sketch.numbers.iter().map(|(key, ..)| *key).collect());
        let common = keys(|sketch| sketch.shingles.at(0).chain(sketch.named.at(0)).collect());
        self.marks.retain(|key, _| marks.contains(key));
        self.numbers.retain(|key, _| numbers.contains(key));
        self.common.retain(|hash, _| common.contains(hash));
    }
}
