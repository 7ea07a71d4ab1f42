//! Tests of Java and Kotlin: methods with an annotation of a test framework.

use super::{Containers, Sheet, Test, first_is, outside, words};
use crate::tamper::lex::{Kind, Tokens};
use crate::tamper::path;
use std::ops::Range;

const TESTS: &[&str] =
    &["Test", "ParameterizedTest", "RepeatedTest", "TestFactory", "TestTemplate", "Property", "Theory"];
const CONTROL: &[&str] =
    &["if", "for", "while", "switch", "catch", "return", "new", "synchronized", "try", "when", "else"];

pub(super) fn read(sheet: &mut Sheet, file: &str) {
    let tokens = std::mem::take(&mut sheet.tokens);
    let test_file = path::is_test(file);
    let mut around = Containers::new(test_file, None, Vec::new());
    let mut annotations: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    while at < tokens.list.len() {
        around.leave(at);
        if tokens.is(at, "@") && tokens.word(at + 1).is_some_and(|word| word != "interface") {
            let mut end = at + 2;
            while tokens.is(end, ".") {
                end += 2;
            }
            end = if tokens.is(end, "(") { tokens.close(end) + 1 } else { end };
            annotations.push(at..end);
            at = end;
            continue;
        }
        if tokens.word(at) == Some("class") {
            sheet.defines.extend(tokens.word(at + 1).map(str::to_owned));
            let open = outside(&tokens, at..tokens.list.len(), |at| tokens.is(at, "{") || tokens.is(at, ";"));
            let end = open.map_or(at + 1, |open| tokens.close(open));
            around.enter(end, off(&tokens, &annotations), false, Vec::new());
        }
        if let Some((name, body)) = method(&tokens, at) {
            let start = annotations.first().map_or(at, |first| first.start);
            let end = body.end + 1;
            if is_test(&tokens, &annotations, &name, at) && test_file {
                let skipped = around.last().skipped.or_else(|| off(&tokens, &annotations));
                let skipped = skipped.or_else(|| off_by_statement(&tokens, body.clone()));
                let line = tokens.list[at].line;
                sheet.tests.push(Test { name, line, extent: start..end, body, skipped, gates: Vec::new() });
            } else if test_file {
                sheet.helpers.push((name, start..end));
            } else {
                sheet.defines.push(name);
            }
            annotations.clear();
            at = end;
            continue;
        }
        if tokens.list[at].kind == Kind::Sign && [";", "{", "}"].iter().any(|sign| tokens.is(at, sign)) {
            annotations.clear();
        }
        at += 1;
    }
    sheet.tokens = tokens;
}

/// A method whose name stands here, or a `fun` of Kotlin: its name and the inside of its body.
fn method(tokens: &Tokens, at: usize) -> Option<(String, Range<usize>)> {
    let (name, open) = if tokens.word(at) == Some("fun") {
        let open = outside(tokens, at + 1..tokens.list.len(), |place| tokens.is(place, "("))?;
        (tokens.get(open - 1)?.text.clone(), open)
    } else {
        let name = tokens.word(at)?;
        let typed = at > 0
            && (tokens.word(at - 1).is_some_and(|word| !CONTROL.contains(&word) && word != "throw")
                || tokens.is(at - 1, ">")
                || tokens.is(at - 1, "]"));
        if !tokens.is(at + 1, "(") || !typed || CONTROL.contains(&name) {
            return None;
        }
        (name.to_owned(), at + 1)
    };
    let after = tokens.close(open) + 1;
    let ends = |place: usize| ["{", ";", "="].iter().any(|sign| tokens.is(place, sign));
    let brace = outside(tokens, after..tokens.list.len().min(after + 30), ends)?;
    if tokens.is(brace, "=") {
        // An expression body of Kotlin: up to the end of its line, or of the block that it opens.
        let line = tokens.list[brace].line;
        let end = outside(tokens, brace + 1..tokens.list.len(), |place| {
            tokens.list[place].line > line || tokens.is(place, "}")
        })?;
        return (tokens.word(at) == Some("fun")).then(|| (name, brace + 1..end.saturating_sub(1)));
    }
    tokens.is(brace, "{").then(|| (name, brace + 1..tokens.close(brace)))
}

fn is_test(tokens: &Tokens, annotations: &[Range<usize>], name: &str, at: usize) -> bool {
    let last = |range: &Range<usize>| {
        let path = range.clone().take_while(|at| !tokens.is(*at, "("));
        path.filter_map(|at| tokens.word(at)).last()
    };
    annotations.iter().any(|range| last(range).is_some_and(|word| TESTS.contains(&word)))
        || name.starts_with("test") && at > 0 && tokens.word(at - 1) == Some("void")
}

fn off(tokens: &Tokens, annotations: &[Range<usize>]) -> Option<usize> {
    let found = annotations.iter().find(|range| {
        let all: Vec<&str> = words(tokens, (*range).clone()).collect();
        matches!(all.as_slice(), ["Disabled" | "Ignore" | "Ignored", ..] | [.., "Disabled" | "Ignore"])
            || all.windows(2).any(|pair| pair == ["enabled", "false"])
    });
    found.map(|range| tokens.list[range.start].line)
}

fn off_by_statement(tokens: &Tokens, body: Range<usize>) -> Option<usize> {
    let found = outside(tokens, body, |at| match tokens.word(at) {
        Some("assumeTrue") => tokens.is(at + 1, "(") && first_is(tokens, at + 1, false),
        Some("assumeFalse") => tokens.is(at + 1, "(") && first_is(tokens, at + 1, true),
        Some("SkipException" | "TestAbortedException") => true,
        _ => false,
    });
    found.map(|at| tokens.list[at].line)
}
