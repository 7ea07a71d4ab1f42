//! Where a line stands: in the agent's own words, or in something that it shows. Markdown, HTML and escape sequences, line by
//! line, with one state for each thing that may go on over lines.
//!
//! What may turn out to be shown only when a later line closes it (a code span, a tag in a sentence) is open until then.

use super::escapes::{self, Escapes, trim};
use super::fence::Glance;
use super::html::{self, Opened};

/// A code span or an item of a list does not go on for more lines with something on them.
const MOST_LINES: usize = 20;
/// What a patch begins with.
const PATCHES: [&str; 5] = ["@@ ", "diff --git ", "--- a/", "+++ b/", "*** Begin Patch"];

#[derive(Debug, Clone, Default)]
pub(super) struct Scene {
    begun: bool,
    escapes: Escapes,
    fence: Option<Fence>,
    /// What shows all up to a line that has this in it.
    block: Option<String>,
    /// What opened on the line of an item ends with the item: with a line that is indented less than this.
    of_item: Option<usize>,
    /// What may show the lines since, if it is closed.
    open: Option<Open>,
    /// Where the texts of the items of a list begin that this line may belong to.
    items: Vec<usize>,
    item_age: usize,
    /// The last line was quoted: without a blank line, the next one is as well.
    quotes: bool,
    /// In a patch, up to a blank line.
    patch: bool,
    /// The last line was not blank.
    follows: bool,
}

#[derive(Debug, Clone, Copy)]
struct Fence {
    mark: char,
    count: usize,
    indent: usize,
}

#[derive(Debug, Clone)]
struct Open {
    until: Opened,
    lines: usize,
}

/// What is seen of a line.
#[derive(Debug, Clone, Default)]
pub(super) struct SeenLine {
    /// All of it, without escape sequences, trimmed.
    pub text: String,
    /// Without the marks of a list item, of code and of stress around it.
    pub core: String,
    /// It is shown, not said.
    pub covered: bool,
    /// It may be found to be shown, by a line that comes.
    pub pending: bool,
    /// What was pending until now is shown (`true`), or is not.
    pub resolved: Option<bool>,
    /// It stands in the middle of a paragraph.
    pub follows: bool,
    /// Marks around it were taken off, and it is no item of a list.
    pub dressed: bool,
}

impl Scene {
    /// Whether lines in which nothing opens or closes may be passed over.
    pub(super) fn is_plain(&self) -> bool {
        let held = self.open.as_ref().is_some_and(|open| !open.until.ends_with_paragraph());
        self.fence.is_none() && self.block.is_none() && !held && !self.patch && !self.escapes.is_open()
    }

    /// Whether lines that hold no more than this leave it as it is, but for the items of a list.
    pub(super) fn outlasts(&self, seen: Glance) -> bool {
        let pends = self.open.is_some() || self.quotes || self.patch || self.escapes.is_open();
        if pends || self.block.is_some() || seen.fences || seen.escapes {
            return false;
        }
        match self.fence {
            // It ends with its item, by any line.
            Some(_) => self.of_item.is_none(),
            None => !seen.shows && !seen.marks,
        }
    }

    /// Takes the next line. `cut`: it went on behind what is given.
    pub(super) fn line(&mut self, raw: &str, cut: bool) -> SeenLine {
        let raw = if self.begun { raw } else { raw.trim_start_matches('\u{feff}') };
        self.begun = true;
        if raw.contains(char::REPLACEMENT_CHARACTER) {
            return self.noise(raw);
        }
        let plain = self.escapes.strip(raw);
        let text = plain.text.replace(escapes::MARK, "").trim().to_owned();
        let mut seen =
            SeenLine { covered: cut || plain.disturbed, follows: self.follows, ..SeenLine::default() };
        self.follows = !text.is_empty();
        if text.is_empty() {
            self.blank(&mut seen);
        } else {
            self.place(&plain.text, &text, &mut seen);
        }
        if seen.core.is_empty() {
            seen.core.clone_from(&text);
        }
        seen.text = text;
        seen
    }

    /// What is no text opens nothing: in enough bytes anything occurs.
    fn noise(&mut self, raw: &str) -> SeenLine {
        self.escapes = Escapes::default();
        let text = raw.trim().to_owned();
        let follows = std::mem::replace(&mut self.follows, true);
        SeenLine { core: text.clone(), text, covered: true, follows, ..SeenLine::default() }
    }

    fn blank(&mut self, seen: &mut SeenLine) {
        seen.covered |= self.fence.is_some() || self.block.is_some();
        if self.open.as_ref().is_some_and(|open| open.until.ends_with_paragraph()) {
            self.open = None;
            seen.resolved = Some(false);
        }
        (self.quotes, self.patch) = (false, false);
    }

    fn place(&mut self, marked: &str, text: &str, seen: &mut SeenLine) {
        let (indent, mut rest) = indentation(marked);
        if self.of_item.is_some_and(|offset| indent < offset) {
            (self.block, self.fence, self.of_item) = (None, None, None);
        }
        if let Some(end) = &self.block {
            seen.covered = true;
            if text.to_ascii_lowercase().contains(end.as_str()) {
                self.block = None;
            }
            return;
        }
        if let Some(fence) = self.fence {
            seen.covered = true;
            if fence.is_closed_by(indent, rest) {
                self.fence = None;
            }
            return;
        }
        self.age_items(indent);
        let base = self.items.last().copied().unwrap_or(0);
        let mut column = indent;
        let mut listed = false;
        // An indented block of code, whatever stands in it; but a fence is one at any depth.
        let is_code = indent >= base + 4 && !opens_fence(rest);
        while let Some((width, after)) = list_item(rest).filter(|_| !is_code) {
            let (spaces, inner) = indentation(after);
            listed = true;
            if spaces >= 5 {
                self.items.push(column + width + 1);
                seen.covered = true;
            } else {
                self.items.push(column + width + spaces);
            }
            (column, rest, self.item_age) = (column + width + spaces, inner, 0);
        }
        self.of_item = self.items.last().copied().filter(|_| listed);
        self.surroundings(trim(marked), rest, listed, seen);
        seen.covered |= is_code;
        if let Some(fence) = Fence::at(column, rest) {
            self.fence = Some(fence);
            seen.covered = true;
            return;
        }
        if !seen.covered {
            self.inline(rest, seen);
        }
        let (core, dressed) = undressed(rest, listed);
        (seen.core, seen.dressed) = (core.to_owned(), dressed && !listed);
    }

    /// Quotations and patches.
    fn surroundings(&mut self, text: &str, rest: &str, listed: bool, seen: &mut SeenLine) {
        if trim(rest).starts_with('>') {
            self.quotes = true;
        } else if listed {
            self.quotes = false;
        }
        self.patch |= PATCHES.iter().any(|start| text.starts_with(start));
        seen.covered |= self.quotes || self.patch;
    }

    /// Items that this line can not belong to have ended.
    fn age_items(&mut self, indent: usize) {
        self.item_age += 1;
        if self.item_age > MOST_LINES {
            self.items.clear();
        }
        self.items.retain(|offset| *offset <= indent);
    }

    /// What opens or closes in the line.
    fn inline(&mut self, rest: &str, seen: &mut SeenLine) {
        if let Some(open) = &mut self.open {
            open.lines += 1;
            if open.until.is_closed_by(rest) {
                self.open = None;
                (seen.covered, seen.resolved) = (true, Some(true));
                return;
            }
            if open.lines <= MOST_LINES || !open.until.ends_with_paragraph() {
                seen.pending = true;
                return;
            }
            self.open = None;
            seen.resolved = Some(false);
        }
        match html::opened(trim(rest)) {
            Some((until, true)) => {
                self.block = until.end();
                seen.covered |= self.block.is_some();
            }
            Some((until, false)) => self.open = Some(Open { until, lines: 0 }),
            None => {}
        }
    }
}

/// Whether these bytes hold what begins a quotation or a patch.
pub(super) fn may_mark(bytes: &[u8]) -> bool {
    let before = |at: usize| bytes[..at].iter().rfind(|b| !b.is_ascii_digit() && !b" \t\r-*+.)".contains(b));
    // Behind an escape sequence or a blank of another kind a line may begin as well.
    let quotes = |at: usize| before(at).is_none_or(|b| *b == b'\n' || !b.is_ascii() || b.is_ascii_control());
    let mut coloured = None;
    let mut is_coloured = || *coloured.get_or_insert_with(|| memchr::memchr2(0x1b, 0xc2, bytes).is_some());
    memchr::memchr_iter(b'>', bytes).any(|at| is_coloured() || quotes(at))
        || PATCHES.iter().any(|start| memchr::memmem::find(bytes, start.as_bytes()).is_some())
}

/// Whether a line is plain text that belongs to no item of a list.
pub(super) fn is_at_margin(line: &[u8]) -> bool {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let begins =
        line.first().is_some_and(u8::is_ascii_graphic) && line.iter().all(|b| matches!(b, b' '..=b'~'));
    begins && std::str::from_utf8(line).is_ok_and(|line| list_item(line).is_none())
}

impl Fence {
    fn at(indent: usize, rest: &str) -> Option<Self> {
        let rest = rest.trim_start_matches(escapes::MARK);
        let mark = rest.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let count = rest.chars().take_while(|c| *c == mark).count();
        let info = &rest[count..];
        (count >= 3 && !(mark == '`' && info.contains('`'))).then_some(Self { mark, count, indent })
    }

    fn is_closed_by(self, indent: usize, rest: &str) -> bool {
        let rest = trim(rest);
        let count = rest.chars().take_while(|c| *c == self.mark).count();
        indent <= self.indent + 3 && count >= self.count && rest.len() == count
    }
}

fn opens_fence(rest: &str) -> bool {
    Fence::at(0, rest).is_some()
}

/// How far a line is indented, and what follows. A tab goes to the next fourth column.
fn indentation(text: &str) -> (usize, &str) {
    let mut column = 0;
    for (at, c) in text.char_indices() {
        match c {
            '\t' => column = (column / 4 + 1) * 4,
            '\r' | escapes::MARK => {}
            c if c.is_whitespace() => column += 1,
            _ => return (column, &text[at..]),
        }
    }
    (column, "")
}

/// `- `, `1. ` or `1) `: its width, and what follows it.
fn list_item(rest: &str) -> Option<(usize, &str)> {
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let width = match (digits, rest.as_bytes().get(digits)) {
        (0, Some(b'-' | b'*' | b'+')) => 1,
        (1..=9, Some(b'.' | b')')) => digits + 1,
        _ => return None,
    };
    let after = &rest[width..];
    let visible = after.trim_start_matches(escapes::MARK);
    (visible.starts_with([' ', '\t']) && !trim(after).is_empty()).then_some((width, after))
}

/// Without a ticked box, and the marks of code and stress around all of it.
fn undressed(rest: &str, listed: bool) -> (&str, bool) {
    let mut text = trim(rest);
    if listed {
        let done = ["[x] ", "[X] "].iter().find_map(|done| text.strip_prefix(done));
        text = done.map_or(text, trim);
    }
    let whole = text;
    for _ in 0..4 {
        let inner = ["**", "__", "*", "_"].iter().find_map(|mark| between(text, mark)).or_else(|| code(text));
        match inner {
            Some(inner) => text = trim(inner),
            None => break,
        }
    }
    (text, text.len() < whole.len())
}

fn between<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    let inner = text.strip_prefix(mark)?.strip_suffix(mark)?;
    (!inner.contains(mark) && !trim(inner).is_empty()).then_some(inner)
}

/// `` `text` ``
fn code(text: &str) -> Option<&str> {
    let ticks = text.bytes().take_while(|b| *b == b'`').count();
    let mark = text.get(..ticks).filter(|mark| !mark.is_empty())?;
    between(text, mark).filter(|inner| !inner.starts_with('`') && !inner.ends_with('`'))
}
