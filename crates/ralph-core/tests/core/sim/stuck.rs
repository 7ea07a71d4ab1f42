//! The rules of going in circles, written a second time, over facts as detectors might have found them.

use ralph_core::event::{
    AgentExited, Circle, DetectorKey, Finding, IterationFinished, LoopAnswer, LoopDetected, LoopIteration,
    LoopSuspected, Outcome, StuckEvidence,
};
use ralph_core::ids::IterationNumber;
use ralph_core::marker::AgentState;
use ralph_core::plan::{StuckAction, StuckPlan, Use};
use ralph_core::testing::RunState;

use super::model::{Check, ensure};
use super::rng::Rng;

/// More iterations that brought something new than did not, after which alarms are forgotten.
const RECOVERED: u32 = 3;
const NEW_BELOW: f64 = 0.25;
const NOTHING_NEW: f64 = 0.5;

/// What is found in an attempt: often an alarm, mostly with others that support it.
pub fn found(plan: &StuckPlan, iteration: IterationNumber, rng: &mut Rng) -> Option<Box<StuckEvidence>> {
    if !plan.enabled || rng.one_in(8) {
        return None;
    }
    let score = rng.pick(&[0.0, 0.0, 0.2, 0.3, 0.5, 0.7, 1.0, 1.0, 1.0]);
    let works = rng.one_in(3);
    let mut findings = Vec::new();
    let mut add = |key, role: Use, score: f64, ratio: Option<f64>| {
        let line = LoopIteration { iteration, hat: None, line: "error".to_owned() };
        let circle = Circle { iterations: vec![line], works, ..Circle::default() };
        findings.push(Finding {
            detector: DetectorKey::new(key),
            role,
            score,
            alarm: score == 1.0,
            pattern: "the same error".to_owned(),
            kind: None,
            reasons: Vec::new(),
            period: 1,
            ratio,
            circle: role.decides().then(|| Box::new(circle)),
        });
    };
    if score > 0.0 {
        add("no_progress", Use::Decide, score, None);
        if plan.similarity != Use::Off {
            add("similarity", plan.similarity, 1.0, Some(0.95));
        }
        if plan.signature != Use::Off && rng.one_in(2) {
            add("signature", plan.signature, 1.0, None);
        }
    }
    Some(Box::new(StuckEvidence { version: 2, score, findings, ..StuckEvidence::default() }))
}

pub fn plan(rng: &mut Rng) -> StuckPlan {
    let look = |rng: &mut Rng| {
        rng.pick(&[
            Use::Off,
            Use::Off,
            Use::Off,
            Use::Evidence,
            Use::Evidence,
            Use::Evidence,
            Use::Stop,
            Use::Ask,
        ])
    };
    StuckPlan {
        enabled: !rng.one_in(4),
        action: rng.pick(&[
            StuckAction::Redirect,
            StuckAction::Redirect,
            StuckAction::Stop,
            StuckAction::Ask,
            StuckAction::Warn,
        ]),
        redirects: rng.below(3) as u32,
        patience: rng.below(2) as u32,
        similarity: look(rng),
        signature: look(rng),
        ..StuckPlan::default()
    }
}

pub struct Stuck {
    plan: StuckPlan,
    alarms: u32,
    redirected: u32,
    fresh: u32,
    /// Told to take another way, and nothing has shown yet what came of it.
    told: bool,
    /// What the last iteration came to has to be told: nothing new came of it.
    unheeded: bool,
    /// The files of the last circle are new each time.
    works: bool,
    /// Who decides about the last iteration, and by what right, until something is done about it.
    deciding: Option<(&'static str, Use)>,
    /// Its outputs are alike, too.
    alike: bool,
    pub asking: bool,
    /// The reason of the stop that is due.
    pub ends: Option<&'static str>,
}

impl Stuck {
    pub fn new(plan: &StuckPlan) -> Self {
        Self {
            plan: plan.clone(),
            alarms: 0,
            redirected: 0,
            fresh: 0,
            told: false,
            unheeded: false,
            works: false,
            deciding: None,
            alike: false,
            asking: false,
            ends: None,
        }
    }

    pub fn finished(&mut self, f: &IterationFinished, exited: Option<&AgentExited>) -> Check {
        (self.deciding, self.unheeded) = (None, false);
        let waits = f.delay.is_some() || f.blocked.is_some();
        let waits = waits || f.state.is_some_and(|state| state != AgentState::Working && !f.claims_complete);
        let evidence = exited.and_then(|exited| exited.evidence.as_ref());
        let Some(evidence) = evidence.filter(|_| f.outcome == Outcome::Ok && !waits) else {
            ensure!(f.stuck_score.is_none(), "a score for an iteration that is no evidence");
            return Ok(());
        };
        ensure!(f.stuck_score == Some(evidence.score), "another score than was found");
        let alarms = |key: &str, role: Use| {
            let mut alarms = evidence.findings.iter().filter(|one| one.alarm && one.role == role);
            alarms.any(|one| one.detector.as_str() == key)
        };
        let order = [Use::Stop, Use::Ask, Use::Decide].into_iter().flat_map(|role| {
            // Of two with the same right the last one.
            ["signature", "similarity", "no_progress"].map(|key| (key, role))
        });
        self.deciding = order.into_iter().find(|(key, role)| alarms(key, *role));
        self.alike = evidence.findings.iter().any(|one| one.ratio.is_some());
        self.works = evidence.findings.iter().flat_map(|one| &one.circle).any(|circle| circle.works);
        if evidence.score < NEW_BELOW {
            (self.fresh, self.told) = (self.fresh + 1, false);
        } else if evidence.score >= NOTHING_NEW {
            self.fresh = self.fresh.saturating_sub(1);
            self.unheeded = std::mem::take(&mut self.told) && self.deciding.is_none();
        }
        if self.fresh >= RECOVERED {
            (self.alarms, self.redirected) = (0, 0);
        }
        Ok(())
    }

    /// What an alarm leads to, where the agent is told so.
    fn told_or_stopped(&self) -> LoopAnswer {
        let sure = if self.plan.action == StuckAction::Stop { 0 } else { self.plan.redirects };
        let most = if self.works { (2 * sure).max(1) } else { sure };
        match self.redirected {
            redirected if redirected >= most => LoopAnswer::Stop,
            0 => LoopAnswer::Redirect,
            _ => LoopAnswer::Demand,
        }
    }

    pub fn suspected(&self, e: &LoopSuspected, last: Option<&IterationFinished>) -> Check {
        let similarity = e.detector == DetectorKey::new("similarity");
        let role = if similarity { self.plan.similarity } else { self.plan.signature };
        ensure!(role == Use::Evidence, "{} is off, or decides", e.detector);
        ensure!(last.is_some_and(|last| last.iteration == e.iteration), "a suspicion of nothing");
        Ok(())
    }

    pub fn detected(&mut self, e: &LoopDetected) -> Check {
        if e.unheeded {
            ensure!(self.unheeded, "nothing says that it was not heeded");
            ensure!((e.action, e.alarm) == (LoopAnswer::Demand, self.alarms), "{:?}", e.action);
            self.unheeded = false;
            return Ok(());
        }
        let Some((detector, role)) = self.deciding.take() else {
            return Err("an alarm without a circle".into());
        };
        ensure!(e.detector.as_str() == detector, "{} decides", e.detector);
        ensure!(e.alarm == self.alarms + 1, "alarm {} after {}", e.alarm, self.alarms);
        let answer = match (role, self.plan.action) {
            (Use::Ask, _) | (_, StuckAction::Ask) => LoopAnswer::Ask,
            (Use::Stop, _) => LoopAnswer::Stop,
            (_, StuckAction::Warn) => LoopAnswer::Warn,
            (_, StuckAction::Redirect | StuckAction::Stop) => self.told_or_stopped(),
        };
        ensure!(e.action == answer, "{:?} instead of {answer:?}", e.action);
        self.told = matches!(answer, LoopAnswer::Redirect | LoopAnswer::Demand);
        self.redirected += u32::from(self.told);
        (self.fresh, self.alarms) = (0, e.alarm);
        self.asking = answer == LoopAnswer::Ask;
        let reason = match (role, detector) {
            (Use::Stop, "signature") => "repeated_signature",
            (Use::Stop, "similarity") => "output_similarity",
            _ if self.alike => "output_similarity",
            _ => "loop_detected",
        };
        self.ends = (answer == LoopAnswer::Stop).then_some(reason);
        ensure!(e.stops_as.as_ref().map(|key| key.as_str()) == self.ends, "it stops as {:?}", e.stops_as);
        Ok(())
    }

    /// Nothing is left to be told of the last iteration.
    pub fn is_told(&self) -> bool {
        self.deciding.is_none() && !self.unheeded
    }

    /// A person has had a word.
    pub fn start_over(&mut self) {
        (self.deciding, self.unheeded, self.told) = (None, false, false);
        (self.alarms, self.redirected, self.fresh, self.ends) = (0, 0, 0, None);
    }

    pub fn agrees(&self, state: &RunState) -> Check {
        let mine = (self.alarms, self.asking, self.ends.is_some());
        let theirs = (state.stuck.escalation.alarms, state.stuck.asking, state.stuck.ends);
        ensure!(mine == theirs, "stuck {theirs:?} instead of {mine:?}");
        Ok(())
    }
}
