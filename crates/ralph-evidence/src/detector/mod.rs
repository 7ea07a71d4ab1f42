//! Evidence that a run is stuck. One file per detector, one line in [`DETECTORS`].
//!
//! A detector sees sketches of iterations and nothing else. What is done about an alarm is not its business: the engine
//! decides on what was found, which is recorded.

mod cases;
mod hash;
mod ignore;
mod lexicon;
mod lines;
pub mod model;
pub mod no_progress;
mod sample;
#[cfg(test)]
mod sample_detector;
mod signature;
mod similarity;
mod sketch;
mod text;

use std::fmt::{self, Debug};

pub use cases::{Case, CaseIteration, Prediction};
pub use ignore::Ignore;
pub use lines::{Lines, Measure};
pub use no_progress::NoProgress;
pub use signature::{SignatureDetector, signature};
pub use similarity::{Match, OutputSimilarityDetector};
pub use sketch::{Sketch, Sketcher, ToolUse};

use ralph_core::event::{DetectorKey, LoopKind};
use ralph_core::plan::{StuckPlan, Use};

/// The one that decides comes first.
pub const DETECTORS: &[DetectorDef] = &[
    no_progress::DEF,
    similarity::DEF,
    signature::DEF,
    #[cfg(test)]
    sample_detector::DEF,
];

pub struct DetectorDef {
    /// Its name in events and on the command line.
    pub key: DetectorKey,
    pub summary: &'static str,
    /// What an alarm of it is good for under this plan.
    pub role: fn(&StuckPlan) -> Use,
    pub build: fn(&StuckPlan) -> Box<dyn Detector>,
}

impl Debug for DetectorDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key.as_str())
    }
}

impl DetectorDef {
    pub fn find(key: &str) -> Option<&'static DetectorDef> {
        DETECTORS.iter().find(|def| def.key.as_str() == key)
    }
}

/// Looks at one iteration after the other.
pub trait Detector: Debug + Send {
    /// What this iteration adds to the suspicion. It is not remembered: it may turn out to be no evidence.
    fn look(&mut self, now: &Sketch) -> Suspicion;

    /// Remembers the iteration that was looked at last.
    fn learn(&mut self, now: &Sketch);

    /// Counts anew from here: something has been done about what was found.
    fn start_over(&mut self);
}

/// What one more iteration adds to the suspicion.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Suspicion {
    /// From 0, all new, to 1: of the detector that decides how probable it is that the iteration brings nothing.
    pub score: f64,
    pub alarm: bool,
    /// The length of the circle, in iterations.
    pub period: usize,
    /// How many of the last iterations it is about, this one included.
    pub iterations: usize,
    /// What it looks like, in a sentence without a full stop. Empty: like nothing.
    pub pattern: String,
    /// What it is, for those who decide.
    pub kind: Option<LoopKind>,
    /// What weighed most for it, in words, the heaviest first.
    pub reasons: Vec<String>,
    /// How much alike two outputs are, from 0 to 1, where that was looked at.
    pub ratio: Option<f64>,
    /// The iteration did nothing but tell of a service that does not work.
    pub outage: bool,
    /// It says that there is nothing to do.
    pub nothing: bool,
}

/// The detectors of a run that are switched on.
#[derive(Debug, Default)]
pub(crate) struct Detectors(Vec<ActiveDetector>);

/// A detector that is switched on, and what its alarms are good for.
#[derive(Debug)]
struct ActiveDetector {
    def: &'static DetectorDef,
    role: Use,
    detector: Box<dyn Detector>,
}

impl Detectors {
    pub(crate) fn of(plan: &StuckPlan) -> Self {
        let active = |def: &'static DetectorDef| {
            let role = (def.role)(plan);
            let wanted = plan.enabled && role != Use::Off;
            wanted.then(|| ActiveDetector { def, role, detector: (def.build)(plan) })
        };
        Self(DETECTORS.iter().filter_map(active).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn look(&mut self, now: &Sketch) -> Vec<(DetectorKey, Use, Suspicion)> {
        self.0.iter_mut().map(|one| (one.def.key.clone(), one.role, one.detector.look(now))).collect()
    }

    pub(crate) fn learn(&mut self, now: &Sketch) {
        self.0.iter_mut().for_each(|one| one.detector.learn(now));
    }

    pub(crate) fn start_over(&mut self) {
        self.0.iter_mut().for_each(|one| one.detector.start_over());
    }

    /// The same after an alarm of one of them. One that decides by itself counts on: it does what its settings say, whatever the others
    /// find.
    pub(crate) fn start_over_after(&mut self, alarm: &DetectorKey) {
        let by_itself = |one: &ActiveDetector| matches!(one.role, Use::Stop | Use::Ask);
        let others = self.0.iter_mut().filter(|one| one.def.key == *alarm || !by_itself(one));
        others.for_each(|one| one.detector.start_over());
    }
}
