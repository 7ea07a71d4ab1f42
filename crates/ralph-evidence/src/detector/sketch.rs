//! What is kept of an iteration for the detectors: a few kilobytes, whatever the agent printed.
//!
//! The runtime reads the output once, while it streams, and puts the sketch into `agent.exited`. The detectors see nothing
//! else, so a resumed run has the same evidence as one that was never interrupted.

mod calls;
mod marks;
mod wording;

use std::collections::{BTreeSet, VecDeque};
use std::sync::LazyLock;

use ralph_core::event::ToolKind;
use serde::{Deserialize, Serialize};

use super::Ignore;
use super::hash::{self, Hasher, short};
use super::lexicon::Sense;
use super::lines::{LineReader, Lines};
use super::sample::{Sample, Sampler};
use super::signature::SignatureReader;
use super::text::{self, Kind, Token};
pub use calls::{Calls, ToolUse};
pub(super) use marks::AMBIGUOUS;
pub use marks::Counts;
use marks::{Marks, Numbers};
use wording::{CLAUSE_ENDS, OPEN, Senses, form, is_drawn, is_neutral, label, names_error, result, status};

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
const MOST_MARKS: usize = 64;
const MOST_FORMS: usize = 64;
const MOST_ERRORS: usize = 24;
/// More errors than these are many.
const MOST_FAULTS: usize = 1000;
const MOST_LINES: usize = 768;
const MOST_CALLS: usize = 64;
/// Lines that are shown to a person.
const SHOWN_LINE: usize = 160;
const SHOWN_LINES: usize = 3;

/// What an iteration said and did, without the words.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sketch {
    /// Bytes of text.
    pub bytes: u64,
    /// Tokens that were read.
    pub tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<Lines>,
    /// Paths, identifiers, codes.
    pub facts: Sample,
    /// Plain words that say something.
    pub words: Sample,
    /// Three tokens in a row.
    pub shingles: Sample,
    /// Those with a fact among them.
    pub named: Sample,
    /// Lines that name an error, normalised.
    #[serde(skip_serializing_if = "Sample::is_empty")]
    pub errors: Sample,
    /// Where the work stands, in the iteration's own words: checkboxes, test results.
    #[serde(skip_serializing_if = "Marks::is_empty")]
    pub marks: Marks,
    /// How else a line is marked or what stands behind a label: `| parser | ✓ |`, `phase: linking`.
    #[serde(skip_serializing_if = "Marks::is_empty")]
    pub forms: Marks,
    /// Lines that name something as failing or not done. A list that gets shorter is progress, though every line of it has
    /// been seen.
    #[serde(skip_serializing_if = "is_zero")]
    pub open: u32,
    /// Different lines that name an error and a place.
    #[serde(skip_serializing_if = "is_zero")]
    pub faults: u32,
    /// Numbers by what stands around them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub numbers: Vec<(u32, f64, Counts)>,
    #[serde(skip_serializing_if = "Calls::is_empty")]
    pub calls: Calls,
    /// The last thing it did failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<bool>,
    /// Stands for the state of the workspace after the iteration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    pub says: Says,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub signature: String,
    /// The first lines that say something, and the first error.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// What the wording tells, in lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Says {
    /// Lines with words on them.
    pub lines: u32,
    /// Words on them.
    pub words: u32,
    /// Words in sentences to the effect that there is nothing to do.
    pub idle: u32,
    /// Words in sentences to the effect that something else has to end first.
    pub waiting: u32,
    /// Words in sentences to the effect that a service is overloaded or refuses more.
    #[serde(skip_serializing_if = "is_zero")]
    pub outage: u32,
}

/// The most words of an iteration that only tells of an outage, and how many of them must be about it.
const OUTAGE_WORDS: u32 = 60;
const OUTAGE_SHARE: u32 = 4;

impl Sketch {
    /// Whether the last thing failed or, where that is not known, errors are told.
    pub(super) fn fails(&self) -> bool {
        self.failed.unwrap_or(self.error.is_some())
    }

    /// Whether it did nothing and tells little but that a service is overloaded or refuses more.
    pub(super) fn tells_outage(&self) -> bool {
        let says = self.says;
        says.outage * OUTAGE_SHARE > says.words && says.words <= OUTAGE_WORDS && self.calls.count == 0
    }

    /// Everything that tells where the work stands: keys and values.
    pub(super) fn standing(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let counts = [(mark("open"), self.open), (mark("faults"), self.faults)];
        let counts = counts.into_iter().filter(|(_, count)| *count > 0);
        let marks = self.marks.values.iter().chain(&self.forms.values);
        marks.map(|(key, value)| (*key, *value)).chain(counts)
    }
}

/// Whether these tokens go on as in `3 of 12`.
fn is_of(behind: &[Token]) -> bool {
    matches!(behind, [of, total, ..] if of.hash == *OF && total.kind == Kind::Number)
}

static OF: LazyLock<u64> = LazyLock::new(|| hash::of("of"));

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

    fn read_line(&mut self, line: &str) {
        let mut tokens = std::mem::take(&mut self.tokens);
        text::tokens(line, &mut tokens);
        self.signature.line(line);
        if !tokens.is_empty() {
            self.show(line);
            self.sketch.tokens = self.sketch.tokens.saturating_add(tokens.len() as u32);
            self.take_tokens(&tokens);
            self.take_numbers(line, &tokens);
            self.take_status(line, &tokens);
            self.take_wording(line, &tokens);
            if names_error(&tokens) {
                self.take_error(line, &tokens);
            }
        }
        self.tokens = tokens;
    }

    fn show(&mut self, line: &str) {
        if self.sketch.shown.len() < SHOWN_LINES && line.chars().any(char::is_alphabetic) {
            self.sketch.shown.push(cut(line));
        }
    }

    fn take_tokens(&mut self, tokens: &[Token]) {
        for token in tokens {
            match token.kind {
                Kind::Fact => self.facts.add(short(token.hash)),
                Kind::Word if token.letters > 3 && !token.sense.is(Sense::FILLER) => {
                    self.words.add(short(token.hash));
                }
                _ => {}
            }
        }
        let idle_noise = Sense::NOISE.and(Sense::TRY).and(Sense::SIZE);
        let shingle = |tokens: &[Token]| {
            short(tokens.iter().fold(Hasher::new(), |hasher, token| hasher.number(token.hash)).finish())
        };
        // What only counts or tells the time is shared by all.
        let says =
            |token: &Token| matches!(token.kind, Kind::Word | Kind::Fact) && !token.sense.is(idle_noise);
        let mut add = |tokens: &[Token]| {
            if !tokens.iter().any(says) {
                return;
            }
            let hash = shingle(tokens);
            self.shingles.add(hash);
            if tokens.iter().any(|token| token.kind == Kind::Fact) {
                self.named.add(hash);
            }
        };
        match tokens.len() {
            0..3 => add(tokens),
            _ => tokens.windows(3).for_each(add),
        }
    }

    fn take_numbers(&mut self, line: &str, tokens: &[Token]) {
        let (drawn, neutral) = (is_drawn(line), is_neutral(tokens));
        for (at, token) in tokens.iter().enumerate().filter(|(_, token)| token.kind == Kind::Number) {
            let before = at.checked_sub(1).map(|at| tokens[at]);
            let around = [before, tokens.get(at + 1).copied(), tokens.get(at + 2).copied()];
            let is_word = |token: &Token| matches!(token.kind, Kind::Word | Kind::Fact);
            let of = token.of.is_some() || is_of(&tokens[at + 1..]);
            // A number among numbers is a column of a table.
            if !around[..2].iter().flatten().any(is_word) && !of {
                continue;
            }
            let behind = tokens[at + 1..].iter().take(3).take_while(move |token| is_word(token) || of);
            let tells = |token: &Token| token.sense.is(Sense::PROGRESS);
            // A frame is headed by the name of what it counts: `── pass 3 ──`.
            let progress = behind.clone().any(tells) || (!drawn && before.iter().any(tells));
            let key = around.iter().flatten().fold(Hasher::new(), |hasher, token| hasher.number(token.hash));
            let size = tokens.get(at + 1).is_some_and(|token| token.sense.is(Sense::SIZE));
            let counts = match (progress, of) {
                (true, _) if !size => Counts::Work,
                _ if token.percent => Counts::Share,
                (_, true) if drawn || neutral => Counts::FrameParts,
                _ if (drawn || neutral) && !size => Counts::Frame,
                (false, true) => Counts::Parts,
                _ if size => Counts::Size,
                _ => Counts::Unknown,
            };
            self.numbers.add(short(key.finish()), token.value, counts);
        }
    }

    /// A checkbox or a test result: what stands behind it is the key.
    fn take_status(&mut self, line: &str, tokens: &[Token]) {
        let named = tokens.iter().filter(|token| matches!(token.kind, Kind::Word | Kind::Fact));
        let named = named.filter(|token| token.letters > 1 && !token.sense.is(Sense::PROGRESS));
        let mut names = 0;
        let key = named.fold(Hasher::new(), |hasher, token| {
            names += 1;
            hasher.number(token.hash)
        });
        if names == 0 {
            return;
        }
        if let Some(status) = status(line) {
            self.sketch.marks.add(short(key.number(7).finish()), status, MOST_MARKS);
            self.open += u32::from(status == OPEN);
        } else if let Some(last) = result(line, tokens) {
            // `test parse ... ok`, `3. Write the docs (done)`, `parse_line still fails`.
            self.sketch.marks.add(short(key.number(8).finish()), short(last.hash), MOST_MARKS);
        } else if let Some(value) = form(line, tokens) {
            self.sketch.forms.set(short(key.number(9).finish()), value, MOST_FORMS);
        }
        if let Some((label, value)) = label(line) {
            self.sketch.forms.set(label, value, MOST_FORMS);
        }
    }

    fn take_wording(&mut self, line: &str, tokens: &[Token]) {
        let words = tokens.iter().filter(|token| token.kind == Kind::Word).count() as u32;
        if words == 0 {
            return;
        }
        let says = &mut self.sketch.says;
        says.lines += 1;
        says.words += words;
        for clause in line.split(CLAUSE_ENDS) {
            let sense = Senses::of(clause);
            if sense.idle {
                says.idle += sense.words;
            }
            if sense.waiting {
                says.waiting += sense.words;
            }
            if sense.outage {
                says.outage += sense.words;
            }
        }
    }

    fn take_error(&mut self, line: &str, tokens: &[Token]) {
        let named = tokens.iter().filter(|token| token.kind != Kind::Number);
        let error = short(named.fold(Hasher::new(), |hasher, token| hasher.number(token.hash)).finish());
        self.errors.add(error);
        if tokens.iter().any(|token| token.kind == Kind::Fact) && self.faults.len() < MOST_FAULTS {
            self.faults.insert(error);
        }
        if self.sketch.error.is_none() {
            self.sketch.error = Some(cut(line));
        }
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
        sketch.signature = self.signature.finish();
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
        self.add_call(short(what.finish()), failed, changing);
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

    pub(super) fn add_call(&mut self, what: u32, failed: bool, changing: bool) {
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

fn cut(line: &str) -> String {
    if line.len() <= SHOWN_LINE {
        return line.to_owned();
    }
    let end = (0..=SHOWN_LINE).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0);
    format!("{}…", &line[..end])
}

/// Stands for anything that can be told apart by a text.
pub(super) fn mark(text: &str) -> u32 {
    short(hash::of(text))
}

#[cfg(test)]
mod tests;
