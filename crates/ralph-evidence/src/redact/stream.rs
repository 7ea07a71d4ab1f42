//! Output on its way: a secret may come in pieces. Only what may be the beginning of one is held back, so that an agent that waits
//! for an answer is heard; and only for as long as it may still become one.

use std::borrow::Cow;

use super::shape::{SHAPES, Shape};
use super::{REDACTED, Redactor};

/// A token whose end does not come is let go at this length.
const MAX_HELD: usize = 8 << 10;
/// With rules of the user's, a line that is longer is looked at in pieces.
const MAX_LINE: usize = 64 << 10;

/// One output. What is pushed comes out of it, without its secrets, as soon as it is known to be none.
#[derive(Debug, Default)]
pub struct Stream {
    pub(super) held: Vec<u8>,
    /// The rest of a token is on its way, and goes nowhere.
    drops: bool,
    /// The byte before what is held.
    before: Option<u8>,
    /// A line that the user's rules have not seen whole.
    line: Vec<u8>,
}

impl Stream {
    pub fn push<'a>(&mut self, redactor: &Redactor, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        if self.held.is_empty() && !self.drops && redactor.rules.is_empty() {
            return match redactor.is_clean(self.before, bytes) {
                true => {
                    self.before = bytes.last().copied().or(self.before);
                    Cow::Borrowed(bytes)
                }
                false => Cow::Owned(self.take(redactor, bytes.to_vec(), false)),
            };
        }
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(bytes);
        let out = self.take(redactor, all, false);
        Cow::Owned(self.by_rules(redactor, out, false))
    }

    /// What was held back, if it is no secret: no more will come.
    pub fn finish(&mut self, redactor: &Redactor) -> Vec<u8> {
        let held = std::mem::take(&mut self.held);
        let out = self.take(redactor, held, true);
        self.by_rules(redactor, out, true)
    }

    fn take(&mut self, redactor: &Redactor, all: Vec<u8>, is_end: bool) -> Vec<u8> {
        let mut out = Vec::with_capacity(all.len());
        let mut at = 0;
        while at < all.len() {
            if self.drops {
                let end = all[at..].iter().position(|byte| !Shape::is_part(*byte));
                self.drops = end.is_none();
                at = end.map_or(all.len(), |end| at + end);
                continue;
            }
            let found = redactor.next(&all, at, self.before, is_end);
            let (start, end) =
                found.as_ref().map_or((all.len(), all.len()), |found| (found.start, found.end));
            // Of what begins first the longest counts, and its end may still come.
            let begun = redactor.begun_in(&all, at..all.len().min(start + 1)).filter(|_| !is_end);
            let is_token = match found.map(|found| found.what) {
                Some(What::Secret) if begun.is_none() => false,
                Some(What::Token) if begun.is_none() => true,
                _ => {
                    let from = begun.unwrap_or(start);
                    out.extend_from_slice(&all[at..from]);
                    self.hold(&all, from);
                    return out;
                }
            };
            out.extend_from_slice(&all[at..start]);
            out.extend_from_slice(REDACTED.as_bytes());
            (at, self.drops) = (end, is_token);
            self.before = all.get(at.wrapping_sub(1)).copied();
        }
        self.before = all.last().copied().or(self.before);
        out
    }

    fn hold(&mut self, all: &[u8], from: usize) {
        if let Some(before) = from.checked_sub(1).and_then(|at| all.get(at)) {
            self.before = Some(*before);
        }
        self.held = all[from..].to_vec();
    }

    fn by_rules(&mut self, redactor: &Redactor, out: Vec<u8>, is_end: bool) -> Vec<u8> {
        if redactor.rules.is_empty() {
            return out;
        }
        let seen = self.line.len();
        self.line.extend_from_slice(&out);
        let whole = match memchr::memrchr(b'\n', &out) {
            _ if is_end || self.line.len() > MAX_LINE => self.line.len(),
            Some(newline) => seen + newline + 1,
            None => return Vec::new(),
        };
        let rest = self.line.split_off(whole);
        let mut ready = std::mem::replace(&mut self.line, rest);
        for rule in &redactor.rules {
            if rule.is_match(&ready) {
                ready = rule.replace_all(&ready, regex::bytes::NoExpand(REDACTED.as_bytes())).into_owned();
            }
        }
        ready
    }
}

pub(super) struct Found {
    start: usize,
    end: usize,
    what: What,
}

enum What {
    Secret,
    /// What has the form of a token; its end may be further on.
    Token,
    /// The beginning of what may become one.
    Begun,
}

impl Redactor {
    /// Nothing in it is a secret, or may be the beginning of one.
    fn is_clean(&self, before: Option<u8>, bytes: &[u8]) -> bool {
        self.next(bytes, 0, before, false).is_none() && self.begun_in(bytes, 0..bytes.len()).is_none()
    }

    /// The next thing from here on.
    fn next(&self, all: &[u8], from: usize, before: Option<u8>, is_end: bool) -> Option<Found> {
        let finder = self.finder.as_ref()?;
        // Where the last run of a token's characters ends: many tokens may begin in the same one.
        let (mut at, mut run) = (from, from);
        while let Some(found) = finder.find(aho_corasick::Input::new(all).range(at..)) {
            let (start, begin) = (found.start(), found.end());
            let Some(shape) = found.pattern().as_usize().checked_sub(self.values).and_then(|n| SHAPES.get(n))
            else {
                return Some(Found { start, end: begin, what: What::Secret });
            };
            at = start + 1;
            let left = start.checked_sub(1).map_or(before, |at| all.get(at).copied());
            // In the middle of a word it is no beginning of a token.
            if left.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                continue;
            }
            if run < begin {
                run = begin + all[begin..].iter().take_while(|byte| Shape::is_part(**byte)).count();
            }
            // More than this is never held, so more than this is never looked at.
            let end = run.min(start + MAX_HELD);
            if shape.is_whole(&all[begin..end]) {
                return Some(Found { start, end, what: What::Token });
            }
            if end == all.len() && !is_end {
                return Some(Found { start, end, what: What::Begun });
            }
        }
        None
    }

    /// The first of these places at which something begins that goes on to the end, and may become a secret behind it.
    fn begun_in(&self, all: &[u8], places: std::ops::Range<usize>) -> Option<usize> {
        let first = all.len().saturating_sub(self.longest.saturating_sub(1)).max(places.start);
        (first..places.end).find(|at| self.is_begun(&all[*at..]))
    }

    /// Whether a needle begins with this, and goes on.
    fn is_begun(&self, end: &[u8]) -> bool {
        if end.first().is_none_or(|first| self.firsts.binary_search(first).is_err()) {
            return false;
        }
        let above = self.sorted.partition_point(|needle| needle.as_slice() <= end);
        self.sorted.get(above).is_some_and(|needle| needle.starts_with(end))
    }
}
