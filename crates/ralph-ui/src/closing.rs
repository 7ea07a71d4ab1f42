//! The last lines of a run: why it ended, what it took, what to type next.

use std::borrow::Cow;
use std::time::Duration;

use ralph_core::event::RunStopped;
use ralph_core::guard::MAX_IDLE;
use ralph_core::guard::Unit;
use ralph_core::stop::{self, StopKind};
use ralph_core::time::Timestamp;
use ralph_core::view::{Ended, GuardReading, Totals, View, clean};

use crate::Style;
use crate::format::{count, duration, money, thousands};
use crate::paint::{Paint, Tone};
use crate::text::{COLUMNS, fit, paragraph, wrap};
use crate::waits;

/// Columns of a label with the space around it.
const LABEL: usize = 10;
/// A long reason is cut here; `ralph explain` has it whole.
const MESSAGE_LINES: usize = 8;

/// A command to type, and what for.
pub(crate) struct Next {
    pub command: String,
    pub why: Cow<'static, str>,
}

impl Next {
    fn new(command: String, why: impl Into<Cow<'static, str>>) -> Self {
        Self { command, why: why.into() }
    }
}

pub(crate) fn block(view: &View, stopped: &RunStopped, now: Timestamp, style: &Style) -> Vec<String> {
    let paint = Paint { color: style.color };
    let mut lines = vec![String::new()];
    lines.extend(reason(stopped, paint));
    lines.extend(body(view, now, paint));
    lines.extend(pointers(view, next(view, stopped), paint));
    lines
}

/// For records that end without a stop: the run is going on elsewhere, or it crashed.
pub(crate) fn unfinished(view: &View, style: &Style) -> Vec<String> {
    let paint = Paint { color: style.color };
    let Some(state) = view.state() else { return Vec::new() };
    let run = clean(&state.run.0);
    let mut lines =
        vec![String::new(), paint.paint(Tone::Notice, "no end is recorded: it still runs, or it crashed")];
    lines.extend(body(view, state.last_at, paint));
    let next = vec![
        Next::new(format!("ralph status {run}"), "see which"),
        Next::new(format!("ralph resume {run}"), "go on if it crashed"),
    ];
    lines.extend(pointers(view, next, paint));
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
    let head = paint.paint(Tone::of_stop(stopped.kind), head);
    let first = match lines.next() {
        Some(first) => format!("{head}: {first}"),
        None => head,
    };
    std::iter::once(first).chain(lines.map(|line| format!("{:indent$}{line}", ""))).collect()
}

fn body(view: &View, now: Timestamp, paint: Paint) -> Vec<String> {
    let Some(totals) = view.totals(now) else { return Vec::new() };
    let mut lines = labelled("total", wrap(&total_words(&totals), COLUMNS - LABEL), paint);
    if let Some(saved) = view.state().and_then(waits::saved) {
        lines.extend(labelled("saved", wrap(&saved, COLUMNS - LABEL), paint));
    }
    let Some(stopped) = view.stopped() else { return lines };
    if let Some(refused) = refused(view).filter(|_| stopped.kind == StopKind::Limit) {
        lines.extend(labelled("refused", paragraph(&refused, COLUMNS - LABEL, MESSAGE_LINES), paint));
    }
    if stopped.kind == StopKind::Failed {
        if let Some(error) = last_error(view).filter(|error| !stopped.message.contains(*error)) {
            lines.extend(labelled("error", vec![fit(&clean(error), COLUMNS - LABEL)], paint));
        }
        if let Some(said) = view.said() {
            lines.extend(labelled("said", vec![fit(said, COLUMNS - LABEL)], paint));
        }
    }
    lines
}

/// Why the last iteration failed, if it did.
fn last_error(view: &View) -> Option<&str> {
    match view.last()? {
        Ended::Finished(finished) => finished.error.as_deref(),
        Ended::Interrupted(_) => None,
    }
}

/// `the last claim (#2): gate tests: exit code 1`, if the agent thought that it was done and was not.
fn refused(view: &View) -> Option<String> {
    let state = view.state()?;
    let shown = view.claims().last().map(|claim| (claim.iteration, &claim.missing));
    // A run that is shown from its resume on has its claims in the state.
    let (iteration, missing) =
        shown.or_else(|| state.proof.rejected.as_ref().map(|claim| (claim.iteration, &claim.missing)))?;
    let reasons = missing.iter().map(|one| {
        let gate = state.plan.proof.gates.iter().any(|gate| gate.name == one.name);
        format!("{}{}: {}", if gate { "gate " } else { "" }, clean(&one.name), clean(&one.why))
    });
    let reasons: Vec<String> = reasons.collect();
    (!reasons.is_empty()).then(|| format!("the last claim (#{iteration}): {}", reasons.join("; ")))
}

/// `7 iterations, 1 failed, 12m30s of work in 13m05s, $1.24`
pub(crate) fn total_words(totals: &Totals) -> String {
    let mut words = count(totals.iterations, "iteration", "iterations");
    if totals.failures > 0 {
        words.push_str(&format!(", {} failed", totals.failures));
    }
    words.push_str(&format!(", {} of work in {}", duration(totals.work), duration(totals.wall)));
    if let Some(cost) = totals.cost_usd {
        words.push_str(&format!(", {}", money(cost)));
    }
    if totals.tokens > 0 {
        words.push_str(&format!(", {} tokens", thousands(totals.tokens)));
    }
    match totals.unpriced {
        0 => {}
        all if all == totals.tokens => words.push_str(", cost unknown"),
        some => words.push_str(&format!(", the cost of {} unknown", thousands(some))),
    }
    words
}

fn pointers(view: &View, next: Vec<Next>, paint: Paint) -> Vec<String> {
    let Some(state) = view.state() else { return Vec::new() };
    let mut logs = vec![format!("ralph logs {}", clean(&state.run.0))];
    if let Some(dir) = &state.plan.log_dir {
        logs.push(clean(&dir.to_string_lossy()));
    }
    let mut lines = labelled("logs", logs, paint);
    let wide = next.iter().map(|next| next.command.chars().count()).max().unwrap_or(0);
    let next = next.into_iter().map(|Next { command, why }| {
        // Long run ids and long flags leave no room for the comment.
        match wide + 4 + why.len() <= COLUMNS - LABEL {
            true => format!("{command:<wide$}  {}", paint.dim(&format!("# {why}"))),
            false => command,
        }
    });
    lines.extend(labelled("next", next.collect(), paint));
    lines
}

fn labelled(label: &str, texts: Vec<String>, paint: Paint) -> Vec<String> {
    let labels = std::iter::once(label).chain(std::iter::repeat(""));
    labels.zip(texts).map(|(label, text)| format!("  {} {text}", paint.dim(&format!("{label:<7}")))).collect()
}

/// What a person would type now.
pub(crate) fn next(view: &View, stopped: &RunStopped) -> Vec<Next> {
    let run = view.run().map(|run| clean(&run.0)).unwrap_or_default();
    let resume = |why: &'static str| Next::new(format!("ralph resume {run}"), why);
    let explain = Next::new(format!("ralph explain {run}"), "why it stopped");
    // A resume has the hats as they were: what was wrong with them is only mended by a new run.
    if stopped.reason.is(&[stop::NO_SUBSCRIBER, stop::NO_HANDOFF]) {
        let anew = Next::new("ralph run …".to_owned(), "anew, with the hats mended");
        return vec![anew, resume("let the coordinator go on"), explain];
    }
    match stopped.kind {
        StopKind::Done => {
            vec![Next::new(format!("ralph replay {run}"), "see the run again")]
        }
        StopKind::Limit if stopped.reason.is(&[MAX_IDLE]) => vec![resume("look again"), explain],
        StopKind::Limit => {
            let now = view.counts_until(Timestamp::default(), false);
            let spent = view.readings(now).into_iter().find(|guard| stopped.reason.is(&[guard.def.stop]));
            let raise = spent.and_then(|guard| raised(&guard)).unwrap_or_default();
            vec![Next::new(format!("ralph resume {run}{raise}"), "go on, limit raised"), explain]
        }
        StopKind::Blocked => {
            let reset = reset(view);
            let go_on = |why: &'static str| Next::new(format!("ralph resume {run}{reset}"), why);
            match stopped.reason.is(&[stop::BLOCKED]) {
                true => {
                    vec![
                        Next::new(format!("ralph say 'ANSWER' --run {run}"), "answer it"),
                        go_on("then go on"),
                    ]
                }
                false if reset.is_empty() => vec![go_on("go on once that is fixed"), explain],
                false => vec![go_on("go on"), explain],
            }
        }
        StopKind::Failed if ended_by_loop(view) => {
            let options = view.state().and_then(|state| state.stuck.last.as_ref()).map(|last| &last.options);
            let options = options.into_iter().flatten();
            options.map(|option| Next::new(clean(&option.command), clean(&option.what))).collect()
        }
        StopKind::Failed if stopped.reason.is(&[stop::JOURNAL_ERROR]) => {
            vec![resume("go on once there is room")]
        }
        StopKind::Failed => vec![explain, resume("try again")],
        StopKind::Interrupted => vec![resume("go on")],
    }
}

fn ended_by_loop(view: &View) -> bool {
    view.state().is_some_and(|state| state.stuck.ends && state.stuck.last.is_some())
}

/// The flags that give exhausted hats their activations again: without them nothing would change.
fn reset(view: &View) -> String {
    let bus = view.state().and_then(|state| state.bus.as_ref());
    let spent = bus.into_iter().flat_map(|bus| bus.hats()).filter(|hat| hat.exhausted);
    spent.map(|hat| format!(" --reset-hat {}", clean(&hat.id))).collect()
}

/// The flag that doubles a limit. Limits without a flag of their own are set by their path.
fn raised(guard: &GuardReading) -> Option<String> {
    let limit = guard.reading.limit * 2.0;
    let value = match guard.reading.unit {
        Unit::Count => format!("{limit:.0}"),
        Unit::Seconds => ralph_core::duration::format(Duration::try_from_secs_f64(limit).ok()?),
        Unit::Dollars => format!("{limit:.2}").trim_end_matches('0').trim_end_matches('.').to_owned(),
    };
    Some(match guard.def.stop.key {
        "max_iterations" => format!(" -n {value}"),
        "max_runtime" => format!(" --max-runtime {value}"),
        "max_cost" => format!(" --max-cost {value}"),
        _ => format!(" --set {}={value}", guard.def.setting),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_total_says_what_part_of_it_has_no_price() {
        let words = |cost_usd, unpriced| {
            let work = Duration::from_secs(5);
            total_words(&Totals {
                iterations: 2,
                failures: 0,
                work,
                wall: work,
                cost_usd,
                tokens: 3000,
                unpriced,
            })
        };
        assert_eq!(words(Some(0.5), 0), "2 iterations, 5s of work in 5s, $0.50, 3k tokens");
        assert!(words(None, 3000).ends_with("3k tokens, cost unknown"));
        assert!(words(Some(0.5), 1000).ends_with("$0.50, 3k tokens, the cost of 1k unknown"));
    }
}
