//! Watches a run for circles: looks at each attempt that ends, and follows the events of the run to know what to remember.
//!
//! What a watch knows is no part of the run's state. It is lost with the process, and rebuilt from the journal and the sketches
//! that were kept beside it; without them the detectors begin anew.

use std::collections::VecDeque;

use ralph_core::escalation::NOTHING_NEW;
use ralph_core::event::{
    AgentExited, DetectorKey, Event, Finding, IterationFinished, LoopAnswer, RunResumed, StuckEvidence,
};
use ralph_core::ids::{HatKey, IterationNumber};
use ralph_core::plan::{StuckPlan, Use};

use crate::DETECTORS_VERSION;
use crate::circle;
use crate::detector::{Detectors, Sketch, Suspicion};

/// Bytes of what is published that are looked at.
const MOST_EMITTED: usize = 64 << 10;
/// Iterations that a report can name.
const REMEMBERED: usize = 32;

#[derive(Debug)]
pub struct Watch {
    /// The settings that the detectors were made by.
    plan: StuckPlan,
    detectors: Detectors,
    /// The iterations that are evidence, newest last.
    past: VecDeque<PastIteration>,
    /// Stands for the last change of files.
    changed: String,
    /// The hat of the iteration that runs.
    hat: Option<HatKey>,
    /// The last attempt that has ended, until it is known what its iteration comes to.
    ended: Option<EndedAttempt>,
    /// What the attempt that runs has published by `ralph emit`: it is said, though nothing is printed.
    emitted: String,
    /// A hat is to deal with the circle; what it does about it is no evidence.
    handed_off: bool,
    /// The agent was told to take another way: what comes of it is worth a report before it is an alarm.
    told: bool,
    stopped: bool,
}

/// What a report needs of an iteration.
#[derive(Debug)]
pub(crate) struct PastIteration {
    pub iteration: IterationNumber,
    pub hat: Option<HatKey>,
    /// Its files are as they never were, though nobody saw how they got there.
    pub works: bool,
    pub sketch: Box<Sketch>,
}

/// What an attempt says about itself, in its own words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Says {
    /// It does nothing but tell of a service that does not work.
    pub outage: bool,
    /// There is nothing to do.
    pub nothing: bool,
}

#[derive(Debug)]
struct EndedAttempt {
    /// The state of the files, where the attempt changed any.
    changed: Option<String>,
    /// Nothing of an attempt that nobody drew a sketch of, or that only tells of a service that does not work.
    seen: Option<PastIteration>,
}

impl Watch {
    pub fn new(plan: &StuckPlan) -> Self {
        Self {
            plan: plan.clone(),
            detectors: Detectors::of(plan),
            past: VecDeque::new(),
            changed: String::new(),
            hat: None,
            ended: None,
            emitted: String::new(),
            handed_off: false,
            told: false,
            stopped: false,
        }
    }

    /// What the detectors find in an attempt that has ended. Nothing where nobody looks.
    pub fn look(&mut self, exited: &AgentExited, sketch: Option<Box<Sketch>>) -> Option<StuckEvidence> {
        let (says, mut findings) = self.look_closely(exited, sketch)?;
        // Whoever changes files has found something to do.
        let nothing = says.nothing && exited.files.as_ref().is_none_or(|files| files.count == 0);
        let score = score(&findings);
        findings.retain(|finding| finding.alarm || finding.score > 0.0);
        Some(StuckEvidence { version: DETECTORS_VERSION, score, outage: says.outage, nothing, findings })
    }

    /// The same with the detectors that have found nothing, and what the attempt says about itself.
    pub(crate) fn look_closely(
        &mut self,
        exited: &AgentExited,
        sketch: Option<Box<Sketch>>,
    ) -> Option<(Says, Vec<Finding>)> {
        let changes = exited.files.as_ref().map_or(0, |files| files.count);
        let state = self.state_after(exited);
        self.ended = Some(EndedAttempt { changed: state.clone().filter(|_| changes > 0), seen: None });
        let mut sketch = sketch.filter(|_| !self.detectors.is_empty())?;
        sketch.state = exited.tree.clone().or(state);
        if changes > 0 {
            // An agent that changes files is not kept from it by a service.
            sketch.says.outage = 0;
        }
        let works = !sketch.calls.known && is_work(exited);
        let works = works && self.past.iter().all(|past| past.sketch.state != sketch.state);
        let suspicions = self.detectors.look(&sketch);
        let says = Says {
            outage: suspicions.iter().any(|(.., suspicion)| suspicion.outage),
            nothing: suspicions.iter().any(|(.., suspicion)| suspicion.nothing),
        };
        let now = PastIteration { iteration: exited.iteration, hat: self.hat.clone(), works, sketch };
        let found = suspicions.into_iter().map(|(detector, role, suspicion)| {
            let unheeded = self.told && role == Use::Decide && suspicion.score >= NOTHING_NEW;
            let circle = (suspicion.alarm && role.decides()) || unheeded;
            let circle = circle.then(|| Box::new(circle::facts(&self.past, &now, &suspicion)));
            let Suspicion { score, alarm, pattern, kind, reasons, ratio, .. } = suspicion;
            let period = u32::try_from(suspicion.period).unwrap_or(u32::MAX);
            Finding { detector, role, score, alarm, pattern, kind, reasons, period, ratio, circle }
        });
        let found = found.collect();
        if let Some(ended) = self.ended.as_mut().filter(|_| !says.outage) {
            ended.seen = Some(now);
        }
        Some((says, found))
    }

    /// Stands for the state of the files: it is another one each time something else has changed.
    fn state_after(&self, exited: &AgentExited) -> Option<String> {
        let files = exited.files.as_ref()?;
        Some(match (files.count, &files.digest) {
            (0, _) => self.changed.clone(),
            (_, Some(digest)) => digest.clone(),
            (_, None) => exited.iteration.to_string(),
        })
    }

    /// Follows the run.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::IterationStarted(started) => {
                self.hat.clone_from(&started.hat);
                self.ended = None;
                self.emitted.clear();
            }
            Event::TopicEmitted(emitted) if self.emitted.len() < MOST_EMITTED => {
                let payload = emitted.payload.as_str();
                let payload: String = payload.chars().take(MOST_EMITTED).collect();
                self.emitted.push_str(&format!("{}: {payload}\n", emitted.topic));
            }
            Event::IterationInterrupted(_) => self.ended = None,
            Event::IterationFinished(finished) => self.finished(finished),
            Event::LoopDetected(detected) => {
                self.answered(&detected.detector, detected.action, detected.unheeded);
            }
            // A run that has stopped starts over when it goes on.
            Event::GuidanceAdded(_) if !self.stopped => self.start_over(),
            Event::RunStopped(_) => self.stopped = true,
            Event::RunResumed(resumed) => self.resumed(resumed),
            _ => {}
        }
    }

    /// What the attempt that has just ended said to other hats beside what it printed.
    pub fn take_emitted(&mut self) -> String {
        std::mem::take(&mut self.emitted)
    }

    /// Follows a run that is recorded. `sketch` is the one that was kept of the attempt.
    pub fn replay(&mut self, event: &Event, sketch: impl FnOnce(&AgentExited) -> Option<Box<Sketch>>) {
        if let Event::AgentExited(exited) = event {
            let sketch = sketch(exited);
            self.look_closely(exited, sketch);
        }
        self.apply(event);
    }

    /// Something was done about what the detector found.
    pub(crate) fn answered(&mut self, detector: &DetectorKey, action: LoopAnswer, unheeded: bool) {
        self.handed_off = action == LoopAnswer::HandOff;
        self.told = matches!(action, LoopAnswer::Redirect | LoopAnswer::Demand) && !unheeded;
        if !unheeded {
            self.detectors.start_over_after(detector);
        }
    }

    fn finished(&mut self, finished: &IterationFinished) {
        self.remember(finished.is_evidence());
    }

    /// The iteration that was looked at last is over.
    pub(crate) fn remember(&mut self, is_evidence: bool) {
        let Some(ended) = self.ended.take() else { return };
        if let Some(changed) = ended.changed {
            self.changed = changed;
        }
        let Some(seen) = ended.seen.filter(|_| is_evidence) else { return };
        self.detectors.learn(&seen.sketch);
        if std::mem::take(&mut self.handed_off) {
            self.detectors.start_over();
        }
        if self.past.len() == REMEMBERED {
            self.past.pop_front();
        }
        self.past.push_back(seen);
    }

    /// A crash is no fresh start, a person who goes on is.
    fn resumed(&mut self, resumed: &RunResumed) {
        let before = self.plan.clone();
        resumed.settings.loop_detection.apply(&mut self.plan);
        if self.plan != before {
            // What was seen is seen again through other eyes.
            self.detectors = Detectors::of(&self.plan);
            for past in &self.past {
                self.detectors.learn(&past.sketch);
            }
            self.start_over();
        }
        if std::mem::take(&mut self.stopped) {
            self.start_over();
        }
    }

    /// A person has had a word: what was before is dealt with.
    pub(crate) fn start_over(&mut self) {
        self.detectors.start_over();
        (self.handed_off, self.told) = (false, false);
    }
}

/// Whether an attempt changed more than notes. An agent that is stuck writes those, too.
fn is_work(exited: &AgentExited) -> bool {
    let is_note = |path: &String| {
        let (path, note) = (path.to_lowercase(), [".md", ".txt", ".log", ".json", ".jsonl"]);
        note.iter().any(|ending| path.ends_with(ending))
    };
    exited.files.as_ref().is_some_and(|files| files.count > 0 && !files.paths.iter().all(is_note))
}

/// What counts is the detector that decides; those that only support it do not raise the score by themselves.
pub(crate) fn score(findings: &[Finding]) -> f64 {
    let deciding = findings.iter().filter(|finding| finding.role.decides());
    let score = deciding.map(|finding| finding.score).fold(0.0, f64::max);
    (score * 100.0).round() / 100.0
}
