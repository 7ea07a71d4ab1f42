//! Tests of Python: functions named `test…`, at the top of a file or in a class.

use super::{Containers, Sheet, Test, first_is, indented, line_end, words};
use crate::tamper::lex::Tokens;
use crate::tamper::path;
use std::ops::Range;

pub(super) fn read(sheet: &mut Sheet, file: &str) {
    let tokens = std::mem::take(&mut sheet.tokens);
    let mut around = Containers::new(path::is_test(file), None, Vec::new());
    let mut decorators: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    while at < tokens.list.len() {
        around.leave(at);
        if !tokens.list[at].first {
            at += 1;
            continue;
        }
        if tokens.is(at, "@") {
            let end = line_end(&tokens, at);
            decorators.push(at..end);
            at = end;
            continue;
        }
        let keyword = if tokens.is(at, "async") { at + 1 } else { at };
        let name = tokens.word(keyword + 1).unwrap_or_default().to_owned();
        let end = indented(&tokens, at);
        match tokens.word(keyword) {
            Some("class") => {
                let off = off(&tokens, &decorators)
                    .or_else(|| off_inside(&tokens, keyword + 2..end))
                    .or_else(|| off_in_set_up(&tokens, keyword + 2..end));
                let line = tokens.list[at].line;
                let off = off.or((!is_collected_class(&tokens, keyword, &name, file)).then_some(line));
                around.enter(end, off, false, Vec::new());
                sheet.defines.push(name);
                at = line_end(&tokens, at);
            }
            Some("def") => {
                function(sheet, &tokens, &mut around, file, (&decorators, keyword..end));
                at = end;
            }
            _ => {
                let top = tokens.list[at].indent == 0 || is_below_always(&tokens, at);
                if let Some(line) =
                    off_module(&tokens, at).or_else(|| off_by_import(&tokens, at)).filter(|_| top)
                {
                    around.0[0].skipped.get_or_insert(line);
                }
                at += 1;
            }
        }
        decorators.clear();
    }
    // A mark below the tests holds for them as well.
    let whole = around.0[0].skipped;
    sheet.tests.iter_mut().for_each(|test| test.skipped = test.skipped.or(whole));
    sheet.tokens = tokens;
}

/// A test, a helper, or a part of the program: the range is from its `def` to its end.
fn function(
    sheet: &mut Sheet,
    tokens: &Tokens,
    around: &mut Containers,
    file: &str,
    (decorators, range): (&[Range<usize>], Range<usize>),
) {
    let (at, end) = (range.start, range.end);
    let name = tokens.word(at + 1).unwrap_or_default().to_owned();
    let body = line_end(tokens, at).min(end)..end;
    let body = if body.is_empty() { at..end } else { body };
    let extent = decorators.first().map_or(at, |first| first.start)..end;
    if name.starts_with("test") && path::is_collected(file) {
        let skipped = around.last().skipped.or_else(|| off(tokens, decorators));
        let skipped = skipped.or_else(|| off_by_statement(tokens, body.clone()));
        let line = tokens.list[at].line;
        sheet.tests.push(Test { name, line, extent, body, skipped, gates: Vec::new() });
    } else if path::is_test(file) {
        let all = name == "setUpModule" || is_autouse(tokens, decorators);
        if let Some(line) = off_by_statement(tokens, body).filter(|_| all) {
            around.0[0].skipped.get_or_insert(line);
        }
        sheet.helpers.push((name, extent));
    } else {
        sheet.defines.push(name);
    }
}

/// `skip`, `skipIf(True, …)`, `xfail`: in a decorator or a mark.
fn is_off(tokens: &Tokens, range: Range<usize>) -> bool {
    range.clone().any(|at| {
        let call = tokens.is(at + 1, "(");
        match tokens.word(at) {
            Some("skip" | "expectedFailure" | "nottest") => true,
            Some("skipif" | "skipIf") => call && first_is(tokens, at + 1, true),
            Some("skipUnless") => call && first_is(tokens, at + 1, false),
            // A condition is a word that is not the name of an argument.
            Some("xfail") => {
                !call
                    || tokens.is(at + 2, ")")
                    || tokens.is(at + 3, "=")
                    || tokens.get(at + 2).is_some_and(|token| token.is_literal())
                    || first_is(tokens, at + 1, true)
            }
            _ => false,
        }
    })
}

fn off(tokens: &Tokens, decorators: &[Range<usize>]) -> Option<usize> {
    let found = decorators.iter().find(|range| is_off(tokens, (*range).clone()));
    found.map(|range| tokens.list[range.start].line)
}

/// pytest looks into classes named `Test…`, unittest into those of `TestCase`. One that another stands on is run by that.
fn is_collected_class(tokens: &Tokens, at: usize, name: &str, file: &str) -> bool {
    let bases = tokens.is(at + 2, "(") && !tokens.is(at + 3, ")");
    let used = tokens.list.iter().enumerate().any(|(place, token)| token.is(name) && place != at + 1);
    !path::is_test(file) || name.starts_with("Test") || bases || used
}

/// Below `if True:` at the top of a file.
fn is_below_always(tokens: &Tokens, at: usize) -> bool {
    let head = (0..at)
        .rev()
        .find(|place| tokens.list[*place].first && tokens.list[*place].indent < tokens.list[at].indent);
    head.is_some_and(|head| {
        tokens.list[head].indent == 0
            && tokens.is(head, "if")
            && (tokens.is(head + 1, "True") || tokens.is(head + 1, "1"))
            && tokens.is(head + 2, ":")
    })
}

/// `pytest.importorskip("x")` for a module that the file does not use.
fn off_by_import(tokens: &Tokens, at: usize) -> Option<usize> {
    let call = ["pytest", ".", "importorskip", "("]
        .iter()
        .enumerate()
        .all(|(next, word)| tokens.is(at + next, word));
    let module = tokens.get(at + 4).filter(|_| call)?;
    let root = module.text.split('.').next().unwrap_or_default();
    let used = tokens
        .list
        .iter()
        .enumerate()
        .any(|(place, token)| place != at + 4 && token.text.split('.').any(|part| part == root));
    (!used).then(|| tokens.list[at].line)
}

/// A line in a class or at the top of a file that switches all of it off.
fn off_module(tokens: &Tokens, at: usize) -> Option<usize> {
    let end = line_end(tokens, at);
    let line = words(tokens, at..end).collect::<Vec<_>>();
    let off = match line.as_slice() {
        ["pytestmark", ..] => is_off(tokens, at..end),
        ["__test__", "False"] => true,
        ["pytest", "skip", ..] | ["raise", "SkipTest"] | ["raise", "unittest", "SkipTest"] => true,
        _ => false,
    };
    off.then(|| tokens.list[at].line)
}

fn off_inside(tokens: &Tokens, range: Range<usize>) -> Option<usize> {
    let indent = range.clone().find(|at| tokens.list[*at].first).map(|at| tokens.list[at].indent)?;
    let mut lines = range.filter(|at| tokens.list[*at].first && tokens.list[*at].indent == indent);
    lines.find_map(|at| off_module(tokens, at))
}

/// A fixture that every test of the file goes through.
fn is_autouse(tokens: &Tokens, decorators: &[Range<usize>]) -> bool {
    let mut all = decorators.iter().flat_map(|range| range.clone());
    all.any(|at| tokens.is(at, "autouse") && tokens.is(at + 2, "True"))
}

/// What runs before each test of a class skips.
fn off_in_set_up(tokens: &Tokens, class: Range<usize>) -> Option<usize> {
    let names = ["setUp", "setUpClass", "asyncSetUp", "setup_method", "setup_class"];
    let is_set_up = |at: &usize| names.iter().any(|name| tokens.is(*at, name)) && tokens.is(at - 1, "def");
    let at = class.clone().find(is_set_up)?;
    let line = tokens.list[at].line;
    let start = (0..=at).rev().take_while(|place| tokens.list[*place].line == line).last().unwrap_or(at);
    let end = indented(tokens, start);
    off_by_statement(tokens, line_end(tokens, start).min(end)..end)
}

/// A statement of the body itself, not below an `if`.
fn off_by_statement(tokens: &Tokens, body: Range<usize>) -> Option<usize> {
    let indent = tokens.get(body.start)?.indent;
    let mut lines = body.filter(|at| tokens.list[*at].first && tokens.list[*at].indent == indent);
    let found = lines.find(|at| {
        let line: Vec<&str> = words(tokens, *at..line_end(tokens, *at)).take(3).collect();
        matches!(
            line.as_slice(),
            ["pytest", "skip" | "xfail", ..]
                | ["self", "skipTest", ..]
                | ["raise", "SkipTest", ..]
                | ["raise", "unittest", "SkipTest"]
        ) && !matches!(line.as_slice(), ["pytest", "skip", "if"])
    });
    found.map(|at| tokens.list[at].line)
}
