//! What is heard of an agent: its first sentence, its last words, what it does now.
//!
//! Agents print without end, so hearing is cheap: text is only put aside, and looked at when somebody asks.

use ralph_core::marker::is_signal;
use ralph_core::plan::{Plan, SignalPlan};
use ralph_core::time::Timestamp;

use crate::snapshot::{Activity, ActivityKind};
use crate::text::clean;

/// Of what the agent said last, at most this many characters are kept.
const SAID: usize = 500;
/// Text that is put aside before it is looked at.
const ASIDE: usize = 8 << 10;
/// Of a text longer than this only the end is looked at for the last words.
const TAIL: usize = 4 << 10;
/// The first sentence is looked for in this much of the output.
const HEAD: usize = 2 << 10;
/// Of the first sentence, at most this many characters are kept.
const SENTENCE: usize = 200;

/// Which lines tell a person something.
#[derive(Debug, Clone)]
pub(crate) struct News {
    signals: SignalPlan,
}

impl News {
    pub fn of(plan: &Plan) -> Self {
        Self { signals: plan.signals() }
    }

    fn is(&self, line: &str) -> bool {
        !line.is_empty() && !is_signal(line, &self.signals)
    }

    /// The newest line of a text that tells something. A carriage return ends a line too: of a progress bar the newest
    /// state counts.
    fn last_line(&self, text: &str) -> Option<String> {
        let line = text.rsplit(['\n', '\r']).map(clean).find(|line| self.is(line))?;
        Some(line.chars().take(SAID).collect())
    }
}

/// The last words of an agent, and what it does now.
#[derive(Debug, Clone, Default)]
pub(crate) struct Speech {
    said: Option<String>,
    /// Said since then, and not looked at yet.
    aside: String,
    at: Timestamp,
    /// Nothing if the last thing it did was to speak.
    doing: Option<Activity>,
}

impl Speech {
    pub fn says(&mut self, text: &str, at: Timestamp, news: &News) {
        self.doing = None;
        self.at = at;
        if self.aside.len() + text.len() > ASIDE {
            self.look(news);
        }
        let mut start = text.len().saturating_sub(TAIL);
        while !text.is_char_boundary(start) {
            start += 1;
        }
        self.aside.push_str(&text[start..]);
        self.aside.push('\n');
    }

    pub fn does(&mut self, kind: ActivityKind, text: &str, at: Timestamp, news: &News) {
        self.look(news);
        if let Some(text) = news.last_line(text) {
            self.doing = Some(Activity { kind, at, text });
        }
    }

    fn look(&mut self, news: &News) {
        self.said = news.last_line(&self.aside).or(self.said.take());
        self.aside.clear();
    }

    /// The next iteration begins in silence.
    pub fn forget(&mut self) {
        self.said = None;
        self.doing = None;
        self.aside.clear();
    }

    pub fn said(&self, news: &News) -> Option<String> {
        news.last_line(&self.aside).or_else(|| self.said.clone())
    }

    pub fn activity(&self, news: &News) -> Option<Activity> {
        let says = || Some(Activity { kind: ActivityKind::Says, at: self.at, text: self.said(news)? });
        self.doing.clone().or_else(says)
    }
}

/// The first sentence of an agent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Opening {
    raw: String,
    /// So much of `raw` was looked at in vain.
    looked: usize,
    found: Option<String>,
    /// Nothing more is looked for.
    closed: bool,
}

impl Opening {
    pub fn says(&mut self, text: &str, news: &News) {
        if self.closed {
            return;
        }
        let mut end = text.len().min(HEAD.saturating_sub(self.raw.len()));
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        self.raw.push_str(&text[..end]);
        // Text that ends nothing changes what was found only where there is much of it: so little pieces cost little.
        if may_end(&text[..end]) || self.raw.len() > 2 * self.looked + SENTENCE {
            self.look(news);
        }
        if self.raw.len() >= HEAD || end < text.len() {
            self.close(news);
        }
    }

    /// Looks at every line that is whole, and at the last one if its sentence is.
    fn look(&mut self, news: &News) {
        let mut rest = self.raw.as_str();
        while let Some((line, after)) = rest.split_once(['\n', '\r']) {
            let line = clean(line);
            if news.is(&line) {
                (self.found, self.closed) = (Some(sentence(&line).0), true);
                self.raw = String::new();
                return;
            }
            rest = after;
        }
        let line = clean(rest);
        if let (text, true) = sentence(&line)
            && news.is(&line)
        {
            (self.found, self.closed) = (Some(text), true);
            self.raw = String::new();
            return;
        }
        self.raw = rest.to_owned();
        self.looked = self.raw.len();
    }

    fn close(&mut self, news: &News) {
        self.found = self.get(news);
        (self.closed, self.raw) = (true, String::new());
    }

    pub fn get(&self, news: &News) -> Option<String> {
        let line = || Some(clean(&self.raw)).filter(|line| news.is(line));
        self.found.clone().or_else(|| line().map(|line| sentence(&line).0))
    }
}

/// Whether a line or a sentence may end in this text. The signs of other scripts begin with these two bytes.
fn may_end(text: &str) -> bool {
    text.bytes().any(|byte| matches!(byte, b'\n' | b'\r' | b'.' | b'!' | b'?' | 0xe3 | 0xef))
}

/// The first sentence of a line, and whether it is whole.
fn sentence(line: &str) -> (String, bool) {
    let mut chars = line.char_indices().take(SENTENCE).peekable();
    while let Some((at, c)) = chars.next() {
        let ends_word = chars.peek().is_none_or(|(_, next)| next.is_whitespace());
        let is_end = matches!(c, '.' | '!' | '?') && ends_word || matches!(c, '。' | '！' | '？');
        // `1.`, `e.g.`: no end of a sentence.
        let word = line[..at].rsplit(char::is_whitespace).next().unwrap_or_default();
        let short = c == '.' && (word.contains('.') || word.chars().count() < 2);
        if is_end && !short {
            return (line[..at + c.len_utf8()].to_owned(), true);
        }
    }
    (line.chars().take(SENTENCE).collect(), line.chars().nth(SENTENCE).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::plan::{AgentPlan, Task};

    fn news() -> News {
        News::of(&Plan::new("n", "/w", Task::Text("t".to_owned()), AgentPlan::command("agent")))
    }

    fn opening(texts: &[&str]) -> Option<String> {
        let (mut opening, news) = (Opening::default(), news());
        texts.iter().for_each(|text| opening.says(text, &news));
        opening.get(&news)
    }

    #[test]
    fn the_first_sentence_is_the_first_that_tells_something() {
        let first = |texts: &[&str]| opening(texts).unwrap_or_default();
        assert_eq!(first(&["I fix the cart. Then the rest.\n"]), "I fix the cart.");
        assert_eq!(first(&["\n\u{1b}[0m\n<ralph>COMPLETE</ralph>\n# Plan\nmore"]), "# Plan");
        assert_eq!(first(&["I fix", " the cart", ".", "Next"]), "I fix the cart.");
        assert_eq!(
            first(&["Two dots e.g. here, version 1.2.3 of 1. it\nnext"]),
            "Two dots e.g. here, version 1.2.3 of 1. it"
        );
        assert_eq!(first(&["直します。次に"]), "直します。");
        assert_eq!(first(&["直します", "。次に"]), "直します。");
        assert_eq!(first(&["no end", " here", "\r", "Next."]), "no end here");
        assert_eq!(first(&["word "; 300]), "word ".repeat(SENTENCE / 5));
        assert_eq!(first(&["e.g. "; 30]), "e.g. ".repeat(30).trim_end());
        assert_eq!(first(&["no end yet"]), "no end yet");
        assert_eq!(opening(&["", "\n\n"]), None);
        assert_eq!(first(&["x".repeat(9000).as_str(), "y"]).chars().count(), SENTENCE);
        assert_eq!(first(&["语".repeat(9000).as_str(), "y"]).chars().count(), SENTENCE);
        assert_eq!(opening(&[&"\n".repeat(2 * HEAD), "Late."]), None, "it is not looked for for ever");
    }

    #[test]
    fn the_last_words_are_the_newest_line_however_they_came() {
        let (mut speech, news) = (Speech::default(), news());
        let at = Timestamp::from_millis(5);
        speech.says("first\nsecond\n\n  \u{1b}[0m\n", at, &news);
        assert_eq!(speech.said(&news).as_deref(), Some("second"));
        speech.does(ActivityKind::Tool, "shell make test", at, &news);
        speech.says(" \n\u{1b}[2K", at, &news);
        assert_eq!(speech.said(&news).as_deref(), Some("second"));
        for n in 0..1000 {
            speech.says(&format!("{n}% of a long line that fills what is put aside\r"), at, &news);
        }
        speech.says(&"\n".repeat(2 * ASIDE), at, &news);
        assert!(speech.said(&news).is_some_and(|said| said.starts_with("999%")));
        assert!(speech.aside.capacity() < 4 * ASIDE, "{}", speech.aside.capacity());
        speech.does(ActivityKind::Retry, "overloaded", at, &news);
        let activity = speech.activity(&news);
        assert_eq!(
            activity.map(|now| (now.kind, now.text)),
            Some((ActivityKind::Retry, "overloaded".into()))
        );
        speech.forget();
        assert_eq!((speech.said(&news), speech.activity(&news)), (None, None));
    }
}
