//! Stops a run that mainly does or runs into the same several times in a row, where that was asked for.

use super::loop_detected::message;
use super::{Guard, GuardDef, Reading};
use crate::plan::Use;
use crate::state::RunState;
use crate::stop::{StopDef, StopKind};
use crate::time::Timestamp;

/// The detector whose alarms end a run for this reason.
pub(crate) const DETECTOR: &str = "signature";

pub(crate) const DEF: GuardDef = GuardDef {
    stop: StopDef {
        key: "repeated_signature",
        kind: StopKind::Failed,
        summary: "Stop when the same error, failing tests, edit or search comes several times in a row, if asked for.",
    },
    setting: "loop_detection.signature_threshold",
    asked: &[],
    build: |plan| {
        let looks = plan.stuck.enabled && plan.stuck.signature == Use::Stop && !plan.once;
        looks.then(|| Box::new(RepeatedSignature) as Box<dyn Guard>)
    },
};

struct RepeatedSignature;

impl Guard for RepeatedSignature {
    fn reading(&self, state: &RunState, _now: Timestamp) -> Reading {
        let ending = state.stuck.ending().and_then(|last| last.stops_as.as_ref());
        Reading::count(u32::from(ending.is_some_and(|key| key.is(&[DEF.stop]))), 1)
    }

    fn message(&self, state: &RunState) -> String {
        message(state)
    }
}
