//! Reads a `RALPH.md`, and files in general, as text.

use std::ops::Range;
use std::path::Path;

use ralph_core::ralph_md::{body, split};

use super::diagnostic::{ConfigError, Diagnostic};
use super::source::{Layer, SourceMap, Span};

/// A file in its two parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RalphMd {
    /// The whole text, without byte order mark; `frontmatter` is a range of it.
    pub text: String,
    /// The YAML between the two `---` lines, if there are two.
    pub frontmatter: Option<Range<usize>>,
    /// The prompt: trimmed at both ends, with `\n` as its only line end.
    pub body: String,
}

/// Splits a file, for its settings. The body is read again before every iteration, with [`ralph_core::ralph_md`].
pub fn parse_ralph_md(bytes: &[u8], path: &Path) -> Result<RalphMd, ConfigError> {
    let text = decode(bytes, &path.display().to_string())?;
    let frontmatter = split(&text).frontmatter;
    let body = body(&text);
    Ok(RalphMd { text, frontmatter, body })
}

/// Bytes as text without byte order mark. The error names line and column of the first byte that is not UTF-8.
pub fn decode(bytes: &[u8], name: &str) -> Result<String, ConfigError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(error) => {
            let mut map = SourceMap::default();
            let start = error.valid_up_to();
            let source = map.add(Layer::File, name, String::from_utf8_lossy(bytes));
            let span = Span { source, start, end: start + char::REPLACEMENT_CHARACTER.len_utf8() };
            let found = Diagnostic::new("this file is not valid UTF-8").at(map.place(span));
            Err(found.help("save it as UTF-8").into())
        }
    }
}
