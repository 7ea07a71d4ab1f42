//! `ralph status`: one run on one screen.

use ralph_model::text::clean;
use ralph_model::time::Timestamp;
use ralph_model::{PhaseNow, RunSnapshot, RunWord, Then};

use crate::Style;
use crate::closing::total_words;
use crate::forecast;
use crate::format::{ago, clock_from, closeness, count, date_time, elapsed};
use crate::paint::{Paint, Tone};
use crate::text::{COLUMNS, columns_of, fit, wrap, wrap_list};
use crate::topics;
use crate::waits;
use crate::words::{self, agent_command};

/// Columns of a label with the space behind it.
const LABEL: usize = 11;

pub fn render(run: &RunSnapshot, now: Timestamp, style: &Style) -> String {
    let paint = Paint { color: style.color };
    let mut rows: Vec<(&str, String)> = Vec::new();
    rows.push(("run", format!("{} ({})", paint.strong(&clean(&run.run.0)), clean(&run.name))));
    rows.push(("state", state_words(run, now, style)));
    rows.push(("workspace", clean(&run.workspace)));
    rows.push(("agent", agent_command(&run.agent.command, COLUMNS - LABEL)));
    let started = date_time(run.started_at, &style.zone());
    rows.push(("started", format!("{started}, {}", ago(run.started_at, now))));
    rows.extend(labelled("total", wrap(&total_words(&run.totals), COLUMNS - LABEL)));
    if let Some(last) = &run.last {
        rows.push(("last", words::row(last, paint)));
    }
    if let Some(now) = &run.activity {
        rows.push(("said", fit(&now.text, COLUMNS - LABEL)));
    }
    let contained = run.containment.iter().flat_map(words::contain::lines);
    let contained = contained.flat_map(|text| wrap(&text, COLUMNS - LABEL)).collect();
    rows.extend(labelled("sandbox", contained));
    rows.extend(labelled("hats", wrap_list(&topics::hats(&run.hats), COLUMNS - LABEL)));
    if let Some(need) = &run.needs_person {
        rows.extend(labelled("needs you", wrap(&need.sentence(), COLUMNS - LABEL)));
    }
    if run.guidance_count > 0 {
        let messages = count(run.guidance_count, "message", "messages");
        rows.push(("guidance", format!("{messages} not yet taken up")));
    }
    if let Some(near) = run.nearest().filter(|_| !run.definition.once) {
        rows.push(("nearest", closeness(near)));
    }
    for one in &run.quotas {
        let until =
            one.resets_at.map(|at| format!(", begins anew at {}", clock_from(at, now, &style.zone())));
        let used = (one.used * 100.0).round();
        rows.push(("quota", format!("{used}% of {} used{}", clean(&one.window), until.unwrap_or_default())));
    }
    if let Some(forecast) = forecast::sentence(run) {
        rows.extend(labelled("forecast", wrap(&forecast, COLUMNS - LABEL)));
    }
    rows.extend(labelled("next", run.next.iter().map(|step| step.command.clone()).collect()));
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

fn state_words(run: &RunSnapshot, now: Timestamp, style: &Style) -> String {
    let paint = Paint { color: style.color };
    if let Some(stopped) = run.stopped.as_ref().map(|stop| &stop.stopped) {
        let reason = clean(stopped.reason.as_str());
        // Cut to one line: `ralph explain` has it whole.
        let room = (COLUMNS - LABEL).saturating_sub("stopped: : ".len() + columns_of(&reason));
        let reason = paint.paint(Tone::of_stop(stopped.kind), &reason);
        return format!("stopped: {reason}: {}", fit(&clean(&stopped.message), room));
    }
    if run.state == RunWord::Crashed {
        let seen = format!("last seen {}", ago(run.last_at, now));
        return format!("{}, {seen}", paint.paint(Tone::Bad, "crashed"));
    }
    match &run.phase {
        PhaseNow::Running { iteration, attempt, since, .. } => {
            let of = run.max_iterations().map(|max| format!(" of {max}")).unwrap_or_default();
            let attempt = if *attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
            let took = elapsed(now.since(*since));
            let then = match run.then {
                Some(Then::Stop) => "; stops after it",
                Some(Then::Pause) => "; pauses after it",
                None => "",
            };
            format!("running: iteration {iteration}{of}{attempt}, for {took}{then}")
        }
        PhaseNow::Gates { iteration, since, .. } => {
            format!("the gates judge iteration {iteration}, for {}", elapsed(now.since(*since)))
        }
        PhaseNow::Waiting { .. } => {
            let words = run.wait().map(|wait| waits::counting(&wait, now, style));
            fit(&format!("waiting: {}", words.unwrap_or_default()), COLUMNS - LABEL)
        }
        PhaseNow::Paused { .. } => paint.paint(Tone::Notice, "paused"),
        PhaseNow::Deciding | PhaseNow::Stopped => "between iterations".to_owned(),
    }
}
