//! Text as the detectors read it: escapes gone, volatile tokens masked, and the rest told apart as words, facts and numbers.
//!
//! A *fact* is a token that is no plain word: a path, an identifier, a code. Facts name things, so a new one is a sign of new
//! work, where new words may be the same thing said otherwise. What changes whenever a program is run (clocks, durations,
//! hashes, ids, line numbers, sizes) is masked by its shape.

use std::borrow::Cow;

use super::hash::{self, Hasher};
use super::lexicon::Sense;
use crate::marker::without_escapes;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Word,
    Fact,
    Number,
    /// Something volatile stood here.
    Mask,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) hash: u64,
    pub(super) sense: Sense,
    /// Of a number; of `3/12` the 3.
    pub(super) value: f64,
    /// Of `3/12` the 12; of `45%` 100.
    pub(super) of: Option<f64>,
    pub(super) letters: usize,
}

impl Token {
    fn new(kind: Kind, hash: u64) -> Self {
        Self { kind, hash, sense: Sense::default(), value: 0.0, of: None, letters: 0 }
    }

    fn mask() -> Self {
        Self::new(Kind::Mask, MASK)
    }

    fn number(value: f64, of: Option<f64>) -> Self {
        Self { value, of, ..Self::new(Kind::Number, NUMBER) }
    }
}

const MASK: u64 = 0x6d61_736b;
const NUMBER: u64 = 0x6e75_6d62;
/// Programs choose the unit by the number, so all of them are one.
const SIZE: u64 = 0x7369_7a65;
const SIZES: &[&str] = &["b", "kb", "mb", "gb", "tb", "kib", "mib", "gib", "bytes", "byte"];

/// The text of some bytes of a line, fit to be read by [`tokens`].
pub(super) fn clean(bytes: &[u8]) -> Cow<'_, str> {
    match String::from_utf8_lossy(bytes) {
        Cow::Borrowed(text) => without_escapes(text),
        Cow::Owned(text) => Cow::Owned(without_escapes(&text).into_owned()),
    }
}

/// Reads a line, or a part of a long one.
pub(super) fn tokens(line: &str, out: &mut Vec<Token>) {
    out.clear();
    let mut start = None;
    let mut chars = line.char_indices().peekable();
    let mut before = ' ';
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map_or(' ', |(_, next)| *next);
        let between_digits = before.is_ascii_digit() && next.is_ascii_digit();
        if is_ideograph(c) {
            // Scripts without spaces: each sign counts as a word.
            push(line, &mut start, at, out);
            let mut buffer = [0; 4];
            out.push(Token { letters: 4, ..Token::new(Kind::Word, hash::of(c.encode_utf8(&mut buffer))) });
        } else if is_separator(c) && !(between_digits && matches!(c, ',' | ':')) {
            push(line, &mut start, at, out);
        } else if start.is_none() {
            start = Some(at);
        }
        before = c;
    }
    push(line, &mut start, line.len(), out);
    settle(out);
}

fn is_separator(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(
            c,
            '=' | '('
                | ')'
                | '{'
                | '}'
                | '['
                | ']'
                | ','
                | ';'
                | '"'
                | '\''
                | '<'
                | '>'
                | '|'
                | '`'
                | '*'
                | ':'
        )
}

fn is_ideograph(c: char) -> bool {
    matches!(u32::from(c), 0x3040..=0x30ff | 0x3400..=0x9fff | 0xac00..=0xd7af | 0x20000..=0x3ffff)
}

fn push(line: &str, start: &mut Option<usize>, end: usize, out: &mut Vec<Token>) {
    let Some(from) = start.take() else { return };
    let chunk = line[from..end].trim_end_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '%' | '_'));
    let chunk = chunk.trim_start_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '$' | '_'));
    if !chunk.chars().any(char::is_alphanumeric) {
        return;
    }
    let mut token = classify(chunk);
    if token.kind == Kind::Number && is_place(&line[..from], out.last()) {
        token = Token::mask();
    }
    out.push(token);
}

/// Whether a number behind this is a line of a file: `auth.ts:45`, `zsh:7` and `auth.cs(45`, but not `failed:7`.
fn is_place(before: &str, last: Option<&Token>) -> bool {
    let Some(last) = last else { return false };
    let glued = |text: &str| text.ends_with(|c: char| c.is_alphanumeric());
    match before.strip_suffix(':') {
        Some(before) => glued(before) && !last.sense.is(Sense::PROGRESS),
        None => before.strip_suffix('(').is_some_and(glued) && last.kind == Kind::Fact,
    }
}

/// Numbers whose neighbours tell that they are noise.
fn settle(tokens: &mut [Token]) {
    for at in 0..tokens.len() {
        if tokens[at].kind != Kind::Number {
            continue;
        }
        let sense = |back: usize| at.checked_sub(back).map(|at| tokens[at].sense).unwrap_or_default();
        let before = sense(1);
        let further =
            if tokens[at.saturating_sub(1)].kind == Kind::Word { sense(2) } else { Sense::default() };
        let behind = tokens.get(at + 1).map(|token| token.sense).unwrap_or_default();
        let noise = before.is(Sense::NOISE)
            || behind.is(Sense::NOISE)
            || (further.is(Sense::NOISE) && !before.is(Sense::PROGRESS));
        if before.is(Sense::TRY) || noise {
            tokens[at] = Token::mask();
        }
    }
}

fn classify(chunk: &str) -> Token {
    if let Some(token) = numeric(chunk) {
        return token;
    }
    if is_stamp(chunk) || is_uuid(chunk) {
        return Token::mask();
    }
    if SIZES.contains(&chunk.to_lowercase().as_str()) {
        return Token { sense: Sense::SIZE, letters: 2, ..Token::new(Kind::Word, SIZE) };
    }
    let mut shape = Shape::default();
    let mut hasher = Hasher::new();
    let mut segments = 0;
    let mut rest = chunk;
    let mut tries = false;
    let mut noise = false;
    while !rest.is_empty() {
        let alnum = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
        let (segment, behind) = rest.split_at(alnum);
        if !segment.is_empty() {
            segments += 1;
            hasher = shape.segment(segment, tries, hasher);
            let sense = Sense::of(&segment.to_lowercase());
            tries = sense.is(Sense::TRY);
            noise |= sense.is(Sense::NOISE);
        }
        let joint = behind.find(char::is_alphanumeric).unwrap_or(behind.len());
        let (joiner, behind) = behind.split_at(joint);
        if !behind.is_empty() {
            shape.joint(joiner);
            hasher = hasher.bytes(joiner.as_bytes());
        }
        rest = behind;
    }
    if shape.letters == 0 {
        return Token::mask();
    }
    let fact = shape.digits || shape.camel || (segments > 1 && shape.joined_as_code && shape.longest > 1);
    let kind = if fact { Kind::Fact } else { Kind::Word };
    let sense = Sense::of(&chunk.to_lowercase());
    // `duration_ms` stands before a duration.
    let sense = if noise { sense.and(Sense::NOISE) } else { sense };
    Token { sense, letters: shape.letters, ..Token::new(kind, hasher.finish()) }
}

/// What a token is made of.
#[derive(Default)]
struct Shape {
    letters: usize,
    longest: usize,
    camel: bool,
    digits: bool,
    joined_as_code: bool,
}

impl Shape {
    fn joint(&mut self, joiner: &str) {
        self.joined_as_code |= joiner.chars().any(|c| !matches!(c, '-' | '\'' | '’' | '&' | '+'));
    }

    /// Adds a run of letters and digits to the hash, masked where it is volatile.
    fn segment(&mut self, segment: &str, after_try: bool, hasher: Hasher) -> Hasher {
        let digits = segment.chars().filter(char::is_ascii_digit).count();
        let letters = segment.chars().filter(|c| c.is_alphabetic()).count();
        if letters == 0 {
            // `US-002` is a name, `run-20260130` is not.
            let kept = digits <= 3 && !after_try && self.letters > 0;
            self.digits |= kept;
            return hasher.bytes(if kept { segment.as_bytes() } else { b"#" });
        }
        if digits > 0 && is_random(segment) {
            return hasher.bytes(b"#");
        }
        self.letters += letters;
        self.longest = self.longest.max(letters);
        self.digits |= digits > 0;
        self.camel |= is_camel(segment);
        hasher.bytes(segment.to_lowercase().as_bytes())
    }
}

/// A number in any of its forms, or what is volatile by its unit.
fn numeric(chunk: &str) -> Option<Token> {
    let first = chunk.chars().next()?;
    if first == '$' {
        return chunk[1..].starts_with(|c: char| c.is_ascii_digit()).then(Token::mask);
    }
    if !first.is_ascii_digit() {
        return None;
    }
    // A comma between thousands, or a line and a column.
    let groups = chunk.split(',').skip(1);
    if !groups.clone().all(|group| group.split('.').next().is_some_and(|digits| digits.len() == 3)) {
        return chunk.chars().all(|c| c.is_ascii_digit() || matches!(c, ',' | '.')).then(Token::mask);
    }
    let plain = chunk.replace(',', "");
    if let Ok(value) = plain.parse::<f64>() {
        // Longer ones are ids and times.
        let long = plain.len() > 7 && !plain.contains('.');
        return Some(if long { Token::mask() } else { Token::number(value, None) });
    }
    if let Some(value) = plain.strip_suffix('%').and_then(|n| n.parse().ok()) {
        return Some(Token::number(value, Some(100.0)));
    }
    if let Some((n, m)) = plain.split_once('/')
        && let (Ok(n), Ok(m)) = (n.parse::<f64>(), m.parse::<f64>())
    {
        return Some(Token::number(n, Some(m)));
    }
    let lower = plain.to_lowercase();
    let only_units = lower
        .split(|c: char| c.is_ascii_digit() || matches!(c, '.' | ':' | '-' | '+' | '/'))
        .all(|unit| unit.is_empty() || UNITS.contains(&unit));
    only_units.then(Token::mask)
}

/// Behind a number these make a time, a duration or a size. Dates and clocks have none, or `t` and `z`.
const UNITS: &[&str] = &[
    "s", "ms", "us", "µs", "ns", "m", "h", "d", "sec", "secs", "min", "mins", "hr", "hrs", "b", "k", "kb",
    "mb", "gb", "tb", "kib", "mib", "gib", "px", "x", "t", "z", "am", "pm", "st", "nd", "rd", "th", "/s",
    "hz", "ghz", "mhz",
];

/// A date, wherever it stands in the token.
fn is_stamp(chunk: &str) -> bool {
    let bytes = chunk.as_bytes();
    bytes.len() >= 10
        && bytes[..4].iter().all(u8::is_ascii_digit)
        && bytes[4] == b'-'
        && bytes[5..7].iter().all(u8::is_ascii_digit)
        && bytes[7] == b'-'
}

fn is_uuid(chunk: &str) -> bool {
    let parts: Vec<&str> = chunk.split('-').collect();
    parts.len() == 5
        && parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12])
        && parts.iter().all(|part| part.chars().all(|c| c.is_ascii_hexdigit()))
}

/// Whether letters and digits are mixed as in hashes and ids, and not as in `utf8` or `sha256sum`.
fn is_random(segment: &str) -> bool {
    let length = segment.chars().count();
    if length >= 4 && segment.chars().all(|c| c.is_ascii_hexdigit()) {
        return true;
    }
    let digit = |c: char| c.is_ascii_digit();
    let changes =
        segment.chars().zip(segment.chars().skip(1)).filter(|(a, b)| digit(*a) != digit(*b)).count();
    changes >= 3 || (length >= 16 && changes >= 1)
}

fn is_camel(segment: &str) -> bool {
    segment.chars().zip(segment.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Vec<Token> {
        let mut out = Vec::new();
        tokens(&clean(line.as_bytes()), &mut out);
        out
    }

    fn kinds(line: &str) -> String {
        let letter = |token: &Token| match token.kind {
            Kind::Word => 'w',
            Kind::Fact => 'f',
            Kind::Number => 'n',
            Kind::Mask => '#',
        };
        read(line).iter().map(letter).collect()
    }

    fn same(a: &str, b: &str) -> bool {
        let hashes = |line| read(line).iter().map(|token| token.hash).collect::<Vec<_>>();
        hashes(a) == hashes(b)
    }

    #[test]
    fn what_changes_with_every_run_is_masked() {
        for (a, b) in [
            ("done at 12:31:07.553", "done at 01:02:03.1"),
            ("[2026-03-21 04:28:11] start", "[2026-04-01 14:00:59] start"),
            ("2026-03-21T04:28:11Z", "2025-01-01T00:00:00Z"),
            ("(51.21s)", "(3.00s)"),
            ("took 350ms", "took 8ms"),
            ("in 1m30s", "in 2h5m"),
            ("commit 8f3ba7ef", "commit 1c2d3e4f5a"),
            ("session 648d4c45-30f5-8eec-6a23-69d606b76816", "session 8f3ba7ef-f7f6-37c3-eb3d-3cf9657b0649"),
            ("/tmp/tmp.74848a8d/out.log", "/tmp/tmp.24620997/out.log"),
            ("auth.ts:45:3 wrong", "auth.ts:7:12 wrong"),
            ("zsh:1: no such file", "zsh:7: no such file"),
            ("cost $1.43", "cost $0.02"),
            ("62,516 tokens", "9 tokens"),
            ("tokens used: 62516", "tokens used: 12"),
            ("=== Loop #5 ===", "=== Loop #6 ==="),
            ("Iteration 4/50", "Iteration 5/50"),
            ("duration_ms=832861", "duration_ms=9"),
            ("run-20260130-123401-iter-2.log", "run-20260131-003401-iter-3.log"),
            ("\x1b[31mred\x1b[0m", "red"),
        ] {
            assert!(same(a, b), "{a}: {:?}\n{b}: {:?}", read(a), read(b));
        }
    }

    #[test]
    fn what_names_something_is_kept() {
        for (a, b) in [
            ("US-002", "US-003"),
            ("chapter-07.md", "chapter-08.md"),
            ("utf8", "utf16"),
            ("src/auth.rs", "src/login.rs"),
            ("getUser", "getUsers"),
            ("alpha", "beta"),
        ] {
            assert!(!same(a, b), "{a} {b}");
        }
    }

    #[test]
    fn words_facts_and_numbers_are_told_apart() {
        assert_eq!(kinds("The parser reads src/lib.rs and calls parse_line in Vec<Token>"), "wwwfwwfwww");
        assert_eq!(kinds("up-to-date, e.g. not a fact"), "wwwwww".get(..5).unwrap_or_default());
        assert_eq!(kinds("14 of 83 tests still failing"), "nwnwww");
        assert_eq!(kinds("completed: 3/31 steps, 45%"), "wnwn");
        assert_eq!(kinds("failed:3"), "wn");
        assert_eq!(kinds("你好 parser"), "www");
        let ratio = read("3/31")[0];
        assert_eq!((ratio.value, ratio.of), (3.0, Some(31.0)));
        assert_eq!(kinds("— … ***"), "");
    }
}
