//! Code fences of Markdown, line by line: what stands in one is a quotation.

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Fence {
    open: Option<(u8, usize)>,
}

/// Whether a fence may open or close in a line that ends in these bytes. Quick: it decides whether a flood has to be taken
/// apart line by line.
pub fn may_fence(bytes: &[u8]) -> bool {
    let Some(end) = memchr::memrchr(b'\n', bytes) else { return false };
    // One look for either beginning is cheaper than two for the whole marks, and mostly enough.
    let Some(start) = memchr::memchr2(b'`', b'~', &bytes[..end]) else { return false };
    [b"```", b"~~~"].iter().any(|mark| memchr::memmem::find(&bytes[start..end], *mark).is_some())
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
