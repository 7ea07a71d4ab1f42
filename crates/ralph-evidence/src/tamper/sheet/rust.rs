//! Tests of Rust: functions with an attribute that ends in `test`, anywhere in the sources.

use super::{Containers, Sheet, Test, braces, words};
use crate::tamper::lex::Tokens;
use crate::tamper::path;
use std::ops::Range;

/// Between attributes and what they are about.
const BETWEEN: &[&str] = &["pub", "async", "unsafe", "const", "extern", "crate", "super", "in", "default"];
const DEFINERS: &[&str] = &["struct", "enum", "trait", "type", "const", "static", "union", "macro_rules"];

pub(super) fn read(sheet: &mut Sheet, file: &str) {
    let tokens = std::mem::take(&mut sheet.tokens);
    let whole = inner_gate(&tokens);
    let mut around = Containers::new(path::is_test(file), whole, Vec::new());
    let mut attributes: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    while at < tokens.list.len() {
        around.leave(at);
        if tokens.is(at, "#") && tokens.is(at + 1, "[") {
            attributes.push(at..tokens.close(at + 1) + 1);
            at = tokens.close(at + 1) + 1;
            continue;
        }
        let next = item(sheet, &tokens, &mut around, &attributes, at);
        let keeps = tokens.word(at).is_some_and(|word| BETWEEN.contains(&word)) && next == at + 1;
        let bracket = tokens.is(at, "(") && tokens.word(at.wrapping_sub(1)) == Some("pub");
        if bracket {
            at = tokens.close(at) + 1;
            continue;
        }
        if !keeps {
            attributes.clear();
        }
        at = next;
    }
    sheet.tokens = tokens;
}

/// Reads an item that starts here; where to go on.
fn item(
    sheet: &mut Sheet,
    tokens: &Tokens,
    around: &mut Containers,
    attributes: &[Range<usize>],
    at: usize,
) -> usize {
    let name = tokens.word(at + 1).unwrap_or_default().to_owned();
    let line = tokens.list[at].line;
    let start = attributes.first().map_or(at, |first| first.start);
    match tokens.word(at) {
        Some("mod") if tokens.is(at + 2, "{") => {
            let test = attributes.iter().any(|range| is_cfg_test(tokens, range));
            let end = tokens.close(at + 2);
            around.enter(end, off(tokens, attributes), test, gates(tokens, attributes));
            if test {
                sheet.territory.push(start..end + 1);
            }
            at + 3
        }
        Some("mod") if tokens.is(at + 2, ";") => {
            if attributes.iter().any(|range| is_cfg_test(tokens, range)) || name.starts_with("test") {
                sheet.modules.push((name, line));
            }
            at + 3
        }
        Some("fn") if !name.is_empty() => {
            let Some(body) = braces(tokens, at + 2) else { return at + 2 };
            let end = body.end + 1;
            let outer = around.last();
            if attributes.iter().any(|range| is_test(tokens, range)) {
                let skipped = outer.skipped.or_else(|| off(tokens, attributes));
                let gates = outer.gates.into_iter().chain(gates(tokens, attributes)).collect();
                sheet.territory.push(start..end);
                sheet.tests.push(Test { name, line, extent: start..end, body, skipped, gates });
            } else if outer.test {
                sheet.helpers.push((name, at..end));
            } else {
                sheet.defines.push(name);
                return at + 2;
            }
            end
        }
        Some(word) if DEFINERS.contains(&word) && !around.last().test => {
            let name = if tokens.is(at + 1, "!") { tokens.word(at + 2).unwrap_or_default() } else { &name };
            sheet.defines.push(name.to_owned());
            if word == "enum" || word == "struct" {
                sheet.defines.extend(members(tokens, at + 2));
            }
            at + 1
        }
        _ => at + 1,
    }
}

/// Fields and variants.
fn members(tokens: &Tokens, from: usize) -> Vec<String> {
    let Some(body) = braces(tokens, from) else { return Vec::new() };
    let mut found = Vec::new();
    let mut at = body.start;
    while at < body.end {
        let starts = at == body.start
            || tokens.is(at - 1, ",")
            || tokens.is(at - 1, "]")
            || tokens.word(at - 1) == Some("pub")
            || tokens.is(at - 1, ")") && tokens.is(at + 1, ":");
        if let Some(word) = tokens.word(at).filter(|word| starts && *word != "pub") {
            found.push(word.to_owned());
        }
        at = if tokens.opens(at) { tokens.close(at) } else { at } + 1;
    }
    found
}

/// The last word of an attribute's path.
fn path_of<'a>(tokens: &'a Tokens, range: &Range<usize>) -> &'a str {
    let ends = |at: usize| !tokens.is(at, "::") && tokens.word(at).is_none();
    let end = (range.start + 2..range.end).find(|at| ends(*at)).unwrap_or(range.end);
    tokens.word(end - 1).unwrap_or_default()
}

fn is_test(tokens: &Tokens, range: &Range<usize>) -> bool {
    let path = path_of(tokens, range);
    path.ends_with("test") || ["rstest", "test_case", "quickcheck", "test_matrix"].contains(&path)
}

fn is_cfg_test(tokens: &Tokens, range: &Range<usize>) -> bool {
    path_of(tokens, range) == "cfg" && words(tokens, range.clone()).any(|word| word == "test")
}

/// The line of an attribute that switches off what it stands on.
fn off(tokens: &Tokens, attributes: &[Range<usize>]) -> Option<usize> {
    let is_off = |range: &&Range<usize>| match path_of(tokens, range) {
        "ignore" => true,
        "cfg" => condition(tokens, range.start + 4) == Some(false),
        "cfg_attr" => {
            words(tokens, (*range).clone()).any(|word| word == "ignore")
                && condition(tokens, range.start + 4) == Some(true)
        }
        _ => false,
    };
    attributes.iter().find(is_off).map(|range| tokens.list[range.start].line)
}

/// `#![cfg(any())]` on top of a file.
fn inner_gate(tokens: &Tokens) -> Option<usize> {
    (0..tokens.list.len())
        .filter(|at| tokens.is(*at, "#") && tokens.is(at + 1, "!") && tokens.is(at + 2, "["))
        .find(|at| tokens.word(at + 3) == Some("cfg") && condition(tokens, at + 5) == Some(false))
        .map(|at| tokens.list[at].line)
}

/// Features without which a test is not compiled.
fn gates(tokens: &Tokens, attributes: &[Range<usize>]) -> Vec<String> {
    let cfgs = attributes.iter().filter(|range| path_of(tokens, range) == "cfg");
    cfgs.flat_map(|range| range.clone())
        .filter(|at| tokens.word(*at) == Some("feature") && tokens.is(at + 1, "="))
        .filter_map(|at| tokens.get(at + 2).map(|token| token.text.clone()))
        .collect()
}

/// Conditions inside conditions, deeper than anyone writes.
const MAX_DEPTH: usize = 16;

/// What a condition comes to in a test build, where that is sure.
fn condition(tokens: &Tokens, at: usize) -> Option<bool> {
    nested(tokens, at, 0)
}

fn nested(tokens: &Tokens, at: usize, depth: usize) -> Option<bool> {
    let word = tokens.word(at).filter(|_| depth < MAX_DEPTH)?;
    if !["all", "any", "not"].contains(&word) {
        let never = ["false", "FALSE", "never", "disabled", "off", "none", "skip", "broken"];
        let value = ["test", "true"].contains(&word);
        return (value || never.contains(&word) && !tokens.is(at + 1, "=")).then_some(value);
    }
    let parts: Vec<Option<bool>> =
        arguments(tokens, at + 1).into_iter().map(|place| nested(tokens, place, depth + 1)).collect();
    let every = |value: bool| parts.iter().all(|part| *part == Some(value));
    match word {
        "not" => parts.first().copied().flatten().map(|value| !value),
        "all" if parts.contains(&Some(false)) => Some(false),
        "all" => every(true).then_some(true),
        _ if parts.contains(&Some(true)) => Some(true),
        _ => every(false).then_some(false),
    }
}

/// Where the parts between the commas of a bracket begin.
fn arguments(tokens: &Tokens, open: usize) -> Vec<usize> {
    let end = tokens.close(open);
    let mut starts = Vec::new();
    let mut place = open + 1;
    while place < end {
        starts.push(place);
        while place < end && !tokens.is(place, ",") {
            place = if tokens.opens(place) { tokens.close(place) } else { place } + 1;
        }
        place += 1;
    }
    starts
}
