//! The last lines of a stream, kept while it flows: flat memory whatever the agent prints.

use std::borrow::Cow;
use std::collections::VecDeque;

use super::fence::{Fence, Glance};
use super::{Found, Line, Rules, find, without_escapes};

/// How many non-blank lines are an agent's last words.
const KEPT: usize = 20;
/// No marker is longer; the rest of a longer line is passed over.
const MAX_LINE: usize = 8 * 1024;

/// Finds complete and blocked in the last non-blank lines of what is pushed.
#[derive(Debug)]
pub struct TailScanner {
    rules: Rules,
    fence: Fence,
    /// One line more than counts: the last one that does not is needed to tell an echo.
    lines: VecDeque<Kept>,
    partial: Vec<u8>,
}

#[derive(Debug, Default)]
struct Kept {
    bytes: Vec<u8>,
    fenced: bool,
}

impl TailScanner {
    pub fn new(rules: Rules) -> Self {
        Self { rules, fence: Fence::default(), lines: VecDeque::with_capacity(KEPT + 1), partial: Vec::new() }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.push_seen(bytes, Glance::at(bytes));
    }

    /// The same for who has had a look at it already.
    pub fn push_seen(&mut self, mut bytes: &[u8], seen: Glance) {
        if !seen.ends {
            return self.extend_partial(bytes);
        }
        if !self.partial.is_empty() {
            let Some(end) = memchr::memchr(b'\n', bytes) else { return self.extend_partial(bytes) };
            self.extend_partial(&bytes[..end]);
            let whole = std::mem::take(&mut self.partial);
            self.line(&whole);
            self.partial = whole;
            self.partial.clear();
            bytes = &bytes[end + 1..];
        }
        if !seen.fences {
            bytes = last_words(bytes);
        }
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            self.line(&bytes[..end]);
            bytes = &bytes[end + 1..];
        }
        self.extend_partial(bytes);
    }

    pub fn finish(mut self) -> Found {
        let last = std::mem::take(&mut self.partial);
        self.line(&last);
        let lines: Vec<Line> = self
            .lines
            .iter()
            .map(|kept| {
                let text = String::from_utf8_lossy(&kept.bytes);
                Line { text: Cow::Owned(without_escapes(&text).trim().to_owned()), fenced: kept.fenced }
            })
            .collect();
        let extra = lines.len().saturating_sub(KEPT);
        let before = extra.checked_sub(1).map_or("", |i| &*lines[i].text);
        find(&lines[extra..], before, &self.rules)
    }

    fn extend_partial(&mut self, bytes: &[u8]) {
        let room = MAX_LINE.saturating_sub(self.partial.len());
        self.partial.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn line(&mut self, line: &[u8]) {
        let line = &line[..line.len().min(MAX_LINE)];
        let fenced = self.fence.covers(line);
        if is_blank(line) {
            return;
        }
        // The oldest line's memory becomes the newest's: no allocation per line.
        let mut kept = if self.lines.len() > KEPT {
            self.lines.pop_front().unwrap_or_default()
        } else {
            Kept::default()
        };
        kept.bytes.clear();
        kept.bytes.extend_from_slice(line);
        kept.fenced = fenced;
        self.lines.push_back(kept);
    }
}

/// Passes over the lines that more than enough others follow, so that a flood is not taken apart line by line. Not for
/// bytes in which a fence may open or close: each of those counts.
fn last_words(bytes: &[u8]) -> &[u8] {
    let Some(mut end) = memchr::memrchr(b'\n', bytes) else { return bytes };
    let mut found = 0;
    while let Some(newline) = memchr::memrchr(b'\n', &bytes[..end]) {
        found += usize::from(!is_blank(&bytes[newline + 1..end]));
        if found > KEPT {
            return &bytes[newline + 1..];
        }
        end = newline;
    }
    bytes
}

pub(super) fn is_blank(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}
