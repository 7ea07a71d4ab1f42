//! `ralph status`: one run on one screen.

use ralph_core::event::DelayReason;
use ralph_core::hat::Hat;
use ralph_core::state::{Phase, RunState};
use ralph_core::time::Timestamp;
use ralph_core::view::{Ended, View, clean};
use serde_json::{Value, json};

use crate::Style;
use crate::closing::{next, total_words};
use crate::format::{ago, closeness, count, date_time, elapsed};
use crate::list::ListedState;
use crate::paint::{Paint, Tone};
use crate::text::{COLUMNS, columns_of, fit, wrap, wrap_list};
use crate::topics;
use crate::waits;
use crate::words::{agent_command, ended};

/// Columns of a label with the space behind it.
const LABEL: usize = 11;

/// `alive`: whether a process still works on the run.
pub fn render(view: &View, now: Timestamp, alive: bool, style: &Style) -> String {
    let Some(state) = view.state() else { return "nothing is recorded of this run\n".to_owned() };
    let paint = Paint { color: style.color };
    let mut rows: Vec<(&str, String)> = Vec::new();
    let until = view.counts_until(now, alive);
    let plan = &state.plan;
    rows.push(("run", format!("{} ({})", paint.strong(&clean(&state.run.0)), clean(&plan.name))));
    rows.push(("state", state_words(view, state, now, alive, style)));
    rows.push(("workspace", clean(&plan.workspace.to_string_lossy())));
    rows.push(("agent", agent_command(&plan.agent, COLUMNS - LABEL)));
    let started = date_time(state.started_at, &style.zone);
    rows.push(("started", format!("{started}, {}", ago(state.started_at, now))));
    if let Some(totals) = view.totals(until) {
        rows.extend(labelled("total", wrap(&total_words(&totals), COLUMNS - LABEL)));
    }
    if let Some(last) = view.last() {
        rows.push(("last", ended(last, paint)));
    }
    if let Some(said) = view.said() {
        rows.push(("said", fit(said, COLUMNS - LABEL)));
    }
    rows.extend(labelled("hats", wrap_list(&topics::hats(state), COLUMNS - LABEL)));
    if !state.guidance.is_empty() {
        let n = u64::try_from(state.guidance.len()).unwrap_or(u64::MAX);
        rows.push(("guidance", format!("{} not yet taken up", count(n, "message", "messages"))));
    }
    if let Some(near) = view.nearest(until).filter(|_| !plan.once) {
        rows.push(("nearest", closeness(near.def, &near.reading)));
    }
    rows.extend(labelled("next", next_commands(view, state, alive)));
    rows.into_iter()
        .map(|(label, text)| {
            format!("{} {text}", paint.dim(&format!("{label:<width$}", width = LABEL - 1)))
                .trim_end()
                .to_owned()
                + "\n"
        })
        .collect()
}

fn labelled(label: &'static str, texts: Vec<String>) -> impl Iterator<Item = (&'static str, String)> {
    std::iter::once(label).chain(std::iter::repeat("")).zip(texts)
}

fn state_words(view: &View, state: &RunState, now: Timestamp, alive: bool, style: &Style) -> String {
    let paint = Paint { color: style.color };
    if let Some(stopped) = view.stopped() {
        let reason = clean(stopped.reason.as_str());
        // Cut to one line: `ralph explain` has it whole.
        let room = (COLUMNS - LABEL).saturating_sub("stopped: : ".len() + columns_of(&reason));
        let reason = paint.paint(Tone::of_stop(stopped.kind), &reason);
        return format!("stopped: {reason}: {}", fit(&clean(&stopped.message), room));
    }
    if !alive {
        let seen = format!("last seen {}", ago(state.last_at, now));
        return format!("{}, {seen}", paint.paint(Tone::Bad, "crashed"));
    }
    match &state.phase {
        Phase::Running(running) => {
            let of = state.plan.limits.max_iterations.filter(|_| !state.plan.once);
            let of = of.map(|max| format!(" of {max}")).unwrap_or_default();
            let attempt =
                if running.attempt > 1 { format!(", attempt {}", running.attempt) } else { String::new() };
            let took = elapsed(now.since(running.started_at));
            let then = match (&state.stop_request, state.pause_requested) {
                (Some(_), _) => "; stops after it",
                (None, true) => "; pauses after it",
                (None, false) => "",
            };
            format!("running: iteration {}{of}{attempt}, for {took}{then}", running.iteration)
        }
        Phase::Checking(checking) => {
            let took = elapsed(now.since(checking.started_at));
            format!("checking iteration {} with the gates, for {took}", checking.iteration)
        }
        Phase::Waiting(_) => {
            let words = view.wait().map(|wait| waits::counting(wait, Some(state), now, style));
            fit(&format!("waiting: {}", words.unwrap_or_default()), COLUMNS - LABEL)
        }
        Phase::Paused => paint.paint(Tone::Notice, "paused"),
        Phase::Ready | Phase::Stopped => "between iterations".to_owned(),
    }
}

fn next_commands(view: &View, state: &RunState, alive: bool) -> Vec<String> {
    let run = clean(&state.run.0);
    match (view.stopped(), &state.phase) {
        (Some(stopped), _) => next(view, stopped).into_iter().map(|next| next.command).collect(),
        (None, _) if !alive => vec![format!("ralph resume {run}")],
        (None, Phase::Paused) => vec![format!("ralph unpause {run}")],
        (None, Phase::Waiting(wait)) if wait.reason == DelayReason::Question => {
            vec![format!("ralph say 'ANSWER' --run {run}"), format!("ralph stop {run}")]
        }
        (None, _) => vec![format!("ralph events {run} --follow"), format!("ralph stop {run}")],
    }
}

pub fn to_json(view: &View, now: Timestamp, alive: bool) -> Value {
    let Some(state) = view.state() else { return Value::Null };
    let until = view.counts_until(now, alive);
    let totals = view.totals(until);
    let (outcome, last) = match view.last() {
        Some(Ended::Finished(finished)) => ("finished", json!(finished)),
        Some(Ended::Interrupted(cut)) => ("interrupted", json!(cut)),
        None => ("none", Value::Null),
    };
    let near = view.nearest(until);
    json!({
        "run": state.run,
        "name": state.plan.name,
        "workspace": state.plan.workspace.to_string_lossy(),
        "state": ListedState::of(state, alive).key(),
        "pid": alive.then_some(state.pid),
        "started_at": state.started_at,
        "last_at": state.last_at,
        "iteration": view.current().map(|(iteration, _)| iteration),
        "attempt": view.current().map(|(_, attempt)| attempt),
        "wait_until": view.wait().map(|wait| wait.until),
        "iterations": state.iterations_finished,
        "failures": state.total_failures,
        "consecutive_failures": state.consecutive_failures,
        "runtime_ms": totals.as_ref().map(|totals| millis(totals.work)),
        "wall_time_ms": totals.as_ref().map(|totals| millis(totals.wall)),
        "usage": state.usage,
        "cost_usd": state.cost_now(),
        "last_ended": outcome,
        "last": last,
        "said": view.said(),
        "guidance": state.guidance,
        "nearest": near.map(|near| json!({ "key": near.def.stop.key, "fraction": near.reading.fraction() })),
        "stopped": state.stopped,
        "hats": state.bus.as_ref().map(|bus| bus.hats().iter().map(hat_json).collect::<Vec<_>>()),
    })
}

fn hat_json(hat: &Hat) -> Value {
    let pending: Vec<&str> = hat.pending.iter().map(|letter| letter.topic.as_str()).collect();
    json!({ "hat": hat.id, "activations": hat.activations, "exhausted": hat.exhausted, "pending": pending })
}

fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
