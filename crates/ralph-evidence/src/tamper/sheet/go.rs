//! Tests of Go: functions `TestXxx` in files `…_test.go`.

use super::{Sheet, Test, braces, outside};
use crate::tamper::lex::Tokens;
use crate::tamper::path;
use std::ops::Range;

pub(super) fn read(sheet: &mut Sheet, file: &str, text: &str) {
    let tokens = std::mem::take(&mut sheet.tokens);
    let (test_file, collected) = (path::is_test(file), path::is_collected(file));
    let off = constraint(text);
    let mut at = 0;
    while at < tokens.list.len() {
        match tokens.word(at) {
            Some("func") => at = function(sheet, &tokens, at, (test_file, collected, off)),
            Some("type" | "const" | "var") if !test_file => {
                sheet.defines.extend(tokens.word(at + 1).map(str::to_owned));
                at += 1;
            }
            _ => at += 1,
        }
    }
    sheet.tokens = tokens;
}

fn function(sheet: &mut Sheet, tokens: &Tokens, at: usize, file: (bool, bool, Option<usize>)) -> usize {
    let (test_file, collected, off) = file;
    let named = if tokens.is(at + 1, "(") { tokens.close(at + 1) + 1 } else { at + 1 };
    let Some(name) = tokens.word(named).map(str::to_owned) else { return at + 1 };
    let Some(body) = braces(tokens, named + 1) else { return at + 1 };
    let end = body.end + 1;
    let is_test = collected
        && ["Test", "Fuzz"].iter().any(|start| {
            name.strip_prefix(start).is_some_and(|rest| !rest.starts_with(|c: char| c.is_lowercase()))
        })
        && name != "TestMain";
    if is_test {
        let skipped = off.or_else(|| off_by_statement(tokens, body.clone()));
        let skipped = skipped.or_else(|| off_unless_short(tokens, body.clone()));
        let line = tokens.list[at].line;
        sheet.tests.push(Test { name, line, extent: at..end, body, skipped, gates: Vec::new() });
    } else if test_file {
        sheet.helpers.push((name, at..end));
    } else {
        sheet.defines.push(name);
    }
    end
}

fn off_by_statement(tokens: &Tokens, body: Range<usize>) -> Option<usize> {
    let found = outside(tokens, body, |at| {
        tokens.is(at + 1, ".")
            && tokens.word(at + 2).is_some_and(|word| ["Skip", "Skipf", "SkipNow"].contains(&word))
            && tokens.is(at + 3, "(")
    });
    found.map(|at| tokens.list[at].line)
}

/// `if !testing.Short() { t.Skip(…) }`: off in every ordinary run.
fn off_unless_short(tokens: &Tokens, body: Range<usize>) -> Option<usize> {
    let is =
        |at: usize, words: &[&str]| words.iter().enumerate().all(|(next, word)| tokens.is(at + next, word));
    let found = body.clone().find(|at| {
        is(*at, &["if", "!", "testing", ".", "Short", "(", ")", "{"])
            && tokens.word(at + 10).is_some_and(|word| word.starts_with("Skip"))
    });
    found.map(|at| tokens.list[at].line)
}

/// Systems, processors and versions: a test for one of them is no test that is switched off.
const PLATFORMS: &[&str] = &[
    "linux", "windows", "darwin", "unix", "freebsd", "netbsd", "openbsd", "android", "ios", "js", "wasm",
    "amd64", "arm64", "arm", "386", "cgo", "race", "gc", "gccgo", "plan9", "solaris", "wasip1",
];

/// The line of a build constraint that an ordinary build does not meet.
fn constraint(text: &str) -> Option<usize> {
    let head = text.lines().enumerate().take_while(|(_, line)| !line.starts_with("package "));
    let mut tags = head.filter_map(|(at, line)| {
        let line = line.trim();
        let tags = line.strip_prefix("//go:build ").or_else(|| line.strip_prefix("// +build "))?;
        let mut words =
            tags.split(|c: char| !(c.is_alphanumeric() || "._!".contains(c))).filter(|word| !word.is_empty());
        words
            .any(|word| !word.starts_with('!') && !PLATFORMS.contains(&word) && !word.starts_with("go1"))
            .then_some(at + 1)
    });
    tags.next()
}
