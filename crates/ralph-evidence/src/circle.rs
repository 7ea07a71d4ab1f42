//! What a report tells of the iterations of a circle: the facts, without the words that it is built from.

use std::collections::VecDeque;

use ralph_core::event::{Circle, LoopIteration};

use crate::detector::Suspicion;
use crate::watch::PastIteration;

/// Iterations that a report names at most, and repeated lines.
const NAMED: usize = 12;
const REPEATED: usize = 3;

pub(crate) fn facts(past: &VecDeque<PastIteration>, now: &PastIteration, found: &Suspicion) -> Circle {
    let before = found.iterations.clamp(1, NAMED) - 1;
    let skipped = past.len().saturating_sub(before);
    let circle: Vec<&PastIteration> = past.iter().skip(skipped).chain([now]).collect();
    Circle {
        works: circle.len() > 1 && circle.iter().skip(1).all(|one| one.works),
        signature: now.sketch.signature.clone(),
        repeated: repeated(&circle, now, found.period),
        unchanged: unchanged(&circle, now, found.period),
        iterations: circle.iter().map(|one| named(one)).collect(),
    }
}

fn named(one: &PastIteration) -> LoopIteration {
    let sketch = &one.sketch;
    let said = sketch.error.as_ref().filter(|_| sketch.failed == Some(true)).or(sketch.shown.first());
    let line = match said {
        Some(line) => line.clone(),
        None if sketch.calls.count > 0 => format!("{} tool calls", sketch.calls.count),
        None => "(nothing)".to_owned(),
    };
    LoopIteration { iteration: one.iteration, hat: one.hat.clone(), line }
}

/// The iterations of a circle, each with the one a round before it.
fn rounds<'a>(
    circle: &'a [&PastIteration],
    period: usize,
) -> impl Iterator<Item = (&'a PastIteration, &'a PastIteration)> {
    circle.iter().skip(period.max(1)).zip(circle).map(|(now, then)| (*now, *then))
}

/// The lines of the last iteration that stood in the one a round before, too; at least what the last one said is shown.
fn repeated(circle: &[&PastIteration], last: &PastIteration, period: usize) -> Vec<String> {
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
fn unchanged(circle: &[&PastIteration], last: &PastIteration, period: usize) -> Vec<String> {
    if circle.len() < 2 {
        return Vec::new();
    }
    let same = |of: &dyn Fn(&PastIteration, &PastIteration) -> bool| {
        rounds(circle, period).all(|(now, then)| of(now, then))
    };
    let last = &last.sketch;
    let mut out = Vec::new();
    let states: Vec<_> = circle.iter().map(|one| &one.sketch.state).collect();
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
