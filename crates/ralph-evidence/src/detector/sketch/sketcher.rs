//! How a sketch is made while the output streams: what is read of a long one, and what a flood may cost.
//!
//! Apart from the sketch itself, which only is kept and compared.

mod line;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, VecDeque};

use ralph_core::event::ToolKind;

use super::marks::Numbers;
use super::{Sketch, ToolUse};
use crate::detector::Ignore;
use crate::detector::hash::{Hasher, short};
use crate::detector::lines::LineReader;
use crate::detector::sample::Sampler;
use crate::detector::signature::SignatureReader;
use crate::detector::text::{self, Token};

/// What the beginning of an output may cost to read, in bytes. Behind it only lines are hashed, until the end.
const HEAD: usize = 512 * 1024;
/// A line costs as much as so many bytes more.
const LINE_COST: usize = 32;
/// And so does each byte that is none of any text.
const ODD_COST: usize = 32;
/// The end of a long output is read, too.
const TAIL: usize = 128 * 1024;
/// Of more than this, less of it: keeping the end at hand is what a flood costs most.
const FLOOD: u64 = 64 << 20;
const FLOOD_TAIL: usize = 16 * 1024;
/// Lines are hashed in pieces of this many bytes: so many of them whole, of what comes then ever fewer.
const PIECE: u64 = 1 << 16;
const WHOLE_PIECES: u64 = 64;
/// A longer line is read in parts.
const MAX_LINE: usize = 4096;
const MOST_FACTS: usize = 320;
const MOST_WORDS: usize = 160;
const MOST_SHINGLES: usize = 256;
const MOST_ERRORS: usize = 24;
const MOST_LINES: usize = 768;
const MOST_CALLS: usize = 64;
/// Lines of what a tool printed that tell one result from another.
const RESULT_LINES: usize = 40;

/// Reads what an iteration prints and does.
#[derive(Debug)]
pub struct Sketcher {
    sketch: Sketch,
    ignore: Ignore,
    lines: LineReader,
    /// What the text that was read has cost.
    read: usize,
    /// The line that has not ended yet.
    partial: Vec<u8>,
    /// What came behind the head, as much as may turn out to be the end.
    tail: VecDeque<u8>,
    facts: Sampler,
    words: Sampler,
    shingles: Sampler,
    named: Sampler,
    errors: Sampler,
    numbers: Numbers,
    tokens: Vec<Token>,
    signature: SignatureReader,
    /// Lines that name something as failing or not done, and lines that name an error with its place.
    open: u32,
    faults: BTreeSet<u32>,
}

impl Default for Sketcher {
    fn default() -> Self {
        Self::new()
    }
}

impl Sketcher {
    pub fn new() -> Self {
        Self {
            sketch: Sketch::default(),
            ignore: Ignore::default(),
            lines: LineReader::new(MOST_LINES),
            read: 0,
            partial: Vec::new(),
            tail: VecDeque::new(),
            facts: Sampler::new(MOST_FACTS),
            words: Sampler::new(MOST_WORDS),
            shingles: Sampler::new(MOST_SHINGLES),
            named: Sampler::new(MOST_SHINGLES),
            errors: Sampler::new(MOST_ERRORS),
            numbers: Numbers::default(),
            tokens: Vec::new(),
            signature: SignatureReader::default(),
            open: 0,
            faults: BTreeSet::new(),
        }
    }

    /// The same, but for what the user knows to be noise.
    pub fn ignoring(ignore: Ignore) -> Self {
        Self { ignore, ..Self::new() }
    }

    /// Takes text in pieces of any size.
    pub fn push(&mut self, bytes: &[u8]) {
        match self.ignore.is_empty() {
            true => self.take(bytes),
            false => {
                let kept = self.ignore.push(bytes);
                self.take(&kept);
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.push_lines(bytes);
        self.sketch.bytes += bytes.len() as u64;
        let rest = self.read_text(bytes, HEAD);
        let most = if self.sketch.bytes > FLOOD { FLOOD_TAIL } else { TAIL };
        let rest = &rest[rest.len().saturating_sub(most)..];
        self.tail.extend(rest);
        self.tail.drain(..self.tail.len().saturating_sub(most));
    }

    /// Of a flood not all lines are read, so that it costs next to nothing however long it lasts: behind the first
    /// [`WHOLE_PIECES`] every second piece of what comes, until that has doubled; then every fourth, and so on.
    fn push_lines(&mut self, mut bytes: &[u8]) {
        let mut at = self.sketch.bytes;
        while !bytes.is_empty() {
            let left = (PIECE - at % PIECE) as usize;
            let (now, later) = bytes.split_at(left.min(bytes.len()));
            let piece = at / PIECE;
            let stride = (piece / WHOLE_PIECES + 1).next_power_of_two();
            if piece.is_multiple_of(stride) {
                self.lines.push(now);
            } else {
                self.lines.skip(now);
            }
            at += now.len() as u64;
            bytes = later;
        }
    }

    /// Reads until all that was read has cost so much. What is left comes back.
    fn read_text<'a>(&mut self, mut bytes: &'a [u8], most: usize) -> &'a [u8] {
        // A line that has begun is read to its end, so that it does not matter how the output was cut into pieces.
        while !bytes.is_empty() && (self.read < most || !self.partial.is_empty()) {
            let end = memchr::memchr(b'\n', bytes);
            let room = MAX_LINE - self.partial.len();
            let take = end.unwrap_or(bytes.len()).min(room);
            self.partial.extend_from_slice(&bytes[..take]);
            bytes = &bytes[take..];
            if bytes.first() == Some(&b'\n') {
                bytes = &bytes[1..];
                self.end_line();
            } else if self.partial.len() == MAX_LINE {
                self.end_line();
            }
        }
        bytes
    }

    fn end_line(&mut self) {
        let bytes = std::mem::take(&mut self.partial);
        let line = text::clean(&bytes);
        // What is no text says little, and takes long to read.
        let odd = line.chars().filter(|c| *c == char::REPLACEMENT_CHARACTER).count();
        self.read = self.read.saturating_add(bytes.len() + LINE_COST + odd * ODD_COST);
        let line = line.rsplit('\r').find(|part| !part.trim().is_empty()).unwrap_or_default();
        self.read_line(line.trim());
        self.partial = bytes;
        self.partial.clear();
    }

    /// The iteration is over.
    pub fn finish(mut self) -> Sketch {
        let rest = self.ignore.end_line();
        self.take(&rest);
        let tail: Vec<u8> = std::mem::take(&mut self.tail).into();
        self.read_text(affordable_end(&tail), usize::MAX);
        self.end_line();
        let (lines, says_something) = self.lines.finish();
        let mut sketch = self.sketch;
        (sketch.open, sketch.faults) = (self.open, self.faults.len() as u32);
        sketch.lines = says_something.then_some(lines);
        sketch.facts = self.facts.finish();
        sketch.words = self.words.finish();
        sketch.shingles = self.shingles.finish();
        sketch.named = self.named.finish();
        sketch.errors = self.errors.finish();
        sketch.numbers =
            self.numbers.values.into_iter().map(|(key, (value, counts))| (key, value, counts)).collect();
        sketch.calls.what.sort_unstable();
        sketch.calls.results.sort_unstable();
        (sketch.signature, sketch.failing) = self.signature.finish();
        sketch
    }

    /// A tool was used. What it was told and what it printed is read as part of the output.
    pub fn tool(&mut self, tool: &ToolUse) {
        let told = tool.command.or(tool.path).unwrap_or_default();
        self.break_line();
        self.signature.begin_tool();
        self.push(format!("[{}] {told}\n", tool.name).as_bytes());
        self.push(tool.output.as_bytes());
        self.break_line();
        self.signature.end_tool();
        let mut tokens = Vec::new();
        text::tokens(told, &mut tokens);
        let what = Hasher::new().bytes(tool.name.as_bytes());
        let what = tokens.iter().fold(what, |hasher, token| hasher.number(token.hash));
        let failed = tool.ok == Some(false) || tool.exit_code.is_some_and(|code| code != 0);
        let changing = matches!(tool.kind, ToolKind::Write | ToolKind::Edit);
        let printed = Hasher::new().number(what.finish());
        let printed = tool.output.lines().take(RESULT_LINES).fold(printed, |hasher, line| {
            text::tokens(&text::clean(&line.as_bytes()[..line.len().min(MAX_LINE)]), &mut tokens);
            tokens.iter().fold(hasher, |hasher, token| hasher.number(token.hash))
        });
        self.add_call(short(what.finish()), failed, changing);
        self.add_result(short(printed.number(u64::from(failed)).finish()));
        match tool.kind {
            _ if failed => self.signature.failed_call(tool.name, told, tool.exit_code),
            ToolKind::Write | ToolKind::Edit => self.signature.call(tool.path, None),
            ToolKind::Search => self.signature.call(None, tool.command),
            _ => {}
        }
    }

    /// Ends a line that has begun: what follows comes from elsewhere.
    pub fn break_line(&mut self) {
        let rest = self.ignore.end_line();
        self.take(&rest);
        if !self.partial.is_empty() {
            self.take(b"\n");
        }
    }

    pub(in crate::detector) fn add_call(&mut self, what: u32, failed: bool, changing: bool) {
        let calls = &mut self.sketch.calls;
        calls.known = true;
        calls.count += 1;
        calls.failed += u32::from(failed);
        calls.changing += u32::from(changing);
        if calls.what.len() < MOST_CALLS {
            calls.what.push(what);
            if changing && !failed {
                calls.changes.push(what);
            }
        }
        self.sketch.failed = Some(failed);
    }

    /// What a call came to, the call included.
    pub(in crate::detector) fn add_result(&mut self, result: u32) {
        let results = &mut self.sketch.calls.results;
        if results.len() < MOST_CALLS {
            results.push(result);
        }
    }

    /// The stream names tools, even if none was called.
    pub fn names_tools(&mut self) {
        self.sketch.calls.known = true;
    }
}

/// As much of the end of a text as may be read, whole lines of it.
fn affordable_end(text: &[u8]) -> &[u8] {
    let mut lines = (1..).zip(memchr::memrchr_iter(b'\n', text));
    let from =
        lines.find(|(lines, at)| text.len() - at + lines * LINE_COST > TAIL).map_or(0, |(_, at)| at + 1);
    &text[from..]
}
