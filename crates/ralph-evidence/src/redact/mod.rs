//! Secrets never leave: wherever bytes come into ralph, the values that are known to be secret and what has the form of a token
//! are replaced, also where a value comes in two pieces, inside of a JSON string, or encoded.
//!
//! What cannot be seen: a value that is printed backwards, letter by letter with something in between, or encrypted.
//! `docs/trust.md` says so.

mod shape;
mod stream;

use std::borrow::Cow;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::bytes::Regex;

pub use shape::{is_secret_name, is_secret_value};
pub use stream::Stream;

use shape::SHAPES;

/// What stands in the place of a secret.
pub const REDACTED: &str = "[redacted]";
/// A longer value is a file, not a key; its beginning stands for it.
const MAX_VALUE: usize = 4_096;

/// What is looked for.
#[derive(Debug)]
pub struct Redactor {
    /// So many of the needles are whole secrets; behind them come the beginnings of all tokens.
    values: usize,
    /// The needles in order: those that begin alike stand together.
    sorted: Vec<Vec<u8>>,
    /// What one of them begins with.
    firsts: Vec<u8>,
    longest: usize,
    finder: Option<AhoCorasick>,
    /// The user's own rules, for what stands on a line.
    rules: Vec<Regex>,
}

impl Redactor {
    /// `values` are what is secret, `rules` the user's own patterns. An error names the rule that cannot be read.
    pub fn new<'a>(
        values: impl IntoIterator<Item = &'a str>,
        rules: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, String> {
        let mut needles: Vec<Vec<u8>> =
            values.into_iter().flat_map(forms).filter(|form| !form.is_empty()).collect();
        needles.sort_unstable();
        needles.dedup();
        let values = needles.len();
        needles.extend(SHAPES.iter().map(|shape| shape.start.as_bytes().to_vec()));
        // The longest of all that begin at a place, so that no end of a value is left over.
        let kind = (needles.len() > 200).then_some(AhoCorasickKind::ContiguousNFA);
        let finder = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).kind(kind).build(&needles);
        let rules: Result<Vec<Regex>, String> = rules
            .into_iter()
            .map(|rule| Regex::new(rule).map_err(|error| format!("`{rule}` is no pattern: {error}")))
            .collect();
        let longest = needles.iter().map(Vec::len).max().unwrap_or(0);
        needles.sort_unstable();
        let mut firsts: Vec<u8> = needles.iter().filter_map(|needle| needle.first().copied()).collect();
        firsts.dedup();
        Ok(Self { values, sorted: needles, firsts, longest, finder: finder.ok(), rules: rules? })
    }

    /// A whole text without its secrets.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    /// The same for bytes.
    pub fn bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let mut stream = Stream::default();
        let mut out = stream.push(self, bytes).into_owned();
        out.extend_from_slice(&stream.finish(self));
        match out == bytes {
            true => Cow::Borrowed(bytes),
            false => Cow::Owned(out),
        }
    }
}

/// A value as it may be printed: as it is, escaped once or twice in JSON, in an address, in base64.
fn forms(value: &str) -> Vec<Vec<u8>> {
    let end = (0..=MAX_VALUE.min(value.len())).rev().find(|at| value.is_char_boundary(*at)).unwrap_or(0);
    let value = &value[..end];
    let json = |text: &str| {
        let quoted = serde_json::Value::from(text).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    };
    let once = json(value);
    let mut forms = vec![value.to_owned(), json(&once), once.replace('/', "\\/"), percent(value)];
    forms.push(once);
    let encoded = base64(value.as_bytes());
    forms.push(encoded.replace('+', "-").replace('/', "_"));
    forms.push(encoded);
    forms.into_iter().map(String::into_bytes).collect()
}

fn percent(value: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    value.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

/// Without what stands for the end: where more follows, that differs.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let whole = bytes.chunks_exact(3).flat_map(|three| {
        let bits = u32::from_be_bytes([0, three[0], three[1], three[2]]);
        [18, 12, 6, 0].map(|shift| char::from(DIGITS[(bits >> shift & 63) as usize]))
    });
    whole.collect()
}

#[cfg(test)]
mod tests;
