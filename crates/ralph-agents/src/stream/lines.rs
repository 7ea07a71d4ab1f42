//! Cuts a byte stream into lines without keeping more than a bounded part of any of them.

/// Lines up to this size are handed on whole.
pub const LINE_MAX: usize = 1 << 20;
/// Of a longer line, this much is kept of its beginning and of its end.
pub const LONG_KEPT: usize = 64 << 10;

/// One line, without its line end.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    Whole(&'a [u8]),
    /// A line of more than [`LINE_MAX`] bytes.
    Long {
        head: &'a [u8],
        tail: &'a [u8],
        len: u64,
    },
}

/// The state between two pushes: the beginning of a line whose end has not come yet.
#[derive(Debug, Default)]
pub struct Lines {
    pending: Vec<u8>,
    /// Set once the pending line is longer than `LINE_MAX`; `pending` is then its head.
    long: Option<Long>,
}

#[derive(Debug)]
struct Long {
    /// Holds the last `LONG_KEPT` bytes, and up to as many again before it is cut.
    tail: Vec<u8>,
    len: u64,
}

impl Lines {
    /// Hands every line that is complete to `each`.
    pub fn push(&mut self, mut bytes: &[u8], mut each: impl FnMut(Line<'_>)) {
        while let Some(at) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = (&bytes[..at], &bytes[at + 1..]);
            bytes = rest;
            if self.pending.is_empty() && self.long.is_none() {
                emit(line, &mut each);
            } else {
                self.hold(line);
                self.flush(&mut each);
            }
        }
        self.hold(bytes);
    }

    /// The last line, if the stream ended without a line end.
    pub fn finish(&mut self, mut each: impl FnMut(Line<'_>)) {
        if !self.pending.is_empty() || self.long.is_some() {
            self.flush(&mut each);
        }
    }

    fn hold(&mut self, bytes: &[u8]) {
        if let Some(long) = &mut self.long {
            long.push(bytes);
        } else if self.pending.len() + bytes.len() <= LINE_MAX + 1 {
            // One byte more than the limit, because a trailing CR does not count.
            self.pending.extend_from_slice(bytes);
        } else {
            let mut long = Long { tail: Vec::with_capacity(2 * LONG_KEPT), len: 0 };
            long.push(&self.pending);
            long.push(bytes);
            let missing = LONG_KEPT.saturating_sub(self.pending.len()).min(bytes.len());
            self.pending.extend_from_slice(&bytes[..missing]);
            self.pending.truncate(LONG_KEPT);
            self.pending.shrink_to_fit();
            self.long = Some(long);
        }
    }

    fn flush(&mut self, each: &mut impl FnMut(Line<'_>)) {
        match self.long.take() {
            None => emit(&self.pending, each),
            Some(long) => {
                let (tail, cut) = strip_cr(long.last());
                each(Line::Long { head: &self.pending, tail, len: long.len - u64::from(cut) });
            }
        }
        self.pending.clear();
        self.pending.shrink_to(LONG_KEPT);
    }
}

impl Long {
    fn push(&mut self, bytes: &[u8]) {
        self.len = self.len.saturating_add(bytes.len() as u64);
        let bytes = &bytes[bytes.len().saturating_sub(LONG_KEPT)..];
        if self.tail.len() + bytes.len() > 2 * LONG_KEPT {
            let surplus = (self.tail.len() + bytes.len()).saturating_sub(LONG_KEPT).min(self.tail.len());
            self.tail.drain(..surplus);
        }
        self.tail.extend_from_slice(bytes);
    }

    fn last(&self) -> &[u8] {
        &self.tail[self.tail.len().saturating_sub(LONG_KEPT)..]
    }
}

fn emit(line: &[u8], each: &mut impl FnMut(Line<'_>)) {
    let (whole, _) = strip_cr(line);
    if whole.len() <= LINE_MAX {
        return each(Line::Whole(whole));
    }
    // The same bytes as when the line comes in pieces: see `hold` and `flush`.
    let last = &line[line.len() - LONG_KEPT..];
    each(Line::Long { head: &line[..LONG_KEPT], tail: strip_cr(last).0, len: whole.len() as u64 });
}

fn strip_cr(line: &[u8]) -> (&[u8], bool) {
    match line.strip_suffix(b"\r") {
        Some(line) => (line, true),
        None => (line, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Eq, Clone)]
    enum Owned {
        Whole(Vec<u8>),
        Long(Vec<u8>, Vec<u8>, u64),
    }

    fn split(chunks: &[&[u8]]) -> Vec<Owned> {
        let mut lines = Lines::default();
        let mut got = Vec::new();
        let mut each = |line: Line<'_>| {
            got.push(match line {
                Line::Whole(bytes) => Owned::Whole(bytes.to_vec()),
                Line::Long { head, tail, len } => Owned::Long(head.to_vec(), tail.to_vec(), len),
            });
        };
        for chunk in chunks {
            lines.push(chunk, &mut each);
        }
        lines.finish(&mut each);
        got
    }

    fn whole(text: &str) -> Owned {
        Owned::Whole(text.as_bytes().to_vec())
    }

    #[test]
    fn cuts_at_line_ends_of_both_kinds() {
        assert_eq!(split(&[b"a\r\nb\n\nc"]), [whole("a"), whole("b"), whole(""), whole("c")]);
        assert_eq!(
            split(&[b"a\r", b"\nb", b"\n", b"\n", b"c"]),
            [whole("a"), whole("b"), whole(""), whole("c")]
        );
        assert_eq!(split(&[b""]), []);
    }

    #[test]
    fn a_line_of_exactly_the_limit_is_whole_and_one_more_is_long() {
        for end in ["\n", "\r\n", ""] {
            for over in 0..2usize {
                let mut input = vec![b'x'; LINE_MAX + over];
                input.extend_from_slice(end.as_bytes());
                let one = split(&[&input]);
                assert_eq!(matches!(one[0], Owned::Long(..)), over == 1, "{end:?} {over}");
                for at in [1, LONG_KEPT, LINE_MAX - 1, LINE_MAX, LINE_MAX + over] {
                    let (a, b) = input.split_at(at);
                    assert!(split(&[a, b]) == one, "split at {at} with {end:?}");
                }
            }
        }
    }

    #[test]
    fn a_huge_line_keeps_only_its_ends() {
        let mut lines = Lines::default();
        let mut got = Vec::new();
        let block = vec![b'x'; 100_000];
        lines.push(b"HEAD", |_| unreachable!());
        for _ in 0..1000 {
            lines.push(&block, |_| unreachable!());
            assert!(lines.pending.capacity() <= 2 * (LINE_MAX + 1));
        }
        assert!(lines.pending.capacity() <= LONG_KEPT);
        lines.push(b"TAIL\nnext\n", |line| {
            got.push(match line {
                Line::Whole(bytes) => (bytes.to_vec(), Vec::new(), 0),
                Line::Long { head, tail, len } => (head.to_vec(), tail.to_vec(), len),
            });
        });
        assert_eq!(got.len(), 2);
        assert!(got[0].0.starts_with(b"HEADx") && got[0].0.len() == LONG_KEPT);
        assert!(got[0].1.ends_with(b"xTAIL") && got[0].1.len() == LONG_KEPT);
        assert_eq!(got[0].2, 100_000_008);
        assert_eq!(got[1].0, b"next");
    }
}
