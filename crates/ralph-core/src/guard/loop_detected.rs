//! Stops a run that goes in circles and does not get out of them.

use super::{Guard, GuardDef, Reading, output_similarity, repeated_signature};
use crate::event::Finding;
use crate::plan::{StuckAction, StuckPlan, Use};
use crate::state::RunState;
use crate::stop::{StopDef, StopKind};
use crate::time::Timestamp;

pub(crate) const DEF: GuardDef = GuardDef {
    stop: StopDef {
        key: "loop_detected",
        kind: StopKind::Failed,
        summary: "Stop when iterations bring nothing new, and telling the agent so did not help.",
    },
    setting: "loop_detection.redirects",
    asked: &[],
    build: |plan| {
        let stops = !matches!(plan.stuck.action, StuckAction::Warn | StuckAction::Ask);
        let guard = || Box::new(LoopDetected { alarms: alarms(&plan.stuck) }) as Box<dyn Guard>;
        (plan.stuck.enabled && stops && !plan.once).then(guard)
    },
};

struct LoopDetected {
    alarms: u32,
}

/// Alarms that end the run.
fn alarms(plan: &StuckPlan) -> u32 {
    match plan.action {
        StuckAction::Redirect => plan.redirects.saturating_add(1),
        _ => 1,
    }
}

impl Guard for LoopDetected {
    fn reading(&self, state: &RunState, _now: Timestamp) -> Reading {
        let counted = state.stuck.counted();
        // A circle in which files are new each time may be told more often.
        let left = u32::from(state.stuck.ending().is_none());
        Reading::count(counted, self.alarms.max(counted.saturating_add(left)))
    }

    fn message(&self, state: &RunState) -> String {
        message(state)
    }
}

/// The reason of a stop that this finding decides. A detector that ends runs by itself has its own. `alike`: outputs are alike, too.
pub(crate) fn reason(finding: &Finding, alike: bool) -> StopDef {
    match (finding.role, finding.detector.as_str()) {
        (Use::Stop, output_similarity::DETECTOR) => output_similarity::DEF.stop,
        (Use::Stop, repeated_signature::DETECTOR) => repeated_signature::DEF.stop,
        (Use::Decide, _) if alike => output_similarity::DEF.stop,
        _ => DEF.stop,
    }
}

/// The sentence of a stop that an alarm has decided.
pub(crate) fn message(state: &RunState) -> String {
    let Some(last) = &state.stuck.last else { return "the run goes in circles".to_owned() };
    let told = match state.stuck.escalation.redirected {
        0 => "",
        1 => ", after it was told to take another way",
        _ => ", after it was told several times to take another way",
    };
    let alike = last.similarity.map(|ratio| format!("; outputs are {:.0}% alike", 100.0 * ratio));
    format!("{}{told}{} (detector {})", last.pattern, alike.unwrap_or_default(), last.detector)
}
