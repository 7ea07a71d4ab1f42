//! What an iteration mainly did or ran into, as a short text: three times the same in a row is suspicious.

mod parts;
mod runners;

use std::collections::VecDeque;

use ralph_core::event::DetectorKey;
use ralph_core::plan::SIGNATURE_WINDOW;

use super::{Detector, DetectorDef, Sketch, Suspicion, text};
use parts::{MAX_PART, base, edit, error_kind, file_in, search, slug, start};

pub(super) const DEF: DetectorDef = DetectorDef {
    key: DetectorKey::new("signature"),
    summary: "The same main error, failing tests, edit or search several times in a row.",
    role: |plan| plan.signature,
    build: |plan| Box::new(SignatureDetector::new(SIGNATURE_WINDOW, plan.signature_threshold)),
};

/// Names of failing tests in a signature.
const NAMES: usize = 2;
/// How far from the name of an error its place may stand, in lines.
const NEARBY: usize = 8;

/// Fires when the same signature comes several times in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureDetector {
    window: usize,
    threshold: usize,
    recent: VecDeque<String>,
}

impl SignatureDetector {
    pub fn new(window_size: usize, threshold: usize) -> Self {
        let threshold = threshold.max(2);
        Self { window: window_size.max(threshold), threshold, recent: VecDeque::new() }
    }

    /// Whether the output's signature has now come often enough. It is remembered for the next checks.
    pub fn detect_loop(&mut self, output: &str) -> bool {
        self.observe(&signature(output))
    }

    /// The same for a signature that was taken while the output streamed. An empty one says nothing and matches nothing.
    pub fn observe(&mut self, signature: &str) -> bool {
        self.recent.push_front(signature.to_owned());
        self.recent.truncate(self.window);
        self.times() >= self.threshold
    }

    /// How many times in a row the last signature has come.
    pub fn times(&self) -> usize {
        match self.recent.front() {
            Some(last) if !last.is_empty() => self.recent.iter().take_while(|each| *each == last).count(),
            _ => 0,
        }
    }

    /// Forgets all signatures.
    pub fn reset(&mut self) {
        self.recent.clear();
    }
}

impl Detector for SignatureDetector {
    fn look(&mut self, now: &Sketch) -> Suspicion {
        let before = match self.recent.front() {
            Some(last) if !now.signature.is_empty() && *last == now.signature => self.times(),
            _ => 0,
        };
        if before == 0 {
            return Suspicion::default();
        }
        let times = before + 1;
        let pattern = format!("the same signature {times} times in a row: {}", now.signature);
        let score = (before as f64 / (self.threshold - 1) as f64).min(1.0);
        let alarm = times >= self.threshold;
        Suspicion { score, alarm, period: 1, iterations: times, pattern, ..Suspicion::default() }
    }

    fn learn(&mut self, now: &Sketch) {
        self.observe(&now.signature);
    }

    fn start_over(&mut self) {
        self.reset();
    }
}

impl Default for SignatureDetector {
    fn default() -> Self {
        Self::new(5, 3)
    }
}

/// The signature of a whole text.
pub fn signature(output: &str) -> String {
    let mut reader = SignatureReader::default();
    output.lines().for_each(|line| reader.line(text::clean(line.as_bytes()).trim()));
    reader.finish()
}

/// Reads an output line by line.
#[derive(Debug, Clone, Default)]
pub(super) struct SignatureReader {
    line: usize,
    failing: Option<u64>,
    /// Tests that are named as failing, and how many lines name one.
    names: Vec<String>,
    fail_lines: u64,
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
        self.take_tests(line, &lower);
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

    fn take_tests(&mut self, line: &str, lower: &str) {
        let counted = self.failing.is_some_and(|count| count > 0);
        if let Some(name) = runners::failing_name(line, counted) {
            self.fail_lines += 1;
            self.add_name(name);
        }
        if let Some(count) = runners::failing_count(lower) {
            self.failing = Some(count);
            if count > 0 {
                runners::listed_names(line).into_iter().for_each(|name| self.add_name(name));
            }
        }
    }

    fn add_name(&mut self, name: &str) {
        let name = slug(name, MAX_PART);
        if self.names.len() < NAMES && !name.is_empty() && !self.names.contains(&name) {
            self.names.push(name);
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

    pub(super) fn finish(self) -> String {
        let failing = self.failing.unwrap_or(self.fail_lines);
        if failing > 0 {
            return format!("test-fail:{failing}-{}", self.names.join(",")).trim_end_matches('-').to_owned();
        }
        if let Some(error) = self.error {
            let place = error.place.map_or(String::new(), |place| format!("-{place}"));
            return format!("error:{}{place}", error.kind);
        }
        self.tool.or(self.edit).or(self.search).unwrap_or(self.start)
    }
}

#[cfg(test)]
mod tests;
