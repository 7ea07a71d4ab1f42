//! What a test expects was edited, and nothing else.
//!
//! Only said where the program did not change: then the new value is what the program did all along. Where the program
//! changed too, nobody can tell from the sources whether it was meant to.

use super::SourceFile;
use super::asserts::{Assert, sides};
use super::compare::{Compared, ComparedTest, cut, finding};
use super::lex::{Kind, Token, Tokens};
use super::path;
use ralph_core::tampering::{Finding, Tampering};
use std::ops::Range;

pub(super) fn in_tests(compared: &Compared) -> Vec<Finding> {
    let pairs = compared.pairs.iter().map(|(old, new)| (&compared.before[*old], &compared.after[*new]));
    pairs
        .filter(|(old, _)| old.test.skipped.is_none())
        .flat_map(|(old, new)| edited(old, new))
        .take(20)
        .collect()
}

/// Snapshots and golden files that say something else than before.
pub(super) fn in_files(files: &[SourceFile]) -> Vec<Finding> {
    let changed = files.iter().filter(|file| path::is_golden(&file.path)).filter_map(|file| {
        let (before, after) = (file.before.as_deref()?, file.after.as_deref()?);
        let bag = |text: &str| {
            let mut words: Vec<String> = text
                .split(|c: char| !c.is_alphanumeric())
                .filter(|word| !word.is_empty())
                .map(str::to_owned)
                .collect();
            words.sort();
            words
        };
        // A new order or new white space says the same.
        if bag(before) == bag(after) {
            return None;
        }
        let line = after.lines().zip(before.lines()).position(|(new, old)| new != old);
        let line = line.unwrap_or_else(|| after.lines().count().min(before.lines().count())) + 1;
        Some(finding(
            Tampering::ExpectedEdited,
            &file.path,
            line,
            "this file says what the program should print",
        ))
    });
    changed.collect()
}

fn edited(old: &ComparedTest, new: &ComparedTest) -> Vec<Finding> {
    if old.real.len() != new.real.len() {
        return Vec::new();
    }
    let (before, after) = (Parts::of(old), Parts::of(new));
    let flat = |parts: &Parts| parts.rest.iter().map(|text| turned(text).to_owned()).collect::<Vec<_>>();
    if flat(&before) == flat(&after) {
        let values = before.expected.iter().zip(&after.expected);
        let values = values.filter(|(old, new)| !same_value(&old.0, &new.0));
        let mut found: Vec<Finding> =
            values.map(|(old, value)| tell(new, value.1, &old.0, &value.0)).collect();
        let turned =
            before.rest.iter().zip(&after.rest).zip(&after.lines).filter(|((old, new), _)| old != new);
        found.extend(turned.map(|((old, now), line)| tell(new, *line, old, now)));
        return found;
    }
    in_rows(old, new)
}

fn tell(test: &ComparedTest, line: usize, old: &str, new: &str) -> Finding {
    let detail = format!("`{}` expects `{}`, it was `{}`", test.test.name, cut(new), cut(old));
    finding(Tampering::ExpectedEdited, test.file, line, detail)
}

/// More digits of the same number are the same value, said better.
fn same_value(old: &str, new: &str) -> bool {
    old == new
        || old.contains('.') && new.starts_with(old) && new.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// Pairs of words of which one says the opposite of the other.
const TURNED: &[(&str, &str)] = &[
    ("assertFalse", "assertTrue"),
    ("assertNotEqual", "assertEqual"),
    ("assertNotEquals", "assertEquals"),
    ("assert_ne", "assert_eq"),
    ("!=", "=="),
    ("!==", "==="),
    ("notEqual", "equal"),
    ("notStrictEqual", "strictEqual"),
    ("notDeepEqual", "deepEqual"),
    ("refute", "assert"),
    ("not_to", "to"),
    ("assertNotIn", "assertIn"),
    ("toBeFalsy", "toBeTruthy"),
    ("False", "True"),
    ("assertIsNotNone", "assertIsNone"),
    ("refute_equal", "assert_equal"),
];

fn turned(text: &str) -> &str {
    TURNED.iter().find(|(no, _)| *no == text).map_or(text, |(_, yes)| yes)
}

/// A test cut into the values that its asserts expect, and everything else.
struct Parts {
    rest: Vec<String>,
    lines: Vec<usize>,
    expected: Vec<(String, usize)>,
}

impl Parts {
    fn of(test: &ComparedTest) -> Parts {
        let tokens = &test.sheet.tokens;
        let shell = test.sheet.language == Some(path::Language::Shell);
        let mut values: Vec<Range<usize>> =
            test.real.iter().filter_map(|assert| value(tokens, assert, shell)).collect();
        values.sort_by_key(|range| range.start);
        let mut parts = Parts { rest: Vec::new(), lines: Vec::new(), expected: Vec::new() };
        let mut skip_to = 0;
        for at in test.places().filter(|at| !is_message(test, *at)) {
            if at < skip_to {
                continue;
            }
            if let Some(range) = values.iter().find(|range| range.start == at) {
                let text: Vec<String> = tokens.part(range.clone()).iter().map(Token::key).collect();
                parts.expected.push((text.join(" "), tokens.list[at].line));
                parts.rest.push("\u{0}".to_owned());
                parts.lines.push(tokens.list[at].line);
                skip_to = range.end;
                continue;
            }
            parts.rest.push(tokens.list[at].key());
            parts.lines.push(tokens.list[at].line);
        }
        parts
    }
}

/// The side of an assert that is nothing but a value, if the other one is more.
fn value(tokens: &Tokens, assert: &Assert, shell: bool) -> Option<Range<usize>> {
    let (left, right) = sides(tokens, &assert.range)?;
    let plain = |range: &Range<usize>| !range.is_empty() && is_value(tokens.part(range.clone()), shell);
    match (plain(&left), plain(&right)) {
        (true, false) => Some(left),
        (false, true) => Some(right),
        _ => None,
    }
}

fn is_value(part: &[Token], shell: bool) -> bool {
    const VALUES: &[&str] = &[
        "true",
        "false",
        "True",
        "False",
        "None",
        "null",
        "nil",
        "undefined",
        "Some",
        "Ok",
        "vec",
        "to_string",
        "into",
        "to_owned",
    ];
    part.iter().all(|token| match token.kind {
        Kind::Number => true,
        Kind::Text | Kind::Word if shell => !token.text.contains(['$', '`']),
        Kind::Text => true,
        Kind::Word => VALUES.contains(&token.text.as_str()),
        Kind::Sign => ["[", "]", "{", "}", "(", ")", ",", "-", ":", "!", "&", ".", "=>"]
            .iter()
            .any(|sign| token.is(sign)),
    })
}

/// A text that is shown when an assert fails.
fn is_message(test: &ComparedTest, at: usize) -> bool {
    let tokens = &test.sheet.tokens;
    if tokens.list[at].kind != Kind::Text {
        return false;
    }
    let failure = |place: usize| {
        tokens.is(place, "(")
            && tokens.close(place) > at
            && place > 0
            && tokens
                .word(place - 1)
                .is_some_and(|word| ["Error", "Errorf", "Fatal", "Fatalf", "Log", "Logf"].contains(&word))
    };
    let near = at.saturating_sub(12)..at;
    let in_message = test.real.iter().filter(|assert| assert.range.contains(&at)).any(|assert| {
        sides(tokens, &assert.range)
            .is_some_and(|(left, right)| !left.contains(&at) && !right.contains(&at) && at > right.start)
    });
    near.rev().any(failure) || in_message
}

/// Words before a value that is expected.
const EXPECTED: &[&str] =
    &["want", "wanted", "expected", "expect", "exp", "output", "out", "outcome", "should"];

/// Values in tables of cases: the last one of its row, or one that is named so; each the only one of its row that changed.
fn in_rows(old: &ComparedTest, new: &ComparedTest) -> Vec<Finding> {
    let (before, after): (Vec<usize>, Vec<usize>) = (old.places().collect(), new.places().collect());
    if before.len() != after.len() {
        return Vec::new();
    }
    let tokens = &new.sheet.tokens;
    let mut found = Vec::new();
    let mut rows: Vec<usize> = Vec::new();
    for (then, now) in before.iter().zip(&after) {
        let (was, is) = (&old.sheet.tokens.list[*then], &tokens.list[*now]);
        if was.key() == is.key() || is_message(new, *now) {
            continue;
        }
        let row = row_of(tokens, *now, after[0]);
        let expected = row.is_some_and(|row| is_last(tokens, row, *now)) || is_named(tokens, *now);
        let again = row.is_some_and(|row| rows.contains(&row));
        if !was.is_literal() || was.kind != is.kind || !expected || again || same_value(&was.text, &is.text) {
            return Vec::new();
        }
        rows.extend(row);
        found.push(tell(new, is.line, &was.key(), &is.key()));
    }
    found
}

/// The innermost bracket around the place, if it is a row of a table: there are others like it beside it.
fn row_of(tokens: &Tokens, at: usize, from: usize) -> Option<usize> {
    let open = (from..at).rev().find(|place| tokens.opens(*place) && tokens.close(*place) > at)?;
    let table = (from..open).rev().find(|place| tokens.opens(*place) && tokens.close(*place) > at)?;
    let mut rows = 0;
    let mut place = table + 1;
    while place < tokens.close(table) {
        rows += usize::from(
            tokens.is(place, &tokens.list[open].text) && literals(tokens, place) == literals(tokens, open),
        );
        place = if tokens.opens(place) { tokens.close(place) } else { place } + 1;
    }
    let called =
        tokens.is(open, "(") && tokens.word(open - 1).is_some_and(|word| word != "param" && word != "case");
    (rows > 1 && !called).then_some(open)
}

fn literals(tokens: &Tokens, open: usize) -> usize {
    (open + 1..tokens.close(open)).filter(|place| tokens.list[*place].is_literal()).count()
}

fn is_last(tokens: &Tokens, open: usize, at: usize) -> bool {
    let flat = (open + 1..tokens.close(open)).all(|place| !tokens.opens(place));
    let last = (open + 1..tokens.close(open)).rev().find(|place| tokens.list[*place].is_literal());
    flat && literals(tokens, open) >= 2 && last == Some(at)
}

fn is_named(tokens: &Tokens, at: usize) -> bool {
    at > 1
        && (tokens.is(at - 1, ":") || tokens.is(at - 1, "=") || tokens.is(at - 1, ":="))
        && tokens.get(at - 2).is_some_and(|name| EXPECTED.contains(&name.text.to_ascii_lowercase().as_str()))
}
