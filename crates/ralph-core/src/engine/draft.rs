//! What the next prompt carries beside the task.

use std::time::Duration;

use super::Turn;
use super::proof::gate_failure;
use crate::guard::{GuardDef, Reading, Unit};
use crate::marker::Misheard;
use crate::memory::{Claim, FailedGate, Feedback, IterationFile};
use crate::plan::ACCEPTANCE_CHECK;
use crate::prompt::Draft;

/// From here on the agent is told that a limit is near.
const NEAR: f64 = 0.8;

impl Turn<'_> {
    pub(super) fn draft(&self) -> Draft {
        let state = self.state();
        let remembers = state.plan.remembers();
        Draft {
            iteration: Some(state.next_iteration()),
            guidance: state.guidance.clone(),
            context_too_long: state.patience.context_too_long,
            memory: remembers.then(|| state.memory.clone()),
            feedback: self.feedback(),
            file: remembers.then(|| self.iteration_file()),
            hat: self.hat_draft(),
        }
    }

    /// The same for the files alone, when the run has stopped.
    pub(super) fn last_draft(&self) -> Draft {
        let mut draft = self.draft();
        if let (Some(file), Some(stopped)) = (&mut draft.file, &self.state().stopped) {
            (file.stop_reason, file.stop_message) =
                (Some(stopped.reason.clone()), Some(stopped.message.clone()));
            file.iteration = crate::ids::IterationNumber(self.state().iterations_finished);
        }
        draft
    }

    /// What a gate said is told whatever is remembered: somebody asked for the gate.
    fn feedback(&self) -> Feedback {
        let state = self.state();
        let last_finished = state.iterations_finished;
        let failing = state.failing_gates.iter().filter(|result| !self.is_hidden(result));
        let failed_gates = failing.map(|result| {
            let known = state.plan.gates.iter().find(|gate| gate.name == result.name);
            FailedGate {
                name: result.name.clone(),
                command: known.map(|gate| gate.run.join(" ")).unwrap_or_default(),
                exit_code: result.exit_code,
                timed_out: result.timed_out,
                required: known.is_none_or(|gate| gate.required),
                tail: result.tail.clone(),
                ran_after: Some(result.iteration).filter(|after| after.0 < last_finished),
            }
        });
        let remembers = state.plan.remembers();
        let last = state.memory.last().filter(|_| remembers);
        let failed = last.filter(|last| last.outcome.is_failure());
        let words =
            |heard: &Misheard| format!("You wrote \"{}\". It was not heard: {}", heard.text, heard.cure());
        let misheard: Vec<String> =
            state.memory.last().map(|last| last.misheard.iter().map(words).collect()).unwrap_or_default();
        let near = if remembers { self.limits_near() } else { Vec::new() };
        Feedback {
            guidance: Vec::new(),
            rejected_claim: state.proof.rejected.as_ref().map(|claim| claim.why.clone()),
            failed_gates: failed_gates.collect(),
            stuck: state.stuck.last.clone().filter(|_| state.stuck.untold),
            failed_tools: last.map(|last| last.tools.failures.clone()).unwrap_or_default(),
            failure: failed.and_then(|last| last.error.clone()),
            warnings: self
                .protection_warnings()
                .into_iter()
                .chain(self.tampering_warnings())
                .chain(misheard)
                .chain(near)
                .collect(),
        }
    }

    fn limits_near(&self) -> Vec<String> {
        let readings = self.engine.guards.readings(&self.engine.state, self.now);
        let near = readings.filter(|(_, reading)| reading.fraction() >= NEAR && !reading.is_spent());
        near.map(|(def, reading)| near_words(def, &reading)).collect()
    }

    fn iteration_file(&self) -> IterationFile {
        let state = self.state();
        let last = state.memory.last();
        let failed = last.map(|last| last.tools.failures.as_slice()).unwrap_or_default();
        let failed = failed.iter().map(|failed| format!("{} {}", failed.what, failed.how()));
        let errors = last.and_then(|last| last.error.clone()).into_iter().chain(failed);
        let gates = state.failing_gates.iter().map(|result| match self.is_hidden(result) {
            true => format!("{ACCEPTANCE_CHECK}: it did not pass"),
            false => format!("gate {}: {}", result.name, gate_failure(result)),
        });
        IterationFile {
            run_id: state.run.clone(),
            started_at: state.started_at,
            updated_at: self.now,
            iteration: state.next_iteration(),
            stop_reason: None,
            stop_message: None,
            completion_promise_matched: last.is_some_and(|last| last.claim != Claim::None),
            errors: errors.chain(gates).collect(),
        }
    }
}

/// `8 of 10 iterations are used up; the run then stops (max_iterations)`
fn near_words(def: &GuardDef, reading: &Reading) -> String {
    let amount = |value: f64| match reading.unit {
        Unit::Count => format!("{value:.0}"),
        Unit::Dollars => format!("${value:.2}"),
        Unit::Seconds => crate::duration::format(Duration::from_secs(value as u64)),
    };
    let (used, limit) = (amount(reading.used), amount(reading.limit));
    format!("{used} of {limit} is used up of what the run may use before it stops ({})", def.stop.key)
}
