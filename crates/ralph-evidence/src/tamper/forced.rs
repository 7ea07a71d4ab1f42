//! Code beside the tests that decides their outcome: hooks of pytest, asserts that are replaced.

use super::lex::{Kind, Tokens};
use super::marks::Mark;
use super::path::{self, Language};
use super::sheet::{Sheet, line_end};
use ralph_core::tampering::Tampering;
use std::ops::Range;

pub(super) fn marks(path: &str, text: &str) -> Vec<Mark> {
    if path::name(path) == "Rakefile" {
        return rspec(&Tokens::read(text, Language::Ruby));
    }
    let language = Language::of(path);
    if !(path::is_test(path) || path::is_config(path) || is_setup(path)) {
        return Vec::new();
    }
    let sheet = match language {
        Some(Language::Python | Language::Script | Language::Ruby) => Sheet::read(path, text),
        _ => return Vec::new(),
    };
    let mut found = replaced(&sheet.tokens);
    if language == Some(Language::Python) {
        for (name, range) in sheet.helpers.iter().filter(|(name, _)| name.starts_with("pytest_")) {
            found.extend(hook(&sheet.tokens, name, range.clone()));
        }
        for (_, range) in sheet.helpers.iter().filter(|(name, _)| name == "load_tests") {
            found.extend(empty_suite(&sheet.tokens, range.clone()));
        }
        found.extend(collect_ignored(&sheet.tokens));
    }
    if language == Some(Language::Ruby) {
        found.extend(rspec(&sheet.tokens));
    }
    found
}

/// Files that runners load before the tests.
fn is_setup(path: &str) -> bool {
    let stem = path::stem(path).to_ascii_lowercase();
    stem.contains("setup") || stem.contains("conftest") || stem.contains("plugin")
}

fn text_of(tokens: &Tokens, at: usize) -> String {
    let line = tokens.list[at].line;
    let list = tokens.part(at..).iter().take_while(|token| token.line == line).take(14);
    super::compare::cut(&list.map(|token| token.key()).collect::<Vec<_>>().join(" "))
}

fn hook(tokens: &Tokens, name: &str, range: Range<usize>) -> Vec<Mark> {
    let has = |words: &[&str]| words.iter().all(|word| range.clone().any(|at| tokens.is(at, word)));
    let line_of = |at: usize| tokens.list[at].line;
    let mut found = Vec::new();
    for at in range.clone() {
        let assigned = |name: &str| tokens.is(at, name) && tokens.is(at + 1, "=");
        let forced = match name {
            "pytest_collection_modifyitems" | "pytest_itemcollected" => {
                let emptied = tokens.is(at, "items") && tokens.is(at + 1, ".") && tokens.is(at + 2, "clear")
                    || tokens.is(at, "del") && tokens.is(at + 1, "items")
                    || tokens.is(at, "items")
                        && tokens.is(at + 1, "[")
                        && tokens.is(tokens.close(at + 1) + 1, "=")
                        && filters(tokens, at);
                let marked = tokens.is(at, "add_marker")
                    && switches_off(tokens, at, &range)
                    && !below_if(tokens, at, &range);
                emptied && !has(&["getoption"]) || marked
            }
            "pytest_runtest_makereport" | "pytest_report_teststatus" | "pytest_runtest_logreport" => {
                let outcome = assigned("outcome")
                    && tokens.get(at + 2).is_some_and(|value| {
                        value.kind == Kind::Text && (value.text == "passed" || value.text == "skipped")
                    });
                outcome || assigned("excinfo") && tokens.is(at + 2, "None")
            }
            "pytest_sessionfinish" | "pytest_unconfigure" => {
                assigned("exitstatus") && (tokens.is(at + 2, "0") || !tokens.list[at + 2].is_literal())
            }
            "pytest_pyfunc_call"
            | "pytest_runtest_call"
            | "pytest_runtest_protocol"
            | "pytest_ignore_collect" => {
                tokens.is(at, "return") && tokens.is(at + 1, "True") && !below_if(tokens, at, &range)
            }
            _ => false,
        };
        if forced {
            found.push(Mark::new(
                Tampering::OutcomeForced,
                line_of(at),
                format!("{name}: {}", text_of(tokens, at)),
            ));
        }
    }
    found
}

/// `items[:] = []`, or what is left of them by a condition. Sorting is none.
fn filters(tokens: &Tokens, at: usize) -> bool {
    let line = tokens.part(at..line_end(tokens, at));
    let empty = line.windows(3).any(|three| three[0].is("=") && three[1].is("[") && three[2].is("]"));
    let cut = line.iter().any(|token| token.is("if") || token.is("filter"))
        || line.windows(3).any(|three| three[0].is("]") && three[1].is("=") && three[2].is("items"));
    empty || cut
}

/// The marker that is added is a skip, here or by the name it was given.
fn switches_off(tokens: &Tokens, at: usize, range: &Range<usize>) -> bool {
    let off = |place: usize| tokens.word(place).is_some_and(|word| word == "skip" || word == "xfail");
    let end = tokens.close(at + 1);
    if (at..end).any(off) {
        return true;
    }
    let name = tokens.word(at + 2).unwrap_or_default();
    range.clone().any(|place| {
        tokens.is(place, name) && tokens.is(place + 1, "=") && (place..line_end(tokens, place)).any(off)
    })
}

fn below_if(tokens: &Tokens, at: usize, range: &Range<usize>) -> bool {
    let mut indent = tokens.list[at].indent;
    let line = tokens.list[at].line;
    for place in
        (range.start..at).rev().filter(|place| tokens.list[*place].first && tokens.list[*place].line < line)
    {
        if tokens.list[place].indent < indent {
            indent = tokens.list[place].indent;
            if ["if", "elif", "else"].iter().any(|word| tokens.is(place, word)) {
                return true;
            }
        }
    }
    false
}

/// `load_tests` of unittest gives back no tests.
fn empty_suite(tokens: &Tokens, range: Range<usize>) -> Option<Mark> {
    let at = range.clone().find(|at| {
        tokens.is(*at, "TestSuite")
            && tokens.is(at + 1, "(")
            && tokens.is(at + 2, ")")
            && !tokens.is(at + 3, ".")
    })?;
    let returned = (range.start..at)
        .any(|place| tokens.is(place, "return") && tokens.list[place].line == tokens.list[at].line);
    returned.then(|| {
        Mark::new(Tampering::OutcomeForced, tokens.list[at].line, "load_tests gives back an empty suite")
    })
}

/// `collect_ignore = ["test_a.py"]`.
fn collect_ignored(tokens: &Tokens) -> Vec<Mark> {
    let mut found = Vec::new();
    for at in 0..tokens.list.len() {
        if !tokens.list[at].first
            || !(tokens.is(at, "collect_ignore") || tokens.is(at, "collect_ignore_glob"))
        {
            continue;
        }
        for token in tokens.part(at..line_end(tokens, at)).iter().filter(|token| token.kind == Kind::Text) {
            found.push(Mark::naming(token.line, format!("collect_ignore has `{}`", token.text), &token.text));
        }
    }
    found
}

/// An assert, or the runner's own word, is given another meaning.
fn replaced(tokens: &Tokens) -> Vec<Mark> {
    const OWNERS: &[&str] = &["assert", "TestCase", "Assert", "chai", "AssertionError", "FunctionTestCase"];
    const WORDS: &[&str] = &["it", "test", "describe", "expect", "assert"];
    let mut found = Vec::new();
    for at in 0..tokens.list.len() {
        let assigned = tokens.is(at + 1, ".") && tokens.word(at + 2).is_some() && tokens.is(at + 3, "=");
        let owner = tokens.word(at).is_some_and(|word| OWNERS.contains(&word)) && assigned;
        let global = tokens.word(at).is_some_and(|word| ["global", "globalThis", "builtins"].contains(&word))
            && assigned
            && tokens.word(at + 2).is_some_and(|word| WORDS.contains(&word))
            // A library's own word, put where tests look for it.
            && (tokens.is(at + 4, "(") || tokens.is(at + 4, "lambda") || tokens.is(at + 4, "function"));
        let set = tokens.is(at, "setattr")
            && tokens.is(at + 1, "(")
            && (at + 2..tokens.close(at + 1)).any(|place| {
                tokens.get(place).is_some_and(|token| {
                    token.word() == Some("TestCase")
                        || token.kind == Kind::Text && token.text.contains("TestCase.assert")
                })
            });
        if owner || global || set {
            found.push(Mark::new(Tampering::OutcomeForced, tokens.list[at].line, text_of(tokens, at)));
        }
    }
    found
}

fn rspec(tokens: &Tokens) -> Vec<Mark> {
    let mut found = Vec::new();
    for at in 0..tokens.list.len() {
        let known = ["filter", "exclusion", "failure_exit_code", "dry_run", "fail_on_error"];
        if !tokens.word(at).is_some_and(|word| known.iter().any(|start| word.starts_with(start))) {
            continue;
        }
        let line = tokens.part(at..line_end(tokens, at));
        let conditional = line.iter().any(|token| token.is("if") || token.is("unless"));
        let narrowed = ["filter_run_excluding", "exclusion_filter", "filter_run", "filter_run_including"]
            .iter()
            .any(|word| tokens.is(at, word));
        let forced = tokens.is(at, "failure_exit_code") && tokens.is(at + 2, "0")
            || tokens.is(at, "dry_run") && tokens.is(at + 2, "true")
            || tokens.is(at, "fail_on_error") && tokens.is(at + 2, "false");
        if narrowed && !conditional && !line.iter().any(|token| token.is("focus")) {
            found.push(Mark::new(Tampering::RunnerNarrowed, tokens.list[at].line, text_of(tokens, at)));
        }
        if forced {
            found.push(Mark::new(Tampering::ExitSwallowed, tokens.list[at].line, text_of(tokens, at)));
        }
    }
    found
}
