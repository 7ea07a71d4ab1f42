//! The rules of going in circles, written a second time, for agents that either say the same as always or something new.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use ralph_core::detector::{Sketch, Sketcher};
use ralph_core::event::{AgentExited, IterationFinished, LoopAnswer, LoopDetected, LoopSuspected, Outcome};
use ralph_core::marker::AgentState;
use ralph_core::plan::{StuckAction, StuckPlan, Use};
use ralph_core::state::RunState;

use super::model::{Check, ensure};
use super::rng::Rng;

/// Iterations that brought something new, in a row, after which alarms are forgotten.
const RECOVERED: u32 = 3;

static CIRCLE: LazyLock<Sketch> = LazyLock::new(|| {
    sketch("$ make check\nsrc/orbit.c:14: error: 'tally_orbit' undeclared\nmake: *** Error 1\n")
});

fn sketch(text: &str) -> Sketch {
    let mut sketcher = Sketcher::new();
    sketcher.push(text.as_bytes());
    sketcher.finish()
}

/// What an agent says: mostly the same as always.
pub fn says(iteration: u32, rng: &mut Rng) -> Option<Box<Sketch>> {
    match rng.below(8) {
        0 => None,
        1 | 2 => Some(Box::new(sketch(&fresh(iteration)))),
        _ => Some(Box::new(CIRCLE.clone())),
    }
}

/// Names that were never there before.
fn fresh(iteration: u32) -> String {
    let name =
        ["amber", "birch", "cedar", "delta", "ember", "flint", "grove", "heron"][iteration as usize % 8];
    let round = ["north", "south", "east", "west"][iteration as usize / 8 % 4];
    format!("Moved load_{name}_{round} into src/{name}/{round}.rs and wrote tests/{round}_{name}.rs for it.")
}

pub fn plan(rng: &mut Rng) -> StuckPlan {
    let look = |rng: &mut Rng| if rng.one_in(2) { Use::Off } else { Use::Evidence };
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
    /// The last iteration that counts said the same as always.
    circled: bool,
    /// Repeats in a row.
    repeats: u32,
    /// States of the tree that were seen.
    trees: BTreeSet<String>,
    /// The iteration that last changed a file.
    changed: String,
    alarms: u32,
    fresh: u32,
    /// Nothing has been done about the last iteration yet.
    pub open: bool,
    pub asking: bool,
    /// The reason of the stop that is due.
    pub ends: Option<&'static str>,
}

impl Stuck {
    pub fn new(plan: &StuckPlan) -> Self {
        let plan = plan.clone();
        let (trees, circled, open, asking) = (BTreeSet::new(), false, false, false);
        Self {
            plan,
            circled,
            repeats: 0,
            trees,
            changed: String::new(),
            alarms: 0,
            fresh: 0,
            open,
            asking,
            ends: None,
        }
    }

    pub fn finished(&mut self, f: &IterationFinished, exited: Option<&AgentExited>) -> Check {
        self.open = false;
        if exited.and_then(|exited| exited.files.as_ref()).is_some_and(|files| files.count > 0) {
            self.changed = f.iteration.to_string();
        }
        let waits = f.delay.is_some() || f.blocked.is_some();
        let waits = waits || f.state.is_some_and(|state| state != AgentState::Working && !f.claims_complete);
        let seen = exited.and_then(|exited| Some((exited, exited.sketch.as_ref()?)));
        let Some((exited, sketch)) = seen.filter(|_| f.outcome == Outcome::Ok && !waits && self.plan.enabled)
        else {
            ensure!(f.stuck_score.is_none(), "a score for an iteration that is no evidence");
            return Ok(());
        };
        let circles = **sketch == *CIRCLE;
        self.repeats = if circles && self.circled { self.repeats + 1 } else { 0 };
        self.circled = circles;
        let changed = self.is_new_tree(exited);
        let needed = (2 + self.plan.patience) * if changed { 2 } else { 1 };
        self.open = self.repeats >= needed;
        let score = f.stuck_score.ok_or("no score")?;
        ensure!((score == 1.0) == self.open, "score {score} after {} repeats of {needed}", self.repeats);
        ensure!(circles || score == 0.0, "score {score} for something new");
        self.fresh = if score == 0.0 { self.fresh + 1 } else { 0 };
        if self.fresh >= RECOVERED {
            self.alarms = 0;
        }
        Ok(())
    }

    /// Files that are as they never were count for something.
    fn is_new_tree(&mut self, exited: &AgentExited) -> bool {
        let counted = exited.files.as_ref().map(|_| self.changed.clone());
        exited.tree.clone().or(counted).is_some_and(|tree| self.trees.insert(tree))
    }

    pub fn suspected(&self, e: &LoopSuspected, last: Option<&IterationFinished>) -> Check {
        let is_for = if e.detector == "similarity" { self.plan.similarity } else { self.plan.signature };
        ensure!(is_for == Use::Evidence, "{} is off", e.detector);
        ensure!(last.is_some_and(|last| last.iteration == e.iteration), "a suspicion of nothing");
        Ok(())
    }

    pub fn detected(&mut self, e: &LoopDetected) -> Check {
        ensure!(self.open, "an alarm without a circle");
        ensure!(e.alarm == self.alarms + 1, "alarm {} after {}", e.alarm, self.alarms);
        let answer = match self.plan.action {
            StuckAction::Warn => LoopAnswer::Warn,
            StuckAction::Ask => LoopAnswer::Ask,
            StuckAction::Redirect if self.alarms < self.plan.redirects => LoopAnswer::Redirect,
            StuckAction::Redirect | StuckAction::Stop => LoopAnswer::Stop,
        };
        ensure!(e.action == answer, "{:?} instead of {answer:?}", e.action);
        (self.open, self.repeats, self.fresh, self.alarms) = (false, 0, 0, e.alarm);
        self.asking = answer == LoopAnswer::Ask;
        let alike = self.plan.similarity != Use::Off;
        let reason = if alike { "output_similarity" } else { "loop_detected" };
        self.ends = (answer == LoopAnswer::Stop).then_some(reason);
        ensure!(self.ends.is_none() || e.reason() == reason, "the reason is {}", e.reason());
        Ok(())
    }

    /// A person has had a word.
    pub fn start_over(&mut self) {
        (self.open, self.repeats, self.alarms, self.fresh, self.ends) = (false, 0, 0, 0, None);
    }

    pub fn agrees(&self, state: &RunState) -> Check {
        let mine = (self.alarms, self.asking, self.ends.is_some());
        let theirs = (state.stuck.alarms, state.stuck.asking, state.stuck.ends);
        ensure!(mine == theirs, "stuck {theirs:?} instead of {mine:?}");
        Ok(())
    }
}
