//! What counts as a signal in an agent's text.
//!
//! A signal stands on a line of its own, outside code fences, in the agent's own words. A sentence that merely mentions a
//! marker, a quoted file and an echo of the prompt say nothing. Complete and blocked are looked for in the agent's final
//! words; for a plain command these are its last lines. State, delay and events count anywhere in what it says.

mod fence;
mod pattern;
mod speech;
mod tail;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

pub(crate) use fence::Fence;
pub use fence::Glance;
use pattern::Patterns;
pub use pattern::pattern;
pub use speech::{AgentState, Published, Said, SpeechScanner};
pub use tail::TailScanner;

use crate::plan::SignalPlan;

/// Longer reasons are cut: they go into the journal and onto the screen.
const MAX_REASON: usize = 2000;
const OPEN: &str = "<ralph>";
const CLOSE: &str = "</ralph>";
const PROMISE_OPEN: &str = "<promise>";
const PROMISE_CLOSE: &str = "</promise>";
/// Of the line before a marker, what is compared to tell an echo.
const ECHO_MAX: usize = 1024;

/// What to look for.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    promise: Option<String>,
    /// What `<promise>…</promise>` has to hold to mean complete.
    tagged: Option<String>,
    patterns: Patterns,
    /// Markers that stand in the prompt itself, each with the line before it.
    echoes: Vec<(String, String)>,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    pub complete: bool,
    pub blocked: Option<String>,
}

impl Rules {
    /// `prompt` is what the agent was told: an agent that repeats it has not said anything yet.
    pub fn new(signals: &SignalPlan, prompt: &str) -> Self {
        let promise = signals.completion_promise.as_deref().map(str::trim).filter(|text| !text.is_empty());
        let tagged = signals.completion_signal.as_deref().map(collapse).filter(|text| !text.is_empty());
        let promise = promise.map(str::to_owned);
        let mut rules = Self { promise, tagged, patterns: Patterns::of(signals), echoes: Vec::new() };
        let mut before = "";
        for line in prompt.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let promised = rules.tagged.is_some() && line.starts_with(PROMISE_OPEN);
            let marker = promised
                || rules.patterns.is_in(line)
                || blocked_start(line).is_some()
                || speech::is_marker(line);
            if marker || rules.is_complete(line) {
                rules.echoes.push((cut(before, ECHO_MAX).to_owned(), line.to_owned()));
            }
            before = line;
        }
        rules
    }

    fn is_complete(&self, line: &str) -> bool {
        if self.promise.as_deref() == Some(line) {
            return true;
        }
        if self.patterns.success.is_some() {
            return false;
        }
        let inner = strip_tag(line, OPEN, true).and_then(|rest| strip_tag(rest, CLOSE, false));
        inner.is_some_and(|word| word.trim().eq_ignore_ascii_case("complete"))
    }

    fn is_echo(&self, before: &str, line: &str) -> bool {
        self.echoes.iter().any(|(b, l)| l == line && b == cut(before, ECHO_MAX))
    }

    /// Whether a `<promise>` that begins on the first of these lines holds what it has to. It may span several.
    fn is_promise(&self, lines: &[Line]) -> bool {
        let Some((tagged, first)) = self.tagged.as_deref().zip(lines.first()) else { return false };
        let Some(mut part) = first.text.strip_prefix(PROMISE_OPEN) else { return false };
        let mut inside = String::new();
        for next in lines[1..].iter().map(Some).chain([None]) {
            if let Some(end) = part.strip_suffix(PROMISE_CLOSE) {
                inside.push_str(end);
                return collapse(&inside) == tagged;
            }
            inside.push_str(part);
            inside.push('\n');
            match next.filter(|line| !line.fenced && inside.len() <= MAX_REASON) {
                Some(line) => part = &line.text,
                None => return false,
            }
        }
        false
    }
}

/// Whether a line is a signal and nothing else: it is for ralph, and says nothing to a person.
pub fn is_signal(line: &str, signals: &SignalPlan) -> bool {
    let tagged = |open, close| {
        let inner = strip_tag(line, open, true).and_then(|rest| strip_tag(rest, close, false));
        inner.is_some()
    };
    let promise = signals.completion_promise.as_deref().map(str::trim);
    promise == Some(line)
        || tagged(OPEN, CLOSE)
        || tagged(PROMISE_OPEN, PROMISE_CLOSE)
        || speech::is_marker(line)
}

/// Looks for complete and blocked in a whole text, such as the final answer of an agent whose stream names it.
pub fn scan(text: &str, rules: &Rules) -> Found {
    let mut fence = Fence::default();
    let lines = text.lines().map(|line| (without_escapes(line), line));
    let lines: Vec<Line> = lines
        .map(|(clean, raw)| Line {
            fenced: fence.covers(raw.as_bytes()),
            text: Cow::Owned(clean.trim().to_owned()),
        })
        .filter(|line| !line.text.is_empty())
        .collect();
    find(&lines, "", rules)
}

/// A line with something on it, trimmed.
struct Line<'a> {
    text: Cow<'a, str>,
    fenced: bool,
}

/// `first` is the line that came before the first of these.
fn find(lines: &[Line], first: &str, rules: &Rules) -> Found {
    let mut found = Found::default();
    let mut before = first;
    for (i, line) in lines.iter().enumerate() {
        let counts = !line.fenced && !rules.is_echo(before, &line.text);
        if counts && (rules.is_complete(&line.text) || rules.is_promise(&lines[i..])) {
            found.complete = true;
        }
        let builtin = counts && rules.patterns.blocked.is_none();
        if builtin && let Some(reason) = blocked_reason(&lines[i..]) {
            found.blocked = Some(reason);
        }
        before = &line.text;
    }
    if rules.patterns.any() {
        let own = own_words(lines, first, rules);
        found.complete |= rules.patterns.claims(&own);
        found.blocked = rules.patterns.blocked_reason(&own).or(found.blocked);
    }
    found
}

/// What the agent says itself: the lines that do not repeat its prompt.
fn own_words(lines: &[Line], before: &str, rules: &Rules) -> String {
    let befores = std::iter::once(before).chain(lines.iter().map(|line| &*line.text));
    let own = befores.zip(lines).filter(|(before, line)| !rules.is_echo(before, &line.text));
    own.map(|(_, line)| &*line.text).collect::<Vec<&str>>().join("\n")
}

/// The reason of a blocked signal that begins on the first of these lines. It may span several.
fn blocked_reason(lines: &[Line]) -> Option<String> {
    let (first, rest) = lines.split_first()?;
    let mut reason = String::new();
    let mut part = blocked_start(&first.text)?;
    let mut following = rest.iter();
    loop {
        if let Some(end) = strip_tag(part, CLOSE, false) {
            reason.push_str(end);
            break;
        }
        // Text behind the closing tag: then the tag does not stand by itself.
        if part.to_ascii_lowercase().contains(CLOSE) {
            return None;
        }
        reason.push_str(part);
        reason.push('\n');
        part = &following.next().filter(|line| !line.fenced)?.text;
    }
    Some(as_reason(&reason))
}

fn as_reason(text: &str) -> String {
    let reason = text.trim();
    let cut = reason.char_indices().nth(MAX_REASON).map_or(reason.len(), |(at, _)| at);
    if reason.is_empty() { "no reason given".to_owned() } else { reason[..cut].to_owned() }
}

/// What stands behind `<ralph>BLOCKED:`, if the line begins with it.
fn blocked_start(line: &str) -> Option<&str> {
    const WORD: &str = "blocked";
    let rest = strip_tag(line, OPEN, true)?.trim_start();
    let word = rest.get(..WORD.len())?;
    let rest = &rest[WORD.len()..];
    let ends = rest.is_empty() || rest.starts_with([':', '<']) || rest.starts_with(char::is_whitespace);
    (word.eq_ignore_ascii_case(WORD) && ends).then(|| rest.trim_start().strip_prefix(':').unwrap_or(rest))
}

fn strip_tag<'a>(text: &'a str, tag: &str, front: bool) -> Option<&'a str> {
    let at = if front { tag.len() } else { text.len().checked_sub(tag.len())? };
    let (head, tail) = (text.get(..at)?, text.get(at..)?);
    let (candidate, rest) = if front { (head, tail) } else { (tail, head) };
    candidate.eq_ignore_ascii_case(tag).then_some(rest)
}

/// White space is one space, and none at the ends.
fn collapse(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// At most so many bytes of a text, whole characters only.
fn cut(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Colours and cursor movements are not part of what was said.
pub fn without_escapes(text: &str) -> Cow<'_, str> {
    if !text.contains('\x1b') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\x1b' {
            out.push(c);
            continue;
        }
        match chars.next() {
            // CSI: parameters, then one final byte.
            Some('[') => while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {},
            // OSC: up to BEL or ESC \.
            Some(']') => {
                while let Some(c) = chars.next() {
                    if c == '\x07' || (c == '\x1b' && chars.next_if_eq(&'\\').is_some()) {
                        break;
                    }
                }
            }
            _ => {}
        }
    }
    Cow::Owned(out)
}
