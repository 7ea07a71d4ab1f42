//! A recorded run through the detectors once more, with other settings: where would each have called it stuck?

use ralph_core::event::{AgentExited, Event, Finding, RunResumed};
use ralph_core::ids::{HatKey, IterationNumber};
use ralph_core::plan::StuckPlan;

use crate::detector::Sketch;
use crate::watch::{Says, Watch};

#[derive(Debug)]
pub struct Rehearsal {
    watch: Watch,
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
}

impl Rehearsal {
    pub fn new(plan: &StuckPlan) -> Self {
        Self { watch: Watch::new(plan), found: None, stopped: false }
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
            Event::GuidanceAdded(_) if !self.stopped => self.watch.start_over(),
            Event::IterationStarted(_) | Event::IterationInterrupted(_) => {
                self.found = None;
                self.watch.apply(event);
            }
            Event::IterationFinished(finished) => {
                self.watch.apply(event);
                let found = self.found.take().filter(|_| finished.is_evidence());
                let decides = |finding: &Finding| finding.alarm && finding.role.decides();
                // As in a run: something is done about an alarm, and counting begins anew.
                if found.as_ref().is_some_and(|(says, found)| !says.outage && found.iter().any(decides)) {
                    self.watch.start_over();
                }
                let (iteration, hat) = (finished.iteration, finished.hat.clone());
                return Some(Looked { iteration, hat, findings: found.map(|(_, findings)| findings) });
            }
            // What was found and decided when the run was at work is not asked.
            _ => {}
        }
        None
    }

    /// As in a run: a crash is no fresh start, a person who goes on is.
    fn resumed(&mut self, resumed: &RunResumed) {
        if std::mem::take(&mut self.stopped) || !resumed.settings.loop_detection.is_empty() {
            self.watch.start_over();
        }
    }
}
