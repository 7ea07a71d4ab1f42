//! The numbers that the model is asked with: an iteration held against all that is remembered.
//!
//! Apart from the rules, which count what is equal; here is told how much of it is.

use super::memory::Memory;
use super::{NoProgress, Novelty, Sample, Sketch, Streaks, share};
use crate::detector::model::Evidence;

/// Iterations that each one is held against: two rounds of the longest circle.
const LOOKED_AT: usize = 12;
/// Half of a text, and most of its words.
const HALF: f64 = 0.5;
const MOST: f64 = 0.7;
/// What is left of a sum with each iteration.
const FADES: f64 = 0.7;

/// Sums over the last iterations that fade: one noisy iteration takes a part of them, not all.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Sums {
    old: f64,
    quiet: f64,
    errors: f64,
    still: f64,
    blocked: f64,
    done: f64,
    fail_streak: f64,
    state_still: f64,
}

/// How much of an iteration stood in each of the last ones, the newest first.
struct Alike(Vec<f64>);

impl Alike {
    fn last(&self) -> f64 {
        self.0.first().copied().unwrap_or(0.0)
    }

    fn best(&self, window: usize) -> f64 {
        self.0.iter().take(window).copied().fold(0.0, f64::max)
    }

    /// The best of all distances at which it stood twice.
    fn third(&self, window: usize) -> f64 {
        let twice = |distance: usize| Some(self.0.get(distance - 1)?.min(*self.0.get(2 * distance - 1)?));
        (1..=window).filter_map(twice).fold(0.0, f64::max)
    }

    fn count(&self, least: f64) -> f64 {
        self.0.iter().filter(|alike| **alike >= least).count() as f64
    }
}

/// Part of a whole; −1 where there is none.
fn part(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { -1.0 }
}

fn flag(it: bool) -> f64 {
    f64::from(u8::from(it))
}

impl NoProgress {
    /// All that is known of an iteration, and the sums with it.
    pub(super) fn evidence(&self, now: &Sketch, novelty: Novelty, streaks: &Streaks) -> (Evidence, Sums) {
        let mut evidence = Evidence { count: self.count.min(12) as f64, ..Evidence::default() };
        self.tell_novelty(now, novelty, &mut evidence);
        self.tell_likeness(now, &mut evidence);
        self.tell_calls(now, &mut evidence);
        self.tell_state(now, &mut evidence);
        tell_wording(now, &mut evidence);
        self.tell_streaks(now, novelty, streaks, &mut evidence);
        let sums = self.tell_sums(now, &mut evidence);
        (evidence, sums)
    }

    fn tell_novelty(&self, now: &Sketch, novelty: Novelty, evidence: &mut Evidence) {
        evidence.tokens = f64::from(now.tokens);
        let recent = self.past.iter().rev().take(super::novelty::RECENT);
        let (sum, number) = recent.fold((0.0, 0.0), |(sum, n), past| (sum + f64::from(past.tokens), n + 1.0));
        evidence.size = part(f64::from(now.tokens), sum / f64::max(number, 1.0)).min(10.0);
        evidence.new_words = novelty.words;
        evidence.new_words_share = part(novelty.words, novelty.all_words);
        evidence.new_text = novelty.shingles;
        evidence.new_text_share = part(novelty.shingles, novelty.all_shingles);
        evidence.new_named = novelty.named;
        evidence.new_named_share = part(novelty.named, novelty.all_named);
        evidence.new_names = novelty.facts;
        evidence.new_names_share = part(novelty.facts, novelty.all_facts);
        evidence.new_weight = weight_of_new(&now.shingles, &self.shingles);
        evidence.new_names_weight = weight_of_new(&now.facts, &self.facts);
        evidence.progress = flag(novelty.progress);
        evidence.open = f64::from(now.open);
    }

    fn tell_likeness(&self, now: &Sketch, evidence: &mut Evidence) {
        let window = self.settings.window;
        let text = self.alike(|past| self.shared_text(now, past, |sketch| &sketch.shingles));
        (evidence.text_last, evidence.text_best) = (text.last(), text.best(window));
        (evidence.text_third, evidence.alike) = (text.third(window), text.count(HALF));
        let words = self.alike(|past| self.shared_text(now, past, |sketch| &sketch.words));
        (evidence.words_last, evidence.words_best) = (words.last(), words.best(window));
        (evidence.words_third, evidence.alike_words) = (words.third(window), words.count(MOST));
        let names = self.alike(|past| self.shared_text(now, past, |sketch| &sketch.facts));
        (evidence.names_last, evidence.names_best) = (names.last(), names.best(window));
        evidence.names_third = names.third(window);
        let errors = self.alike(|past| now.errors.shared(&past.errors).of_smaller());
        evidence.errors = now.errors.at(0).count() as f64;
        (evidence.errors_best, evidence.errors_third) = (errors.best(window), errors.third(window));
        evidence.same_errors = errors.count(HALF);
        let new = now.errors.at(0).filter(|error| !self.errors.knows(*error)).count() as f64;
        evidence.errors_new = part(new, evidence.errors);
    }

    fn tell_calls(&self, now: &Sketch, evidence: &mut Evidence) {
        let (window, calls) = (self.settings.window, &now.calls);
        (evidence.calls_known, evidence.calls) = (flag(calls.known), f64::from(calls.count));
        evidence.calls_changing = f64::from(calls.changing);
        evidence.calls_failed = part(f64::from(calls.failed), f64::from(calls.count));
        let new = |known: &Memory, all: &[u32]| match all.len() {
            0 => -1.0,
            count => share(all.iter().filter(|one| !known.knows(**one)).count(), count),
        };
        evidence.calls_new = new(&self.calls, &calls.what);
        evidence.results_new = new(&self.results, &calls.results);
        let alike = self.alike(|past| calls.alike(&past.calls));
        (evidence.calls_best, evidence.calls_third) = (alike.best(window), alike.third(window));
        let results = self.alike(|past| calls.alike_in_results(&past.calls));
        (evidence.results_best, evidence.results_third) = (results.best(window), results.third(window));
        evidence.changes_fresh = flag(self.makes_fresh_changes(now));
    }

    fn tell_state(&self, now: &Sketch, evidence: &mut Evidence) {
        if now.state.is_none() {
            (evidence.state_same, evidence.state_back) = (-1.0, -1.0);
            return;
        }
        evidence.state = 1.0;
        evidence.state_same = flag(self.past.back().is_some_and(|past| past.state == now.state));
        evidence.state_back = flag(self.past.iter().any(|past| past.state == now.state));
    }

    fn tell_streaks(&self, now: &Sketch, novelty: Novelty, streaks: &Streaks, evidence: &mut Evidence) {
        evidence.fails = flag(now.fails());
        evidence.quiet = flag(novelty.is_quiet());
        let needed = (2..).map(f64::from);
        let ways = streaks.repeats.iter().zip(needed).map(|(seen, needed)| f64::from(*seen) / needed);
        evidence.repeats = ways.fold(0.0, f64::max).min(2.0);
        (evidence.nothings, evidence.empties) = (f64::from(streaks.nothing), f64::from(streaks.empty));
    }

    fn tell_sums(&self, now: &Sketch, evidence: &mut Evidence) -> Sums {
        let before = self.sums;
        let fade = |before: f64, now: f64| FADES * before + now.max(0.0);
        let run = |before: f64, goes_on: bool| if goes_on { before + 1.0 } else { 0.0 };
        let old = evidence.text_best.max(evidence.names_best.min(evidence.words_best));
        let sums = Sums {
            old: fade(before.old, old),
            quiet: fade(before.quiet, evidence.quiet),
            errors: fade(before.errors, evidence.errors_best),
            still: fade(before.still, evidence.state_back),
            blocked: fade(before.blocked, evidence.blocked),
            done: fade(before.done, evidence.idle),
            fail_streak: run(before.fail_streak, now.fails()),
            state_still: run(before.state_still, evidence.state_back > 0.0),
        };
        (evidence.old_sum, evidence.quiet_sum) = (sums.old, sums.quiet);
        (evidence.error_sum, evidence.still_sum) = (sums.errors, sums.still);
        (evidence.blocked_sum, evidence.done_sum) = (sums.blocked, sums.done);
        (evidence.fail_streak, evidence.state_still) = (sums.fail_streak, sums.state_still);
        sums
    }

    fn alike(&self, of: impl Fn(&Sketch) -> f64) -> Alike {
        let past = self.past.iter().rev().filter(|past| !past.tells_outage());
        Alike(past.take(LOOKED_AT).map(of).collect())
    }

    /// What two iterations share besides boilerplate. Those that say nothing else are alike.
    fn shared_text(&self, now: &Sketch, then: &Sketch, of: fn(&Sketch) -> &Sample) -> f64 {
        let shared = self.shared(of(now), of(then));
        if shared.here == 0 && shared.there == 0 { 1.0 } else { shared.of_smaller() }
    }
}

/// How much of a sample is new, where each member weighs the less the more iterations it stood in.
fn weight_of_new(now: &Sample, known: &Memory) -> f64 {
    let (mut new, mut all) = (0.0, 0.0);
    for hash in now.at(0) {
        let times = known.times(hash);
        all += 1.0 / f64::from(times + 1);
        new += flag(times == 0);
    }
    part(new, all)
}

fn tell_wording(now: &Sketch, evidence: &mut Evidence) {
    let says = now.says;
    let words = |part: u32| share(part as usize, says.words.max(part) as usize);
    evidence.idle = words(says.idle);
    evidence.waits = words(says.waiting);
    evidence.blocked = words(says.blocked);
    evidence.deeds = words(says.deeds);
    evidence.done = words(says.done);
}
