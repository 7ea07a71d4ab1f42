//! State, delay and events: what an agent may say to ralph anywhere in its own words. Flat memory whatever it prints.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::fence::Glance;
use super::misheard::{self, Misheard, Unheard};
use super::scene::{Scene, SeenLine};
use super::{ECHO_MAX, Rules, cut, flood, without_escapes};
use crate::duration;

/// Events of one attempt that are taken; the others are counted.
const MAX_EVENTS: usize = 100;
/// A longer payload is cut, and says so.
const MAX_PAYLOAD: usize = 64 * 1024;
/// Of all payloads of an attempt together: they become one record of the journal.
const MAX_TOTAL: usize = 256 * 1024;
const MAX_TOPIC: usize = 200;
/// No line that matters is longer. Of a longer one the beginning counts, and the end, which may close an event.
const MAX_LINE: usize = MAX_PAYLOAD + 1024;
const END_KEPT: usize = 256;

const EVENT_OPEN: &str = "<event";
const EVENT_CLOSE: &str = "</event>";
const KEY: &str = "ralph:";
const COMMENT_OPEN: &str = "<!--";
const COMMENT_CLOSE: &str = "-->";

/// What the agent says it is doing.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum AgentState {
    /// There is nothing to do.
    Idle,
    /// It cannot go on without a person.
    Blocked,
    /// Somebody has to look at what it did.
    WaitingForReview,
    /// There is more to do; the same as saying nothing.
    Working,
}

impl AgentState {
    pub const ALL: [AgentState; 4] =
        [AgentState::Idle, AgentState::Blocked, AgentState::WaitingForReview, AgentState::Working];

    /// The word in the marker, in settings and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            AgentState::Idle => "idle",
            AgentState::Blocked => "blocked",
            AgentState::WaitingForReview => "waiting_for_review",
            AgentState::Working => "working",
        }
    }

    pub fn by_name(name: &str) -> Option<AgentState> {
        AgentState::ALL.into_iter().find(|state| state.name() == name)
    }
}

/// An `<event topic="…">` block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Published {
    pub topic: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub payload: String,
    /// The payload was longer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// What was found. Of states and delays the last one counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    pub state: Option<AgentState>,
    pub delay: Option<Duration>,
    /// In the order they were said.
    pub published: Vec<Published>,
    /// Events past the bound.
    pub unpublished: u32,
    /// What was perhaps meant as a state or a delay.
    pub misheard: Option<Misheard>,
}

/// Finds state, delay and events in a stream ([`SpeechScanner::push`]) or in whole messages ([`SpeechScanner::message`]).
#[derive(Debug)]
pub struct SpeechScanner {
    rules: Rules,
    outside: Outside,
    block: Option<Block>,
    published: Vec<Published>,
    unpublished: u32,
    bytes: usize,
    partial: Partial,
}

/// Where the reader stands outside of an event.
#[derive(Debug, Clone, Default)]
struct Outside {
    scene: Scene,
    /// The last line with something on it.
    before: String,
    state: Option<AgentState>,
    delay: Option<Duration>,
    misheard: Option<Misheard>,
    /// What counts unless a later line shows that it stands in a code span.
    pending: Vec<Spoken>,
}

/// An event whose end has not come yet.
#[derive(Debug)]
struct Block {
    topic: String,
    payload: String,
    truncated: bool,
    echo: bool,
    /// What the lines say if the event never ends, and so never was one.
    meanwhile: Outside,
}

/// A line whose end has not come yet.
#[derive(Debug, Default)]
struct Partial {
    head: Vec<u8>,
    /// The last bytes of a line that is too long to keep.
    end: Vec<u8>,
    cut: bool,
}

impl SpeechScanner {
    pub fn new(rules: Rules) -> Self {
        Self {
            rules,
            outside: Outside::default(),
            block: None,
            published: Vec::new(),
            unpublished: 0,
            bytes: 0,
            partial: Partial::default(),
        }
    }

    /// The next piece of a stream. Where a piece ends does not matter.
    pub fn push(&mut self, bytes: &[u8]) {
        self.push_seen(bytes, Glance::at(bytes));
    }

    /// The same for who has had a look at it already.
    pub fn push_seen(&mut self, mut bytes: &[u8], seen: Glance) {
        if !seen.ends {
            return self.partial.extend(bytes);
        }
        if !self.partial.is_empty() {
            let Some(end) = memchr::memchr(b'\n', bytes) else { return self.partial.extend(bytes) };
            self.partial.extend(&bytes[..end]);
            self.end_partial();
            bytes = &bytes[end + 1..];
        }
        let (lines, rest) = bytes.split_at(memchr::memrchr(b'\n', bytes).map_or(0, |end| end + 1));
        let matters = self.block.is_some() || seen.tags;
        let lines = if matters { lines } else { flood::to_read(&self.outside.scene, seen, lines) };
        lines.split_inclusive(|b| *b == b'\n').for_each(|line| self.whole_line(&line[..line.len() - 1]));
        self.partial.extend(rest);
    }

    /// A whole message. It stands for itself: no fence and no event reaches into the next one.
    pub fn message(&mut self, text: &str) {
        text.lines().for_each(|line| self.whole_line(line.as_bytes()));
        self.end_message();
    }

    pub fn finish(mut self) -> Said {
        self.end_partial();
        self.end_message();
        let Outside { state, delay, misheard, .. } = self.outside;
        Said { state, delay, published: self.published, unpublished: self.unpublished, misheard }
    }

    #[cfg(test)]
    pub(super) fn partial_capacity(&self) -> usize {
        self.partial.head.capacity() + self.partial.end.capacity()
    }

    fn end_message(&mut self) {
        if let Some(block) = self.block.take() {
            self.outside = block.meanwhile;
        }
        self.outside.resolve(false);
        self.outside.scene = Scene::default();
        self.outside.before.clear();
    }

    fn end_partial(&mut self) {
        let mut line = std::mem::take(&mut self.partial);
        line.head.extend_from_slice(&line.end);
        self.bytes_line(&line.head, line.cut);
        line.head.clear();
        line.end.clear();
        line.cut = false;
        self.partial = line;
    }

    /// A line without its end. A long one is cut as if it had come in pieces.
    fn whole_line(&mut self, line: &[u8]) {
        if line.len() <= MAX_LINE {
            return self.bytes_line(line, false);
        }
        self.partial.extend(line);
        self.end_partial();
    }

    fn bytes_line(&mut self, line: &[u8], cut: bool) {
        self.line(&String::from_utf8_lossy(line), cut);
    }

    /// `cut`: something in the middle of it is missing.
    fn line(&mut self, raw: &str, cut: bool) {
        let clean = without_escapes(raw);
        let text = clean.trim();
        let (mut block, mut part) = match self.block.take() {
            Some(mut block) => {
                block.meanwhile.line(raw, text, cut, &self.rules);
                (block, clean.trim_end())
            }
            None => {
                let opened = event_open(text).filter(|_| raw.contains(EVENT_OPEN));
                let echo = opened.is_some() && self.rules.is_echo(&self.outside.before, text);
                let fenced = self.outside.line(raw, text, cut, &self.rules);
                let Some((topic, inside)) = opened.filter(|_| !fenced) else { return };
                (self.begin(topic, echo), inside)
            }
        };
        while let Some(at) = part.find(EVENT_CLOSE) {
            block.add(&part[..at]);
            let rest = part[at + EVENT_CLOSE.len()..].trim_start();
            let (next, echo) = (event_open(rest), block.echo);
            // Text behind the closing tag: then the event does not stand by itself. Another event may follow.
            if rest.is_empty() || next.is_some() {
                self.publish(block);
            }
            self.outside.remember(text);
            let Some((topic, inside)) = next else { return };
            (block, part) = (self.begin(topic, echo), inside);
        }
        block.add(part);
        block.add("\n");
        self.block = Some(block);
    }

    fn begin(&self, topic: &str, echo: bool) -> Block {
        let (topic, meanwhile) = (topic.to_owned(), self.outside.clone());
        Block { topic, payload: String::new(), truncated: false, echo, meanwhile }
    }

    fn publish(&mut self, block: Block) {
        if block.echo {
            return;
        }
        let payload = block.payload.trim();
        if self.published.len() >= MAX_EVENTS || self.bytes + payload.len() > MAX_TOTAL {
            self.unpublished = self.unpublished.saturating_add(1);
            return;
        }
        self.bytes += payload.len();
        let (topic, truncated) = (block.topic, block.truncated);
        self.published.push(Published { topic, payload: payload.to_owned(), truncated });
    }
}

impl Outside {
    /// Takes a line; tells whether it is shown, and not said.
    fn line(&mut self, raw: &str, text: &str, cut: bool, rules: &Rules) -> bool {
        let SeenLine { core, covered, pending, resolved, .. } = self.scene.line(raw, cut);
        if let Some(shown) = resolved {
            self.resolve(shown);
        }
        // An event may be longer than what is kept of a line.
        let shown = covered && !(cut && self.scene.is_plain());
        if text.is_empty() {
            return shown;
        }
        if !covered && !rules.is_echo(&self.before, text) {
            match comment(&core) {
                Some(spoken) if pending => self.pending.push(spoken),
                Some(spoken) => self.heed(spoken),
                // What a sequence for the terminal cuts apart was not written in one piece.
                None if !raw.contains(KEY) || misheard::is_of_prompt(text, rules) => {}
                None => self.misheard = unheard(text).or(self.misheard.take()),
            }
        }
        self.remember(text);
        shown
    }

    /// What was pending is shown, or is not.
    fn resolve(&mut self, shown: bool) {
        let pending = std::mem::take(&mut self.pending);
        pending.into_iter().filter(|_| !shown).for_each(|spoken| self.heed(spoken));
    }

    fn heed(&mut self, spoken: Spoken) {
        match spoken {
            Spoken::State(state) => self.state = Some(state),
            Spoken::Delay(delay) => self.delay = Some(delay),
        }
    }

    fn remember(&mut self, line: &str) {
        self.before.clear();
        self.before.push_str(cut(line, ECHO_MAX));
    }
}

impl Block {
    fn add(&mut self, text: &str) {
        let room = MAX_PAYLOAD.saturating_sub(self.payload.len());
        let kept = cut(text, room);
        self.truncated |= kept.len() < text.len() && !text.trim().is_empty();
        self.payload.push_str(kept);
    }
}

impl Partial {
    fn is_empty(&self) -> bool {
        self.head.is_empty()
    }

    fn extend(&mut self, bytes: &[u8]) {
        let room = MAX_LINE.saturating_sub(self.head.len());
        let (kept, over) = bytes.split_at(bytes.len().min(room));
        self.cut |= !over.is_empty();
        self.head.extend_from_slice(kept);
        if over.len() >= END_KEPT {
            self.end.clear();
        }
        self.end.extend_from_slice(&over[over.len().saturating_sub(END_KEPT)..]);
        if self.end.len() > END_KEPT {
            self.end.drain(..self.end.len() - END_KEPT);
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Spoken {
    State(AgentState),
    Delay(Duration),
}

/// `<!-- ralph:state X -->` or `<!-- ralph:delay D -->` that is the whole line. A word that means nothing says nothing.
fn comment(line: &str) -> Option<Spoken> {
    let inside = line.strip_prefix(COMMENT_OPEN)?.strip_suffix(COMMENT_CLOSE)?;
    let (key, value) = inside.trim().strip_prefix(KEY)?.split_once(char::is_whitespace)?;
    match key {
        "state" => AgentState::by_name(value.trim()).map(Spoken::State),
        "delay" => duration::parse(value).ok().map(Spoken::Delay),
        _ => None,
    }
}

/// A line that seems to tell a state or a delay, and does not.
fn unheard(line: &str) -> Option<Misheard> {
    let is_of = |key: &str| line.contains(&format!("ralph:{key}"));
    let whole = || {
        let inside =
            line.trim_matches(['`', '*', ' ']).strip_prefix(COMMENT_OPEN)?.strip_suffix(COMMENT_CLOSE)?;
        inside.trim().strip_prefix(KEY)?.split_once(char::is_whitespace)
    };
    let why = match whole() {
        Some(("state", value)) if !value.trim().is_empty() => Unheard::NoSuchState,
        Some(("delay", value)) if !value.trim().is_empty() => Unheard::NoDelay,
        _ if is_of("state") || is_of("delay") => Unheard::NotAlone,
        _ => return None,
    };
    Some(Misheard::new(line, why))
}

/// The topic of an event that begins here, and what follows its opening tag.
fn event_open(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix(EVENT_OPEN)?;
    let mut rest = rest.starts_with(char::is_whitespace).then(|| rest.trim_start())?;
    let mut topic = None;
    loop {
        if let Some(inside) = rest.strip_prefix('>') {
            let topic: &str = topic?;
            return (!topic.is_empty() && topic.len() <= MAX_TOPIC).then_some((topic, inside));
        }
        let (name, value) = rest.split_once('=')?;
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let (value, tail) = value[1..].split_once(quote)?;
        if !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-') {
            return None;
        }
        if name == "topic" {
            topic.get_or_insert(value.trim());
        }
        rest = tail.trim_start();
    }
}

/// Whether a line is a marker of this kind, for telling an echo of the prompt.
pub(super) fn is_marker(line: &str) -> bool {
    comment(line).is_some() || event_open(line).is_some()
}
