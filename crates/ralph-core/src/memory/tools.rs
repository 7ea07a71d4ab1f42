//! What the tools of one attempt came to: each command that matters, and what was left failing in the tool's own words.
//!
//! Apart from the ledger, which decides about claims: this is only told. Bounded whatever the agent runs.

use super::quote::cut_start;
use crate::check::{CheckResult, Kind};
use crate::event::{ToolFinished, ToolKind};

/// Commands that are told of one iteration.
const MOST_RESULTS: usize = 20;
/// Calls left failing that are told.
const MOST_FAILURES: usize = 5;
/// Characters of a command.
const MOST_COMMAND: usize = 200;
/// Bytes of the beginning and of the end of what a failed tool printed: a compiler names its first error first, a test
/// runner its sum last.
const HEAD: usize = 200;
const TAIL: usize = 400;

/// A command and what its last run came to, in a word: `passed`, `failed`, `unknown`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolNote {
    pub tool: &'static str,
    pub command: String,
    pub result: &'static str,
}

/// A call that failed, and that nothing made good.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolFailure {
    /// The command; of a tool without one, what it is for.
    pub what: String,
    pub exit_code: Option<i64>,
    /// A few lines of what it printed.
    pub message: String,
    kinds: Vec<Kind>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolLog {
    pub results: Vec<ToolNote>,
    pub failures: Vec<ToolFailure>,
}

impl ToolFailure {
    pub fn new(what: &str, exit_code: Option<i64>, message: &str) -> Self {
        let what = cut_start(what.lines().next().unwrap_or_default(), MOST_COMMAND).into_owned();
        Self { what, exit_code, message: excerpt(message), kinds: Vec::new() }
    }

    /// `exit code 1`, or that it failed.
    pub fn how(&self) -> String {
        match self.exit_code {
            Some(code) if code != 0 => format!("failed with exit code {code}"),
            _ => "failed".to_owned(),
        }
    }
}

impl ToolLog {
    pub fn finished(&mut self, end: &ToolFinished) {
        if end.only_looks {
            return;
        }
        let kind = end.kind.unwrap_or_default();
        let what = end.command.as_deref().unwrap_or(kind.name());
        let failure = ToolFailure::new(what, end.result.exit_code, &end.result.output);
        let result = word(end);
        if result != "unknown" {
            let kinds: Vec<Kind> = end.checks.iter().map(|check| check.kind).collect();
            self.settle(ToolFailure { kinds, ..failure }, result == "failed");
        }
        if let (ToolKind::Shell, Some(_)) = (kind, &end.command) {
            let command = cut_start(what.lines().next().unwrap_or_default(), MOST_COMMAND).into_owned();
            self.results.retain(|note| note.command != command);
            if self.results.len() == MOST_RESULTS {
                let harmless = self.results.iter().position(|note| note.result == "passed");
                self.results.remove(harmless.unwrap_or(0));
            }
            self.results.push(ToolNote { tool: kind.name(), command, result });
        }
    }

    /// What fails takes the place of its last failure; what passes makes that good, and others of its kind.
    fn settle(&mut self, call: ToolFailure, failed: bool) {
        let same = |one: &ToolFailure| {
            one.what == call.what || !failed && one.kinds.iter().any(|kind| call.kinds.contains(kind))
        };
        self.failures.retain(|one| !same(one));
        if failed {
            if self.failures.len() == MOST_FAILURES {
                self.failures.remove(0);
            }
            self.failures.push(call);
        }
    }
}

/// What a check came to outranks the exit code: that of `cargo test | tail` is `tail`'s.
fn word(end: &ToolFinished) -> &'static str {
    let is = |result: CheckResult| end.checks.iter().any(|check| check.result == result);
    match end.has_failed() {
        _ if is(CheckResult::Failed) => "failed",
        Some(true) => "failed",
        _ if is(CheckResult::Unknown) => "unknown",
        Some(false) => "passed",
        None => "unknown",
    }
}

/// The beginning and the end of a long text.
fn excerpt(text: &str) -> String {
    let text = text.trim();
    if text.len() <= HEAD + TAIL {
        return text.to_owned();
    }
    let head = (0..=HEAD).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let from = text.len() - TAIL;
    let tail = (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    format!("{}\n…\n{}", text[..head].trim_end(), text[tail..].trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::CheckRun;
    use crate::event::{ToolCall, ToolResult};
    use crate::ids::IterationNumber;

    fn end(command: Option<&str>, kind: ToolKind, exit_code: i64, output: &str) -> ToolFinished {
        let command = command.map(str::to_owned);
        let call = ToolCall { id: "a".into(), kind, name: "x".into(), command, path: None };
        let (id, ok, output) = ("a".to_owned(), Some(exit_code == 0), output.to_owned());
        let result = ToolResult { id, ok, exit_code: Some(exit_code), output };
        ToolFinished::new(IterationNumber(1), 1, result, Some(call))
    }

    fn check(command: &str, exit_code: i64, result: CheckResult) -> ToolFinished {
        let run = CheckRun {
            kind: Kind::Test,
            program: "cargo test".to_owned(),
            dir: String::new(),
            command: command.to_owned(),
            whole: false,
            wider: Vec::new(),
            compiles: false,
            result,
        };
        ToolFinished { checks: vec![run], ..end(Some(command), ToolKind::Shell, exit_code, "2 failed") }
    }

    #[test]
    fn a_failure_is_told_in_the_tools_own_words_until_it_is_made_good() {
        let mut log = ToolLog::default();
        log.finished(&end(Some("npm run build"), ToolKind::Shell, 2, "src/a.ts(3,1): error TS2304"));
        log.finished(&end(None, ToolKind::Edit, 1, "String to replace not found"));
        let told: Vec<_> = log.failures.iter().map(|one| (one.what.as_str(), one.message.as_str())).collect();
        assert_eq!(
            told,
            [("npm run build", "src/a.ts(3,1): error TS2304"), ("edit", "String to replace not found")]
        );
        log.finished(&end(None, ToolKind::Edit, 0, ""));
        log.finished(&end(Some("npm run build"), ToolKind::Shell, 0, "built"));
        assert_eq!(log.failures, []);
        assert_eq!(log.results.len(), 1, "the last result of each command: {:?}", log.results);
        assert_eq!(log.results[0].result, "passed");
        // A search that finds nothing is no failure.
        log.finished(&ToolFinished { only_looks: true, ..end(Some("grep x a"), ToolKind::Shell, 1, "") });
        assert_eq!((log.failures.len(), log.results.len()), (0, 1));
    }

    #[test]
    fn a_check_that_passes_makes_good_what_failed_of_its_kind_and_a_pipe_settles_nothing() {
        let mut log = ToolLog::default();
        log.finished(&check("cargo test one", 101, CheckResult::Failed));
        log.finished(&check("cargo test | tail", 0, CheckResult::Unknown));
        let words: Vec<_> = log.results.iter().map(|one| one.result).collect();
        assert_eq!((words, log.failures.len()), (vec!["failed", "unknown"], 1));
        log.finished(&check("cargo test", 0, CheckResult::Passed));
        assert_eq!(log.failures, []);
    }

    #[test]
    fn it_is_bounded_and_keeps_both_ends_of_a_long_message() {
        let mut log = ToolLog::default();
        let long = format!("first error\n{}\nthe sum é", "noise é\n".repeat(2000));
        for n in 0..100 {
            let command = format!("make part{n} {}\nsecond line", "x".repeat(1000));
            log.finished(&end(Some(&command), ToolKind::Shell, 2, &long));
        }
        assert_eq!((log.results.len(), log.failures.len()), (MOST_RESULTS, MOST_FAILURES));
        let last = &log.failures[MOST_FAILURES - 1];
        assert!(last.what.starts_with("make part99 x") && !last.what.contains("second"), "{}", last.what);
        assert!(last.message.starts_with("first error\n") && last.message.ends_with("the sum é"));
        assert!(last.message.len() <= HEAD + TAIL + 8, "{}", last.message.len());
    }
}
