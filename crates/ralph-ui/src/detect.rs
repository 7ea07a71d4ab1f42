//! `ralph detect`: where each detector would have called a recorded run stuck, and why.

use ralph_core::detector::Found;
use ralph_core::plan::{StuckAction, StuckPlan, Use};
use ralph_core::state::Rehearsed;
use ralph_model::text::clean;
use serde_json::{Value, json};

use crate::Style;
use crate::format::count;
use crate::paint::{Paint, Tone};
use crate::words::foreign;

pub fn render(run: &str, seen: &[Rehearsed], plan: &StuckPlan, style: &Style) -> String {
    let paint = Paint { color: style.color };
    let looked: Vec<_> = seen.iter().filter_map(|one| Some((one, one.found.as_ref()?))).collect();
    let all = count(seen.len() as u64, "iteration", "iterations");
    let mut lines = vec![format!("run {}: {all}, {} of them evidence", clean(run), looked.len())];
    let Some((_, found)) = looked.first() else {
        lines.push(
            "  nothing to look at: an iteration that failed, waited or has no sketch is no evidence"
                .to_owned(),
        );
        return lines.join("\n") + "\n";
    };
    for (n, detector) in found.iter().enumerate() {
        let of = looked.iter().filter_map(|(one, found)| Some((*one, found.get(n)?)));
        lines.push(String::new());
        lines.extend(section(detector, of.collect(), plan, paint));
    }
    lines.join("\n") + "\n"
}

fn section(detector: &Found, seen: Vec<(&Rehearsed, &Found)>, plan: &StuckPlan, paint: Paint) -> Vec<String> {
    let alarms: Vec<_> = seen.iter().filter(|(_, found)| found.finding.alarm).collect();
    let head = format!("{} ({})", paint.strong(detector.def.key), role(detector.is_for, plan));
    if alarms.is_empty() {
        let mut lines = vec![format!("{head}: no alarm")];
        let closest = seen.iter().max_by(|a, b| a.1.finding.score.total_cmp(&b.1.finding.score));
        if let Some((one, found)) = closest.filter(|(_, found)| found.finding.score > 0.0) {
            let (score, pattern) = (found.finding.score, foreign(&found.finding.pattern));
            lines.push(paint.dim(&format!("  closest: {score:.2} after #{}: {pattern}", one.iteration)));
        }
        return lines;
    }
    let mut lines = vec![format!("{head}: {}", count(alarms.len() as u64, "alarm", "alarms"))];
    for (one, found) in alarms {
        let hat = one.hat.as_deref().map(|hat| format!(" {}", clean(hat))).unwrap_or_default();
        let number = paint.paint(Tone::Notice, &format!("#{}{hat}", one.iteration));
        lines.push(format!("  {number}  {}", foreign(&found.finding.pattern)));
    }
    lines
}

/// What an alarm of it is good for.
fn role(is_for: Use, plan: &StuckPlan) -> &'static str {
    match (is_for, plan.action) {
        (Use::Decide, StuckAction::Redirect) => "decides: redirect, then stop",
        (Use::Decide, StuckAction::Stop) | (Use::Stop, _) => "an alarm ends the run",
        (Use::Decide, StuckAction::Ask) => "decides: a person is asked",
        (Use::Decide, StuckAction::Warn) => "decides: only told",
        (Use::Evidence, _) => "evidence",
        (Use::Off, _) => "off",
    }
}

/// One object an iteration.
pub fn to_json(one: &Rehearsed) -> Value {
    let found = one.found.as_ref().map(|found| found.iter().map(found_json).collect::<Vec<_>>());
    json!({ "iteration": one.iteration, "hat": one.hat, "detectors": found })
}

fn found_json(found: &Found) -> Value {
    let finding = &found.finding;
    json!({
        "detector": found.def.key,
        "use": found.is_for,
        "score": finding.score,
        "alarm": finding.alarm,
        "period": finding.period,
        "pattern": finding.pattern,
        "ratio": finding.ratio,
    })
}
