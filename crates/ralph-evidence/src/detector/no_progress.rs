//! Iterations that bring nothing new. This is the detector that decides.
//!
//! What is known of an iteration becomes numbers with names (`evidence.rs`), and the model says how probable it is that it
//! brings nothing that those before it did not. Rules count beside that what is equal: an iteration is *quiet* if it tells no
//! progress and next to nothing that the run has not seen, and it *repeats* with period p if it also shares its substance with
//! the one p iterations back. What they count is part of the evidence, and puts what was found into words.

mod evidence;
mod memory;
mod novelty;
mod pattern;
mod repeats;

use std::collections::{HashMap, VecDeque};

use ralph_core::event::DetectorKey;
use ralph_core::plan::{Sensitivity, Use};
use serde::{Deserialize, Serialize};

use super::model::{Evidence, Limits, Model, Verdict};
use super::sample::{Overlap, Sample, share};
use super::sketch::{AMBIGUOUS, Counts, Sketch};
use super::{Detector, DetectorDef, Suspicion};

use evidence::Sums;
use memory::{Memory, Trail};
use novelty::NEW_FACTS;
pub use novelty::Novelty;
pub use pattern::Pattern;

pub(super) const DEF: DetectorDef = DetectorDef {
    key: DetectorKey::new("no_progress"),
    summary: "Iterations that bring nothing new, go in circles, or say nothing. It decides.",
    role: |_| Use::Decide,
    build: |plan| {
        Box::new(NoProgress::new(Settings {
            window: plan.window,
            patience: plan.patience,
            sensitivity: plan.sensitivity,
        }))
    },
};

/// The share of an iteration's words that makes it one that says it has nothing to do, or that it waits.
const MOSTLY: f64 = 0.4;
/// Longer texts do not just say that there is nothing to do.
const SHORT: u32 = 150;
/// New words in a short text that says the same as before.
const FEW_WORDS: f64 = 9.0;
/// The share of facts that may be new in the second of them.
const NEW_FACTS_SHARE: f64 = 0.1;
/// Iterations behind an alarm before there can be another one: what was done about it needs time to help.
const GRACE: u32 = 2;
/// From this probability on, in thousandths, an iteration counts to those that an alarm is about.
const SUSPECT: i64 = 500;
/// Nothing could be surer.
const SURE: i64 = 990;
/// Below this the run has recovered, if so many iterations in a row are.
const SOUND: i64 = 150;
const RECOVERED: u32 = 3;
/// So many iterations in a row the model has to be sure where the rules count no third time.
const TOLD: u32 = 2;
/// What is told of what weighed most.
const REASONS: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The longest circle that is looked for, in iterations.
    pub window: usize,
    /// How many repeats more than usual it takes.
    pub patience: u32,
    pub sensitivity: Sensitivity,
}

impl Default for Settings {
    fn default() -> Self {
        Self { window: 6, patience: 0, sensitivity: Sensitivity::Normal }
    }
}

/// What one more iteration adds to the suspicion.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Judgement {
    /// How probable it is that it brings nothing that those before it did not, from 0 to 1.
    pub score: f64,
    /// What it looks like, once there is anything.
    pub pattern: Option<Pattern>,
    pub alarm: bool,
    /// How many of the last iterations it is about, this one included.
    pub iterations: usize,
    /// What weighed most, in words.
    pub reasons: Vec<String>,
    /// Iterations in a row that only tell that a service is overloaded or refuses more: a reason to wait, not to stop.
    pub outages: u32,
    /// It says that there is nothing to do.
    pub nothing: bool,
    pub novelty: Novelty,
    /// Nothing for an outage.
    pub evidence: Option<Box<Evidence>>,
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
    results: Memory,
    errors: Memory,
    /// Values that were seen of each mark.
    marks: HashMap<u32, Vec<u32>>,
    numbers: HashMap<u32, Trail>,
    /// In how many of the iterations that brought something a triple stood.
    common: HashMap<u32, u32>,
    eventful: u32,
    streaks: Streaks,
    sums: Sums,
    alarms: Alarms,
    /// What the last look counted, for when its iteration is learned.
    looked: Option<Looked>,
}

/// What is counted with an iteration.
#[derive(Debug, Clone, Default, PartialEq)]
struct Looked {
    streaks: Streaks,
    sums: Sums,
    alarms: Alarms,
    eventful: bool,
}

/// What hangs on the probabilities.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Alarms {
    /// Iterations in a row that brought nothing, probably; and that did so surely enough for an alarm.
    suspect: u32,
    told: u32,
    over: u32,
    /// Iterations in a row that surely brought something.
    sound: u32,
    /// Iterations since something was done about an alarm. Nothing if none was, or if the run has recovered.
    since: Option<u32>,
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

impl Alarms {
    /// Something has been done about what was found.
    fn acted_on() -> Self {
        Alarms { since: Some(0), ..Alarms::default() }
    }

    fn is_alarm(self, patience: u32, now: Sureness) -> bool {
        let patience = patience + if now.slow { GRACE } else { 0 };
        self.over > patience && self.since.is_none_or(|since| since >= GRACE)
    }

    fn after(self, now: Sureness, limits: Limits) -> Alarms {
        let probability = now.probability;
        let run = |before: u32, goes_on: bool| if goes_on { before.saturating_add(1) } else { 0 };
        let sound = run(self.sound, probability < SOUND);
        Alarms {
            suspect: run(self.suspect, probability >= SUSPECT),
            told: run(self.told, probability >= limits.told),
            over: run(
                self.over,
                (now.counted && probability >= limits.counted)
                    || self.told + 1 >= TOLD && probability >= limits.told,
            ),
            sound,
            since: self.since.map(|since| since.saturating_add(1)).filter(|_| sound < RECOVERED),
        }
    }
}

/// What an alarm hangs on in an iteration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sureness {
    /// In thousandths.
    pub probability: i64,
    /// The rules count it as the third time as well.
    pub counted: bool,
    /// It waits for something else, or there may be more than is seen: it gets twice as long.
    pub slow: bool,
}

impl Sureness {
    pub fn of(probability: i64, evidence: &Evidence) -> Self {
        let nothings = f64::max(evidence.nothings, evidence.empties);
        let waits = evidence.waits >= MOSTLY && evidence.tokens < f64::from(SHORT / 2);
        // An agent whose tools are not known may say the same about other work, as long as its files tell of some.
        let works_unseen = evidence.calls_known == 0.0 && evidence.state_back == 0.0;
        Self { probability, counted: evidence.repeats >= 1.0 || nothings >= 3.0, slow: waits || works_unseen }
    }
}

/// Where alarms come in a run, and whether each is one behind another. Something is done about each of them. Nothing stands
/// for an outage.
pub fn alarms(run: &[Option<Sureness>], limits: Limits) -> Vec<(usize, bool)> {
    let mut state = Alarms::default();
    let mut out = Vec::new();
    for (at, sureness) in run.iter().enumerate() {
        let Some(sureness) = sureness else { continue };
        state = state.after(*sureness, limits);
        if state.is_alarm(0, *sureness) {
            out.push((at, state.since.is_some()));
            state = Alarms::acted_on();
        }
    }
    out
}

impl NoProgress {
    pub fn new(settings: Settings) -> Self {
        Self { settings, ..Self::default() }
    }

    /// Takes the next iteration.
    pub fn observe(&mut self, now: &Sketch) -> Judgement {
        let (judgement, looked) = self.judge(now);
        self.keep(now, looked);
        judgement
    }

    fn keep(&mut self, now: &Sketch, looked: Looked) {
        (self.streaks, self.sums, self.alarms) = (looked.streaks, looked.sums, looked.alarms);
        self.remember(now, looked.eventful);
    }

    fn judge(&self, now: &Sketch) -> (Judgement, Looked) {
        let novelty = self.novelty(now);
        let eventful = novelty.is_eventful();
        let Looked { streaks, sums, alarms, .. } =
            Looked { streaks: self.streaks.clone(), sums: self.sums, alarms: self.alarms, eventful };
        if now.tells_outage() {
            // No evidence for anything: it calls for patience, and what was counted before still stands.
            let streaks = Streaks { outages: streaks.outages + 1, ..streaks };
            let judgement = Judgement { novelty, outages: streaks.outages, ..Judgement::default() };
            return (judgement, Looked { streaks, sums, alarms, eventful });
        }
        let repeats = self.count_repeats(now, novelty);
        let (nothing, empty) = self.count_nothings(now, novelty);
        let goes_on = |(at, repeats): (usize, &u32)| match repeats {
            0 => 0,
            _ => self.streaks.before.get(at).copied().unwrap_or(0),
        };
        let before = repeats.iter().enumerate().map(goes_on).collect();
        let streaks = Streaks { repeats, before, nothing, empty, outages: 0 };
        let (evidence, sums) = self.evidence(now, novelty, &streaks);
        let model = Model::built_in();
        let mut verdict = model.judge(&evidence);
        if streaks.empty > 1 {
            // One that says nothing and does nothing brings nothing: there is no need to guess.
            verdict.probability = verdict.probability.max(SURE);
        }
        let sureness = Sureness::of(verdict.probability, &evidence);
        let alarms = alarms.after(sureness, model.limits(self.settings.sensitivity));
        let alarm = alarms.is_alarm(self.settings.patience, sureness);
        let judgement = self.judgement(now, &streaks, alarms, (&verdict, &evidence));
        let (nothing, evidence) = (nothing > 0, Some(Box::new(evidence)));
        let judgement = Judgement { alarm, novelty, nothing, evidence, ..judgement };
        (judgement, Looked { streaks, sums, alarms, eventful })
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

    fn judgement(
        &self,
        now: &Sketch,
        streaks: &Streaks,
        alarms: Alarms,
        (verdict, evidence): (&Verdict, &Evidence),
    ) -> Judgement {
        let score = verdict.probability as f64 / 1000.0;
        let (pattern, iterations) = self.pattern(now, streaks, alarms, evidence);
        Judgement {
            score,
            pattern: pattern.filter(|_| verdict.probability >= SOUND),
            iterations: iterations.min(self.past.len() + 1),
            reasons: verdict.reasons(evidence, REASONS),
            ..Judgement::default()
        }
    }
}

impl Detector for NoProgress {
    fn look(&mut self, now: &Sketch) -> Suspicion {
        let (judgement, looked) = self.judge(now);
        self.looked = Some(looked);
        let Judgement { score, pattern, alarm, iterations, reasons, outages, nothing, .. } = judgement;
        let score = if pattern.is_some() { score } else { 0.0 };
        Suspicion {
            score,
            alarm,
            period: pattern.map_or(0, Pattern::period),
            iterations,
            kind: pattern.map(Pattern::kind),
            pattern: pattern.map(|pattern| pattern.to_string()).unwrap_or_default(),
            reasons: if score > 0.0 { reasons } else { Vec::new() },
            ratio: None,
            outage: outages > 0,
            nothing,
        }
    }

    fn learn(&mut self, now: &Sketch) {
        let looked = self.looked.take().unwrap_or_else(|| self.judge(now).1);
        self.keep(now, looked);
    }

    fn start_over(&mut self) {
        self.looked = None;
        self.alarms = Alarms::acted_on();
        let Streaks { repeats, before, .. } = std::mem::take(&mut self.streaks);
        let all = |(at, repeats): (usize, u32)| repeats + before.get(at).copied().unwrap_or(0);
        self.streaks.before = repeats.into_iter().enumerate().map(all).collect();
    }
}

#[cfg(test)]
mod tests;
