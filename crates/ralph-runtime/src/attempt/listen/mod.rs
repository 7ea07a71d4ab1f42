//! What an agent prints, on its way: to the log, to the scanner for signals, and in samples to the journal. Flat memory.

pub(super) mod silence;
mod stream;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use ralph_core::failure::Failure;
use ralph_core::ids::IterationNumber;
use ralph_core::marker::{Found, Glance, Rules, Said, SpeechScanner, TailScanner, without_escapes};
use ralph_core::plan::{AgentPlan, Plan};
use ralph_core::time::Timestamp;
use ralph_core::usage::Usage;
use ralph_evidence::detector::Sketch;

use self::stream::StreamEars;
use crate::drawing::Drawing;
use crate::output_tail::OutputTail;
use crate::process::{self, Stream};
use crate::spool::Spool;

/// Text per iteration that goes into the journal as it is; after that a line a second, to show that the agent works.
pub(crate) const TEXT_BUDGET: usize = 64 * 1024;
/// Text in one event.
pub(crate) const TEXT_MAX: usize = 8 * 1024;
const SAMPLE_MAX: usize = 400;
const SAMPLE_EVERY: Duration = Duration::from_secs(1);

/// What was heard of an agent that is worth an event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Heard {
    Said {
        text: String,
        truncated: bool,
    },
    ToolCalled {
        id: String,
        kind: &'static str,
        name: String,
        command: Option<String>,
        path: Option<String>,
    },
    ToolFinished {
        id: String,
        ok: Option<bool>,
        command: Option<String>,
        exit_code: Option<i64>,
        output: String,
    },
    Retrying {
        tried: Option<u64>,
        of: Option<u64>,
        reason: String,
    },
    Used {
        usage: Usage,
        cost_usd: Option<f64>,
    },
}

/// What an attempt's output came to.
#[derive(Debug, Default)]
pub(crate) struct Heading {
    pub found: Found,
    pub said: Said,
    /// The end of what the agent said.
    pub tail: String,
    /// What the detectors of stuck runs see of it.
    pub sketch: Option<Box<Sketch>>,
    pub bytes: u64,
    pub usage: Usage,
    pub cost_usd: Option<f64>,
    pub error: Option<String>,
    pub failure: Option<Failure>,
    /// The last line on stderr, if it failed and nothing better tells why.
    pub stderr: Option<String>,
}

pub(crate) struct Output {
    spool: Spool,
    copy: Option<File>,
    ears: Ears,
}

enum Ears {
    Text(Box<TextEars>),
    Stream(Box<StreamEars>),
}

/// Listens to an agent that prints plain text.
struct TextEars {
    scanner: TailScanner,
    speech: SpeechScanner,
    sampler: Sampler,
    end: OutputTail,
    errors: OutputTail,
    drawing: Drawing,
}

impl Output {
    pub(crate) fn new(
        spool: Spool,
        copy: Option<File>,
        rules: Rules,
        agent: &AgentPlan,
        plan: &Plan,
    ) -> Self {
        let ignore = &plan.stuck.ignore;
        let ears = match StreamEars::of(agent, &plan.prices, &rules, ignore) {
            Some(stream) => Ears::Stream(Box::new(stream)),
            None => {
                let speech = SpeechScanner::new(rules.clone());
                let (scanner, sampler) = (TailScanner::new(rules), Sampler::default());
                let (end, errors, drawing) =
                    (OutputTail::default(), OutputTail::default(), Drawing::new(ignore));
                Ears::Text(Box::new(TextEars { scanner, speech, sampler, end, errors, drawing }))
            }
        };
        Self { spool, copy, ears }
    }

    /// Takes a chunk; `tell` gets what is worth an event.
    pub(crate) fn take(&mut self, stream: Stream, bytes: &[u8], tell: &mut dyn FnMut(Heard)) {
        self.spool.write(bytes);
        if let Some(copy) = &mut self.copy
            && copy.write_all(bytes).is_err()
        {
            self.copy = None;
        }
        match &mut self.ears {
            // Only what it prints on stdout are the agent's own words.
            Ears::Text(ears) if stream == Stream::Stdout => {
                let seen = Glance::at(bytes);
                ears.drawing.text(stream, bytes);
                ears.scanner.push_seen(bytes, seen);
                ears.speech.push_seen(bytes, seen);
                ears.end.push(bytes);
                ears.sampler.push(bytes, &mut |text, truncated| tell(Heard::Said { text, truncated }));
            }
            Ears::Text(ears) => {
                ears.drawing.text(stream, bytes);
                ears.errors.push(bytes);
            }
            Ears::Stream(ears) => ears.take(stream, bytes, tell),
        }
    }

    /// Whether a tool of the agent runs now, and whether the agent has said its last word.
    pub(crate) fn activity(&self) -> (bool, bool) {
        match &self.ears {
            Ears::Text(_) => (false, false),
            Ears::Stream(ears) => ears.activity(),
        }
    }

    pub(crate) fn finish(
        self,
        exit: &process::Status,
        now: Timestamp,
        tell: &mut dyn FnMut(Heard),
    ) -> Heading {
        let bytes = self.spool.total();
        match self.ears {
            Ears::Text(ears) => {
                let TextEars { scanner, speech, mut sampler, end, errors, drawing } = *ears;
                sampler.finish(&mut |text, truncated| tell(Heard::Said { text, truncated }));
                let (found, said, tail) = (scanner.finish(), speech.finish(), end.text());
                let sketch = Some(drawing.finish());
                let stderr = errors.last_line().filter(|_| *exit != process::Status::Code(0));
                Heading { found, said, tail, sketch, bytes, stderr, ..Heading::default() }
            }
            Ears::Stream(ears) => Heading { bytes, ..ears.finish(exit, now, tell) },
        }
    }
}

/// The user's own copy of the log: one file per iteration, everything in it.
pub(crate) fn create_log(dir: &Path, iteration: IterationNumber, at: Timestamp) -> io::Result<File> {
    fs::create_dir_all(dir)?;
    let time = at.to_string();
    let stamp: String = time.chars().take(19).filter(|c| !matches!(c, '-' | ':')).collect();
    let name = format!("{:03}_{}.log", iteration.0, stamp.replace('T', "-"));
    OpenOptions::new().append(true).create(true).open(dir.join(name))
}

/// Chooses what of a stream of text is worth recording.
#[derive(Default)]
struct Sampler {
    used: usize,
    /// The beginning of a line whose end has not come yet.
    partial: Vec<u8>,
    last_sample: Option<Instant>,
}

impl Sampler {
    fn push(&mut self, bytes: &[u8], say: &mut dyn FnMut(String, bool)) {
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

    fn finish(&mut self, say: &mut dyn FnMut(String, bool)) {
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
