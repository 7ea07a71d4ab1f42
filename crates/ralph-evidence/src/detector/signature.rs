//! What an iteration mainly did or ran into, as a short text: three times the same in a row is suspicious.

mod runners;

use std::collections::VecDeque;

use ralph_core::event::DetectorKey;
use ralph_core::plan::SIGNATURE_WINDOW;

use super::{Detector, DetectorDef, Sketch, Suspicion, text};

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
const MAX_PART: usize = 40;
const MAX_START: usize = 50;

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

/// The normalised beginning of a text.
fn start(line: &str) -> Option<String> {
    let mut words = Vec::new();
    for word in line.split_whitespace() {
        let masked: String = word.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).collect();
        words.push(masked);
    }
    let text = slug(&words.join(" "), MAX_START);
    (!text.is_empty()).then_some(text)
}

/// Lower case, with single hyphens for what is no letter or digit.
fn slug(text: &str, most: usize) -> String {
    let mut out = String::new();
    for c in text.chars().flat_map(char::to_lowercase) {
        if out.chars().count() >= most {
            break;
        }
        if c.is_alphanumeric() || matches!(c, '_' | '#' | '.') {
            out.push(c);
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
    }
    out.trim_end_matches(['-', '.']).to_owned()
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '\'')).filter(|word| !word.is_empty())
}

/// What kind of error a line names: `TypeError-null`, `E0308`, `TS2322`.
fn error_kind(line: &str, lower: &str) -> Option<String> {
    const HINTS: &[&str] = &[
        "null",
        "nil",
        "undefined",
        "timeout",
        "permission",
        "denied",
        "missing",
        "mismatched",
        "unresolved",
        "overflow",
        "refused",
        "syntax",
        "import",
        "unused",
    ];
    let hint = || words(line).map(str::to_lowercase).find(|word| HINTS.contains(&word.as_str()));
    let with = |kind: &str| match hint() {
        Some(hint) if !kind.to_lowercase().contains(&hint) => format!("{kind}-{hint}"),
        _ => kind.to_owned(),
    };
    let named = |word: &&str| {
        let stem = word.strip_suffix("Error").or_else(|| word.strip_suffix("Exception"));
        stem.is_some_and(|stem| stem.starts_with(|c: char| c.is_uppercase()))
    };
    if let Some(kind) = words(line).find(named) {
        return Some(with(kind));
    }
    let begins = ["error", "fatal", "panic", "failed to", "cannot ", "uncaught"];
    const MARKS: &[&str] =
        &["error:", "error[", " error ", "panicked at", "fatal:", "err!", "exception:", "panic:"];
    let marked = MARKS.iter().filter_map(|mark| lower.rfind(mark).map(|at| at + mark.len())).max();
    if marked.is_none() && !begins.iter().any(|begin| lower.starts_with(begin)) {
        return None;
    }
    let code = words(line).find(|word| {
        let letters = word.chars().take_while(char::is_ascii_uppercase).count();
        (1..=5).contains(&letters)
            && word.len() - letters >= 2
            && word[letters..].chars().all(|c| c.is_ascii_digit())
    });
    if let Some(code) = code {
        return Some(code.to_owned());
    }
    let said = marked.and_then(|at| line.get(at..)).unwrap_or(line);
    let said = words(said).filter(|word| word.len() > 3 && word.chars().all(char::is_alphabetic));
    let said: Vec<&str> = said.filter(|word| !word.eq_ignore_ascii_case("error")).take(3).collect();
    (!said.is_empty()).then(|| slug(&said.join(" "), MAX_PART))
}

/// The first file that a line names.
fn file_in(line: &str) -> Option<&str> {
    let chunks = line.split(|c: char| {
        c.is_whitespace()
            || matches!(c, '"' | '\'' | '`' | '(' | ')' | '[' | ']' | ',' | ';' | '*' | '=' | '<' | '>' | '|')
    });
    chunks
        .map(|chunk| chunk.split(':').next().unwrap_or(chunk).trim_end_matches(['.', '!', '?']))
        .find(|chunk| is_file(chunk))
}

fn is_file(chunk: &str) -> bool {
    let name = base(chunk);
    let Some((stem, extension)) = name.rsplit_once('.') else { return false };
    let extension_fits = (1..=6).contains(&extension.len())
        && extension.chars().all(|c| c.is_ascii_alphanumeric())
        && extension.starts_with(|c: char| c.is_ascii_lowercase());
    // Not `e.g`.
    let letters = stem.chars().filter(|c| c.is_alphabetic()).count();
    let stem_fits = letters + extension.len() > 2
        && letters > 0
        && stem.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+' | '@'));
    // `self.name` and `user.profile` look like files: what stands in code most often is no extension.
    const NO_FILES: &[&str] =
        &["com", "org", "io", "net", "length", "name", "id", "profile", "to", "value", "unwrap", "push"];
    extension_fits && stem_fits && !NO_FILES.contains(&extension) && !chunk.contains("//")
}

fn base(path: &str) -> &str {
    path.trim_end_matches('/').rsplit(['/', '\\']).next().unwrap_or(path)
}

/// `Modified auth.ts, added null check for …` is `auth.ts:null-check`.
fn edit(line: &str, file: &str) -> Option<String> {
    const DONE: &[&str] = &[
        "added",
        "removed",
        "fixed",
        "updated",
        "changed",
        "modified",
        "refactored",
        "renamed",
        "replaced",
        "rewrote",
        "wrote",
        "created",
        "edited",
        "extracted",
        "moved",
        "implemented",
        "deleted",
        "introduced",
        "simplified",
    ];
    const ENDS: &[&str] = &[
        "for", "to", "in", "of", "from", "with", "and", "so", "at", "the", "a", "an", "on", "line", "lines",
    ];
    let around = line.replacen(file, " ", 1);
    let said: Vec<&str> = words(&around).collect();
    let verbs = said.iter().enumerate().filter(|(_, word)| DONE.contains(&word.to_lowercase().as_str()));
    let verbs: Vec<usize> = verbs.map(|(at, _)| at).collect();
    let what = verbs.iter().rev().find_map(|at| {
        let what = said[at + 1..].iter().skip_while(|word| ENDS.contains(&word.to_lowercase().as_str()));
        let what = what.take_while(|word| !ENDS.contains(&word.to_lowercase().as_str()));
        let what: Vec<&str> = what.take(2).copied().collect();
        (!what.is_empty()).then(|| slug(&what.join(" "), MAX_PART))
    });
    let verb = said.get(*verbs.first()?)?.to_lowercase();
    Some(format!("{}:{}", base(file), what.unwrap_or(verb)))
}

/// `Searched GitHub for 'oauth2 refresh token'` is `search:oauth2-refresh-token`.
fn search(line: &str, lower: &str) -> Option<String> {
    let searches = ["searched", "searching", "grepped", "looked for", "looking for", "googled"];
    let at = searches.iter().find_map(|word| lower.find(word))?;
    let rest = line.get(at..)?;
    let quoted = ['\'', '"', '`'].iter().find_map(|quote| {
        let mut parts = rest.split(*quote).skip(1);
        let inner = parts.next().filter(|inner| !inner.is_empty())?;
        parts.next().map(|_| inner)
    });
    let query = quoted.or_else(|| rest.split_once(" for ").map(|(_, query)| query))?;
    let query = query.split([',', '.', ';']).next().unwrap_or(query);
    Some(format!("search:{}", slug(query, MAX_PART)))
}

#[cfg(test)]
mod tests;
