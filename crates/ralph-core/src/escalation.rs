//! From the first alarm to the stop: redirect, demand, stop. How far a run that goes in circles has come on that way, and what the
//! next step is.
//!
//! Pure: it folds what was found in iterations and what was answered. The engine answers by it, and so does whoever looks at
//! recorded iterations.

use crate::event::{Circle, Finding, LoopAnswer, LoopDetected, StuckEvidence};
use crate::ids::IterationNumber;
use crate::plan::{StuckAction, StuckPlan, Use};

/// An iteration that scores less has brought something new.
const NEW_BELOW: f64 = 0.25;
/// One that scores this much has more likely than not brought nothing new.
pub const NOTHING_NEW: f64 = 0.5;
/// The alarms are forgotten once so many more iterations brought something new than did not.
const RECOVERED: u32 = 3;
/// Evidence of earlier versions is answered as it was then: a recorded run is decided again as it was decided.
const SINCE_VERSION: u32 = 2;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Escalation {
    /// Alarms without a recovery between them.
    pub alarms: u32,
    /// Of those, the ones that were answered by telling the agent to take another way, as often as the plan allows.
    pub redirected: u32,
    /// Iterations that brought something new, less those that did not. One noisy iteration undoes nothing.
    fresh: u32,
    /// The agent was told to take another way, and no iteration has shown yet what came of it.
    told: bool,
    /// The version of the last evidence.
    version: u32,
}

/// How sure it is that a circle leads nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    None,
    /// Files are new each time, though nobody saw how they got there. That buys time, and no more: a line that is touched in every
    /// iteration is a new file each time as well.
    Works,
    /// The hats that go in this circle have a limit of their own, which ends it.
    Bounded,
}

/// What an iteration comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// The alarms before are forgotten.
    pub recovered: bool,
    /// The agent was told to take another way, and this brought nothing new.
    pub unheeded: bool,
}

/// What is done about an iteration.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub iteration: IterationNumber,
    pub action: LoopAnswer,
    pub finding: Finding,
}

impl Escalation {
    /// Takes what was found in an iteration.
    pub fn see(&mut self, evidence: &StuckEvidence) -> Seen {
        self.version = evidence.version;
        let score = evidence.score;
        self.fresh = match score {
            _ if self.is_old() => {
                if score == 0.0 {
                    self.fresh + 1
                } else {
                    0
                }
            }
            score if score < NEW_BELOW => self.fresh.saturating_add(1),
            score if score >= NOTHING_NEW => self.fresh.saturating_sub(1),
            _ => self.fresh,
        };
        let recovered = self.fresh >= RECOVERED;
        if recovered {
            (self.alarms, self.redirected, self.told) = (0, 0, false);
        }
        let unheeded = self.told && score >= NOTHING_NEW && !self.is_old();
        self.told &= !unheeded && score >= NEW_BELOW;
        Seen { recovered, unheeded }
    }

    /// The last evidence is answered as it was by the program that recorded it.
    pub(crate) fn is_old(&self) -> bool {
        self.version < SINCE_VERSION
    }

    /// What is done about an alarm.
    pub fn answer(&self, plan: &StuckPlan, role: Use, doubt: Doubt) -> LoopAnswer {
        match (role, plan.action) {
            (Use::Ask, _) => LoopAnswer::Ask,
            (Use::Stop, StuckAction::Ask) if !self.is_old() => LoopAnswer::Ask,
            (Use::Stop, _) => LoopAnswer::Stop,
            (_, StuckAction::Warn) => LoopAnswer::Warn,
            (_, StuckAction::Ask) => LoopAnswer::Ask,
            (_, StuckAction::Redirect | StuckAction::Stop) => match self.redirects(plan, doubt) {
                Some(most) if self.redirected >= most => LoopAnswer::Stop,
                _ if self.redirected == 0 || self.is_old() => LoopAnswer::Redirect,
                _ => LoopAnswer::Demand,
            },
        }
    }

    /// How many alarms are answered by telling the agent so, before one ends the run. Nothing: however many there are.
    fn redirects(&self, plan: &StuckPlan, doubt: Doubt) -> Option<u32> {
        let sure = if plan.action == StuckAction::Stop { 0 } else { plan.redirects };
        match doubt {
            Doubt::None => Some(sure),
            Doubt::Works if !self.is_old() => Some(sure.saturating_mul(2).max(1)),
            Doubt::Works | Doubt::Bounded => None,
        }
    }

    /// The number of the alarm that ends the run, where the number matters.
    pub fn ends_at(&self, plan: &StuckPlan, role: Use, doubt: Doubt) -> Option<u32> {
        let counts = plan.action == StuckAction::Redirect
            || (plan.action == StuckAction::Stop && doubt != Doubt::None);
        let most = self.redirects(plan, doubt).filter(|_| counts && role == Use::Decide)?;
        let others = self.alarms.saturating_sub(self.redirected);
        Some(most.saturating_add(1).saturating_add(others))
    }

    /// Takes what was done about it.
    pub fn answered(&mut self, detected: &LoopDetected) {
        if !detected.unheeded {
            self.count(detected.action, detected.alarm, detected.of);
        }
    }

    fn count(&mut self, action: LoopAnswer, alarm: u32, of: Option<u32>) {
        // Where the number does not matter the run would not stop for it either.
        self.told = matches!(action, LoopAnswer::Redirect | LoopAnswer::Demand);
        self.redirected = self.redirected.saturating_add(u32::from(of.is_some() && self.told));
        (self.alarms, self.fresh) = (alarm, 0);
    }

    /// The next iteration of a run without hats: what is done about it, where anything is.
    pub fn step(
        &mut self,
        plan: &StuckPlan,
        iteration: IterationNumber,
        evidence: &StuckEvidence,
    ) -> Option<Step> {
        let seen = self.see(evidence);
        let (finding, action) = match deciding(evidence.findings.iter()) {
            Some(finding) => {
                let doubt = finding.circle.as_ref().map_or(Doubt::None, |circle| circle.doubt());
                let action = self.answer(plan, finding.role, doubt);
                let of = self.ends_at(plan, finding.role, doubt);
                self.count(action, self.alarms.saturating_add(1), of);
                (finding, action)
            }
            None => (unheeded(evidence).filter(|_| seen.unheeded)?, LoopAnswer::Demand),
        };
        Some(Step { iteration, action, finding: finding.clone() })
    }

    /// A person has had a word: what was before is dealt with.
    pub fn start_over(&mut self) {
        *self = Self { version: self.version, ..Self::default() };
    }
}

/// What is to be judged by itself: more alarms than one may be raised by an iteration, and one that ends or pauses the run by itself
/// comes first.
pub fn deciding<'a>(findings: impl Iterator<Item = &'a Finding>) -> Option<&'a Finding> {
    let weight = |one: &&Finding| match one.role {
        Use::Stop => 2,
        Use::Ask => 1,
        Use::Decide | Use::Evidence | Use::Off => 0,
    };
    findings.filter(|finding| finding.alarm && finding.role.decides()).max_by_key(weight)
}

/// The finding of an iteration that came to nothing new although the agent was told. Only a report makes it worth telling.
pub fn unheeded(evidence: &StuckEvidence) -> Option<&Finding> {
    let reported = |one: &&Finding| one.role == Use::Decide && !one.alarm && one.circle.is_some();
    evidence.findings.iter().find(reported)
}

impl Circle {
    /// How sure it is, where no hat is bounded.
    pub fn doubt(&self) -> Doubt {
        if self.works { Doubt::Works } else { Doubt::None }
    }
}

#[cfg(test)]
mod tests;
