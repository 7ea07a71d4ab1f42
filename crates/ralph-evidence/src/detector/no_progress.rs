//! Iterations that bring nothing new. This is the detector that decides.
//!
//! An iteration is *quiet* if it tells no progress and next to nothing that the run has not seen: a few words may be new, since
//! the same thing can be said in many ways, but hardly a name, a path or a piece of code. A quiet iteration *repeats* with
//! period p if it also shares its substance with the one p iterations back. p + 1 repeats in a row are the third time around
//! the circle, and that is an alarm. Saying that there is nothing to do, and saying nothing at all, are counted apart.

mod pattern;

use std::collections::{HashMap, HashSet, VecDeque};

use ralph_core::event::DetectorKey;
use ralph_core::plan::Use;
use serde::{Deserialize, Serialize};

use super::sample::{Sample, Shared, share};
use super::sketch::{AMBIGUOUS, Counts, Sketch};
use super::{Detector, DetectorDef, Suspicion};

pub use pattern::Pattern;

pub(super) const DEF: DetectorDef = DetectorDef {
    key: DetectorKey::new("no_progress"),
    summary: "Iterations that bring nothing new, go in circles, or say nothing. It decides.",
    role: |_| Use::Decide,
    build: |plan| Box::new(NoProgress::new(Settings { window: plan.window, patience: plan.patience })),
};

/// Iterations that are remembered.
const MEMORY: usize = 128;
/// Things whose values or numbers of times are kept, before those are dropped that no remembered iteration speaks of. More than
/// the remembered ones can have.
const MOST_KEPT: usize = 1 << 17;
/// Values of one mark.
const MOST_VALUES: usize = 256;
/// What is new is judged at the coarsest sample of so many iterations.
const RECENT: usize = 8;
/// New words and new word triples in an iteration that still is quiet: two or three sentences.
const NEW_WORDS: f64 = 18.0;
const NEW_SHINGLES: f64 = 45.0;
/// New triples around a name that are put down to noise: so many, and this share of all of them.
const NEW_NAMED: f64 = 1.5;
const NEW_NAMED_SHARE: f64 = 0.02;
/// New names: one may be noise, two are news. Of very many a few more may be noise.
const NEW_FACTS: f64 = 1.0;
const NEW_FACTS_IN_FLOOD: f64 = 0.003;
/// New words and new names together, each as a part of what is put down to paraphrase and to noise.
const MOST_NEW: f64 = 1.15;
/// With a larger share of new words, prose alone is never quiet.
const MOST_NEW_WORDS: f64 = 0.5;
/// With a larger share of new triples around names an iteration is never quiet.
const MOST_NAMED_SHARE: f64 = 0.2;
/// Two iterations share their substance if so much of the shorter one is in the other one,
const SAME_TEXT: f64 = 0.5;
/// or so many of its facts, with a few words around them.
const SAME_FACTS: f64 = 0.7;
const FEW_SHINGLES: usize = 6;
/// or so many of its errors.
const SAME_ERRORS: f64 = 0.5;
/// With fewer of its changes never made before, an iteration that changed something only did so again.
const FRESH: f64 = 0.5;
/// What stood in so many of the iterations that did bring something says nothing.
const BOILERPLATE: f64 = 0.8;
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
/// The least items of a list.
const LIST: usize = 3;
/// Numbers that move in one output: more of them are noise.
const MOST_MOVING: usize = 3;

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

/// Which hashes have been seen, and when for the last time.
#[derive(Debug, Clone, Default, PartialEq)]
struct Memory(HashMap<u32, u64>);

impl Memory {
    fn learn(&mut self, hashes: impl Iterator<Item = u32>, now: u64) {
        self.0.extend(hashes.map(|hash| (hash, now)));
    }

    fn forget(&mut self, hashes: impl Iterator<Item = u32>, then: u64) {
        for hash in hashes {
            if self.0.get(&hash) == Some(&then) {
                self.0.remove(&hash);
            }
        }
    }

    fn knows(&self, hash: u32) -> bool {
        self.0.contains_key(&hash)
    }
}

/// The values of one number over the run.
#[derive(Debug, Clone, Default, PartialEq)]
struct Trail {
    last: f64,
    low: f64,
    high: f64,
    /// The last step, and how many there were in a row that were like it.
    step: f64,
    steps: u32,
    /// It has gone up and down.
    erratic: bool,
    seen: u64,
    /// How many of the last steps were of exactly the same size.
    even: u32,
    /// It has been the number of the iteration so far, plus this.
    ordinal: Option<f64>,
}

impl Trail {
    fn step(&mut self, value: f64, now: u64) {
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
    /// Words in threes, one of them a fact.
    pub named: f64,
    pub all_named: f64,
    /// Paths, identifiers, codes.
    pub facts: f64,
    pub all_facts: f64,
}

impl Novelty {
    fn is_quiet(self) -> bool {
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
    fn is_eventful(self) -> bool {
        self.shingles > NEW_SHINGLES || self.named > 4.0 * NEW_NAMED || self.facts >= 2.0 * NEW_FACTS
    }
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
        (Judgement { novelty, ..self.judgement(now, &streaks) }, streaks)
    }

    /// The sketches that are remembered, the newest last.
    pub fn past(&self) -> impl DoubleEndedIterator<Item = &Sketch> {
        self.past.iter()
    }

    fn novelty(&self, now: &Sketch) -> Novelty {
        let (words, all_words) = self.unseen(now, &self.words, |sketch| &sketch.words);
        let (shingles, _) = self.unseen(now, &self.shingles, |sketch| &sketch.shingles);
        let (named, all_named) = self.unseen(now, &self.named, |sketch| &sketch.named);
        let (facts, all_facts) = self.unseen(now, &self.facts, |sketch| &sketch.facts);
        Novelty {
            progress: self.tells_progress(now),
            prose: now.calls.count == 0 && !now.fails(),
            words,
            all_words,
            shingles,
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

    fn count_repeats(&self, now: &Sketch, novelty: Novelty) -> Vec<u32> {
        let quiet = now.tokens > 0 && novelty.is_quiet();
        let fresh = self.makes_fresh_changes(now);
        let count = |period: usize| {
            let then = self.past.iter().rev().filter(|past| !past.tells_outage()).nth(period - 1);
            let repeats = quiet && then.is_some_and(|then| self.repeats(now, then));
            let before = self.streaks.repeats.get(period - 1).copied().unwrap_or(0);
            match (repeats, fresh) {
                (true, false) => before + 1,
                // The calls are new and the text is not, to the last word: the arguments may be noise.
                (true, true) if novelty.shingles == 0.0 => before,
                _ => 0,
            }
        };
        (1..=self.settings.window).map(count).collect()
    }

    /// Whether an iteration changed the tree as it was never changed before, and did not fail.
    fn makes_fresh_changes(&self, now: &Sketch) -> bool {
        let changes = &now.calls.changes;
        let fresh = changes.iter().filter(|call| !self.calls.knows(**call)).count();
        let new_state = now.state.is_some() && self.past.iter().all(|past| past.state != now.state);
        share(fresh, changes.len()) > FRESH && new_state && now.failed != Some(true)
    }

    /// Whether two iterations share their substance.
    fn repeats(&self, now: &Sketch, then: &Sketch) -> bool {
        let shingles = self.shared(&now.shingles, &then.shingles);
        let facts = self.shared(&now.facts, &then.facts);
        let errors = now.errors.shared(&then.errors);
        let fail = |sketch: &Sketch| sketch.failed != Some(false);
        (shingles.of_smaller() >= SAME_TEXT || (shingles.here == 0 && shingles.there == 0))
            || (facts.here > 0 && facts.of_this() >= SAME_FACTS && shingles.both >= FEW_SHINGLES)
            || (now.calls.count > 0 && now.calls.alike(&then.calls) == 1.0)
            || (fail(now) && fail(then) && errors.of_smaller() >= SAME_ERRORS)
            || (now.failed == Some(true) && then.failed == Some(true) && now.calls.same_checks(&then.calls))
    }

    fn is_boilerplate(&self, hash: u32) -> bool {
        let most = f64::from(self.eventful) * BOILERPLATE;
        self.eventful >= 3 && self.common.get(&hash).is_some_and(|count| f64::from(*count) >= most)
    }

    /// What two iterations share besides boilerplate.
    fn shared(&self, now: &Sample, then: &Sample) -> Shared {
        let level = now.level().max(then.level());
        let mut shared = Shared { both: 0, here: 0, there: 0 };
        for hash in now.at(level).filter(|hash| !self.is_boilerplate(*hash)) {
            shared.here += 1;
            shared.both += usize::from(then.contains(hash));
        }
        shared.there = then.at(level).filter(|hash| !self.is_boilerplate(*hash)).count();
        shared
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

    fn remember(&mut self, now: &Sketch, eventful: bool) {
        if self.past.len() == MEMORY
            && let Some(old) = self.past.pop_front()
        {
            let then = self.count - MEMORY as u64;
            self.facts.forget(old.facts.at(0), then);
            self.words.forget(old.words.at(0), then);
            self.shingles.forget(old.shingles.at(0), then);
            self.named.forget(old.named.at(0), then);
            self.calls.forget(old.calls.what.iter().copied(), then);
        }
        self.facts.learn(now.facts.at(0), self.count);
        self.words.learn(now.words.at(0), self.count);
        self.shingles.learn(now.shingles.at(0), self.count);
        self.named.learn(now.named.at(0), self.count);
        self.calls.learn(now.calls.what.iter().copied(), self.count);
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

impl Detector for NoProgress {
    fn look(&mut self, now: &Sketch) -> Suspicion {
        let (judgement, streaks) = self.judge(now);
        self.looked = Some((streaks, judgement.novelty.is_eventful()));
        let Judgement { score, pattern, alarm, iterations, outages, .. } = judgement;
        let period = match pattern {
            Some(Pattern::Repeats { period, .. } | Pattern::SameError { period, .. }) => period,
            Some(Pattern::NothingToDo { .. } | Pattern::Empty { .. }) => 1,
            None => 0,
        };
        let pattern = pattern.map(|pattern| pattern.to_string()).unwrap_or_default();
        Suspicion { score, alarm, period, iterations, pattern, ratio: None, outage: outages > 0 }
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
