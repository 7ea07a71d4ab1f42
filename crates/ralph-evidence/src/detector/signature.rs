//! What an iteration mainly did or ran into, as a short text: three times the same in a row is suspicious.

mod failing;
mod parts;
mod runners;

use std::collections::VecDeque;

use ralph_core::event::DetectorKey;
use ralph_core::plan::SIGNATURE_WINDOW;

use super::{Detector, DetectorDef, Sketch, Suspicion, text};
use failing::FailingTests;
use parts::{MAX_PART, base, edit, error_kind, file_in, search, slug, start};

pub(super) const DEF: DetectorDef = DetectorDef {
    key: DetectorKey::new("signature"),
    summary: "The same main error, failing tests, edit or search several times in a row.",
    role: |plan| plan.signature,
    build: |plan| Box::new(SignatureDetector::new(SIGNATURE_WINDOW, plan.signature_threshold)),
};

/// How far from the name of an error its place may stand, in lines.
const NEARBY: usize = 8;

/// Fires when the same signature comes several times in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureDetector {
    window: usize,
    threshold: usize,
    recent: VecDeque<Seen>,
    /// The last one, and how many times in a row it has come in all: for what is said, not for what is decided.
    last: Option<(Seen, usize)>,
}

/// A signature, and what stands for all the tests that fail, of which it names but a few.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Seen {
    signature: String,
    failing: u32,
}

impl Seen {
    fn of(sketch: &Sketch) -> Self {
        Self { signature: sketch.signature.clone(), failing: sketch.failing }
    }

    /// Nothing says nothing, and matches nothing.
    fn is_same(&self, other: &Seen) -> bool {
        !self.signature.is_empty() && self == other
    }
}

impl SignatureDetector {
    pub fn new(window_size: usize, threshold: usize) -> Self {
        let threshold = threshold.max(2);
        Self { window: window_size.max(threshold), threshold, recent: VecDeque::new(), last: None }
    }

    /// Whether the output's signature has now come often enough. It is remembered for the next checks.
    pub fn detect_loop(&mut self, output: &str) -> bool {
        let (signature, failing) = read(output).finish();
        self.observe(Seen { signature, failing })
    }

    fn observe(&mut self, seen: Seen) -> bool {
        let before = self.last.take().filter(|(last, _)| last.is_same(&seen)).map_or(0, |(_, times)| times);
        self.last = Some((seen.clone(), before.saturating_add(1)));
        self.recent.push_front(seen);
        self.recent.truncate(self.window);
        self.times() >= self.threshold
    }

    /// How many times in a row the last signature has come, of those that are remembered.
    pub fn times(&self) -> usize {
        let Some(last) = self.recent.front() else { return 0 };
        self.recent.iter().take_while(|each| each.is_same(last)).count()
    }

    /// Forgets all signatures.
    pub fn reset(&mut self) {
        self.recent.clear();
        self.last = None;
    }
}

impl Detector for SignatureDetector {
    fn look(&mut self, now: &Sketch) -> Suspicion {
        let seen = Seen::of(now);
        let before = match self.recent.front() {
            Some(last) if last.is_same(&seen) => self.times(),
            _ => 0,
        };
        if before == 0 {
            return Suspicion::default();
        }
        let times = before + 1;
        let all =
            self.last.as_ref().filter(|(last, _)| last.is_same(&seen)).map_or(times, |(_, all)| all + 1);
        let pattern = format!("the same signature {all} times in a row: {}", now.signature);
        let score = (before as f64 / (self.threshold - 1) as f64).min(1.0);
        let alarm = times >= self.threshold;
        Suspicion { score, alarm, period: 1, iterations: times, pattern, ..Suspicion::default() }
    }

    fn learn(&mut self, now: &Sketch) {
        self.observe(Seen::of(now));
    }

    fn start_over(&mut self) {
        self.recent.clear();
    }
}

impl Default for SignatureDetector {
    fn default() -> Self {
        Self::new(5, 3)
    }
}

/// The signature of a whole text.
pub fn signature(output: &str) -> String {
    read(output).finish().0
}

fn read(output: &str) -> SignatureReader {
    let mut reader = SignatureReader::default();
    output.lines().for_each(|line| reader.line(text::clean(line.as_bytes()).trim()));
    reader
}

/// Reads an output line by line.
#[derive(Debug, Clone, Default)]
pub(super) struct SignatureReader {
    line: usize,
    tests: FailingTests,
    error: Option<ErrorSeen>,
    /// The last file that was named, and where.
    file: Option<(usize, String)>,
    edit: Option<String>,
    search: Option<String>,
    start: String,
    /// What a tool call says about it; comes before the rest.
    tool: Option<String>,
    names_tools: bool,
    in_tool: bool,
}

#[derive(Debug, Clone)]
struct ErrorSeen {
    line: usize,
    kind: String,
    place: Option<String>,
}

impl SignatureReader {
    pub(super) fn line(&mut self, line: &str) {
        if line.is_empty() {
            return;
        }
        self.line += 1;
        if self.start.is_empty() && line.chars().any(char::is_alphanumeric) {
            self.start = start(line).unwrap_or_default();
        }
        // Where tools are named, what they print counts and not what is said about it.
        if self.names_tools && !self.in_tool {
            return;
        }
        let lower = line.to_lowercase();
        let file = file_in(line);
        self.tests.line(line, &lower);
        self.take_error(line, &lower, file);
        if let Some(file) = file {
            self.file = Some((self.line, base(file).to_owned()));
            if self.edit.is_none() && !self.names_tools {
                self.edit = edit(line, file);
            }
        }
        if self.search.is_none() && !self.names_tools {
            self.search = search(line, &lower);
        }
    }

    /// What comes now until [`Self::end_tool`] is a tool's.
    pub(super) fn begin_tool(&mut self) {
        if !self.names_tools {
            *self = Self {
                line: self.line,
                start: std::mem::take(&mut self.start),
                names_tools: true,
                ..Self::default()
            };
        }
        self.in_tool = true;
    }

    pub(super) fn end_tool(&mut self) {
        self.in_tool = false;
    }

    fn take_error(&mut self, line: &str, lower: &str, file: Option<&str>) {
        let here = file.map(|file| base(file).to_owned());
        match &mut self.error {
            None => {
                if let Some(kind) = error_kind(line, lower) {
                    let before = self.file.take_if(|(at, _)| self.line - *at <= NEARBY).map(|(_, file)| file);
                    self.error = Some(ErrorSeen { line: self.line, kind, place: here.or(before) });
                }
            }
            Some(error) if error.place.is_none() && self.line - error.line <= NEARBY => error.place = here,
            Some(_) => {}
        }
    }

    /// A command of the agent failed; what it printed comes through [`Self::line`], too.
    pub(super) fn failed_call(&mut self, name: &str, arguments: &str, exit_code: Option<i64>) {
        let words: Vec<&str> = arguments.split_whitespace().take(3).collect();
        let exit = exit_code.map_or(String::new(), |code| format!("-exit{code}"));
        self.tool = Some(format!("fail:{}{exit}", slug(&format!("{name} {}", words.join(" ")), MAX_PART)));
    }

    /// A call that went well: what was changed or looked for.
    pub(super) fn call(&mut self, edits: Option<&str>, searches: Option<&str>) {
        if let Some(file) = edits {
            self.edit = Some(format!("{}:edit", base(file)));
        } else if let Some(query) = searches {
            self.search = Some(format!("search:{}", slug(query, MAX_PART)));
        }
    }

    /// The signature, and what stands for all tests that fail.
    pub(super) fn finish(self) -> (String, u32) {
        if let Some(signature) = self.tests.signature() {
            return (signature, self.tests.mark());
        }
        if let Some(error) = self.error {
            let place = error.place.map_or(String::new(), |place| format!("-{place}"));
            return (format!("error:{}{place}", error.kind), 0);
        }
        (self.tool.or(self.edit).or(self.search).unwrap_or(self.start), 0)
    }
}

#[cfg(test)]
mod tests;
