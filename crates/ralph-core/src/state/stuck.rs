//! What is known about going in circles: what the detectors found in the last iteration, and what was done about it.

use crate::escalation::{self, Escalation, Seen};
use crate::event::{
    AgentExited, Finding, IterationFinished, LoopAnswer, LoopDetected, LoopSuspected, StuckEvidence,
};
use crate::ids::IterationNumber;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stuck {
    /// How stuck the run looks: 0 is not at all, 1 is an alarm.
    pub score: f64,
    /// The alarms of the last iteration that nothing has been decided about yet.
    pub undecided: Vec<UndecidedAlarm>,
    /// The agent was told to take another way, and the last iteration brought nothing new.
    pub unheeded: Option<Finding>,
    /// How far the run has come on the way from the first alarm to the stop.
    pub escalation: Escalation,
    /// A hat is to deal with the circle; what it does about it is no evidence.
    handed_off: bool,
    /// The last alarm, until the run has recovered.
    pub last: Option<Box<LoopDetected>>,
    /// The next prompt has to tell of it.
    pub untold: bool,
    /// Iterations in a row that did nothing but tell of a service that does not work: to be waited for, not to be stopped.
    pub outages: u32,
    /// Iterations in a row that said in their own words that there is nothing to do. Alarms do not start it over.
    pub nothings: u32,
    /// A person was asked what to do about it, and has not answered.
    pub asking: bool,
    /// The last alarm ends the run, for the reason that it names.
    pub ends: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct UndecidedAlarm {
    pub finding: Finding,
    /// It is recorded as a suspicion.
    pub told: bool,
}

impl Stuck {
    /// How stuck the run looks after an iteration. Nothing where nobody looks, or where it says nothing about that.
    pub fn score_after(finished: &IterationFinished, exited: &AgentExited) -> Option<f64> {
        exited.evidence.as_ref().filter(|_| finished.is_evidence()).map(|evidence| evidence.score)
    }

    pub(super) fn finished(&mut self, finished: &IterationFinished, exited: Option<&AgentExited>) {
        self.undecided.clear();
        self.unheeded = None;
        let evidence = exited.and_then(|exited| exited.evidence.as_ref());
        let evidence = evidence.filter(|_| finished.is_evidence());
        self.nothings = match evidence.is_some_and(|evidence| evidence.nothing) {
            true => self.nothings.saturating_add(1),
            false => 0,
        };
        match evidence {
            // It says nothing about the work; what was counted before still stands.
            Some(evidence) if evidence.outage => self.outages = self.outages.saturating_add(1),
            Some(evidence) => self.take(evidence),
            None => self.outages = 0,
        }
    }

    fn take(&mut self, evidence: &StuckEvidence) {
        (self.outages, self.untold) = (0, false);
        if std::mem::take(&mut self.handed_off) {
            return;
        }
        self.score = evidence.score;
        let Seen { recovered, unheeded } = self.escalation.see(evidence);
        if recovered {
            self.last = None;
        }
        self.unheeded = escalation::unheeded(evidence).filter(|_| unheeded).cloned();
        let alarms = evidence.findings.iter().filter(|finding| finding.alarm);
        let undecided = alarms.map(|finding| UndecidedAlarm { finding: finding.clone(), told: false });
        self.undecided = undecided.collect();
    }

    pub(super) fn suspected(&mut self, suspected: &LoopSuspected) {
        // It still supports what is decided: a crash may come between.
        let told = self.undecided.iter_mut().filter(|alarm| alarm.finding.detector == suspected.detector);
        told.for_each(|alarm| alarm.told = true);
    }

    pub(super) fn detected(&mut self, detected: &LoopDetected) {
        self.undecided.clear();
        self.unheeded = None;
        self.escalation.answered(detected);
        self.handed_off = detected.action == LoopAnswer::HandOff;
        let told = [LoopAnswer::Redirect, LoopAnswer::Demand, LoopAnswer::Ask];
        self.untold = told.contains(&detected.action);
        self.asking = detected.action == LoopAnswer::Ask;
        self.ends = detected.stops_as.is_some();
        self.last = Some(Box::new(detected.clone()));
    }

    /// A person has had a word, or wants a stopped run to go on, perhaps with other settings: what was before is dealt with.
    pub(super) fn start_over(&mut self) {
        self.undecided.clear();
        self.unheeded = None;
        self.escalation.start_over();
        (self.score, self.nothings) = (0.0, 0);
        self.handed_off = false;
        self.ends = false;
    }

    /// How many of the alarms that end the run there were.
    pub fn counted(&self) -> u32 {
        self.escalation.redirected.saturating_add(u32::from(self.ends))
    }

    /// The iteration after which the agent was told first that it goes in circles, since the last recovery.
    pub fn told_after(&self) -> Option<IterationNumber> {
        let counts = self.escalation.redirected > 0 && !self.escalation.is_old();
        let last = self.last.as_deref().filter(|_| counts)?;
        last.told_after.or(Some(last.iteration))
    }

    /// The alarm that ends the run.
    pub fn ending(&self) -> Option<&LoopDetected> {
        self.last.as_deref().filter(|_| self.ends)
    }
}
