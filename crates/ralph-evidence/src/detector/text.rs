//! Text as the detectors read it: escapes gone, volatile tokens masked, and the rest told apart as words, facts and numbers.
//!
//! A *fact* is a token that is no plain word: a path, an identifier, a code. Facts name things, so a new one is a sign of new
//! work, where new words may be the same thing said otherwise. What changes whenever a program is run (clocks, durations,
//! hashes, ids, line numbers, sizes) is masked by its shape.

mod classify;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use super::hash;
use super::lexicon::Sense;
use classify::classify;
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
