//! What is done about a run that goes in circles.

use super::Turn;
use super::between::Flow;
use crate::event::{Circle, Event, Finding, LoopAnswer, LoopDetected, LoopOption, LoopSuspected};
use crate::guard::{loop_detected, output_similarity};
use crate::hat::Topic;
use crate::ids::{IterationNumber, RunId};
use crate::plan::{StuckAction, Use};
use crate::state::UndecidedAlarm;
use crate::stop::StopKey;

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
        // A detector that stops the run by itself comes first.
        let deciding = findings.clone().filter(|finding| finding.role.decides());
        if let Some(finding) = deciding.max_by_key(|finding| finding.role == Use::Stop) {
            // Outputs that are alike support what is decided.
            let similarity = findings.clone().find_map(|other| other.ratio);
            let detected = self.report_loop(finding, similarity);
            self.emit(Event::LoopDetected(Box::new(detected)));
        }
        let stops_as = self.state().stuck.ending().and_then(|last| last.stops_as.as_ref());
        let reason = stops_as.map(|key| match key.is(&[output_similarity::DEF.stop]) {
            true => output_similarity::DEF.stop.because(loop_detected::message(self.state())),
            false => loop_detected::DEF.stop.because(loop_detected::message(self.state())),
        });
        self.stop_if(reason)
    }

    fn last_iteration(&self) -> IterationNumber {
        IterationNumber(self.state().iterations_finished)
    }

    /// `spared`: the circle ends by itself, or may be none.
    fn answer(&self, role: Use, spared: bool) -> LoopAnswer {
        let (plan, stuck) = (&self.state().plan.stuck, &self.state().stuck);
        let first = stuck.alarms == 0;
        match plan.action {
            _ if role == Use::Stop => LoopAnswer::Stop,
            StuckAction::Warn => LoopAnswer::Warn,
            _ if first && self.hat_wants_loops() => LoopAnswer::HandOff,
            StuckAction::Ask => LoopAnswer::Ask,
            StuckAction::Redirect | StuckAction::Stop if spared => LoopAnswer::Redirect,
            StuckAction::Stop => LoopAnswer::Stop,
            StuckAction::Redirect if stuck.redirected < plan.redirects => LoopAnswer::Redirect,
            StuckAction::Redirect => LoopAnswer::Stop,
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
        let Circle { iterations, works, signature, repeated, unchanged } = circle;
        let spared = works || iterations.iter().any(|one| self.is_bounded(one.hat.as_deref()));
        let action = self.answer(finding.role, spared);
        let reason = if similarity.is_some() { output_similarity::DEF.stop } else { loop_detected::DEF.stop };
        let counts = plan.action == StuckAction::Redirect && finding.role == Use::Decide && !spared;
        let others = state.stuck.alarms.saturating_sub(state.stuck.redirected);
        LoopDetected {
            iteration: self.last_iteration(),
            detector: finding.detector.clone(),
            action,
            stops_as: (action == LoopAnswer::Stop).then(|| StopKey::from(&reason)),
            alarm: state.stuck.alarms.saturating_add(1),
            of: counts.then(|| plan.redirects.saturating_add(1).saturating_add(others)),
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
}

/// What a person can do now, with the command to type.
fn options(run: &RunId, action: LoopAnswer) -> Vec<LoopOption> {
    let option = |what: &str, command: String| LoopOption { what: what.to_owned(), command };
    let say = option("say what to try instead", format!("ralph say 'TRY THIS' --run {run}"));
    let review = option("review what it did", format!("ralph logs {run}"));
    let replay = option("see what the detectors saw", format!("ralph detect {run}"));
    match action {
        LoopAnswer::Redirect | LoopAnswer::HandOff | LoopAnswer::Warn => {
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
