//! The last lines of a run: why it ended, what it took, what to type next.

use ralph_model::event::RunStopped;
use ralph_model::stop::{self, StopKind};
use ralph_model::text::clean;
use ralph_model::{MAX_IDLE, NextStep, RunSnapshot, Totals};

use crate::Style;
use crate::format::{count, duration, money, thousands};
use crate::paint::{Paint, Tone};
use crate::text::{COLUMNS, fit, paragraph, wrap};
use crate::waits;

/// Columns of a label with the space around it.
const LABEL: usize = 10;
/// A long reason is cut here; `ralph explain` has it whole.
const MESSAGE_LINES: usize = 8;
/// Findings about tests that are shown.
const FINDINGS: usize = 5;

pub(crate) fn block(run: &RunSnapshot, style: &Style) -> Vec<String> {
    let paint = Paint { color: style.color };
    let mut lines = vec![String::new()];
    lines.extend(run.stopped.iter().flat_map(|stop| reason(&stop.stopped, paint)));
    lines.extend(body(run, paint));
    if let Some(need) = &run.needs_person {
        lines.extend(labelled("needs", wrap(&format!("you: {}", need.sentence()), COLUMNS - LABEL), paint));
    }
    lines.extend(pointers(run, &run.next, paint));
    lines
}

/// For records that end without a stop: the run is going on elsewhere, or it crashed.
pub(crate) fn unfinished(run: &RunSnapshot, style: &Style) -> Vec<String> {
    let paint = Paint { color: style.color };
    let id = clean(&run.run.0);
    let mut lines =
        vec![String::new(), paint.paint(Tone::Notice, "no end is recorded: it still runs, or it crashed")];
    lines.extend(body(run, paint));
    let step = |command: String, why: &'static str| NextStep { command, why: why.into() };
    let next = [
        step(format!("ralph status {id}"), "see which"),
        step(format!("ralph resume {id}"), "go on if it crashed"),
    ];
    lines.extend(pointers(run, &next, paint));
    lines
}

/// `limit reached: 2 of 2 iterations done (max_iterations)`
fn reason(stopped: &RunStopped, paint: Paint) -> Vec<String> {
    let head = match stopped.kind {
        StopKind::Done if stopped.reason.is(&[stop::COMPLETE]) => "complete",
        StopKind::Done => "done",
        StopKind::Failed => "failed",
        StopKind::Limit if stopped.reason.is(&[MAX_IDLE]) => "Stopped (idle)",
        StopKind::Limit => "limit reached",
        StopKind::Blocked => "blocked",
        StopKind::Interrupted => "interrupted",
    };
    let key = match stopped.kind {
        StopKind::Limit if stopped.reason.is(&[MAX_IDLE]) => String::new(),
        // "failed" says all that "error" does.
        StopKind::Failed if stopped.reason.is(&[stop::ERROR]) => String::new(),
        StopKind::Failed | StopKind::Limit | StopKind::Blocked if stopped.reason.as_str() != head => {
            format!(" ({})", clean(stopped.reason.as_str()))
        }
        _ => String::new(),
    };
    let indent = head.len() + 2;
    let message = paragraph(&format!("{}{key}", stopped.message.trim_end()), COLUMNS - indent, MESSAGE_LINES);
    let mut lines = message.into_iter();
    // What nobody proved does not look like what is proved.
    let is_unproved = stopped.reason.is(&[stop::COMPLETE]) && !stopped.proved;
    let tone = if is_unproved { Tone::Notice } else { Tone::of_stop(stopped.kind) };
    let head = paint.paint(tone, head);
    let first = match lines.next() {
        Some(first) => format!("{head}: {first}"),
        None => head,
    };
    std::iter::once(first).chain(lines.map(|line| format!("{:indent$}{line}", ""))).collect()
}

fn body(run: &RunSnapshot, paint: Paint) -> Vec<String> {
    let mut lines = labelled("total", wrap(&total_words(&run.totals), COLUMNS - LABEL), paint);
    if let Some(saved) = run.idle.saved.as_ref().and_then(waits::saved) {
        lines.extend(labelled("saved", wrap(&saved, COLUMNS - LABEL), paint));
    }
    if let Some(words) = nothing_done(run) {
        lines.extend(labelled("files", wrap(&words, COLUMNS - LABEL), paint));
    }
    if let Some(gates) = visible_and_hidden(run) {
        lines.extend(labelled("gates", vec![gates], paint));
    }
    for changed in &run.protected_changes {
        let text = crate::words::trust::change(changed);
        lines.extend(labelled("protect", paragraph(&text, COLUMNS - LABEL, MESSAGE_LINES), paint));
    }
    for found in run.tampering.iter().take(FINDINGS) {
        let text = format!("{} (#{})", clean(&found.finding.to_string()), found.iteration);
        lines.extend(labelled("tests", paragraph(&text, COLUMNS - LABEL, MESSAGE_LINES), paint));
    }
    if let Some(best) = crate::words::net::best(&run.net, &clean(&run.run.0)) {
        lines.extend(labelled("best", wrap(&best, COLUMNS - LABEL), paint));
    }
    if let Some(failed) = &run.net.failed {
        let text = format!("the last state of the tree was not saved: {}", clean(failed));
        lines.extend(labelled("net", paragraph(&text, COLUMNS - LABEL, MESSAGE_LINES), paint));
    }
    let Some(stopped) = run.stopped.as_ref().map(|stop| &stop.stopped) else { return lines };
    if let Some(refused) = refused(run).filter(|_| stopped.kind == StopKind::Limit) {
        lines.extend(labelled("refused", paragraph(&refused, COLUMNS - LABEL, MESSAGE_LINES), paint));
    }
    if stopped.kind == StopKind::Failed {
        let error = run.last.as_ref().and_then(|row| row.error.as_deref());
        if let Some(error) = error.filter(|error| !stopped.message.contains(*error)) {
            lines.extend(labelled("error", vec![fit(&clean(error), COLUMNS - LABEL)], paint));
        }
        if let Some(now) = &run.activity {
            lines.extend(labelled("said", vec![fit(&now.text, COLUMNS - LABEL)], paint));
        }
    }
    lines
}

/// What a proof is worth where the run has changed no file: the gates would have passed before it.
fn nothing_done(run: &RunSnapshot) -> Option<String> {
    let is_proved = run.stopped.as_ref().is_some_and(|stop| stop.stopped.proved);
    let all = usize::try_from(run.row_count).is_ok_and(|count| count == run.rows.len());
    let none = run.rows.iter().all(|row| row.files.as_ref().is_some_and(|files| files.count == 0));
    (is_proved && all && none && !run.rows.is_empty())
        .then(|| "none was changed by this run: what proves it passed without it".to_owned())
}

/// `visible 2 of 2 passed, hidden 0 of 1`: what the agent could work towards, against what it could not. Nothing where no gate
/// is hidden.
fn visible_and_hidden(run: &RunSnapshot) -> Option<String> {
    let count = |hidden: bool| {
        let gates = run.gates.iter().filter(|gate| gate.hidden == hidden);
        let passed = gates.clone().filter(|gate| gate.last.as_ref().is_some_and(|last| last.passed));
        format!("{} of {}", passed.count(), gates.count())
    };
    let is_any = run.gates.iter().any(|gate| gate.hidden);
    let is_visible = run.gates.iter().any(|gate| !gate.hidden);
    is_any.then(|| match is_visible {
        true => format!("visible {} passed, hidden {} passed", count(false), count(true)),
        false => format!("hidden {} passed", count(true)),
    })
}

/// `the last claim (#2): gate tests: exit code 1`, if the agent thought that it was done and was not.
fn refused(run: &RunSnapshot) -> Option<String> {
    let claim = run.claims.last()?;
    let reasons = claim.missing.iter().map(|one| {
        let gate = run.gates.iter().any(|gate| gate.name == one.name);
        format!("{}{}: {}", if gate { "gate " } else { "" }, clean(&one.name), clean(&one.why))
    });
    let reasons: Vec<String> = reasons.collect();
    (!reasons.is_empty()).then(|| format!("the last claim (#{}): {}", claim.iteration, reasons.join("; ")))
}

/// `7 iterations, 1 failed, 12m30s of work in 13m05s, $1.24`
pub(crate) fn total_words(totals: &Totals) -> String {
    let mut words = count(totals.iterations, "iteration", "iterations");
    if totals.failures > 0 {
        words.push_str(&format!(", {} failed", totals.failures));
    }
    words.push_str(&format!(", {} of work in {}", duration(totals.runtime), duration(totals.wall_time)));
    if let Some(cost) = totals.cost_usd {
        words.push_str(&format!(", {}", money(cost)));
    }
    if totals.tokens > 0 {
        words.push_str(&format!(", {} tokens", thousands(totals.tokens)));
    }
    match totals.unpriced_tokens {
        0 => {}
        all if all == totals.tokens => words.push_str(", cost unknown"),
        some => words.push_str(&format!(", the cost of {} unknown", thousands(some))),
    }
    words
}

fn pointers(run: &RunSnapshot, next: &[NextStep], paint: Paint) -> Vec<String> {
    let mut logs = vec![format!("ralph logs {}", clean(&run.run.0))];
    logs.extend(run.definition.log_dir.as_deref().map(clean));
    let mut lines = labelled("logs", logs, paint);
    lines.extend(labelled("changes", changes(run), paint));
    lines.extend(labelled("branch", branch(run), paint));
    let wide = next.iter().map(|next| next.command.chars().count()).max().unwrap_or(0);
    let next = next.iter().map(|NextStep { command, why }| {
        // Long run ids and long flags leave no room for the comment.
        match wide + 4 + why.len() <= COLUMNS - LABEL {
            true => format!("{command:<wide$}  {}", paint.dim(&format!("# {why}"))),
            false => command.clone(),
        }
    });
    lines.extend(labelled("next", next.collect(), paint));
    lines
}

/// How to see what the run changed, and how to take it back.
fn changes(run: &RunSnapshot) -> Vec<String> {
    let id = clean(&run.run.0);
    match run.net.checkpoints {
        0 => Vec::new(),
        _ => vec![format!("ralph diff {id} --since-start"), format!("ralph undo {id}")],
    }
}

/// How to look at the worktree of the run, how to take its work over, and how to be rid of it.
fn branch(run: &RunSnapshot) -> Vec<String> {
    let Some(tree) = &run.net.worktree else { return Vec::new() };
    let (branch, path, main) = (clean(&tree.branch), clean(&tree.path), clean(&tree.main));
    vec![
        format!("{branch} in {path}"),
        format!("look:  git -C {path} status"),
        format!("merge: git -C {main} merge {branch}"),
        format!("drop:  git -C {main} worktree remove {path} && git -C {main} branch -d {branch}"),
    ]
}

fn labelled(label: &str, texts: Vec<String>, paint: Paint) -> Vec<String> {
    let labels = std::iter::once(label).chain(std::iter::repeat(""));
    labels.zip(texts).map(|(label, text)| format!("  {} {text}", paint.dim(&format!("{label:<7}")))).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use ralph_model::usage::Usage;

    #[test]
    fn a_total_says_what_part_of_it_has_no_price() {
        let words = |cost_usd, unpriced| {
            let work = Duration::from_secs(5);
            total_words(&Totals {
                iterations: 2,
                failures: 0,
                consecutive_failures: 0,
                rejected_claims: 0,
                runtime: work,
                wall_time: work,
                usage: Usage::default(),
                tokens: 3000,
                unpriced_tokens: unpriced,
                cost_usd,
            })
        };
        assert_eq!(words(Some(0.5), 0), "2 iterations, 5s of work in 5s, $0.50, 3k tokens");
        assert!(words(None, 3000).ends_with("3k tokens, cost unknown"));
        assert!(words(Some(0.5), 1000).ends_with("$0.50, 3k tokens, the cost of 1k unknown"));
    }
}
