//! Code fences of Markdown, line by line: what stands in one is a quotation.

use super::{escapes, html};

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
    /// Something that may show what follows: a comment, an element, a sequence for the terminal.
    pub(super) shows: bool,
}

impl Glance {
    pub fn at(bytes: &[u8]) -> Self {
        let nothing = Self { ends: false, fences: false, tags: false, shows: false };
        let Some(end) = memchr::memrchr(b'\n', bytes) else { return nothing };
        let escapes = escapes::may_open(&bytes[..end]);
        // One look for all beginnings is cheaper than one for each of the whole marks, and mostly enough.
        let Some(start) = memchr::memchr3(b'`', b'~', b'<', &bytes[..end]) else {
            return Self { ends: true, shows: escapes, ..nothing };
        };
        let rest = &bytes[start..end];
        let has = |mark: &[u8]| memchr::memmem::find(rest, mark).is_some();
        Self {
            ends: true,
            fences: has(b"```") || has(b"~~~"),
            tags: has(b"ralph:") || has(b"<event"),
            shows: escapes || html::may_open(rest),
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
