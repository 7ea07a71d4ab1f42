//! Evidence that a run is stuck. One file per detector, one line in [`DETECTORS`].
//!
//! A detector sees sketches of iterations and nothing else. What it knows it has from events, so a resumed run has the same
//! evidence as one that was never interrupted. What is done about an alarm is not its business: see `engine/stuck.rs`.

mod cases;
mod hash;
mod ignore;
mod lexicon;
mod lines;
pub mod no_progress;
mod sample;
mod signature;
mod similarity;
mod sketch;
mod text;

use std::any::Any;
use std::fmt::{self, Debug};

pub use cases::{Case, CaseIteration, Prediction};
pub use ignore::Ignore;
pub use lines::{Lines, Measure};
pub use no_progress::NoProgress;
pub use signature::{SignatureDetector, signature};
pub use similarity::{Match, OutputSimilarityDetector};
pub use sketch::{Sketch, Sketcher, ToolUse};

use crate::plan::{StuckPlan, Use};

/// The one that decides comes first.
pub const DETECTORS: &[DetectorDef] = &[no_progress::DEF, similarity::DEF, signature::DEF];

pub struct DetectorDef {
    /// Its name in events and on the command line.
    pub key: &'static str,
    pub summary: &'static str,
    /// What an alarm of it is good for under this plan.
    pub is_for: fn(&StuckPlan) -> Use,
    pub build: fn(&StuckPlan) -> Box<dyn Detector>,
}

impl Debug for DetectorDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key)
    }
}

impl DetectorDef {
    pub fn find(key: &str) -> Option<&'static DetectorDef> {
        DETECTORS.iter().find(|def| def.key == key)
    }
}

/// Looks at one iteration after the other.
pub trait Detector: AnyDetector + Debug + Send + Sync {
    /// What this iteration would add to the suspicion. Nothing is remembered.
    fn judge(&self, now: &Sketch) -> Finding;

    /// Remembers an iteration.
    fn learn(&mut self, now: &Sketch);

    /// Counts anew from here: something has been done about what was found.
    fn start_over(&mut self);
}

/// What one more iteration adds to the suspicion.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Finding {
    /// From 0, all new, to 1, an alarm.
    pub score: f64,
    pub alarm: bool,
    /// The length of the circle, in iterations.
    pub period: usize,
    /// How many of the last iterations it is about, this one included.
    pub iterations: usize,
    /// What it looks like, in a sentence without a full stop. Empty: like nothing.
    pub pattern: String,
    /// How much alike two outputs are, from 0 to 1, where that was looked at.
    pub ratio: Option<f64>,
    /// How many iterations in a row did nothing but tell of a service that does not work.
    pub outages: u32,
}

/// The detectors of a run that are switched on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Detectors(Vec<On>);

/// One of them, and what its alarms are good for.
#[derive(Debug)]
struct On {
    def: &'static DetectorDef,
    is_for: Use,
    detector: Box<dyn Detector>,
}

/// What one of them found.
#[derive(Debug, Clone)]
pub struct Found {
    pub def: &'static DetectorDef,
    pub is_for: Use,
    pub finding: Finding,
}

impl Detectors {
    pub fn of(plan: &StuckPlan) -> Self {
        let on = |def: &'static DetectorDef| {
            let is_for = (def.is_for)(plan);
            let wanted = plan.enabled && is_for != Use::Off;
            wanted.then(|| On { def, is_for, detector: (def.build)(plan) })
        };
        Self(DETECTORS.iter().filter_map(on).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn judge(&self, now: &Sketch) -> Vec<Found> {
        let found = |on: &On| Found { def: on.def, is_for: on.is_for, finding: on.detector.judge(now) };
        self.0.iter().map(found).collect()
    }

    pub fn learn(&mut self, now: &Sketch) {
        self.0.iter_mut().for_each(|on| on.detector.learn(now));
    }

    pub fn start_over(&mut self) {
        self.0.iter_mut().for_each(|on| on.detector.start_over());
    }
}

impl Clone for On {
    fn clone(&self) -> Self {
        Self { def: self.def, is_for: self.is_for, detector: self.detector.boxed() }
    }
}

impl PartialEq for On {
    fn eq(&self, other: &Self) -> bool {
        let same_kind = (self.def.key, self.is_for) == (other.def.key, other.is_for);
        same_kind && self.detector.is_same(other.detector.as_any())
    }
}

/// What a boxed detector has to be able to do to be part of the state of a run. Nobody implements it by hand.
pub trait AnyDetector {
    fn boxed(&self) -> Box<dyn Detector>;
    fn as_any(&self) -> &dyn Any;
    fn is_same(&self, other: &dyn Any) -> bool;
}

impl<T: Detector + Clone + PartialEq + 'static> AnyDetector for T {
    fn boxed(&self) -> Box<dyn Detector> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn is_same(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<T>() == Some(self)
    }
}
