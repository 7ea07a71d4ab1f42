//! What of HTML, of code spans and of here-documents opens in a line and shows what follows.

/// Elements whose text is shown as it stands, or is not the writer's own word.
#[rustfmt::skip]
const SHOWING: &[&str] = &[
    "pre", "code", "samp", "kbd", "tt", "xmp", "listing", "plaintext", "script", "style", "textarea", "template",
    "blockquote", "q", "cite", "s", "del", "strike", "noscript", "iframe", "svg", "math", "title", "option", "var",
    "example", "examples", "quote", "output", "file", "document", "source", "prompt", "instructions", "tool_result",
    "function_results", "system", "user", "log", "stdout", "stderr", "diff", "snippet", "task", "thinking",
];
/// Those that a browser keeps open over paragraphs, wherever they begin.
const BLOCKS: &[&str] =
    &["pre", "xmp", "listing", "plaintext", "script", "style", "textarea", "template", "blockquote"];

/// What was opened, and how it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Opened {
    /// A code span of so many backticks.
    Code(usize),
    /// All up to this text, in small letters. `true`: a paragraph ends it as well.
    Until(String, bool),
    /// A line of nothing but this word.
    Document(String),
}

impl Opened {
    pub(super) fn ends_with_paragraph(&self) -> bool {
        matches!(self, Opened::Code(_) | Opened::Until(_, true))
    }

    pub(super) fn is_closed_by(&self, line: &str) -> bool {
        match self {
            Opened::Code(count) => runs(line).any(|(_, length)| length == *count),
            Opened::Until(end, _) => line.to_ascii_lowercase().contains(end.as_str()),
            Opened::Document(word) => line.trim() == word,
        }
    }

    pub(super) fn end(self) -> Option<String> {
        match self {
            Opened::Until(end, _) => Some(end),
            Opened::Code(_) | Opened::Document(_) => None,
        }
    }
}

/// Whether these bytes hold what may open or close something that goes on over paragraphs.
pub(super) fn may_open(bytes: &[u8]) -> bool {
    memchr::memchr_iter(b'<', bytes).any(|at| {
        let rest = &bytes[at + 1..bytes.len().min(at + 20)];
        match rest.first() {
            Some(b'!' | b'?' | b'<') => true,
            Some(b) if b.is_ascii_alphabetic() => is_showing(&name(rest)),
            _ => false,
        }
    })
}

fn name(bytes: &[u8]) -> String {
    let name = bytes.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_');
    name.map(|b| char::from(b.to_ascii_lowercase())).collect()
}

fn is_showing(name: &str) -> bool {
    SHOWING.contains(&name)
}

/// Runs of backticks: where, and how long.
fn runs(line: &str) -> impl Iterator<Item = (usize, usize)> {
    let bytes = line.as_bytes();
    let starts = (0..bytes.len()).filter(move |at| bytes[*at] == b'`' && (*at == 0 || bytes[at - 1] != b'`'));
    starts.map(move |at| (at, bytes[at..].iter().take_while(|b| **b == b'`').count()))
}

/// What a line opens and does not close. `true`: from here on all is shown, whether it is closed or not.
pub(super) fn opened(line: &str) -> Option<(Opened, bool)> {
    let lower = line.to_ascii_lowercase();
    let mut at = 0;
    // Only tags stand before.
    let mut first = true;
    let mut open = None;
    while let Some(found) = lower[at..].find(['`', '<']).map(|found| at + found) {
        first &= lower[at..found].trim().is_empty();
        let rest = &lower[found..];
        if rest.starts_with('`') {
            first = false;
            let count = rest.bytes().take_while(|b| *b == b'`').count();
            match runs(rest).skip(1).find(|(_, length)| *length == count) {
                Some((end, length)) => at = found + end + length,
                None => {
                    open = open.or(Some((Opened::Code(count), false)));
                    at = found + count;
                }
            }
            continue;
        }
        match tag(rest, &line[found..], first) {
            Tag::Closed(length) => at = found + length,
            Tag::Open(opened, true) => return Some((opened, true)),
            Tag::Open(opened, false) => {
                open = open.or(Some((opened, false)));
                at = found + 1;
            }
            Tag::None(length) => at = found + length,
        }
    }
    open
}

enum Tag {
    /// What it opened ends so many bytes on.
    Closed(usize),
    Open(Opened, bool),
    None(usize),
}

/// What begins with this `<`. `first`: nothing but tags stands before it.
fn tag(rest: &str, written: &str, first: bool) -> Tag {
    let until = |end: &str, certain: bool| match rest.find(end) {
        Some(at) => Tag::Closed(at + end.len()),
        None => Tag::Open(Opened::Until(end.to_owned(), !certain), certain),
    };
    if rest.starts_with("<!--") {
        return until("-->", first);
    }
    if rest.starts_with("<![cdata[") {
        return until("]]>", true);
    }
    if rest.starts_with("<?") {
        return until("?>", first);
    }
    if let Some(word) = here_document(written) {
        return Tag::Open(Opened::Document(word), false);
    }
    let name = name(&rest.as_bytes()[1..]);
    let ends = rest.as_bytes().get(1 + name.len());
    if !is_showing(&name) || !ends.is_none_or(|b| matches!(b, b'>' | b'/') || b.is_ascii_whitespace()) {
        return Tag::None(1);
    }
    let end = format!("</{name}");
    match rest.find(&end) {
        Some(at) => Tag::Closed(at + end.len()),
        None if first => Tag::Open(Opened::Until(end, false), true),
        None => {
            let goes_on = BLOCKS.contains(&name.as_str());
            Tag::Open(Opened::Until(end, !goes_on), false)
        }
    }
}

/// `<<'EOF'`, `<<-EOF`
fn here_document(rest: &str) -> Option<String> {
    let rest = rest.strip_prefix("<<")?;
    let rest = rest.strip_prefix('-').unwrap_or(rest);
    let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'));
    let rest = rest.trim_start_matches(['\'', '"', '\\']);
    let word: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    let named = quote.is_some() || word.len() >= 2 && !word.chars().any(|c| c.is_ascii_lowercase());
    (named && !word.is_empty() && word.starts_with(|c: char| !c.is_ascii_digit())).then_some(word)
}
