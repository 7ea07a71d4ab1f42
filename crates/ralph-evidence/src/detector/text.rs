//! Text as the detectors read it: escapes gone, volatile tokens masked, and the rest told apart as words, facts and numbers.
//!
//! A *fact* is a token that is no plain word: a path, an identifier, a code. Facts name things, so a new one is a sign of new
//! work, where new words may be the same thing said otherwise. What changes whenever a program is run (clocks, durations,
//! hashes, ids, line numbers, sizes) is masked by its shape.

use std::borrow::Cow;

use super::hash::{self, Hasher};
use super::lexicon::Sense;
use ralph_core::marker::without_escapes;

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
    /// Of `3/12` the 12.
    pub(super) of: Option<f64>,
    pub(super) percent: bool,
    pub(super) letters: usize,
    /// A comma or the like stands before it, so it does not belong to the token before.
    pub(super) apart: bool,
}

impl Token {
    fn new(kind: Kind, hash: u64) -> Self {
        Self {
            kind,
            hash,
            sense: Sense::default(),
            value: 0.0,
            of: None,
            percent: false,
            letters: 0,
            apart: false,
        }
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
    let mut reader = Reader { line, start: None, sign: None, apart: false, out };
    let mut chars = line.char_indices().peekable();
    let mut before = ' ';
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map_or(' ', |(_, next)| *next);
        let between_digits = before.is_ascii_digit() && next.is_ascii_digit();
        if is_ideograph(c) {
            reader.end(at);
            reader.sign(at, c.len_utf8());
        } else if is_separator(c) && !(between_digits && matches!(c, ',' | ':')) {
            reader.end(at);
            reader.end_signs(at);
            reader.apart |= matches!(c, ',' | ';' | '|');
        } else if reader.start.is_none() {
            reader.end_signs(at);
            reader.start = Some(at);
        }
        before = c;
    }
    reader.end(line.len());
    reader.end_signs(line.len());
    settle(out);
}

struct Reader<'a> {
    line: &'a str,
    /// Where a token has begun.
    start: Option<usize>,
    /// Where a sign of a script without spaces stands that has no partner yet.
    sign: Option<usize>,
    apart: bool,
    out: &'a mut Vec<Token>,
}

impl Reader<'_> {
    /// Scripts without spaces: two signs count as a word.
    fn sign(&mut self, at: usize, length: usize) {
        match self.sign.take() {
            Some(first) => self.add_signs(first, at + length),
            None => self.sign = Some(at),
        }
    }

    fn end_signs(&mut self, at: usize) {
        if let Some(from) = self.sign.take() {
            self.add_signs(from, at);
        }
    }

    fn add_signs(&mut self, from: usize, to: usize) {
        let signs = &self.line[from..to];
        let token = Token::new(Kind::Word, hash::of(signs));
        self.add(Token { letters: 4, sense: Sense::of(signs), ..token });
    }

    /// Ends the token that has begun, if any.
    fn end(&mut self, at: usize) {
        let Some(from) = self.start.take() else { return };
        let whole = &self.line[from..at];
        let chunk = whole.trim_end_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '%' | '_'));
        let (end, ends) = (from + chunk.len(), whole.len() > chunk.len());
        let chunk = chunk.trim_start_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '$' | '_'));
        if chunk.chars().any(char::is_alphanumeric) {
            let mut token = classify(chunk);
            let place = is_place(&self.line[..from], self.out.last()) || self.is_listed(end);
            if token.kind == Kind::Number && place {
                token = Token::mask();
            }
            self.add(token);
        }
        self.apart |= ends && whole.ends_with(['.', '!', '?', '·', '—', '…']);
    }

    /// Whether the number that ends here leads a line of a listing: `320:func`, `321-}`, `12→use`.
    fn is_listed(&self, end: usize) -> bool {
        self.out.is_empty() && self.line[end..].starts_with([':', '→', '│', '-', '\t', '|'])
    }

    fn add(&mut self, token: Token) {
        self.out.push(Token { apart: std::mem::take(&mut self.apart), ..token });
    }
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
                | '→'
                | '│'
                | '┃'
        )
}

pub(super) fn is_ideograph(c: char) -> bool {
    matches!(u32::from(c), 0x3040..=0x30ff | 0x3400..=0x9fff | 0xac00..=0xd7af | 0x20000..=0x3ffff)
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

/// Numbers whose neighbours tell that they are noise. Months and days beside a number are a date. What is masked is one mask, in
/// however many parts it was written: `1m 20s`, `80 seconds` and `Tue 3 Mar 2026, 4:05 PM`.
fn settle(tokens: &mut Vec<Token>) {
    for at in 0..tokens.len() {
        if tokens[at].kind == Kind::Number && is_noise(tokens, at) {
            tokens[at] = Token::mask();
        }
    }
    let is_digits =
        |token: Option<&Token>| token.is_some_and(|token| matches!(token.kind, Kind::Mask | Kind::Number));
    let mut beside = false;
    for at in 0..tokens.len() {
        let calendar = tokens[at].sense.is(Sense::CALENDAR);
        let unit = tokens[at].sense.is(Sense::UNIT);
        if (calendar && (beside || is_digits(tokens.get(at + 1)))) || (unit && beside) {
            tokens[at] = Token::mask();
        }
        beside = tokens[at].kind == Kind::Mask;
    }
    tokens.dedup_by(|a, b| a.kind == Kind::Mask && b.kind == Kind::Mask);
}

fn is_noise(tokens: &[Token], at: usize) -> bool {
    let joined = |at: usize| !tokens[at].apart;
    let before = match at.checked_sub(1) {
        Some(before) if joined(at) => tokens[before],
        _ => Token::mask(),
    };
    let further = match at.checked_sub(2) {
        Some(further) if before.kind == Kind::Word && joined(at - 1) => tokens[further].sense,
        _ => Sense::default(),
    };
    let behind = tokens.get(at + 1).filter(|token| !token.apart).map(|token| token.sense).unwrap_or_default();
    let noise = Sense::NOISE.and(Sense::TRY);
    before.sense.is(noise)
        || behind.is(Sense::NOISE)
        || (further.is(noise) && !before.sense.is(Sense::PROGRESS) && !behind.is(Sense::PROGRESS))
}

fn classify(chunk: &str) -> Token {
    if let Some(token) = numeric(chunk) {
        return token;
    }
    if is_uuid(chunk) {
        return Token::mask();
    }
    if is_stamp(chunk) {
        // `2026-02-02-parser.md` still names something.
        let rest = chunk[STAMP..].trim_start_matches(|c: char| !c.is_alphabetic());
        let named = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len()) > 2;
        return if named && chunk.as_bytes().get(STAMP) == Some(&b'-') {
            classify(rest)
        } else {
            Token::mask()
        };
    }
    let lower = chunk.to_lowercase();
    if let Some(value) = NUMBER_WORDS.iter().position(|word| *word == lower) {
        return Token { letters: lower.len(), ..Token::number(value as f64, None) };
    }
    if SIZES.contains(&lower.as_str()) {
        return Token { sense: Sense::SIZE, letters: 2, ..Token::new(Kind::Word, SIZE) };
    }
    let mut shape = Shape::default();
    let mut hasher = Hasher::new();
    let mut rest = behind_temp(chunk).unwrap_or(chunk);
    shape.temp = rest.len() < chunk.len();
    while !rest.is_empty() {
        let alnum = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
        let (segment, behind) = rest.split_at(alnum);
        if !segment.is_empty() {
            hasher = shape.segment(segment, hasher);
        }
        let joint = behind.find(char::is_alphanumeric).unwrap_or(behind.len());
        let (joiner, behind) = behind.split_at(joint);
        if !behind.is_empty() {
            shape.joint(joiner);
            hasher = hasher.bytes(joiner.as_bytes());
        }
        rest = behind;
    }
    if shape.letters == 0 || shape.masked > shape.letters.max(5) {
        return Token::mask();
    }
    let kind = if shape.is_fact() { Kind::Fact } else { Kind::Word };
    let sense = Sense::of(&lower);
    // `duration_ms` stands before a duration; `req/s` and `ns/op` do not.
    let sense = if shape.noise && !shape.slash { sense.and(Sense::NOISE) } else { sense };
    Token { sense, letters: shape.letters, ..Token::new(kind, hasher.finish()) }
}

/// What people count in words.
const NUMBER_WORDS: &[&str] = &[
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
];

/// What is left of a path behind a folder for temporary files.
fn behind_temp(chunk: &str) -> Option<&str> {
    const ROOTS: &[&str] = &["tmp/", "private/tmp/", "var/tmp/", "dev/shm/", "run/user/"];
    const FOLDERS: &[&str] = &["/Temp/", "\\Temp\\"];
    if chunk.starts_with("var/folders/") || chunk.starts_with("private/var/folders/") {
        return Some(chunk.split_once("/T/").map_or("", |(_, rest)| rest));
    }
    let root = ROOTS.iter().find_map(|root| chunk.strip_prefix(root));
    root.or_else(|| FOLDERS.iter().find_map(|folder| chunk.split_once(folder).map(|(_, rest)| rest)))
}

/// What a token is made of.
#[derive(Default)]
struct Shape {
    letters: usize,
    /// Letters and digits that were masked.
    masked: usize,
    longest: usize,
    segments: usize,
    camel: bool,
    digits: bool,
    joined_as_code: bool,
    slash: bool,
    /// The segment before counts tries.
    tries: bool,
    /// One of them stands before a number that is noise.
    noise: bool,
    /// It is a path of a temporary file.
    temp: bool,
}

impl Shape {
    fn is_fact(&self) -> bool {
        self.digits || self.camel || (self.segments > 1 && self.joined_as_code && self.longest > 1)
    }

    fn joint(&mut self, joiner: &str) {
        self.slash |= joiner.contains('/');
        self.joined_as_code |= joiner.chars().any(|c| !matches!(c, '-' | '\'' | '’' | '&' | '+'));
    }

    /// Adds a run of letters and digits to the hash, masked where it is volatile.
    fn segment(&mut self, segment: &str, hasher: Hasher) -> Hasher {
        self.segments += 1;
        let digits = segment.chars().filter(char::is_ascii_digit).count();
        let letters = segment.chars().filter(|c| c.is_alphabetic()).count();
        let lower = segment.to_lowercase();
        let after_try = std::mem::replace(&mut self.tries, Sense::of(&lower).is(Sense::TRY));
        let random = match letters {
            // `US-002` is a name, `run-20260130` is not.
            0 => digits > 3 || after_try || self.letters == 0 || self.temp,
            _ => {
                is_scrambled(segment) || (digits > 0 && is_random(segment)) || (self.temp && is_temp(segment))
            }
        };
        if random {
            self.masked += digits + letters;
            return hasher.bytes(b"#");
        }
        self.digits |= digits > 0;
        self.camel |= is_camel(segment);
        self.letters += letters;
        self.longest = self.longest.max(letters);
        self.noise |= Sense::of(&lower).is(Sense::NOISE);
        let stem = lower.trim_end_matches(|c: char| c.is_ascii_digit());
        match lower.len() - stem.len() {
            0..LONG_NUMBER => hasher.bytes(lower.as_bytes()),
            _ => hasher.bytes(stem.as_bytes()).bytes(b"#"),
        }
    }
}

/// Digits at the end of a name that no longer belong to it: `build48213`, but not `E0308`.
const LONG_NUMBER: usize = 5;

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
        return Some(Token { percent: true, ..Token::number(value, None) });
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

/// The length of `2026-03-21`.
const STAMP: usize = 10;

/// Whether a token begins with a date.
fn is_stamp(chunk: &str) -> bool {
    let bytes = chunk.as_bytes();
    bytes.len() >= STAMP
        && chunk.is_char_boundary(STAMP)
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
    let hex = segment.strip_prefix("0x").or_else(|| segment.strip_prefix("0X")).unwrap_or(segment);
    if hex.len() >= 4 && hex.chars().all(|c| c.is_ascii_hexdigit()) && !is_code(segment) {
        return true;
    }
    let changes = changes(segment, |c| c.is_ascii_digit());
    changes >= 3 || (segment.chars().count() >= 16 && changes >= 1)
}

/// `E0308`: a capital and a few digits.
fn is_code(segment: &str) -> bool {
    let digits = segment.trim_start_matches(|c: char| c.is_ascii_uppercase());
    (segment.len() - digits.len()).eq(&1)
        && digits.len() < LONG_NUMBER
        && digits.bytes().all(|c| c.is_ascii_digit())
}

/// Whether the case of letters changes as in `XkQbTzRwLm`, and not as in a name of several words.
fn is_scrambled(segment: &str) -> bool {
    let length = segment.chars().count();
    length >= 8 && 2 * changes(segment, char::is_uppercase) > length
}

fn changes(segment: &str, of: impl Fn(char) -> bool) -> usize {
    segment.chars().zip(segment.chars().skip(1)).filter(|(a, b)| of(*a) != of(*b)).count()
}

/// Whether a program made up this name of a temporary file: `tmpk3jx`, `build42`, `GugKVBvonP`.
fn is_temp(segment: &str) -> bool {
    let made = |prefix: &str| segment.strip_prefix(prefix).is_some_and(|rest| rest.len() >= 4);
    segment.contains(|c: char| c.is_ascii_digit()) || made("tmp") || changes(segment, char::is_uppercase) >= 3
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
            ("at Tue, 03 Mar 2026 04:05:06 GMT", "at Fri, 27 Nov 2026 14:00:59 GMT"),
            ("on 3/13/2026, 4:05:06 PM", "on 11/2/2026, 11:15:59 AM"),
            ("am 13.03.2026 04:05", "am 1.12.2026 14:15"),
            ("2026年3月13日 完成", "2025年12月1日 完成"),
            ("after 1m 20s", "after 45 seconds"),
            ("after PT2M12S", "after 980 ms"),
            ("id 01ARZ3NDEKTSV4RRFFQ69G5FAV", "id 01BX5ZZKBKACTAV9WEVGEMMVRZ"),
            ("object at 0x12345678", "object at 0x7fc002c42b92"),
            ("toolu_01A09q90qw90lq917835lq9", "toolu_01WcBcqKpzdpLVp3zfnAXtHJ"),
            ("V1StGXR8_Z5jdHi6B-myT", "k3XyZ9aB_qQ7rT2uW-nOp"),
            ("workdir /tmp/tmp.GugKVBvonP", "workdir /tmp/tmp.noqAtAaWwi"),
            ("/tmp/go-build2025161/a.out", "/tmp/go-build99/a.out"),
            ("/var/folders/3k/ab12/T/tmp9043be", "/var/folders/zz/99ff/T/tmp1a"),
            (
                "C:\\Users\\dev\\AppData\\Local\\Temp\\tmpfa9a",
                "C:\\Users\\dev\\AppData\\Local\\Temp\\tmp01b2",
            ),
            ("320:func main() {", "7:func main() {"),
            ("12→use std", "903→use std"),
            ("Context: 45% used", "Context: 81% used"),
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
            ("2026-02-02-parser.md", "2026-02-02-lexer.md"),
            ("/tmp/check_parser.py", "/tmp/check_lexer.py"),
            ("E0308", "E0425"),
            ("getURLForID", "getURLForName"),
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
        assert_eq!(kinds("ETA 56 min, 54 chunks left"), "w#nww", "a comma parts");
        assert_eq!(kinds("Benchmark: 1957 ns/op"), "wnf");
        assert_eq!(kinds("two left"), "nw");
        assert_eq!(kinds("你好 parser"), "ww");
        assert_eq!(kinds("没有需要做的事情了。"), "wwwww");
        assert_eq!(kinds("2026年3月13日"), "#");
        let ratio = read("3/31")[0];
        assert_eq!((ratio.value, ratio.of), (3.0, Some(31.0)));
        assert_eq!(kinds("— … ***"), "");
    }
}
