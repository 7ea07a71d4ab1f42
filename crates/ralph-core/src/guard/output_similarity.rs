//! Stops a run whose outputs repeat almost line by line.

use super::loop_detected::message;
use super::{Guard, GuardDef, Reading};
use crate::plan::Use;
use crate::state::RunState;
use crate::stop::{StopDef, StopKind};
use crate::time::Timestamp;

/// The detector whose alarms end a run for this reason.
pub(crate) const DETECTOR: &str = "similarity";

pub(crate) const DEF: GuardDef = GuardDef {
    stop: StopDef {
        key: "output_similarity",
        kind: StopKind::Failed,
        summary: "The same, where the outputs are also alike line by line; or by that alone, if asked for.",
    },
    setting: "event_loop.similarity_threshold",
    asked: &[],
    build: |plan| {
        let looks = plan.stuck.enabled && plan.stuck.similarity != Use::Off && !plan.once;
        looks.then(|| Box::new(OutputSimilarity) as Box<dyn Guard>)
    },
};

struct OutputSimilarity;

impl Guard for OutputSimilarity {
    fn reading(&self, state: &RunState, _now: Timestamp) -> Reading {
        let ending = state.stuck.ending().and_then(|last| last.stops_as.as_ref());
        Reading::count(u32::from(ending.is_some_and(|key| key.is(&[DEF.stop]))), 1)
    }

    fn message(&self, state: &RunState) -> String {
        message(state)
    }
}
