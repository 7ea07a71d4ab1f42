//! What is done about a run that goes in circles.

use super::Turn;
use super::between::Flow;
use crate::escalation::{self, Doubt};
use crate::event::{Circle, Event, Finding, LoopAnswer, LoopDetected, LoopOption, LoopSuspected};
use crate::guard::{loop_detected, output_similarity, repeated_signature};
use crate::hat::Topic;
use crate::ids::{IterationNumber, RunId};
use crate::plan::{StuckAction, Use};
use crate::state::UndecidedAlarm;
use crate::stop::StopKey;

/// Iterations that a report names at most.
const REPORTED: usize = 12;

impl Turn<'_> {
    /// Tells what was found, decides what to do about it, and stops if nothing has helped.
    pub(super) fn heed_stuck(&mut self) -> Flow {
        let alarms = self.state().stuck.undecided.clone();
        for UndecidedAlarm { finding, told } in &alarms {
            if !told && !finding.role.decides() {
                self.emit(Event::LoopSuspected(LoopSuspected {
                    iteration: self.last_iteration(),
                    detector: finding.detector.clone(),
                    evidence: finding.pattern.clone(),
                    ratio: finding.ratio,
                }));
            }
        }
        let findings = alarms.iter().map(|alarm| &alarm.finding);
        if let Some(finding) = escalation::deciding(findings.clone()) {
            // Outputs that are alike support what is decided.
            let similarity = findings.clone().find_map(|other| other.ratio);
            let detected = self.report_loop(finding, similarity);
            self.emit(Event::LoopDetected(Box::new(detected)));
        } else if let Some(finding) = self.state().stuck.unheeded.clone() {
            let similarity = findings.clone().find_map(|other| other.ratio);
            let detected = self.report_unheeded(&finding, similarity);
            self.emit(Event::LoopDetected(Box::new(detected)));
        }
        let stops_as = self.state().stuck.ending().and_then(|last| last.stops_as.as_ref());
        let reason = stops_as.and_then(|key| {
            let reasons =
                [output_similarity::DEF.stop, repeated_signature::DEF.stop, loop_detected::DEF.stop];
            reasons.into_iter().find(|def| key.is(&[*def]))
        });
        let reason = reason.map(|def| def.because(loop_detected::message(self.state())));
        self.stop_if(reason)
    }

    fn last_iteration(&self) -> IterationNumber {
        IterationNumber(self.state().iterations_finished)
    }

    /// A hat that wants to deal with circles gets the first one.
    fn answer(&self, role: Use, doubt: Doubt) -> LoopAnswer {
        let (plan, escalation) = (&self.state().plan.stuck, &self.state().stuck.escalation);
        let hats = role == Use::Decide && plan.action != StuckAction::Warn && escalation.alarms == 0;
        match hats && self.hat_wants_loops() {
            true => LoopAnswer::HandOff,
            false => escalation.answer(plan, role, doubt),
        }
    }

    fn hat_wants_loops(&self) -> bool {
        let Some(bus) = &self.state().bus else { return false };
        let hats = self.engine.routes.subscribers(&Topic::loop_detected());
        hats.into_iter().filter_map(|n| bus.hats().get(n)).any(|hat| !hat.exhausted)
    }

    /// Hats that go in circles are ended by their own limit, with what it says about that.
    fn is_bounded(&self, hat: Option<&str>) -> bool {
        self.hat_plan(hat).is_some_and(|hat| hat.max_activations.is_some())
    }

    fn report_loop(&self, finding: &Finding, similarity: Option<f64>) -> LoopDetected {
        let (state, plan) = (self.state(), &self.state().plan.stuck);
        let circle = finding.circle.as_deref().cloned().unwrap_or_default();
        let bounded = circle.iterations.iter().any(|one| self.is_bounded(one.hat.as_deref()));
        let doubt = if bounded { Doubt::Bounded } else { circle.doubt() };
        let Circle { iterations, works: _, signature, repeated, unchanged } = circle;
        let action = self.answer(finding.role, doubt);
        let escalation = &state.stuck.escalation;
        let reason = match (escalation.is_old(), similarity) {
            (true, Some(_)) => output_similarity::DEF.stop,
            (true, None) => loop_detected::DEF.stop,
            (false, _) => loop_detected::reason(finding, similarity.is_some()),
        };
        LoopDetected {
            iteration: self.last_iteration(),
            detector: finding.detector.clone(),
            action,
            unheeded: false,
            told_after: state.stuck.told_after(),
            stops_as: (action == LoopAnswer::Stop).then(|| StopKey::from(&reason)),
            alarm: escalation.alarms.saturating_add(1),
            of: escalation.ends_at(plan, finding.role, doubt),
            pattern: finding.pattern.clone(),
            period: finding.period,
            similarity,
            signature,
            repeated,
            iterations,
            unchanged,
            options: options(&state.run, action),
        }
    }

    /// Nothing new came of what the agent was told: the last report, with what came behind it.
    fn report_unheeded(&self, finding: &Finding, similarity: Option<f64>) -> LoopDetected {
        let report = self.report_loop(finding, similarity);
        let Some(last) = &self.state().stuck.last else { return report };
        let mut iterations = last.iterations.clone();
        let known = iterations.iter().map(|one| one.iteration).max();
        iterations.extend(report.iterations.into_iter().filter(|one| Some(one.iteration) > known));
        let skipped = iterations.len().saturating_sub(REPORTED);
        LoopDetected {
            action: LoopAnswer::Demand,
            unheeded: true,
            stops_as: None,
            alarm: last.alarm,
            of: last.of,
            iterations: iterations.split_off(skipped),
            options: options(&self.state().run, LoopAnswer::Demand),
            ..report
        }
    }
}

/// What a person can do now, with the command to type.
fn options(run: &RunId, action: LoopAnswer) -> Vec<LoopOption> {
    let option = |what: &str, command: String| LoopOption { what: what.to_owned(), command };
    let say = option("say what to try instead", format!("ralph say 'TRY THIS' --run {run}"));
    let review = option("review what it did", format!("ralph logs {run}"));
    let replay = option("see what the detectors saw", format!("ralph detect {run}"));
    match action {
        LoopAnswer::Redirect | LoopAnswer::Demand | LoopAnswer::HandOff | LoopAnswer::Warn => {
            vec![say, review, option("cancel", format!("ralph stop {run}"))]
        }
        LoopAnswer::Ask => vec![
            option("continue with a different approach", format!("ralph unpause {run}")),
            say,
            review,
            option("cancel", format!("ralph stop {run}")),
        ],
        LoopAnswer::Stop => {
            vec![say, option("then go on", format!("ralph resume {run}")), review, replay]
        }
    }
}
