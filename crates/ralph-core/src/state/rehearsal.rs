//! A recorded run through the detectors once more, with other settings: where would each have called it stuck?

use super::Stuck;
use crate::detector::Found;
use crate::event::{AgentExited, Event, IterationFinished, RunResumed};
use crate::ids::IterationNumber;
use crate::plan::StuckPlan;

#[derive(Debug, Clone)]
pub struct Rehearsal {
    stuck: Stuck,
    exited: Option<Box<AgentExited>>,
    stopped: bool,
}

/// What the detectors say after an iteration.
#[derive(Debug, Clone)]
pub struct Rehearsed {
    pub iteration: IterationNumber,
    pub hat: Option<String>,
    /// Nothing: the iteration is no evidence, for it failed, waited, or nobody drew a sketch of it.
    pub found: Option<Vec<Found>>,
}

impl Rehearsal {
    pub fn new(plan: &StuckPlan) -> Self {
        Self { stuck: Stuck::new(plan), exited: None, stopped: false }
    }

    /// Takes the next event of the run. Answers when it ends an iteration.
    pub fn apply(&mut self, event: &Event) -> Option<Rehearsed> {
        match event {
            Event::AgentExited(exited) => self.exited = Some(exited.clone()),
            Event::IterationInterrupted(_) => self.exited = None,
            Event::RunStopped(_) => self.stopped = true,
            Event::RunResumed(resumed) => self.resumed(resumed),
            Event::GuidanceAdded(_) if !self.stopped => self.stuck.start_over(),
            Event::IterationFinished(finished) => return Some(self.finished(finished)),
            _ => {}
        }
        None
    }

    /// As the state of a run does it: a crash is no fresh start, a person who goes on is.
    fn resumed(&mut self, resumed: &RunResumed) {
        if std::mem::take(&mut self.stopped) || resumed.stuck.is_some() {
            self.stuck.start_over();
        }
    }

    fn finished(&mut self, finished: &IterationFinished) -> Rehearsed {
        let exited = self.exited.take();
        let found = exited.as_ref().and_then(|exited| self.stuck.judge(finished, exited));
        let found = found.map(|(_, found)| found);
        self.stuck.finished(finished, exited.as_deref());
        // As in a run: something is done about an alarm, and counting begins anew.
        if self.stuck.open.iter().any(|open| open.decides()) {
            self.stuck.start_over();
        }
        Rehearsed { iteration: finished.iteration, hat: finished.hat.clone(), found }
    }
}
