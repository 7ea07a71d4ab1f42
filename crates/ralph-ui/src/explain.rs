//! `ralph explain`: every guard against its limit, which one ended the run, and on what evidence.

use ralph_core::event::RunStopped;
use ralph_core::guard::{GUARDS, GuardDef};
use ralph_core::state::Stuck;
use ralph_core::time::Timestamp;
use ralph_core::view::{GuardReading, JudgedClaim, View, clean};
use serde_json::{Value, json};

use crate::Style;
use crate::format::{amount, bar, clock, percent};
use crate::paint::{Paint, Tone};
use crate::text::{COLUMNS, paragraph};
use crate::words::{self, details, ended, iteration_of};

/// Here the reason is told whole, within reason.
const MESSAGE_LINES: usize = 200;
/// Of one thing that a claim lacked.
const CLAIM_LINES: usize = 4;

/// `alive`: whether a process still works on the run.
pub fn render(view: &View, now: Timestamp, alive: bool, style: &Style) -> String {
    let Some(state) = view.state() else { return "nothing is recorded of this run\n".to_owned() };
    let paint = Paint { color: style.color };
    let mut lines = Vec::new();
    let run = paint.strong(&clean(&state.run.0));
    match view.stopped() {
        Some(stopped) => lines.extend(stop_lines(&run, stopped, paint)),
        None if alive => lines.push(format!("run {run} has not stopped")),
        None => {
            let crashed = paint.paint(Tone::Bad, "crashed");
            lines.push(format!("run {run} {crashed}: its journal ends without a stop"));
        }
    }
    if let Some(last) = view.last() {
        lines.push(format!("  last iteration: {}", ended(last, paint)));
    }
    lines.push(String::new());
    lines.extend(guard_lines(view, view.counts_until(now, alive), paint));
    if view.claims().next().is_some() {
        lines.push(String::new());
        lines.extend(claim_lines(view, style, paint));
    }
    if let Some(stuck) = view.state().map(|state| &state.stuck) {
        lines.extend(stuck_lines(stuck, paint));
    }
    if !view.evidence().is_empty() {
        lines.push(String::new());
        lines.extend(evidence_lines(view, style, paint));
    }
    lines.join("\n") + "\n"
}

/// How stuck the run looks, and the last report.
fn stuck_lines(stuck: &Stuck, paint: Paint) -> Vec<String> {
    if stuck.score == 0.0 && stuck.last.is_none() {
        return Vec::new();
    }
    let mut lines = vec![String::new(), format!("stuck {:.2} after the last iteration", stuck.score)];
    if let Some(last) = &stuck.last {
        let report = words::stuck::evidence(last, paint).into_iter().map(|line| format!("  {line}"));
        lines.extend(report);
    }
    lines
}

/// Claim by claim, what was missing.
fn claim_lines(view: &View, style: &Style, paint: Paint) -> Vec<String> {
    let mut lines = vec!["claims of completion".to_owned()];
    for claim in view.claims() {
        let time = paint.dim(&clock(claim.at, &style.zone));
        let head = format!("  #{:<4} {time}", claim.iteration.to_string());
        if claim.missing.is_empty() {
            lines.push(format!("{head}  {}", paint.paint(Tone::Good, "accepted")));
            continue;
        }
        lines.push(format!("{head}  {}", paint.paint(Tone::Bad, "refused")));
        for missing in &claim.missing {
            let text = format!("{}: {}", clean(&missing.name), missing.why);
            let mut bullet = "- ";
            for line in paragraph(&text, COLUMNS - 10, CLAIM_LINES) {
                lines.push(format!("        {bullet}{line}"));
                bullet = "  ";
            }
        }
    }
    lines
}

fn stop_lines(run: &str, stopped: &RunStopped, paint: Paint) -> Vec<String> {
    let reason = paint.paint(Tone::of_stop(stopped.kind), &clean(stopped.reason.as_str()));
    let kind = stopped.kind.as_str();
    let head = format!("run {run} stopped: {reason} ({kind}, exit code {})", stopped.exit_code);
    let message = paragraph(&stopped.message, COLUMNS - 2, MESSAGE_LINES);
    std::iter::once(head).chain(message.into_iter().map(|line| format!("  {line}"))).collect()
}

fn guard_lines(view: &View, now: Timestamp, paint: Paint) -> Vec<String> {
    let readings = view.readings(now);
    let value = |guard: &GuardReading| {
        let amount = |value| amount(value, guard.reading.unit);
        format!("{} of {}", amount(guard.reading.used), amount(guard.reading.limit))
    };
    let key_width = readings.iter().map(|guard| guard.def.stop.key.len()).max().unwrap_or(0);
    let value_width = readings.iter().map(|guard| value(guard).len()).max().unwrap_or(0);
    let mut lines = vec!["guards, in the order they are asked".to_owned()];
    for guard in &readings {
        let fraction = guard.reading.fraction();
        let ended = ended_by(view, guard.def);
        let tone = if ended { Tone::Notice } else { Tone::Plain };
        let line = format!(
            "{} {:<key_width$}  {:>value_width$}  {} {}{}",
            if ended { "*" } else { " " },
            guard.def.stop.key,
            value(guard),
            bar(fraction),
            percent(fraction),
            if ended { "  ended the run" } else { "" },
        );
        lines.push(paint.paint(tone, &line));
    }
    let off: Vec<&str> = off(&readings).map(|def| def.stop.key).collect();
    if !off.is_empty() {
        lines.push(paint.dim(&format!("  off: {}", off.join(", "))));
    }
    if let Some(stopped) = view.stopped().filter(|_| !readings.iter().any(|g| ended_by(view, g.def))) {
        lines.push(format!(
            "  none of them ended the run; the reason was: {}",
            clean(stopped.reason.as_str())
        ));
    }
    lines
}

fn ended_by(view: &View, def: &GuardDef) -> bool {
    view.stopped().is_some_and(|stopped| stopped.reason.is(&[def.stop]))
}

fn off(on: &[GuardReading]) -> impl Iterator<Item = &'static GuardDef> {
    GUARDS.iter().filter(|def| !on.iter().any(|guard| guard.def.stop.key == def.stop.key))
}

fn evidence_lines(view: &View, style: &Style, paint: Paint) -> Vec<String> {
    let seq_width = view.evidence().last().map_or(1, |record| record.seq.to_string().len());
    let mut lines = vec!["evidence: these records of the journal".to_owned()];
    for record in view.evidence() {
        let seq = format!("{:>seq_width$}", record.seq.to_string());
        let time = paint.dim(&clock(record.at, &style.zone));
        let iteration = iteration_of(&record.event).map(|n| format!("#{n} ")).unwrap_or_default();
        let details = details(&record.event, record.at, style);
        let line = format!("  {seq}  {time}  {:<21} {iteration}{details}", record.event.name());
        lines.push(line.trim_end().to_owned());
    }
    lines
}

pub fn to_json(view: &View, now: Timestamp, alive: bool) -> Value {
    let readings = view.readings(view.counts_until(now, alive));
    let guards: Vec<Value> = readings
        .iter()
        .map(|guard| {
            json!({
                "key": guard.def.stop.key,
                "setting": guard.def.setting,
                "summary": guard.def.stop.summary,
                "kind": guard.def.stop.kind,
                "used": guard.reading.used,
                "limit": guard.reading.limit,
                "unit": unit(guard),
                "fraction": guard.reading.fraction(),
                "spent": guard.reading.is_spent(),
                "ended_the_run": ended_by(view, guard.def),
            })
        })
        .collect();
    json!({
        "run": view.run(),
        "alive": alive,
        "stopped": view.stopped(),
        "guards": guards,
        "off": off(&readings).map(|def| def.stop.key).collect::<Vec<_>>(),
        "claims": view.claims().map(claim_json).collect::<Vec<_>>(),
        "stuck": view.state().map(|state| json!({
            "score": state.stuck.score,
            "alarms": state.stuck.alarms,
            "last": state.stuck.last,
        })),
        "evidence": view.evidence(),
    })
}

fn claim_json(claim: &JudgedClaim) -> Value {
    json!({
        "iteration": claim.iteration,
        "at": claim.at,
        "accepted": claim.missing.is_empty(),
        "missing": claim.missing,
    })
}

fn unit(guard: &GuardReading) -> &'static str {
    match guard.reading.unit {
        ralph_core::guard::Unit::Count => "count",
        ralph_core::guard::Unit::Seconds => "seconds",
        ralph_core::guard::Unit::Dollars => "usd",
    }
}
