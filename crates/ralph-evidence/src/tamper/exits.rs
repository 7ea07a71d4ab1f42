//! Tests that end their own process with success.
//!
//! Only what is done without a condition counts: a test may well start a child that exits.

use super::compare::Side;
use super::compare::finding;
use super::lex::{Kind, Tokens};
use super::path::{self, Language};
use super::sheet::Sheet;
use ralph_core::tampering::{Finding, Tampering};

pub(super) fn review(before: &Side, after: &Side) -> Vec<Finding> {
    let mut found = Vec::new();
    for (file, sheet) in after {
        let Some(language) = sheet.language else { continue };
        let old = before.get(file).map_or(0, |old| exits(old, file, language).len());
        for at in exits(sheet, file, language).into_iter().skip(old).take(5) {
            let token = &sheet.tokens.list[at];
            let detail = format!("`{}`", line_text(&sheet.tokens, at));
            found.push(finding(Tampering::EarlyExit, file, token.line, detail));
        }
    }
    found
}

fn line_text(tokens: &Tokens, at: usize) -> String {
    let line = tokens.list[at].line;
    let words = tokens.part(at..).iter().take_while(|token| token.line == line).take(8);
    words.map(|token| token.text.clone()).collect()
}

fn exits(sheet: &Sheet, file: &str, language: Language) -> Vec<usize> {
    let tokens = &sheet.tokens;
    let places =
        (0..tokens.list.len()).filter(|at| sheet.in_territory(*at) && is_exit(tokens, *at, language));
    match language {
        Language::Shell => places.filter(|at| path::is_test(file) && goes_on(tokens, *at)).collect(),
        Language::Python | Language::Ruby => places.filter(|at| by_lines(sheet, *at)).collect(),
        _ => places.filter(|at| in_braces(sheet, *at)).collect(),
    }
}

/// Where the call starts: `sys.exit(0)`, `process.exit(0)`, `std::process::exit(0)`, `os.Exit(0)`.
fn is_exit(tokens: &Tokens, at: usize, language: Language) -> bool {
    let zero = |open: usize| {
        tokens.is(open, "(")
            && (tokens.is(open + 1, "0") && tokens.is(open + 2, ")") || tokens.is(open + 1, ")"))
    };
    let path = |first: &str, sign: &str, last: &[&str]| {
        tokens.is(at, first)
            && tokens.is(at + 1, sign)
            && tokens.word(at + 2).is_some_and(|word| last.contains(&word))
            && zero(at + 3)
    };
    match language {
        Language::Python => {
            path("sys", ".", &["exit"])
                || path("os", ".", &["_exit"])
                || path("pytest", ".", &["exit"])
                || tokens.is(at, "_exit") && tokens.is(at + 1, ",") && tokens.is(at + 2, "0")
        }
        Language::Script => {
            path("process", ".", &["exit", "reallyExit"])
                || tokens.is(at, "process")
                    && tokens.is(at + 2, "exitCode")
                    && tokens.is(at + 3, "=")
                    && tokens.is(at + 4, "0")
        }
        Language::Rust => path("process", "::", &["exit"]),
        Language::Go => path("os", ".", &["Exit"]) && tokens.is(at + 4, "0"),
        Language::Java => path("System", ".", &["exit"]) || tokens.is(at, "exitProcess") && zero(at + 1),
        Language::Ruby => {
            let word = tokens.word(at).is_some_and(|word| word == "exit" || word == "exit!");
            let alone = tokens
                .get(at + 1)
                .is_none_or(|next| next.line > tokens.list[at].line || next.is("}") || next.is("end"));
            let called = tokens.is(at + 1, "0")
                || zero(at + 1)
                || tokens.is(at + 1, "true")
                || tokens.is(at + 2, "true");
            word && (alone || called) && !(at > 0 && (tokens.is(at - 1, "def") || tokens.is(at - 1, ":")))
        }
        Language::Shell => {
            tokens.list[at].first
                && tokens.list[at].indent == 0
                && tokens.is(at, "exit")
                && tokens.is(at + 1, "0")
        }
    }
}

/// Something that would have been done follows.
fn goes_on(tokens: &Tokens, at: usize) -> bool {
    tokens
        .part(at + 2..)
        .iter()
        .any(|token| token.first && token.kind == Kind::Word && token.indent == 0 && !token.is("exit"))
}

const HOOKS: &[&str] =
    &["pytest_", "setup", "setUp", "teardown", "tearDown", "test", "Test", "before", "after"];

/// A function that the runner calls: a test or a hook.
fn is_run(sheet: &Sheet, name: &str) -> bool {
    HOOKS.iter().any(|hook| name.starts_with(hook))
        || name == "init"
        || sheet.tests.iter().any(|test| test.name == name)
}

/// Neither below an `if` nor in a function that someone has to call.
fn by_lines(sheet: &Sheet, at: usize) -> bool {
    let tokens = &sheet.tokens;
    let mut indent = tokens.list[at].indent;
    let line = tokens.list[at].line;
    let same_line = tokens.part(..at).iter().rev().take_while(|token| token.line == line);
    if same_line.into_iter().any(|token| ["if", "unless", "else", "and"].iter().any(|word| token.is(word))) {
        return false;
    }
    let behind = tokens.part(at..).iter().take_while(|token| token.line == line);
    if behind.into_iter().any(|token| token.is("if") || token.is("unless")) {
        return false;
    }
    for place in (0..at).rev().filter(|place| tokens.list[*place].first && tokens.list[*place].line < line) {
        let token = &tokens.list[place];
        if token.indent >= indent {
            continue;
        }
        indent = token.indent;
        match tokens.word(place) {
            Some(
                "if" | "elif" | "else" | "except" | "for" | "while" | "case" | "unless" | "when" | "rescue"
                | "until",
            ) => return false,
            Some("def") => {
                return tokens.word(place + 1).is_some_and(|name| is_run(sheet, name));
            }
            _ => {}
        }
    }
    true
}

fn in_braces(sheet: &Sheet, at: usize) -> bool {
    let tokens = &sheet.tokens;
    const CONTROL: &[&str] = &[
        "if", "else", "case", "match", "switch", "catch", "while", "for", "loop", "select", "default", "when",
    ];
    let enclosing =
        (0..at).filter(|place| tokens.is(*place, "{") && tokens.opens(*place) && tokens.close(*place) > at);
    for open in enclosing {
        let stops = |place: &usize| [";", "{", "}"].iter().any(|sign| tokens.is(*place, sign));
        let start = (0..open).rev().find(stops).map_or(0, |place| place + 1);
        for place in start..open {
            let Some(word) = tokens.word(place) else { continue };
            let function = ["fn", "func", "function", "fun", "void"].contains(&word);
            let named = tokens.word(place + 1).filter(|_| function);
            if CONTROL.contains(&word) || named.is_some_and(|name| !is_run(sheet, name)) {
                return false;
            }
        }
    }
    // `if (x) process.exit(0)`.
    let line = tokens.list[at].line;
    !tokens
        .part(..at)
        .iter()
        .rev()
        .take_while(|token| token.line == line)
        .any(|token| CONTROL.iter().any(|word| token.is(word)) || token.is("&&") || token.is("||"))
}
