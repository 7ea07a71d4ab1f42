//! Hats and topics in words.

use std::collections::BTreeMap;

use ralph_model::event::{Event, TopicPublished, TopicRejected};
use ralph_model::hat::Payload;
use ralph_model::ids::HatKey;
use ralph_model::text::clean;
use ralph_model::time::Timestamp;
use ralph_model::{HatNow, IterationRow, RowTopic};
use serde::Serialize;

use crate::Style;
use crate::format::{clock_millis, count};
use crate::paint::Paint;
use crate::text::{columns_of, fit};
use crate::words::{OK, foreign};

/// Different topics on the line of an iteration.
const SHOWN: usize = 4;
/// Of a payload at least this much is shown, however narrow the window.
const LEAST: usize = 4;
/// Where a topic goes that no hat gets.
const NOBODY: &str = "nobody";

/// `code_reviewer`, `code_reviewer failed`, `code_reviewer idle`; without a hat the outcome alone.
pub(crate) fn head(row: &IterationRow, outcome: &str) -> String {
    match &row.hat {
        None => outcome.to_owned(),
        Some(hat) if outcome == OK => clean(hat),
        Some(hat) => format!("{} {outcome}", clean(hat)),
    }
}

/// ` → review.changes_requested (2 of 3)`
pub(crate) fn published(row: &IterationRow) -> String {
    let mut out = String::new();
    if row.topic_count > 0 {
        out.push_str(&format!(" → {}", each_once(&row.topics, row.topic_count)));
    }
    if let Some((number, of)) = row.activation.and_then(|one| Some((one.number, one.of?))) {
        out.push_str(&format!(" ({number} of {of})"));
    }
    out
}

/// `plan.ready, build.task ×12`; of many different ones the first.
fn each_once(topics: &[RowTopic], all: u32) -> String {
    let one = |topic: &RowTopic| match topic.times {
        1 => clean(&topic.topic),
        n => format!("{} ×{n}", clean(&topic.topic)),
    };
    let shown: Vec<String> = topics.iter().take(SHOWN).map(one).collect();
    let more = usize::try_from(all).unwrap_or(usize::MAX).saturating_sub(shown.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

pub(crate) fn details(event: &Event) -> String {
    match event {
        Event::TopicEmitted(e) => said(&e.topic, &e.payload),
        Event::TopicRejected(e) => rejected(e),
        Event::TopicPublished(e) => {
            let by_default = if e.by_default { " (default)" } else { "" };
            format!(
                "{} from {}{by_default} to {}",
                said(e.topic.as_str(), &e.payload),
                clean(&e.from),
                receivers(e)
            )
        }
        Event::HatActivated(e) => {
            let of = e.of.map(|of| format!(" of {of}")).unwrap_or_default();
            let again = if e.again { ", asked once more" } else { "" };
            let events = u32::try_from(e.events.len()).unwrap_or(u32::MAX);
            let given = count(events, "event", "events");
            format!("{}, activation {}{of}, {given}{again}", clean(&e.hat), e.activation)
        }
        Event::HatExhausted(e) => {
            let left = u32::try_from(e.undelivered.len()).unwrap_or(u32::MAX);
            let times = count(e.activations, "activation", "activations");
            format!("{} after {times}, {} not delivered", clean(&e.hat), count(left, "event", "events"))
        }
        Event::HatReset(e) => format!("{} has all of its activations again", clean(&e.hat)),
        _ => String::new(),
    }
}

/// An event about topics or hats, as a line for a person who watches the run.
pub(crate) fn notice(event: &Event) -> String {
    match event {
        Event::TopicRejected(e) => format!("refused: {}", foreign(&e.why)),
        Event::HatExhausted(_) => format!("exhausted: {}", details(event)),
        _ => details(event),
    }
}

/// The hats that get the topic: `executor`, `nobody`, `nobody (dropped for code_reviewer)`.
pub(crate) fn receivers(event: &TopicPublished) -> String {
    let to: Vec<String> = event.to.iter().map(|hat| clean(hat)).collect();
    let dropped: Vec<String> = event.dropped.iter().map(|hat| clean(hat)).collect();
    let to = if to.is_empty() { NOBODY.to_owned() } else { to.join(", ") };
    match dropped.is_empty() {
        true => to,
        false => format!("{to} (dropped for {})", dropped.join(", ")),
    }
}

fn said(topic: &str, payload: &Payload) -> String {
    match payload.is_empty() {
        true => clean(topic),
        false => format!("{}: {}", clean(topic), foreign(payload.first_line())),
    }
}

fn rejected(rejected: &TopicRejected) -> String {
    let may: Vec<String> = rejected.may_publish.iter().map(|topic| clean(topic)).collect();
    let may = if may.is_empty() { "nothing".to_owned() } else { may.join(", ") };
    format!("{}; {} may publish: {may}", foreign(&rejected.why), clean(&rejected.hat))
}

/// `10:00:41.123  #3    executor         implementation.done: look at a.rs  → code_reviewer`. In a window of so many
/// columns the payload is cut, so that who gets it stays on the line.
pub fn line(event: &TopicPublished, at: Timestamp, columns: Option<usize>, style: &Style) -> String {
    let paint = Paint { color: style.color };
    let time = clock_millis(at, &style.zone());
    let iteration = event.iteration.map(|n| format!("#{n}")).unwrap_or_default();
    let by_default = if event.by_default { " (default)" } else { "" };
    let head = format!("  {iteration:<5} {:<15}  {}", clean(&event.from), clean(event.topic.as_str()));
    let tail = format!("{by_default}  → {}", receivers(event));
    let mut payload = match event.payload.is_empty() {
        true => String::new(),
        false => format!(": {}", foreign(event.payload.first_line())),
    };
    if let Some(columns) = columns {
        let used = columns_of(&time) + columns_of(&head) + columns_of(&tail);
        payload = fit(&payload, columns.saturating_sub(used).max(LEAST));
    }
    format!("{}{head}{payload}{tail}", paint.dim(&time))
}

/// How often each hat has been put on, and what waits for it: `code_reviewer 3 of 3 (exhausted)`.
pub(crate) fn hats(hats: &[HatNow]) -> Vec<String> {
    let one = |hat: &HatNow| {
        let of = hat.max_activations.map(|of| format!(" of {of}")).unwrap_or_default();
        let note = match (hat.exhausted, hat.pending_count) {
            (true, _) => " (exhausted)".to_owned(),
            (false, 0) => String::new(),
            (false, n) => format!(" ({n} pending)"),
        };
        format!("{} {}{of}{note}", clean(&hat.hat), hat.activations)
    };
    hats.iter().map(one).collect()
}

/// How often a topic went from one hat to another, or to nobody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TopicCount {
    pub topic: String,
    pub from: String,
    pub to: Option<String>,
    pub count: u64,
}

/// How often each topic went where.
#[derive(Debug, Clone, Default)]
pub struct Counts(BTreeMap<(String, String, String), u64>);

impl Counts {
    /// Once for everybody who got it.
    pub fn add(&mut self, event: &TopicPublished) {
        let nobody = event.to.is_empty().then_some(NOBODY);
        for to in event.to.iter().map(HatKey::as_str).chain(nobody) {
            let key = (event.topic.to_string(), event.from.to_string(), to.to_owned());
            let count = self.0.entry(key).or_default();
            *count = count.saturating_add(1);
        }
    }

    pub fn to_text(&self) -> String {
        let width = |of: fn(&(String, String, String)) -> &String| {
            self.0.keys().map(|key| of(key).chars().count()).max().unwrap_or(0)
        };
        let (topics, froms) = (width(|key| &key.0), width(|key| &key.1));
        let line = |((topic, from, to), count): (&(String, String, String), &u64)| {
            format!("{count:>5}  {:topics$}  {:froms$} → {}", clean(topic), clean(from), clean(to))
        };
        self.0.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// One entry for each way that a topic went.
    pub fn counted(&self) -> Vec<TopicCount> {
        let one = |((topic, from, to), count): (&(String, String, String), &u64)| TopicCount {
            topic: topic.clone(),
            from: from.clone(),
            to: Some(to.clone()).filter(|to| to != NOBODY),
            count: *count,
        };
        self.0.iter().map(one).collect()
    }
}
