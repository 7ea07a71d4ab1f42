//! A run that goes in circles, in words.

use ralph_model::event::{Event, LoopAnswer, LoopDetected, LoopSuspected};
use ralph_model::ids::IterationNumber;
use ralph_model::text::clean;

use super::foreign;
use crate::paint::{Paint, Tone};
use crate::text::{COLUMNS, fit, paragraph};

/// Columns of a label with the space around it.
const LABEL: usize = 12;
/// Of a text, in lines.
const MOST: usize = 3;

/// `, stuck 0.50`; nothing while there is no suspicion.
pub(crate) fn score(score: Option<f64>) -> String {
    score.filter(|score| *score > 0.0).map(|score| format!(", stuck {score:.2}")).unwrap_or_default()
}

/// `  suspicious: 93% like the output before (similarity)`, in one line.
pub(crate) fn suspicion(found: &LoopSuspected) -> String {
    fit(&format!("  suspicious: {}", suspected(found)), COLUMNS)
}

/// `93% like the output before (similarity)`
fn suspected(suspected: &LoopSuspected) -> String {
    format!("{} ({})", foreign(&suspected.evidence), clean(suspected.detector.as_str()))
}

/// What ralph does about the circle.
fn answer(detected: &LoopDetected) -> String {
    let of = detected.of.map(|of| format!(" (alarm {} of {of})", detected.alarm)).unwrap_or_default();
    match detected.action {
        LoopAnswer::Redirect => {
            format!("the next prompt asks for a different approach{of}")
        }
        LoopAnswer::Demand => {
            format!("the next prompt demands another approach{of}")
        }
        LoopAnswer::HandOff => "published as `loop.detected`, for the hat that wants it".to_owned(),
        LoopAnswer::Ask => "the run pauses until a person decides".to_owned(),
        LoopAnswer::Warn => "nothing: the action is `warn`".to_owned(),
        LoopAnswer::Stop => format!("the run stops{of}"),
    }
}

/// The whole report, and what ralph does about the circle. Commands for a run that stops stand in the closing block.
pub(crate) fn report(detected: &LoopDetected, paint: Paint) -> Vec<String> {
    if detected.unheeded {
        // The report stands above.
        let mut lines = head(detected, paint);
        lines.extend(rows([("now", vec![answer(detected)])], paint));
        return lines;
    }
    let mut lines = evidence(detected, paint);
    let options = if detected.action == LoopAnswer::Stop { Vec::new() } else { options(detected) };
    lines.extend(rows([("now", vec![answer(detected)]), ("you can", options)], paint));
    lines
}

/// What it looks like.
fn head(detected: &LoopDetected, paint: Paint) -> Vec<String> {
    let says = if detected.unheeded { "told so, and nothing new came of it" } else { "going in circles" };
    let head = format!("{says}: {} ({})", foreign(&detected.pattern), clean(detected.detector.as_str()));
    let lines = paragraph(&head, COLUMNS, MOST).into_iter();
    lines.map(|line| paint.paint(Tone::Notice, &line)).collect()
}

/// The iterations of the circle and their pattern.
pub(crate) fn evidence(detected: &LoopDetected, paint: Paint) -> Vec<String> {
    let mut lines = head(detected, paint);
    let seen = detected.iterations.iter().map(|one| format!("#{} {}", one.iteration, clean(&one.line)));
    let seen = seen.collect();
    let all =
        [("repeated", detected.repeated.clone()), ("seen in", seen), ("unchanged", unchanged(detected))];
    lines.extend(rows(all, paint));
    lines
}

fn rows<const N: usize>(rows: [(&str, Vec<String>); N], paint: Paint) -> Vec<String> {
    let mut lines = Vec::new();
    for (label, texts) in rows {
        let labels = std::iter::once(label).chain(std::iter::repeat(""));
        lines.extend(labels.zip(texts).map(|(label, text)| {
            let text = fit(&clean(&text), COLUMNS - LABEL);
            format!("  {} {text}", paint.dim(&format!("{label:<9}")))
        }));
    }
    lines
}

fn unchanged(detected: &LoopDetected) -> Vec<String> {
    let alike = detected.similarity.map(|ratio| format!("{:.0}% of the lines", 100.0 * ratio));
    detected.unchanged.iter().cloned().chain(alike).collect()
}

fn options(detected: &LoopDetected) -> Vec<String> {
    let wide = detected.options.iter().map(|option| option.command.chars().count()).max().unwrap_or(0);
    let option = |command: &str, what: &str| match wide + 4 + what.len() <= COLUMNS - LABEL {
        true => format!("{command:<wide$}  # {what}"),
        false => command.to_owned(),
    };
    detected.options.iter().map(|one| option(&clean(&one.command), &clean(&one.what))).collect()
}

/// What a person at the terminal can press.
pub(crate) const KEYS: &str = "stuck: c continue with a different approach, v review, q cancel";

pub(crate) fn iteration_of(event: &Event) -> Option<IterationNumber> {
    match event {
        Event::LoopSuspected(e) => Some(e.iteration),
        Event::LoopDetected(e) => Some(e.iteration),
        _ => None,
    }
}

pub(crate) fn details(event: &Event) -> String {
    match event {
        Event::LoopSuspected(e) => suspected(e),
        Event::LoopDetected(e) => {
            format!("{} ({}); {}", foreign(&e.pattern), clean(e.detector.as_str()), answer(e))
        }
        Event::LoopReviewed {} => "a person looks at it once more".to_owned(),
        _ => String::new(),
    }
}
