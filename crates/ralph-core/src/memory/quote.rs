//! Words that are not ralph's own, shown so that they are nothing but words.
//!
//! Every quoted line begins with `> `, or stands behind ralph's own words on one line. So no marker is alone on a line, no
//! heading and no code fence begins, and nothing that follows is swallowed.

use std::borrow::Cow;

use crate::marker::without_escapes;

const MARK: &str = "> ";

/// The beginning of a text, at most so many characters.
pub(super) fn cut_start(text: &str, chars: usize) -> Cow<'_, str> {
    match text.char_indices().nth(chars) {
        None => Cow::Borrowed(text),
        Some((at, _)) => Cow::Owned(format!("{}…", &text[..at])),
    }
}

/// The end of a text, at most so many characters.
pub(super) fn cut_end(text: &str, chars: usize) -> Cow<'_, str> {
    let Some(before) = text.chars().count().checked_sub(chars).filter(|before| *before > 0) else {
        return Cow::Borrowed(text);
    };
    let at = text.char_indices().nth(before).map_or(text.len(), |(at, _)| at);
    Cow::Owned(format!("…{}", &text[at..]))
}

/// On one line, for behind ralph's own words.
pub(super) fn inline(text: &str, chars: usize) -> String {
    let clean = without_escapes(text);
    let mut out = String::new();
    for c in clean.chars().filter(|c| is_shown(*c)) {
        match c.is_whitespace() || c.is_control() {
            true if out.is_empty() || out.ends_with(' ') => {}
            true => out.push(' '),
            false => out.push(c),
        }
    }
    cut_start(out.trim_end(), chars).into_owned()
}

/// As a quotation of several lines, each ended by a newline, in at most so many bytes: of a longer text the end.
pub(super) fn block_end(text: &str, bytes: usize) -> String {
    let lines = lines(text);
    let mut kept: Vec<Cow<'_, str>> = Vec::new();
    let mut room = bytes;
    for line in lines.iter().rev() {
        let size = MARK.len() + line.len() + 1;
        if size <= room {
            room -= size;
            kept.push(Cow::Borrowed(line));
            continue;
        }
        // The end of this line, if something of it fits.
        let least = MARK.len() + '…'.len_utf8() + 1;
        if room > least + 16 {
            let from = line.len() - (room - least);
            let at = (from..=line.len()).find(|at| line.is_char_boundary(*at)).unwrap_or(line.len());
            kept.push(Cow::Owned(format!("…{}", &line[at..])));
        }
        break;
    }
    joined(kept.iter().rev())
}

/// The same, but of a longer text the beginning.
pub(super) fn block_start(text: &str, bytes: usize) -> String {
    let lines = lines(text);
    let mut kept: Vec<Cow<'_, str>> = Vec::new();
    let mut room = bytes;
    for line in &lines {
        let size = MARK.len() + line.len() + 1;
        if size <= room {
            room -= size;
            kept.push(Cow::Borrowed(line));
            continue;
        }
        let least = MARK.len() + '…'.len_utf8() + 1;
        if room >= least {
            let most = room - least;
            let at = (0..=most.min(line.len())).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0);
            kept.push(Cow::Owned(format!("{}…", &line[..at])));
        }
        break;
    }
    joined(kept.iter())
}

fn joined<'a>(lines: impl Iterator<Item = &'a Cow<'a, str>>) -> String {
    let mut out = String::new();
    for line in lines {
        out.push_str(MARK);
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// The lines of a text: without colours and control characters, and never two blank ones in a row.
fn lines(text: &str) -> Vec<String> {
    let clean = without_escapes(text);
    let breaks = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];
    let mut lines: Vec<String> = Vec::new();
    for line in clean.split(breaks) {
        let shown: String =
            line.chars().filter(|c| is_shown(*c) && (*c == '\t' || !c.is_control())).collect();
        let shown = shown.trim_end().to_owned();
        let blank_before = lines.last().is_none_or(String::is_empty);
        if !(shown.is_empty() && blank_before) {
            lines.push(shown);
        }
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

/// Characters that turn the direction of others could make a line look like another.
fn is_shown(c: char) -> bool {
    !matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}
