//! Code fences of Markdown, line by line: what stands in one is a quotation.

use super::{escapes, html, scene};

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Fence {
    open: Option<(u8, usize)>,
}

/// What a piece of output may hold, found in one quick look: it decides whether a flood has to be taken apart line by line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Glance {
    /// The end of a line.
    pub(super) ends: bool,
    /// A fence that opens or closes in a line that ends here.
    pub(super) fences: bool,
    /// What a marker begins with.
    pub(super) tags: bool,
    /// A comment or an element that may show what follows.
    pub(super) shows: bool,
    /// A sequence for the terminal that may go on over lines.
    pub(super) escapes: bool,
    /// A code span, a quotation or a patch: what may show the lines up to a blank one.
    pub(super) marks: bool,
}

impl Glance {
    pub fn at(bytes: &[u8]) -> Self {
        let nothing =
            Self { ends: false, fences: false, tags: false, shows: false, escapes: false, marks: false };
        let Some(end) = memchr::memrchr(b'\n', bytes) else { return nothing };
        let bytes = &bytes[..end];
        let seen = Self {
            ends: true,
            tags: memchr::memmem::find(bytes, b"ralph:").is_some(),
            escapes: escapes::may_open(bytes),
            marks: scene::may_mark(bytes),
            ..nothing
        };
        // One look for all beginnings is cheaper than one for each of the whole marks, and mostly enough.
        let Some(start) = memchr::memchr3(b'`', b'~', b'<', bytes) else { return seen };
        let rest = &bytes[start..];
        let has = |mark: &[u8]| memchr::memmem::find(rest, mark).is_some();
        Self {
            fences: has(b"```") || has(b"~~~"),
            tags: seen.tags || has(b"<event"),
            shows: html::may_open(rest),
            marks: seen.marks || has(b"`"),
            ..seen
        }
    }
}

impl Fence {
    /// Takes the next line; tells whether it belongs to a fenced block, the fences themselves included.
    pub(crate) fn covers(&mut self, line: &[u8]) -> bool {
        let indent = line.iter().take_while(|b| **b == b' ').count();
        let rest = &line[indent..];
        let mark = match rest.first() {
            Some(b @ (b'`' | b'~')) if indent <= 3 => *b,
            _ => return self.open.is_some(),
        };
        let count = rest.iter().take_while(|b| **b == mark).count();
        let info = &rest[count..];
        match self.open {
            None if count >= 3 && !(mark == b'`' && info.contains(&b'`')) => {
                self.open = Some((mark, count));
                true
            }
            None => false,
            Some((open, opened)) => {
                if open == mark && count >= opened && info.iter().all(u8::is_ascii_whitespace) {
                    self.open = None;
                }
                true
            }
        }
    }
}
