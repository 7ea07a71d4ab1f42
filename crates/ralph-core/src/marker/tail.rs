//! The last lines of a stream, kept while it flows: flat memory whatever the agent prints.

use std::collections::VecDeque;

use super::fence::Glance;
use super::flood::{self, KEPT, MAX_LINE};
use super::scene::Scene;
use super::{Found, Line, Rules, find};

/// Finds complete and blocked in the last non-blank lines of what is pushed.
#[derive(Debug)]
pub struct TailScanner {
    rules: Rules,
    scene: Scene,
    /// One line more than counts: the last one that does not is needed to tell an echo.
    lines: VecDeque<Line>,
    partial: Vec<u8>,
    /// The line whose end has not come is longer than what is kept of it.
    cut: bool,
}

impl TailScanner {
    pub fn new(rules: Rules) -> Self {
        Self {
            rules,
            scene: Scene::default(),
            lines: VecDeque::with_capacity(KEPT + 1),
            partial: Vec::new(),
            cut: false,
        }
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
            let cut = std::mem::take(&mut self.cut);
            self.line(&whole, cut);
            self.partial = whole;
            self.partial.clear();
            bytes = &bytes[end + 1..];
        }
        bytes = flood::to_read(&self.scene, seen, bytes);
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            self.line(&bytes[..end], false);
            bytes = &bytes[end + 1..];
        }
        self.extend_partial(bytes);
    }

    pub fn finish(mut self) -> Found {
        let (last, cut) = (std::mem::take(&mut self.partial), self.cut);
        self.line(&last, cut);
        let lines = self.lines.make_contiguous();
        let extra = lines.len().saturating_sub(KEPT);
        let before = extra.checked_sub(1).map_or("", |i| &*lines[i].text);
        find(&lines[extra..], before, &self.rules)
    }

    fn extend_partial(&mut self, bytes: &[u8]) {
        let room = MAX_LINE.saturating_sub(self.partial.len());
        self.cut |= bytes.len() > room && !bytes[room..].trim_ascii().is_empty();
        self.partial.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn line(&mut self, line: &[u8], cut: bool) {
        let (kept, over) = line.split_at(line.len().min(MAX_LINE));
        let cut = cut || !over.trim_ascii().is_empty();
        let seen = self.scene.line(&String::from_utf8_lossy(kept), cut);
        if let Some(shown) = seen.resolved {
            self.lines.iter_mut().for_each(|line| line.resolve(shown));
        }
        if seen.text.is_empty() {
            return;
        }
        if self.lines.len() > KEPT {
            self.lines.pop_front();
        }
        self.lines.push_back(Line::of(seen));
    }
}
