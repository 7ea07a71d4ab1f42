//! A mark is one thing in a file that makes checks pass: a setting, a hook, an exit. Marks that were there before, in any
//! file of the change, are no finding: so a setting may move from one file to another.

use super::SourceFile;
use super::path;
use ralph_core::tampering::{Finding, Tampering};
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mark {
    pub kind: Tampering,
    pub line: usize,
    /// What it says: the same mark in another file has the same.
    pub detail: String,
    /// The file or folder that it leaves out, where it names one.
    pub names: Option<String>,
}

impl Mark {
    pub fn new(kind: Tampering, line: usize, detail: impl Into<String>) -> Mark {
        Mark { kind, line, detail: detail.into(), names: None }
    }

    pub fn naming(line: usize, detail: impl Into<String>, names: &str) -> Mark {
        Mark { kind: Tampering::RunnerNarrowed, line, detail: detail.into(), names: Some(names.to_owned()) }
    }
}

/// Left out everywhere, and rightly: they hold no tests of the project, or ones of another runner.
const ELSEWHERE: &[&str] = &[
    "node_modules",
    "dist",
    "build",
    "target",
    "vendor",
    "fixtures",
    "fixture",
    "testdata",
    "data",
    "coverage",
    "e2e",
    "examples",
    "example",
    "bench",
    "benches",
    "benchmarks",
    "docs",
    "tmp",
    ".git",
    "venv",
    ".venv",
    ".tox",
    ".next",
    "out",
    "lib",
    "cypress",
    "playwright",
    "scripts",
    "helpers",
    "__fixtures__",
    "snapshots",
    "generated",
    "third_party",
    "utils",
];

/// The marks that are new.
pub(super) fn new_marks(files: &[SourceFile], read: impl Fn(&str, &str) -> Vec<Mark>) -> Vec<Finding> {
    let mut known: BTreeMap<(Tampering, String), usize> = BTreeMap::new();
    for file in files {
        for mark in file.before.as_deref().map(|text| read(&file.path, text)).unwrap_or_default() {
            *known.entry((mark.kind, mark.detail)).or_default() += 1;
        }
    }
    let mut found = Vec::new();
    for file in files {
        for mark in file.after.as_deref().map(|text| read(&file.path, text)).unwrap_or_default() {
            if let Some(count) = known.get_mut(&(mark.kind, mark.detail.clone())).filter(|count| **count > 0)
            {
                *count -= 1;
                continue;
            }
            if mark
                .names
                .as_deref()
                .is_some_and(|names| is_elsewhere(names, files) || is_own_runner(&mark, names, files))
            {
                continue;
            }
            let line = u32::try_from(mark.line).ok();
            found.push(Finding { kind: mark.kind, file: file.path.clone(), line, detail: mark.detail });
        }
    }
    found
}

/// A test program of Rust that brings its own runner: there is none of the usual tests in it that would be lost.
fn is_own_runner(mark: &Mark, names: &str, files: &[SourceFile]) -> bool {
    let named =
        |file: &&SourceFile| file.path.ends_with(names) || file.path.ends_with(&format!("/{names}.rs"));
    let own = |text: &String| text.contains("fn main(") && !text.contains("#[test]");
    mark.detail.contains("harness = false")
        && files.iter().filter(named).any(|file| file.after.as_ref().is_some_and(own))
}

/// Whether what is left out is new with this change, gone with it, or no place of the project's tests.
fn is_elsewhere(names: &str, files: &[SourceFile]) -> bool {
    let part = |c: char| !(c.is_alphanumeric() || "_-.".contains(c));
    let parts: Vec<&str> =
        names.split(part).map(|part| part.trim_matches('.')).filter(|part| !part.is_empty()).collect();
    if parts.iter().any(|part| ELSEWHERE.contains(part)) {
        return true;
    }
    let Some(last) = parts.iter().rev().find(|part| part.len() > 2) else { return false };
    let named =
        |file: &&SourceFile| file.path.split('/').any(|part| part == *last || path::stem(part) == *last);
    let mut touched = files.iter().filter(named).peekable();
    touched.peek().is_some() && touched.all(|file| file.before.is_none() || file.after.is_none())
}
