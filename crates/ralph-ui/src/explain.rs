//! `ralph explain`: every guard against its limit, which one ended the run, and on what evidence.

use ralph_model::event::RunStopped;
use ralph_model::text::clean;
use ralph_model::{LimitReading, RunSnapshot, RunWord, StuckNow};

use crate::Style;
use crate::format::{amount, bar, clock, percent};
use crate::paint::{Paint, Tone};
use crate::text::{COLUMNS, paragraph};
use crate::words::{self, details, iteration_of};

/// Here the reason is told whole, within reason.
const MESSAGE_LINES: usize = 200;
/// Of one thing that a claim lacked.
const CLAIM_LINES: usize = 4;

pub fn render(run: &RunSnapshot, style: &Style) -> String {
    let paint = Paint { color: style.color };
    let mut lines = Vec::new();
    let id = paint.strong(&clean(&run.run.0));
    match &run.stopped {
        Some(stop) => lines.extend(stop_lines(&id, &stop.stopped, paint)),
        None if run.state == RunWord::Crashed => {
            let crashed = paint.paint(Tone::Bad, "crashed");
            lines.push(format!("run {id} {crashed}: its journal ends without a stop"));
        }
        None => lines.push(format!("run {id} has not stopped")),
    }
    if let Some(last) = &run.last {
        lines.push(format!("  last iteration: {}", words::row(last, paint)));
    }
    lines.push(String::new());
    lines.extend(limit_lines(run, paint));
    if !run.claims.is_empty() {
        lines.push(String::new());
        lines.extend(claim_lines(run, style, paint));
    }
    lines.extend(stuck_lines(&run.stuck, paint));
    if !run.evidence.is_empty() {
        lines.push(String::new());
        lines.extend(evidence_lines(run, style, paint));
    }
    lines.join("\n") + "\n"
}

/// How stuck the run looks, and the last report.
fn stuck_lines(stuck: &StuckNow, paint: Paint) -> Vec<String> {
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
fn claim_lines(run: &RunSnapshot, style: &Style, paint: Paint) -> Vec<String> {
    let mut lines = vec!["claims of completion".to_owned()];
    for claim in &run.claims {
        let time = paint.dim(&clock(claim.at, &style.zone()));
        let head = format!("  #{:<4} {time}", claim.iteration.to_string());
        if claim.accepted {
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

fn limit_lines(run: &RunSnapshot, paint: Paint) -> Vec<String> {
    let value = |reading: &LimitReading| {
        let amount = |value| amount(value, reading.unit);
        format!("{} of {}", amount(reading.used), amount(reading.limit))
    };
    let key_width = run.limits.iter().map(|reading| reading.key.len()).max().unwrap_or(0);
    let value_width = run.limits.iter().map(|reading| value(reading).len()).max().unwrap_or(0);
    let mut lines = vec!["guards, in the order they are asked".to_owned()];
    for reading in &run.limits {
        let ended = reading.ended_the_run;
        let tone = if ended { Tone::Notice } else { Tone::Plain };
        let line = format!(
            "{} {:<key_width$}  {:>value_width$}  {} {}{}",
            if ended { "*" } else { " " },
            reading.key,
            value(reading),
            bar(reading.fraction),
            percent(reading.fraction),
            if ended { "  ended the run" } else { "" },
        );
        lines.push(paint.paint(tone, &line));
    }
    if !run.limits_off.is_empty() {
        lines.push(paint.dim(&format!("  off: {}", run.limits_off.join(", "))));
    }
    if let Some(stop) = run.stopped.as_ref().filter(|_| !run.limits.iter().any(|one| one.ended_the_run)) {
        lines.push(format!(
            "  none of them ended the run; the reason was: {}",
            clean(stop.stopped.reason.as_str())
        ));
    }
    lines
}

fn evidence_lines(run: &RunSnapshot, style: &Style, paint: Paint) -> Vec<String> {
    let seq_width = run.evidence.last().map_or(1, |record| record.seq.to_string().len());
    let mut lines = vec!["evidence: these records of the journal".to_owned()];
    for record in &run.evidence {
        let seq = format!("{:>seq_width$}", record.seq.to_string());
        let time = paint.dim(&clock(record.at, &style.zone()));
        let iteration = iteration_of(&record.event).map(|n| format!("#{n} ")).unwrap_or_default();
        let details = details(&record.event, record.at, style);
        let line = format!("  {seq}  {time}  {:<21} {iteration}{details}", record.event.name());
        lines.push(line.trim_end().to_owned());
    }
    lines
}
