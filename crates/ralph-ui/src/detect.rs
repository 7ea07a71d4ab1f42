//! `ralph detect`: where each detector would have called a recorded run stuck, and why.

use ralph_model::detect::{Judged, JudgedAlarm};
use ralph_model::event::{DetectorKey, Finding, LoopAnswer, LoopKind, StuckEvidence};
use ralph_model::ids::{HatKey, IterationNumber};
use ralph_model::plan::{StuckAction, StuckPlan, Use};
use ralph_model::text::clean;
use serde::Serialize;

use crate::Style;
use crate::format::count;
use crate::paint::{Paint, Tone};
use crate::words::foreign;

/// What the detectors say after an iteration: one object of `--json`.
#[derive(Debug, Clone, Serialize)]
pub struct Looked {
    pub iteration: IterationNumber,
    pub hat: Option<HatKey>,
    /// One for each detector. Nothing: the iteration is no evidence, for it failed, waited, or no sketch of it was kept.
    #[serde(rename = "detectors")]
    pub findings: Option<Vec<Found>>,
}

/// What one detector found. Unlike in an event, every key is there, and a report of the circle is not.
#[derive(Debug, Clone, Serialize)]
pub struct Found {
    pub detector: DetectorKey,
    #[serde(rename = "use")]
    pub role: Use,
    pub score: f64,
    pub alarm: bool,
    pub period: u32,
    pub pattern: String,
    pub kind: Option<LoopKind>,
    /// What weighed most, in words.
    pub reasons: Vec<String>,
    pub ratio: Option<f64>,
}

impl Looked {
    pub fn new(iteration: IterationNumber, hat: Option<HatKey>, findings: Option<Vec<Finding>>) -> Self {
        let findings = findings.map(|all| all.into_iter().map(Found::from).collect());
        Self { iteration, hat, findings }
    }
}

impl From<Finding> for Found {
    fn from(finding: Finding) -> Self {
        let Finding { detector, role, score, alarm, pattern, kind, reasons, period, ratio, circle: _ } =
            finding;
        Self { detector, role, score, alarm, period, pattern, kind, reasons, ratio }
    }
}

pub fn render(run: &str, seen: &[Looked], plan: &StuckPlan, style: &Style) -> String {
    let paint = Paint { color: style.color };
    let looked: Vec<_> = seen.iter().filter_map(|one| Some((one, one.findings.as_ref()?))).collect();
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

fn section(detector: &Found, seen: Vec<(&Looked, &Found)>, plan: &StuckPlan, paint: Paint) -> Vec<String> {
    let alarms: Vec<_> = seen.iter().filter(|(_, found)| found.alarm).collect();
    let head = format!("{} ({})", paint.strong(detector.detector.as_str()), role(detector.role, plan));
    if alarms.is_empty() {
        let mut lines = vec![format!("{head}: no alarm")];
        let closest = seen.iter().max_by(|a, b| a.1.score.total_cmp(&b.1.score));
        if let Some((one, found)) = closest.filter(|(_, found)| found.score > 0.0) {
            let (score, pattern) = (found.score, foreign(&found.pattern));
            lines.push(paint.dim(&format!("  closest: {score:.2} after #{}: {pattern}", one.iteration)));
        }
        return lines;
    }
    let mut lines = vec![format!("{head}: {}", count(alarms.len() as u64, "alarm", "alarms"))];
    for (one, found) in alarms {
        let hat = one.hat.as_deref().map(|hat| format!(" {}", clean(hat))).unwrap_or_default();
        let number = paint.paint(Tone::Notice, &format!("#{}{hat}", one.iteration));
        lines.push(format!("  {number}  {}", foreign(&found.pattern)));
    }
    lines
}

/// What an alarm of the detector leads to.
fn role(role: Use, plan: &StuckPlan) -> &'static str {
    match (role, plan.action) {
        (Use::Decide, StuckAction::Redirect) => "decides: redirect, then stop",
        (Use::Ask, _) | (Use::Stop, StuckAction::Ask) => "an alarm asks a person",
        (Use::Decide, StuckAction::Stop) | (Use::Stop, _) => "an alarm ends the run",
        (Use::Decide, StuckAction::Ask) => "decides: a person is asked",
        (Use::Decide, StuckAction::Warn) => "decides: only told",
        (Use::Evidence, _) => "evidence",
        (Use::Off, _) => "off",
    }
}

/// A run or a case as a whole, in one line or two.
pub fn judged(judged: &Judged) -> String {
    let (id, all) = (clean(&judged.id), count(u64::from(judged.iterations), "iteration", "iterations"));
    let told = |alarm: &JudgedAlarm| format!("after #{}: {}", alarm.iteration, foreign(&alarm.pattern));
    match (&judged.first_alarm, &judged.stop) {
        (None, _) => format!("{id}: no alarm in {all}"),
        (Some(first), None) => format!("{id}: {all}, first alarm {}", told(first)),
        (Some(first), Some(stop)) if first.iteration == stop.iteration => {
            format!("{id}: {all}, stopped {}", told(stop))
        }
        (Some(first), Some(stop)) => {
            format!("{id}: {all}, first alarm {}; stopped after #{}", told(first), stop.iteration)
        }
    }
}

/// Each iteration of a case: its score, what it looks like, and what would have been done about it, by whether it was an alarm.
pub fn explained(case: &str, seen: &[(StuckEvidence, Option<(LoopAnswer, bool)>)]) -> String {
    let mut lines = vec![format!("{}: {}", clean(case), count(seen.len() as u64, "iteration", "iterations"))];
    for (number, (evidence, answer)) in (1..).zip(seen) {
        let deciding = evidence.findings.iter().find(|finding| finding.role.decides());
        let pattern = deciding.map(|finding| foreign(&finding.pattern)).filter(|pattern| !pattern.is_empty());
        let why = match evidence.outage {
            true => "only tells of a service that does not work: no evidence".to_owned(),
            false => pattern.unwrap_or_else(|| "brings something new".to_owned()),
        };
        lines.push(format!("  #{number:<3} {:.2}  {why}", evidence.score));
        let others = evidence.findings.iter().filter(|finding| !finding.role.decides() && finding.alarm);
        lines.extend(others.map(|one| format!("             {} ({})", foreign(&one.pattern), one.detector)));
        if let Some((action, alarm)) = answer {
            let what = match action {
                LoopAnswer::Redirect => "the agent is told to take a different approach",
                LoopAnswer::Demand if *alarm => {
                    "the agent is told so again, and another approach is demanded"
                }
                LoopAnswer::Demand => "nothing new came of it: another approach is demanded",
                LoopAnswer::HandOff => "a hat deals with it",
                LoopAnswer::Ask => "the run pauses until a person decides",
                LoopAnswer::Warn => "it is only told",
                LoopAnswer::Stop => "the run stops",
            };
            lines.push(format!("             {}: {what}", if *alarm { "alarm" } else { "then" }));
        }
    }
    lines.join("\n")
}
