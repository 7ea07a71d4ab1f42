//! What one token is, by its shape alone: a word, a fact, a number, or something volatile to be masked.
//!
//! Apart from the reading of lines, where the neighbours of a token decide.

use super::{Kind, Token};
use crate::detector::hash::Hasher;
use crate::detector::lexicon::Sense;

/// Programs choose the unit by the number, so all of them are one.
const SIZE: u64 = 0x7369_7a65;
const SIZES: &[&str] = &["b", "kb", "mb", "gb", "tb", "kib", "mib", "gib", "bytes", "byte"];

pub(super) fn classify(chunk: &str) -> Token {
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
