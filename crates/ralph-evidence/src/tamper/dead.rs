//! Code in a test that never runs, or whose failure nobody hears of: behind a `return`, below `if false`, in a `try` that
//! swallows.

use super::lex::{Token, Tokens};
use super::path::Language;
use super::sheet::line_end;
use std::ops::Range;

pub(super) fn dead(tokens: &Tokens, body: Range<usize>, language: Language) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    match language {
        Language::Python => by_lines(tokens, body, &mut found),
        Language::Ruby | Language::Shell => left_by_lines(tokens, body, language, &mut found),
        _ => in_braces(tokens, body, language, &mut found),
    }
    found
}

fn left_by_lines(tokens: &Tokens, body: Range<usize>, language: Language, found: &mut Vec<Range<usize>>) {
    let Some(indent) = tokens.get(body.start).map(|token| token.indent) else { return };
    let words: &[&str] = if language == Language::Shell { &["return", "exit"] } else { &["return", "next"] };
    let leaves = body.clone().find(|at| {
        let token = &tokens.list[*at];
        let alone = |end: usize| {
            !tokens.part(*at..end).iter().any(|token| token.is("if") || token.is("unless") || token.is("&&"))
        };
        token.first
            && token.indent == indent
            && token.word().is_some_and(|word| words.contains(&word))
            && alone(line_end(tokens, *at))
    });
    if let Some(at) = leaves {
        found.push(line_end(tokens, at)..body.end);
    }
}

/// The end of the block below a line, in Python.
fn block(tokens: &Tokens, at: usize, end: usize) -> usize {
    let (line, indent) = (tokens.list[at].line, tokens.list[at].indent);
    let deeper = |at: &usize| {
        tokens.list[*at].first && tokens.list[*at].line > line && tokens.list[*at].indent <= indent
    };
    (at + 1..end).find(deeper).unwrap_or(end)
}

fn by_lines(tokens: &Tokens, body: Range<usize>, found: &mut Vec<Range<usize>>) {
    let Some(indent) = tokens.get(body.start).map(|token| token.indent) else { return };
    for at in body.clone().filter(|at| tokens.list[*at].first) {
        let head = line_end(tokens, at).min(body.end);
        let next = || tokens.get(at + 1).map(|token| token.text.as_str()).unwrap_or_default();
        match tokens.word(at) {
            Some("return") if tokens.list[at].indent == indent => found.push(head..body.end),
            // `if x or True: return`.
            Some("if") if tokens.list[at].indent == indent && is_always(tokens.part(at + 1..head)) => {
                let end = block(tokens, at, body.end);
                let leaves = (head.saturating_sub(3)..end)
                    .any(|place| ["return", "skip", "skipTest"].iter().any(|word| tokens.is(place, word)));
                if leaves {
                    found.push(end..body.end);
                }
            }
            Some("if" | "while") if ["False", "0", "None"].contains(&next()) && tokens.is(at + 2, ":") => {
                found.push(at..block(tokens, at, body.end));
            }
            // A loop over nothing.
            Some("for")
                if (at..head).any(|place| is_empty_list(tokens, place) && tokens.is(place + 3, ":")) =>
            {
                found.push(at..block(tokens, at, body.end));
            }
            Some("try") => {
                let handler = block(tokens, at, body.end);
                if tokens.word(handler) == Some("except") && swallows_python(tokens, handler, body.end) {
                    found.push(at..handler);
                }
            }
            Some("with") if tokens.part(at..head).iter().any(|token| token.is("suppress")) => {
                let all = ["AssertionError", "Exception", "BaseException"];
                if tokens.part(at..head).iter().any(|token| all.iter().any(|name| token.is(name))) {
                    found.push(at..block(tokens, at, body.end));
                }
            }
            _ => {}
        }
    }
}

/// A condition that always holds: `True`, `1`, `… or True`.
fn is_always(part: &[Token]) -> bool {
    let end = part.iter().rposition(|token| token.is(":")).unwrap_or(part.len());
    let yes = |token: &Token| token.is("True") || token.is("1");
    match &part[..end] {
        [one] => yes(one),
        [.., or, last] => or.is("or") && yes(last) || end == 2 && or.is("not") && last.is("False"),
        [] => false,
    }
}

/// `in []` and `of []`.
fn is_empty_list(tokens: &Tokens, at: usize) -> bool {
    (tokens.is(at, "in") || tokens.is(at, "of"))
        && (tokens.is(at + 1, "[") && tokens.is(at + 2, "]")
            || tokens.is(at + 1, "(") && tokens.is(at + 2, ")"))
}

fn swallows_python(tokens: &Tokens, at: usize, end: usize) -> bool {
    let colon = (at..end).find(|place| tokens.is(*place, ":")).unwrap_or(end);
    let caught = tokens.part(at + 1..colon.max(at + 1));
    let all = ["AssertionError", "Exception", "BaseException"];
    let catches = caught.is_empty() || caught.iter().any(|token| all.iter().any(|name| token.is(name)));
    let handled = colon + 1..block(tokens, at, end);
    // What the handler does may fail in turn, or try again: words that only leave or show do not.
    let name = caught.windows(2).find(|pair| pair[0].is("as")).map(|pair| pair[1].text.as_str());
    let nothing = |at: usize| {
        tokens.list[at].is_literal()
            || name.is_some_and(|name| tokens.is(at, name))
            || [
                "pass",
                ".",
                "..",
                "return",
                "continue",
                "print",
                "(",
                ")",
                "None",
                "True",
                ",",
                "str",
                "repr",
                "logging",
                "logger",
                "log",
                "warning",
                "warnings",
                "warn",
                "info",
                "debug",
                "error",
                "exception",
                "False",
                "=",
                "traceback",
                "print_exc",
            ]
            .iter()
            .any(|word| tokens.is(at, word))
    };
    catches && handled.clone().all(nothing)
}

fn in_braces(tokens: &Tokens, body: Range<usize>, language: Language, found: &mut Vec<Range<usize>>) {
    let mut at = body.start;
    // Statements of the body itself.
    while at < body.end {
        if tokens.word(at) == Some("return") && leaves(tokens, at, body.start) {
            let line = tokens.list[at].line;
            let mut end = at + 1;
            while end < body.end
                && !tokens.is(end, ";")
                && (tokens.list[end].line == line || tokens.list[end - 1].line == tokens.list[end].line)
            {
                end = if tokens.opens(end) { tokens.close(end) } else { end } + 1;
            }
            found.push(end.min(body.end)..body.end);
            break;
        }
        at = if tokens.opens(at) { tokens.close(at) } else { at } + 1;
    }
    for at in body.clone() {
        match tokens.word(at) {
            Some("if" | "while") => {
                let bare = tokens.is(at + 1, "false") && tokens.is(at + 2, "{");
                let bracketed = tokens.is(at + 1, "(")
                    && (tokens.is(at + 2, "false") || tokens.is(at + 2, "0"))
                    && tokens.is(at + 3, ")");
                let open = if bare { at + 2 } else { at + 4 };
                if (bare || bracketed) && tokens.is(open, "{") {
                    found.push(at..tokens.close(open) + 1);
                }
            }
            Some("catch_unwind") if language == Language::Rust && tokens.is(at + 1, "(") => {
                let close = tokens.close(at + 1);
                let start = (body.start..at)
                    .rev()
                    .take_while(|place| ![";", "{", "}"].iter().any(|sign| tokens.is(*place, sign)));
                let start = start.last().unwrap_or(at);
                let dropped =
                    tokens.is(start, "let") && tokens.is(start + 1, "_") && tokens.is(close + 1, ";");
                let ok = tokens.is(close + 1, ".") && tokens.is(close + 2, "ok") && tokens.is(close + 5, ";");
                if dropped || ok && !tokens.is(start, "let") {
                    found.push(start..close + 1);
                }
            }
            Some("setTimeout" | "setImmediate")
                if language == Language::Script && tokens.is(at + 1, "(") && !waits(tokens, &body) =>
            {
                found.push(at..tokens.close(at + 1));
            }
            Some("for")
                if tokens.is(at + 1, "(")
                    && (at..tokens.close(at + 1)).any(|place| is_empty_list(tokens, place)) =>
            {
                let open = tokens.close(at + 1) + 1;
                found.push(at..tokens.close(open) + 1);
            }
            Some("for")
                if language == Language::Rust && is_empty_list(tokens, at + 2) && tokens.is(at + 5, "{") =>
            {
                found.push(at..tokens.close(at + 5) + 1);
            }
            Some("try") if tokens.is(at + 1, "{") && language != Language::Rust => {
                let end = tokens.close(at + 1);
                if swallows_braces(tokens, end + 1, language) {
                    found.push(at..end);
                }
            }
            _ => {}
        }
    }
}

/// Whether a test waits for what it started, or holds the clock itself.
fn waits(tokens: &Tokens, body: &Range<usize>) -> bool {
    const WORDS: &[&str] = &[
        "await",
        "done",
        "resolve",
        "reject",
        "then",
        "useFakeTimers",
        "advanceTimersByTime",
        "runAllTimers",
        "tick",
        "cb",
        "runOnlyPendingTimers",
        "clock",
        "end",
        "finish",
        "waitFor",
        "return",
    ];
    // The head of the function stands before its body: `(done) =>`.
    (body.start.saturating_sub(8)..body.end)
        .any(|at| tokens.word(at).is_some_and(|word| WORDS.contains(&word)))
}

fn leaves(tokens: &Tokens, at: usize, start: usize) -> bool {
    at == start
        || [";", "{", "}"].iter().any(|sign| tokens.is(at - 1, sign))
        || tokens.list[at - 1].line < tokens.list[at].line
            && !tokens.is(at - 1, ")")
            && !tokens.is(at - 1, "else")
}

/// `catch (e) {}`: of everything, and nothing is done about it.
fn swallows_braces(tokens: &Tokens, at: usize, language: Language) -> bool {
    if tokens.word(at) != Some("catch") {
        return false;
    }
    let mut open = at + 1;
    let mut catches = language == Language::Script;
    if tokens.is(open, "(") {
        let end = tokens.close(open);
        let all = ["AssertionError", "Throwable", "Error", "AssertionFailedError"];
        catches |= tokens.part(open..end).iter().any(|token| all.iter().any(|name| token.is(name)));
        open = end + 1;
    }
    // Nothing, or words that only show.
    let shows = |at: usize| {
        let token = &tokens.list[at];
        token.is_literal()
            || token.word().is_none() && !tokens.is(at, "=")
            || [
                "console", "log", "warn", "error", "info", "debug", "System", "out", "err", "println",
                "return", "e", "message",
            ]
            .iter()
            .any(|word| token.is(word))
    };
    catches && tokens.is(open, "{") && (open + 1..tokens.close(open)).all(shows)
}
