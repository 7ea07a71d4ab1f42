//! The end of what a program printed, kept while it prints. Flat memory.

use ralph_core::marker::without_escapes;
use ralph_model::text::clean;

/// The log has the rest.
const KEPT: usize = 4096;
/// Characters of a last line.
const LINE_MAX: usize = 240;

#[derive(Debug)]
pub(crate) struct OutputTail {
    /// At most twice as many as are told: so each byte is moved once on average.
    bytes: Vec<u8>,
    cut: bool,
    kept: usize,
}

impl Default for OutputTail {
    fn default() -> Self {
        Self::keeping(KEPT)
    }
}

impl OutputTail {
    /// Keeps so many bytes.
    pub(crate) fn keeping(kept: usize) -> Self {
        Self { bytes: Vec::new(), cut: false, kept }
    }

    /// The same for another output.
    pub(crate) fn emptied(&self) -> Self {
        Self::keeping(self.kept)
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let kept = self.kept;
        self.cut |= self.bytes.len() + bytes.len() > kept;
        self.bytes.extend_from_slice(&bytes[bytes.len().saturating_sub(kept)..]);
        if self.bytes.len() > 2 * kept {
            self.bytes.drain(..self.bytes.len() - kept);
        }
    }

    /// Whole lines where there are several, without escapes.
    pub(crate) fn text(&self) -> String {
        let end = &self.bytes[self.bytes.len().saturating_sub(self.kept)..];
        let whole = match end.iter().position(|byte| *byte == b'\n') {
            Some(at) if self.cut => &end[at + 1..],
            _ => end,
        };
        let text = String::from_utf8_lossy(whole);
        let lines: Vec<_> = text.lines().map(without_escapes).collect();
        lines.join("\n").trim_end().to_owned()
    }

    /// The newest line that says something, fit to stand in a line of ralph's own.
    pub(crate) fn last_line(&self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.bytes);
        // A carriage return ends a line too: of a progress bar the newest state counts.
        let line = text.rsplit(['\n', '\r']).map(clean).find(|line| !line.is_empty())?;
        Some(match line.char_indices().nth(LINE_MAX) {
            Some((at, _)) => format!("{}…", &line[..at]),
            None => line,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_output_the_last_whole_lines_are_told() {
        let mut end = OutputTail::default();
        for n in 0..10_000 {
            end.push(format!("line {n}\n").as_bytes());
        }
        assert!(end.bytes.len() <= 2 * KEPT);
        let text = end.text();
        assert!(text.ends_with("line 9998\nline 9999") && text.len() <= KEPT, "{text}");
        assert!(text.starts_with("line "), "{text}");
    }

    #[test]
    fn as_much_is_kept_as_was_asked_for() {
        let mut end = OutputTail::keeping(10_000);
        (0..10_000).for_each(|n| end.push(format!("line {n}\n").as_bytes()));
        let length = end.text().len();
        assert!(length > 2 * KEPT && length <= 10_000, "{length}");
        assert_eq!(end.emptied().text(), "");
    }

    #[test]
    fn a_short_output_is_told_whole_and_without_escapes() {
        let mut end = OutputTail::default();
        end.push(b"\x1b[31mfailed\x1b[0m\nat \xff line 3\n");
        assert_eq!(end.text(), "failed\nat \u{fffd} line 3");
    }

    #[test]
    fn the_last_line_is_clean_and_short() {
        let last = |chunks: &[&[u8]]| {
            let mut end = OutputTail::default();
            chunks.iter().for_each(|chunk| end.push(chunk));
            end.last_line()
        };
        assert_eq!(last(&[]), None);
        assert_eq!(last(&[b" \n\x1b[0m\n"]), None);
        assert_eq!(last(&[b"first\nbo", b"om\xff\x1b[31m!\n\n"]).as_deref(), Some("boom\u{fffd}!"));
        assert_eq!(last(&[b"10%\r20%\r"]).as_deref(), Some("20%"));
        let long = last(&[&[b'x'; 100_000]]).unwrap_or_default();
        assert_eq!(long.chars().count(), LINE_MAX + 1);
    }
}
