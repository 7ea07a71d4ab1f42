//! What counts as a signal in an agent's text.
//!
//! A signal stands on a line of its own, in the agent's own words and not in what it shows ([`scene`]); marks of a list item,
//! of code and of stress around it do not matter. A sentence that merely mentions a marker, a quoted file and an echo of the
//! prompt say nothing; that it was not heard is told ([`Misheard`]). Complete and blocked are looked for in the agent's final
//! words; for a plain command these are its last lines. State, delay and events count anywhere in what it says.

mod escapes;
mod fence;
mod flood;
mod html;
mod misheard;
mod pattern;
mod scene;
mod speech;
mod tail;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

pub(crate) use fence::Fence;
pub use fence::Glance;
pub use misheard::{Misheard, Unheard};
use pattern::Patterns;
pub use pattern::pattern;
pub use speech::{AgentState, Published, Said, SpeechScanner};
pub use tail::TailScanner;

use crate::plan::SignalPlan;
use scene::{Scene, SeenLine};

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
    /// The lines of the prompt that mention one.
    mentions: Vec<String>,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    pub complete: bool,
    pub blocked: Option<String>,
    /// What was perhaps meant as one of them, where neither was found.
    pub misheard: Option<Misheard>,
}

impl Rules {
    /// `prompt` is what the agent was told: an agent that repeats it has not said anything yet.
    pub fn new(signals: &SignalPlan, prompt: &str) -> Self {
        let promise = signals.completion_promise.as_deref().map(str::trim).filter(|text| !text.is_empty());
        let tagged = signals.completion_signal.as_deref().map(collapse).filter(|text| !text.is_empty());
        let promise = promise.map(str::to_owned);
        let mut rules = Self { promise, tagged, patterns: Patterns::of(signals), ..Self::default() };
        let (mut before, mut scene) = (String::new(), Scene::default());
        for line in prompt.lines() {
            let SeenLine { text, core, .. } = scene.line(line, false);
            if text.is_empty() {
                continue;
            }
            let promised = rules.tagged.is_some() && core.starts_with(PROMISE_OPEN);
            let is_marker = |line: &str| {
                rules.patterns.is_in(line)
                    || blocked_start(line).is_some()
                    || speech::is_marker(line)
                    || rules.is_complete(line)
            };
            if promised || is_marker(&text) || is_marker(&core) {
                rules.echoes.push((cut(&before, ECHO_MAX).to_owned(), text.clone()));
            }
            if misheard::mentions(&text, &rules) {
                rules.mentions.push(text.clone());
            }
            before = text;
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
        let Some(mut part) = first.core.strip_prefix(PROMISE_OPEN) else { return false };
        let mut inside = String::new();
        for next in lines[1..].iter().map(Some).chain([None]) {
            if let Some(end) = part.strip_suffix(PROMISE_CLOSE) {
                inside.push_str(end);
                return collapse(&inside) == tagged;
            }
            inside.push_str(part);
            inside.push('\n');
            match next.filter(|line| !line.shown && inside.len() <= MAX_REASON) {
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
    let mut scene = Scene::default();
    let mut lines: Vec<Line> = Vec::new();
    for line in text.lines() {
        let seen = scene.line(line, false);
        if let Some(shown) = seen.resolved {
            lines.iter_mut().for_each(|line| line.resolve(shown));
        }
        if !seen.text.is_empty() {
            lines.push(Line::of(seen));
        }
    }
    find(&lines, "", rules)
}

/// A line with something on it, trimmed.
#[derive(Debug)]
struct Line {
    text: String,
    /// Without marks around it.
    core: String,
    /// It is not the agent's own word.
    shown: bool,
    pending: bool,
    follows: bool,
    dressed: bool,
}

impl Line {
    fn of(seen: SeenLine) -> Self {
        let SeenLine { text, core, covered, pending, follows, dressed, .. } = seen;
        Self { text, core, shown: covered, pending, follows, dressed }
    }

    fn resolve(&mut self, shown: bool) {
        self.shown |= self.pending && shown;
        self.pending = false;
    }

    /// `next` goes on with the sentence that this line, in code or bold, is a part of.
    fn is_continued_by(&self, next: Option<&Line>) -> bool {
        let goes_on = |next: &Line| {
            next.follows && next.text.starts_with(|c: char| c.is_lowercase() || ",.;".contains(c))
        };
        self.dressed && next.is_some_and(goes_on)
    }
}

/// `first` is the line that came before the first of these.
fn find(lines: &[Line], first: &str, rules: &Rules) -> Found {
    let mut found = Found::default();
    let mut before = first;
    for (i, line) in lines.iter().enumerate() {
        let own = !line.shown && !line.is_continued_by(lines.get(i + 1));
        let counts = own && !rules.is_echo(before, &line.text);
        let whole = !line.core.contains(escapes::MARK);
        let completes = rules.is_complete(&line.core) || whole && rules.is_complete(&line.text);
        if counts && (completes || rules.is_promise(&lines[i..])) {
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
    if !found.complete && found.blocked.is_none() {
        found.misheard = lines.iter().rev().find_map(|line| misheard::of_end(&line.text, rules));
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
    let mut part = blocked_start(&first.core)?;
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
        part = &following.next().filter(|line| !line.shown)?.text;
    }
    Some(as_reason(&reason))
}

fn as_reason(text: &str) -> String {
    let reason = text.replace(escapes::MARK, "");
    let reason = reason.trim();
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
