//! `RALPH.md`: settings between `---` lines at the very start, the prompt below.

mod comments;
mod placeholders;

use std::ops::Range;

pub use comments::without_comments;
pub use placeholders::{
    Placeholder, Values, args_of, command_words, placeholders, placeholders_of_body, resolve,
};

/// Asks for a trailer in commits, where a RALPH.md does not say `credit: false`.
pub const CREDIT: &str = "When you commit, end the commit message with this trailer, on a line of its own:\n\
    Co-authored-by: ralph <noreply@ralph.invalid>";

/// A file in its two parts, as ranges of its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// What stands between the two `---` lines, if there are two.
    pub frontmatter: Option<Range<usize>>,
    pub body: Range<usize>,
}

/// Only the first line can open the frontmatter; later `---` lines belong to the body.
pub fn split(text: &str) -> Parts {
    let mut at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let whole = Parts { frontmatter: None, body: at..text.len() };
    let mut start = None;
    for line in text[at..].split_inclusive('\n') {
        let end = at + line.len();
        if line.trim_end() == "---" {
            match start {
                None => start = Some(end),
                Some(start) => return Parts { frontmatter: Some(start..at), body: end..text.len() },
            }
        }
        if start.is_none() {
            break;
        }
        at = end;
    }
    whole
}

/// The prompt of a RALPH.md: without comments, trimmed at both ends, with `\n` as its only line end.
pub fn body(text: &str) -> String {
    without_comments(&text[split(text).body].replace("\r\n", "\n")).trim().to_owned()
}

/// What a command or an argument may be called.
pub fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_is_what_stands_below_the_frontmatter_trimmed() {
        assert_eq!(body("---\nagent: x\n---\n\nHello   \n\n"), "Hello");
        assert_eq!(body("\u{feff}---\r\nagent: x\r\n---\r\na\r\nb\r\n"), "a\nb");
        assert_eq!(body("---\na: 1\n---\none\n---\ntwo"), "one\n---\ntwo");
    }

    #[test]
    fn without_two_lines_at_the_start_there_is_no_frontmatter() {
        for text in ["\n---\na: 1\n---\nx", "---\na: 1\n", "x\n---\n---\n", ""] {
            assert_eq!(split(text).frontmatter, None, "{text:?}");
            assert_eq!(body(text), text.trim());
        }
        assert_eq!(split("---\n---\nx").frontmatter, Some(4..4));
    }
}
