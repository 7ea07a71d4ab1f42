//! A recorded run through the detectors once more, with other settings: where would each have called it stuck?

use ralph_core::escalation::{Escalation, Step};
use ralph_core::event::{AgentExited, Event, Finding, RunResumed, StuckEvidence};
use ralph_core::ids::{HatKey, IterationNumber};
use ralph_core::plan::StuckPlan;

use crate::DETECTORS_VERSION;
use crate::detector::Sketch;
use crate::watch::{self, Says, Watch};

#[derive(Debug)]
pub struct Rehearsal {
    watch: Watch,
    plan: StuckPlan,
    escalation: Escalation,
    /// What was found in the last attempt that has ended, and whether it only tells of an outage.
    found: Option<(Says, Vec<Finding>)>,
    stopped: bool,
}

/// What the detectors say after an iteration.
#[derive(Debug, Clone)]
pub struct Looked {
    pub iteration: IterationNumber,
    pub hat: Option<HatKey>,
    /// Nothing: the iteration is no evidence, for it failed, waited, or no sketch of it was kept.
    pub findings: Option<Vec<Finding>>,
    /// What a run with these settings would do about it, without hats that want to know.
    pub answer: Option<Step>,
}

impl Rehearsal {
    pub fn new(plan: &StuckPlan) -> Self {
        Self {
            watch: Watch::new(plan),
            plan: plan.clone(),
            escalation: Escalation::default(),
            found: None,
            stopped: false,
        }
    }

    /// Takes the next event of the run. Answers when it ends an iteration. `sketch` is the one that was kept of an attempt.
    pub fn apply(
        &mut self,
        event: &Event,
        sketch: impl FnOnce(&AgentExited) -> Option<Box<Sketch>>,
    ) -> Option<Looked> {
        match event {
            Event::AgentExited(exited) => {
                let sketch = sketch(exited);
                self.found = self.watch.look_closely(exited, sketch);
            }
            Event::RunStopped(_) => self.stopped = true,
            Event::RunResumed(resumed) => self.resumed(resumed),
            Event::GuidanceAdded(_) if !self.stopped => self.start_over(),
            Event::IterationStarted(_) | Event::IterationInterrupted(_) => {
                self.found = None;
                self.watch.apply(event);
            }
            Event::IterationFinished(finished) => {
                self.watch.apply(event);
                let found = self.found.take().filter(|_| finished.is_evidence());
                let answer = found.as_ref().and_then(|(says, findings)| {
                    let evidence = (!says.outage).then(|| StuckEvidence {
                        version: DETECTORS_VERSION,
                        score: watch::score(findings),
                        findings: findings.clone(),
                        ..StuckEvidence::default()
                    })?;
                    self.escalation.step(&self.plan, finished.iteration, &evidence)
                });
                // As in a run: something is done about an alarm, and counting begins anew.
                if let Some(step) = &answer {
                    self.watch.answered(&step.finding.detector, step.action, !step.finding.alarm);
                }
                let (iteration, hat) = (finished.iteration, finished.hat.clone());
                return Some(Looked {
                    iteration,
                    hat,
                    findings: found.map(|(_, findings)| findings),
                    answer,
                });
            }
            // What was found and decided when the run was at work is not asked.
            _ => {}
        }
        None
    }

    /// As in a run: a crash is no fresh start, a person who goes on is.
    fn resumed(&mut self, resumed: &RunResumed) {
        if std::mem::take(&mut self.stopped) || !resumed.settings.loop_detection.is_empty() {
            self.start_over();
        }
    }

    fn start_over(&mut self) {
        self.watch.start_over();
        self.escalation.start_over();
    }
}
