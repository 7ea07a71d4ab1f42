//! What is known about going in circles: what the detectors have seen, and what was done about it.

use std::collections::VecDeque;

use crate::detector::{Detectors, Found, Sketch};
use crate::event::{AgentExited, IterationFinished, LoopAnswer, LoopDetected, LoopSuspected};
use crate::ids::IterationNumber;
use crate::plan::{StuckPlan, Use};

/// Iterations that a report can name.
const SEEN: usize = 32;
/// After so many iterations in a row that each brought something new the earlier alarms are forgotten.
const RECOVERED: u32 = 3;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stuck {
    detectors: Detectors,
    /// The iterations that were looked at, newest last.
    seen: VecDeque<Seen>,
    /// Stands for the last change of files.
    changed: String,
    /// How stuck the run looks: 0 is not at all, 1 is an alarm.
    pub score: f64,
    /// What the last iteration gave rise to and nothing has been decided about yet.
    pub open: Vec<Open>,
    /// Alarms without a recovery between them.
    pub alarms: u32,
    /// Of those, the ones after which the next iteration was told to take another way, as often as the plan allows.
    pub redirected: u32,
    /// A hat is to deal with it; what it does about it is no evidence.
    handed_off: bool,
    /// Iterations in a row that brought something new.
    fresh: u32,
    /// The last alarm, until the run has recovered.
    pub last: Option<Box<LoopDetected>>,
    /// The next prompt has to tell of it.
    pub untold: bool,
    /// Iterations in a row that did nothing but tell of a service that does not work: to be waited for, not to be stopped.
    pub outages: u32,
    /// A person was asked what to do about it, and has not answered.
    pub asking: bool,
    /// It ends the run.
    pub ends: bool,
}

/// An alarm, and the detector that raised it.
#[derive(Debug, Clone, PartialEq)]
pub struct Open {
    pub detector: &'static str,
    pub is_for: Use,
    pub pattern: String,
    pub period: usize,
    pub iterations: usize,
    pub ratio: Option<f64>,
    /// It is recorded as a suspicion.
    pub told: bool,
}

/// What a report needs of an iteration.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    pub iteration: IterationNumber,
    pub hat: Option<String>,
    /// Its files are as they never were, though nobody saw how they got there.
    pub works: bool,
    pub sketch: Box<Sketch>,
}

impl Stuck {
    pub(super) fn new(plan: &StuckPlan) -> Self {
        Self { detectors: Detectors::of(plan), ..Self::default() }
    }

    /// What the detectors see of an iteration; nothing of one that is no evidence. One that failed belongs to the rules about
    /// failures, one that waits to those about idle agents.
    fn sketch(&self, finished: &IterationFinished, exited: &AgentExited) -> Option<Sketch> {
        let waits = finished.waits_as().is_some() || finished.delay.is_some();
        if self.detectors.is_empty() || finished.outcome.is_failure() || waits {
            return None;
        }
        let mut sketch = (**exited.sketch.as_ref()?).clone();
        sketch.state = exited.tree.clone().or_else(|| self.tree_after(finished.iteration, exited));
        if changes(exited) > 0 {
            // Who changes files is not kept from it by a service.
            sketch.says.outage = 0;
        }
        Some(sketch)
    }

    /// Stands for the state of the files: it is another one each time something else has changed.
    fn tree_after(&self, iteration: IterationNumber, exited: &AgentExited) -> Option<String> {
        let files = exited.files.as_ref()?;
        Some(match (files.count, &files.digest) {
            (0, _) => self.changed.clone(),
            (_, Some(digest)) => digest.clone(),
            (_, None) => iteration.to_string(),
        })
    }

    pub(super) fn judge(
        &self,
        finished: &IterationFinished,
        exited: &AgentExited,
    ) -> Option<(Sketch, Vec<Found>)> {
        let sketch = self.sketch(finished, exited)?;
        let found = self.detectors.judge(&sketch);
        Some((sketch, found))
    }

    /// How stuck the run looks after an iteration. Nothing where nobody looks.
    pub fn score_after(&self, finished: &IterationFinished, exited: &AgentExited) -> Option<f64> {
        let (_, found) = self.judge(finished, exited)?;
        Some(score(&found))
    }

    pub(super) fn finished(&mut self, finished: &IterationFinished, exited: Option<&AgentExited>) {
        self.open.clear();
        let changed = exited.filter(|exited| changes(exited) > 0);
        let changed = changed.and_then(|exited| self.tree_after(finished.iteration, exited));
        match exited.and_then(|exited| Some((exited, self.judge(finished, exited)?))) {
            // It says nothing about the work; what was counted before still stands.
            Some((_, (_, found))) if found.iter().any(|found| found.finding.outages > 0) => {
                self.outages = self.outages.saturating_add(1);
            }
            Some((exited, (sketch, found))) => self.take(finished, exited, sketch, found),
            None => self.outages = 0,
        }
        if let Some(changed) = changed {
            self.changed = changed;
        }
    }

    fn take(&mut self, f: &IterationFinished, exited: &AgentExited, sketch: Sketch, found: Vec<Found>) {
        (self.outages, self.untold) = (0, false);
        let works = !sketch.calls.known && is_work(exited);
        let works = works && self.seen.iter().all(|seen| seen.sketch.state != sketch.state);
        self.detectors.learn(&sketch);
        if std::mem::take(&mut self.handed_off) {
            self.detectors.start_over();
        } else {
            self.score = score(&found);
            self.count_fresh(&found);
            self.open = found.into_iter().filter(|found| found.finding.alarm).map(Open::of).collect();
        }
        if self.seen.len() == SEEN {
            self.seen.pop_front();
        }
        let (iteration, hat) = (f.iteration, f.hat.clone());
        self.seen.push_back(Seen { iteration, hat, works, sketch: Box::new(sketch) });
    }

    fn count_fresh(&mut self, found: &[Found]) {
        self.fresh = if score(found) == 0.0 { self.fresh.saturating_add(1) } else { 0 };
        if self.fresh >= RECOVERED {
            (self.alarms, self.redirected, self.last) = (0, 0, None);
        }
    }

    pub(super) fn suspected(&mut self, suspected: &LoopSuspected) {
        // It still supports what is decided: a crash may come between.
        let told = self.open.iter_mut().filter(|open| open.detector == suspected.detector);
        told.for_each(|open| open.told = true);
    }

    pub(super) fn detected(&mut self, detected: &LoopDetected) {
        self.open.clear();
        self.alarms = detected.alarm;
        // Where the number does not matter the run would not stop for it either.
        let counts = detected.of.is_some() && detected.action == LoopAnswer::Redirect;
        self.redirected = self.redirected.saturating_add(u32::from(counts));
        self.handed_off = detected.action == LoopAnswer::HandOff;
        self.fresh = 0;
        self.detectors.start_over();
        self.untold = matches!(detected.action, LoopAnswer::Redirect | LoopAnswer::Ask);
        self.asking = detected.action == LoopAnswer::Ask;
        self.ends = detected.action == LoopAnswer::Stop;
        self.last = Some(Box::new(detected.clone()));
    }

    /// A person has had a word, or wants a stopped run to go on: what was before is dealt with.
    pub(super) fn start_over(&mut self) {
        self.open.clear();
        self.detectors.start_over();
        (self.alarms, self.redirected, self.fresh, self.score) = (0, 0, 0, 0.0);
        self.handed_off = false;
        self.ends = false;
    }

    /// Another plan from here on. What was seen is seen again through its eyes.
    pub(super) fn replan(&mut self, plan: &StuckPlan) {
        self.detectors = Detectors::of(plan);
        self.seen.iter().for_each(|seen| self.detectors.learn(&seen.sketch));
        self.start_over();
    }

    /// How many of the alarms that end the run there were.
    pub fn counted(&self) -> u32 {
        self.redirected.saturating_add(u32::from(self.ends))
    }

    /// The last iterations that were looked at, newest last.
    pub fn last_seen(&self, count: usize) -> impl Iterator<Item = &Seen> {
        self.seen.iter().skip(self.seen.len().saturating_sub(count))
    }
}

impl Open {
    fn of(found: Found) -> Self {
        let (detector, is_for) = (found.def.key, found.is_for);
        let crate::detector::Finding { pattern, period, iterations, ratio, .. } = found.finding;
        Self { detector, is_for, pattern, period, iterations, ratio, told: false }
    }

    /// Whether something is done about it, and not only told.
    pub fn decides(&self) -> bool {
        matches!(self.is_for, Use::Decide | Use::Stop)
    }
}

fn changes(exited: &AgentExited) -> u32 {
    exited.files.as_ref().map_or(0, |files| files.count)
}

/// Whether it changed more than notes. An agent that is stuck writes those, too.
fn is_work(exited: &AgentExited) -> bool {
    let is_note = |path: &String| {
        let (path, note) = (path.to_lowercase(), [".md", ".txt", ".log", ".json", ".jsonl"]);
        note.iter().any(|ending| path.ends_with(ending))
    };
    exited.files.as_ref().is_some_and(|files| files.count > 0 && !files.paths.iter().all(is_note))
}

/// What counts is the detector that decides; those that only support it do not raise the score by themselves.
fn score(found: &[Found]) -> f64 {
    let deciding = found.iter().filter(|found| matches!(found.is_for, Use::Decide | Use::Stop));
    let score = deciding.map(|found| found.finding.score).fold(0.0, f64::max);
    (score * 100.0).round() / 100.0
}
