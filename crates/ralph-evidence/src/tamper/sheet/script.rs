//! Tests of JavaScript and TypeScript: calls of `test`, `it` and their like.

use super::{Containers, Sheet, Test, first_is, outside};
use crate::tamper::lex::{Kind, Tokens};
use crate::tamper::path;
use std::ops::Range;

const TESTS: &[&str] = &["test", "it", "specify", "xit", "xtest", "xspecify", "fit", "ftest"];
const GROUPS: &[&str] =
    &["describe", "context", "suite", "xdescribe", "xcontext", "xsuite", "fdescribe", "fcontext"];
const MODIFIERS: &[&str] = &[
    "only",
    "skip",
    "todo",
    "failing",
    "fails",
    "each",
    "concurrent",
    "sequential",
    "serial",
    "parallel",
    "describe",
    "skipIf",
    "runIf",
    "fixme",
    "for",
    "suite",
    "slow",
];

/// A call that makes a test or a group of them.
struct Call {
    group: bool,
    modifiers: Vec<String>,
    /// Of the arguments: name, options, function.
    open: usize,
    skipped: bool,
    focused: bool,
}

pub(super) fn read(sheet: &mut Sheet, file: &str) {
    let tokens = std::mem::take(&mut sheet.tokens);
    let (test_file, collected) = (path::is_test(file), path::is_collected(file));
    let mut around = Containers::new(test_file, None, Vec::new());
    let mut at = 0;
    while at < tokens.list.len() {
        around.leave(at);
        let line = tokens.list[at].line;
        if let Some(call) = call(&tokens, at).filter(|_| collected) {
            let close = tokens.close(call.open);
            let name = tokens.get(call.open + 1).map(|token| token.text.clone()).unwrap_or_default();
            let body = body(&tokens, call.open);
            if call.focused {
                sheet.focused.push((line, name.clone()));
            }
            let off = call.skipped.then_some(line);
            if call.group {
                around.enter(close, off, false, Vec::new());
                at = call.open + 1;
                continue;
            }
            if !call.modifiers.iter().any(|word| word == "todo") || body.len() > 1 {
                let skipped =
                    around.last().skipped.or(off).or_else(|| off_by_statement(&tokens, body.clone()));
                sheet.tests.push(Test {
                    name,
                    line,
                    extent: at..close + 1,
                    body,
                    skipped,
                    gates: Vec::new(),
                });
            }
            at = close + 1;
            continue;
        }
        at = match function(&tokens, at) {
            Some((name, end)) if test_file => {
                sheet.helpers.push((name, at..end));
                end
            }
            Some((name, _)) => {
                sheet.defines.push(name);
                at + 1
            }
            None => at + 1,
        };
    }
    sheet.tokens = tokens;
}

fn call(tokens: &Tokens, start: usize) -> Option<Call> {
    let word = tokens.word(start)?;
    let bare = start == 0 || !tokens.is(start - 1, ".") && !tokens.is(start - 1, "function");
    let known = TESTS.contains(&word) || GROUPS.contains(&word);
    let deno = word == "test" && start > 1 && tokens.word(start - 2) == Some("Deno");
    if !known || !(bare || deno) {
        return None;
    }
    let mut modifiers = Vec::new();
    let mut at = start + 1;
    let mut conditional = None;
    loop {
        if tokens.is(at, ".") && tokens.word(at + 1).is_some_and(|word| MODIFIERS.contains(&word)) {
            modifiers.push(tokens.word(at + 1)?.to_owned());
            at += 2;
            continue;
        }
        // `it["skip"]`.
        let bracket = tokens.get(at + 1).filter(|token| {
            tokens.is(at, "[")
                && token.kind == Kind::Text
                && MODIFIERS.contains(&token.text.as_str())
                && tokens.is(at + 2, "]")
        });
        if let Some(word) = bracket {
            modifiers.push(word.text.clone());
            at += 3;
            continue;
        }
        let table = matches!(modifiers.last().map(String::as_str), Some("each" | "for" | "skipIf" | "runIf"));
        if table && conditional.is_none() {
            conditional = Some(at);
            at = if tokens.is(at, "(") { tokens.close(at) } else { at } + 1;
            continue;
        }
        break;
    }
    if !tokens.is(at, "(") {
        return None;
    }
    let named = tokens.get(at + 1).is_some_and(|token| token.kind == Kind::Text);
    let has_function =
        (at..tokens.close(at)).any(|place| tokens.is(place, "=>") || tokens.is(place, "function"));
    if !(named || has_function) {
        return None;
    }
    let has = |word: &str| modifiers.iter().any(|modifier| modifier == word);
    let constant = |yes: bool| conditional.is_some_and(|open| first_is(tokens, open, yes));
    let skipped = word.starts_with('x')
        || ["skip", "todo", "fixme", "failing", "fails"].iter().any(|word| has(word))
        || has("skipIf") && constant(true)
        || has("runIf") && constant(false)
        || ["skip", "todo"].iter().any(|word| option(tokens, at, word));
    let focused = word.starts_with('f') || has("only") || option(tokens, at, "only");
    let group = GROUPS.contains(&word) || has("describe") || has("suite");
    Some(Call { group, modifiers, open: at, skipped, focused })
}

/// `{ skip: true }` or `{ skip: 'why' }` among the arguments.
fn option(tokens: &Tokens, open: usize, name: &str) -> bool {
    let close = tokens.close(open);
    let Some(brace) = outside(tokens, open + 1..close, |at| tokens.is(at, "{") || tokens.is(at, "=>")) else {
        return false;
    };
    if !tokens.is(brace, "{") || !tokens.is(brace - 1, ",") {
        return false;
    }
    let end = tokens.close(brace);
    let at = (brace + 1..end).find(|at| tokens.is(*at, name) && tokens.is(at + 1, ":"));
    at.is_some_and(|at| {
        let value = tokens.get(at + 2).is_some_and(|value| {
            value.kind == Kind::Text && !value.text.is_empty() || value.is("true") || value.is("1")
        });
        value && (tokens.is(at + 3, ",") || at + 3 == end)
    })
}

/// The inside of the function that is among the arguments.
fn body(tokens: &Tokens, open: usize) -> Range<usize> {
    let close = tokens.close(open);
    let starts = |at: usize| tokens.is(at, "=>") || tokens.word(at) == Some("function");
    let Some(at) = outside(tokens, open + 1..close, starts) else { return open + 1..close };
    match outside(tokens, at + 1..close, |at| tokens.is(at, "{")) {
        Some(brace) if tokens.word(at) == Some("function") || brace == at + 1 => {
            brace + 1..tokens.close(brace)
        }
        _ => at + 1..close,
    }
}

/// `t.skip()` as a statement of the body itself.
fn off_by_statement(tokens: &Tokens, body: Range<usize>) -> Option<usize> {
    let found = outside(tokens, body.clone(), |at| {
        let starts = at == body.start
            || tokens.is(at - 1, ";")
            || tokens.is(at - 1, "}")
            || tokens.list[at - 1].line < tokens.list[at].line
                && !tokens.is(at - 1, ")")
                && !tokens.is(at - 1, "else");
        let receiver =
            tokens.word(at).is_some_and(|word| ["t", "this", "ctx", "test", "it", "context"].contains(&word));
        let literal =
            tokens.get(at + 4).is_some_and(|token| token.is_literal() || token.is(")") || token.is("true"));
        starts
            && receiver
            && tokens.is(at + 1, ".")
            && tokens.is(at + 2, "skip")
            && tokens.is(at + 3, "(")
            && literal
    });
    found.map(|at| tokens.list[at].line)
}

/// A function, class or method with its name, and where it ends.
fn function(tokens: &Tokens, at: usize) -> Option<(String, usize)> {
    let word = tokens.word(at)?;
    let name = tokens.word(at + 1);
    let end_of = |from: usize| {
        let open = outside(tokens, from..tokens.list.len(), |at| tokens.is(at, "{") || tokens.is(at, ";"))?;
        tokens.is(open, "{").then(|| tokens.close(open) + 1)
    };
    match word {
        "function" => Some((name?.to_owned(), end_of(at + 2)?)),
        "class" | "interface" | "enum" | "type" => Some((name?.to_owned(), at + 2)),
        "const" | "let" | "var" if tokens.is(at + 2, "=") => {
            let from = at + 3 + usize::from(tokens.word(at + 3) == Some("async"));
            let arrow = tokens.is(from, "(") && tokens.is(tokens.close(from) + 1, "=>")
                || tokens.is(from + 1, "=>")
                || tokens.word(from) == Some("function");
            if !arrow {
                return (word == "const" && tokens.list[at].indent == 0)
                    .then(|| (name.unwrap_or_default().to_owned(), at + 2));
            }
            Some((name?.to_owned(), end_of(from).unwrap_or(from)))
        }
        // A method.
        _ => {
            let control = ["if", "for", "while", "switch", "catch", "return", "new", "function", "with"];
            let method = tokens.is(at + 1, "(")
                && tokens.is(tokens.close(at + 1) + 1, "{")
                && !control.contains(&word)
                && (at == 0 || !tokens.is(at - 1, ".") && !tokens.is(at - 1, "function"));
            method.then(|| (word.to_owned(), tokens.close(tokens.close(at + 1) + 1) + 1))
        }
    }
}
