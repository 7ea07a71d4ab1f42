//! Chooses what of a stream of text is worth recording: all of it up to a budget, then a line a second.

use std::time::{Duration, Instant};

use ralph_core::marker::without_escapes;

/// Text per iteration that goes into the journal as it is; after that a line a second, to show that the agent works.
pub(super) const TEXT_BUDGET: usize = 64 * 1024;
/// Text in one event.
pub(super) const TEXT_MAX: usize = 8 * 1024;
const SAMPLE_MAX: usize = 400;
const SAMPLE_EVERY: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct Sampler {
    used: usize,
    /// The beginning of a line whose end has not come yet.
    partial: Vec<u8>,
    last_sample: Option<Instant>,
}

impl Sampler {
    pub(super) fn push(&mut self, bytes: &[u8], say: &mut dyn FnMut(String, bool)) {
        if self.used >= TEXT_BUDGET {
            return self.sample(bytes, say);
        }
        let Some(end) = memchr::memrchr(b'\n', bytes) else {
            return self.keep_partial(bytes);
        };
        let (lines, rest) = bytes.split_at(end + 1);
        let skipped = (self.partial.len() + lines.len()).saturating_sub(TEXT_MAX);
        let mut text = std::mem::take(&mut self.partial);
        text.extend_from_slice(&lines[lines.len().saturating_sub(TEXT_MAX)..]);
        let text = &text[text.len().saturating_sub(TEXT_MAX)..];
        self.used += text.len();
        self.say(text, skipped > 0, say);
        self.keep_partial(rest);
    }

    fn keep_partial(&mut self, bytes: &[u8]) {
        let room = TEXT_MAX.saturating_sub(self.partial.len());
        self.partial.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    pub(super) fn finish(&mut self, say: &mut dyn FnMut(String, bool)) {
        let rest = std::mem::take(&mut self.partial);
        self.say(&rest, false, say);
    }

    fn say(&self, text: &[u8], truncated: bool, say: &mut dyn FnMut(String, bool)) {
        let text = String::from_utf8_lossy(text);
        if !text.trim().is_empty() {
            say(text.trim_end().to_owned(), truncated);
        }
    }

    fn sample(&mut self, bytes: &[u8], say: &mut dyn FnMut(String, bool)) {
        if self.last_sample.is_some_and(|at| at.elapsed() < SAMPLE_EVERY) {
            return;
        }
        let tail = &bytes[bytes.len().saturating_sub(SAMPLE_MAX)..];
        let text = String::from_utf8_lossy(tail);
        let text = without_escapes(&text);
        if let Some(line) = text.lines().rev().find(|line| !line.trim().is_empty()) {
            self.last_sample = Some(Instant::now());
            say(line.trim().to_owned(), true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(chunks: &[&[u8]]) -> Vec<(String, bool)> {
        let mut out = Vec::new();
        let mut sampler = Sampler::default();
        chunks.iter().for_each(|chunk| sampler.push(chunk, &mut |text, cut| out.push((text, cut))));
        sampler.finish(&mut |text, cut| out.push((text, cut)));
        out
    }

    #[test]
    fn text_is_told_in_whole_lines() {
        let got = said(&[b"one\ntw", b"o\n", b"three"]);
        let want: Vec<(String, bool)> = ["one", "two", "three"].map(|t| (t.to_owned(), false)).into();
        assert_eq!(got, want);
    }

    #[test]
    fn a_flood_is_told_within_a_budget() {
        let line = [b'x'; 80];
        let chunk: Vec<u8> = (0..1000).flat_map(|_| line.iter().copied().chain([b'\n'])).collect();
        let chunks = vec![chunk.as_slice(); 100];
        let got = said(&chunks);
        let total: usize = got.iter().map(|(text, _)| text.len()).sum();
        assert!(total <= TEXT_BUDGET + TEXT_MAX + 100 * SAMPLE_MAX, "{total}");
        assert!(got.iter().all(|(text, cut)| *cut && text.len() <= TEXT_MAX));
    }

    #[test]
    fn an_endless_line_needs_no_memory() {
        let mut sampler = Sampler::default();
        (0..1000).for_each(|_| sampler.push(&[b'x'; 10_000], &mut |_, _| {}));
        assert!(sampler.partial.capacity() <= 4 * TEXT_MAX);
    }
}
