//! What is done about a run that goes in circles.

use super::Turn;
use super::between::Flow;
use crate::event::{Event, LoopAnswer, LoopDetected, LoopIteration, LoopOption, LoopSuspected};
use crate::guard::Asked;
use crate::hat::Topic;
use crate::ids::RunId;
use crate::plan::{StuckAction, Use};
use crate::state::{Open, Seen};

/// Iterations that a report names at most, and repeated lines.
const NAMED: usize = 12;
const REPEATED: usize = 3;

impl Turn<'_> {
    /// Tells what was found, decides what to do about it, and stops if nothing has helped.
    pub(super) fn heed_stuck(&mut self) -> Flow {
        let open = self.state().stuck.open.clone();
        for one in open.iter().filter(|one| !one.decides() && !one.told) {
            self.emit(Event::LoopSuspected(LoopSuspected {
                iteration: self.last_iteration(),
                detector: one.detector.to_owned(),
                evidence: one.pattern.clone(),
                ratio: one.ratio,
            }));
        }
        // Who stops the run by itself comes first.
        let deciding = open.iter().filter(|one| one.decides()).max_by_key(|one| one.is_for == Use::Stop);
        if let Some(one) = deciding {
            let detected = self.report_loop(one, &open);
            self.emit(Event::LoopDetected(Box::new(detected)));
        }
        let reason = self.state().stuck.ends.then(|| self.first_spent(Asked::WhenStuck)).flatten();
        self.stop_if(reason)
    }

    fn last_iteration(&self) -> crate::ids::IterationNumber {
        crate::ids::IterationNumber(self.state().iterations_finished)
    }

    /// `spared`: the circle ends by itself, or may be none.
    fn answer(&self, is_for: Use, spared: bool) -> LoopAnswer {
        let (plan, stuck) = (&self.state().plan.stuck, &self.state().stuck);
        let first = stuck.alarms == 0;
        match plan.action {
            _ if is_for == Use::Stop => LoopAnswer::Stop,
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
    fn is_bounded(&self, seen: &Seen) -> bool {
        self.hat_plan(seen.hat.as_deref()).is_some_and(|hat| hat.max_activations.is_some())
    }

    fn report_loop(&self, one: &Open, all: &[Open]) -> LoopDetected {
        let (state, plan) = (self.state(), &self.state().plan.stuck);
        let circle: Vec<&Seen> = state.stuck.last_seen(one.iterations.clamp(1, NAMED)).collect();
        // Words that repeat over files that do not are the words of somebody who says little.
        let works = circle.len() > 1 && circle.iter().skip(1).all(|seen| seen.works);
        let spared = works || circle.iter().any(|seen| self.is_bounded(seen));
        let action = self.answer(one.is_for, spared);
        let similar = all.iter().find(|other| other.detector == "similarity");
        let counts = plan.action == StuckAction::Redirect && one.is_for == Use::Decide && !spared;
        let others = state.stuck.alarms.saturating_sub(state.stuck.redirected);
        LoopDetected {
            iteration: self.last_iteration(),
            detector: one.detector.to_owned(),
            action,
            alarm: state.stuck.alarms.saturating_add(1),
            of: counts.then(|| plan.redirects.saturating_add(1).saturating_add(others)),
            pattern: one.pattern.clone(),
            period: u32::try_from(one.period).unwrap_or(u32::MAX),
            similarity: similar.and_then(|similar| similar.ratio),
            signature: circle.last().map(|last| last.sketch.signature.clone()).unwrap_or_default(),
            repeated: repeated(&circle, one.period),
            unchanged: unchanged(&circle, one.period),
            iterations: circle.iter().map(|seen| named(seen)).collect(),
            options: options(&state.run, action),
        }
    }
}

fn named(seen: &Seen) -> LoopIteration {
    let sketch = &seen.sketch;
    let said = sketch.error.as_ref().filter(|_| sketch.failed == Some(true)).or(sketch.shown.first());
    let line = match said {
        Some(line) => line.clone(),
        None if sketch.calls.count > 0 => format!("{} tool calls", sketch.calls.count),
        None => "(nothing)".to_owned(),
    };
    LoopIteration { iteration: seen.iteration, hat: seen.hat.clone(), line }
}

/// The iterations of a circle, each with the one a round before it.
fn rounds<'a>(circle: &'a [&Seen], period: usize) -> impl Iterator<Item = (&'a Seen, &'a Seen)> {
    circle.iter().skip(period.max(1)).zip(circle).map(|(now, then)| (*now, *then))
}

/// The lines of the last iteration that stood in the one a round before, too; at least it is shown what it said.
fn repeated(circle: &[&Seen], period: usize) -> Vec<String> {
    let Some(last) = circle.last() else { return Vec::new() };
    let before = circle.iter().rev().nth(period.max(1));
    let stood = |line: &&String| before.is_none_or(|before| before.sketch.shown.contains(line));
    let mut lines: Vec<String> = last.sketch.shown.iter().filter(stood).cloned().collect();
    if lines.is_empty() {
        lines.extend(last.sketch.error.iter().chain(&last.sketch.shown).take(1).cloned());
    }
    lines.truncate(REPEATED);
    lines
}

/// What stayed as it was, round after round.
fn unchanged(circle: &[&Seen], period: usize) -> Vec<String> {
    if circle.len() < 2 {
        return Vec::new();
    }
    let same = |of: &dyn Fn(&Seen, &Seen) -> bool| rounds(circle, period).all(|(now, then)| of(now, then));
    let last = &circle[circle.len() - 1].sketch;
    let mut out = Vec::new();
    let states: Vec<_> = circle.iter().map(|seen| &seen.sketch.state).collect();
    if states.windows(2).all(|pair| pair[0].is_some() && pair[0] == pair[1]) {
        out.push(format!("no file changed after #{}", circle[0].iteration));
    }
    if let Some(error) = last.error.as_ref().filter(|_| same(&|a, b| a.sketch.error == b.sketch.error)) {
        let is_error = last.failed == Some(true) || error.to_lowercase().contains("error");
        out.push(format!("the {}: {error}", if is_error { "error" } else { "line" }));
    }
    if last.calls.count > 0 && same(&|a, b| a.sketch.calls.what == b.sketch.calls.what) {
        out.push(format!("the same {} tool calls", last.calls.count));
    }
    if last.open > 0 && same(&|a, b| a.sketch.open == b.sketch.open) {
        out.push(format!("{} things failing or not done", last.open));
    }
    if !last.signature.is_empty() && same(&|a, b| a.sketch.signature == b.sketch.signature) {
        out.push(format!("the signature: {}", last.signature));
    }
    out
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
