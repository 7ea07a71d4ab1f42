//! Text that has to fit: cut to a width, wrapped, quoted.

use ralph_model::marker::without_escapes;
use ralph_model::text::clean;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Lines are written for this many columns where nothing else is known.
pub(crate) const COLUMNS: usize = 80;

/// The columns a text may take. Terminals differ in how they join emoji: the widest reading counts.
pub(crate) fn columns_of(text: &str) -> usize {
    text.chars().map(char_columns).sum::<usize>().max(text.width())
}

fn char_columns(c: char) -> usize {
    // The selector that asks for the colourful form of a character may make it wide.
    if c == '\u{fe0f}' { 1 } else { c.width().unwrap_or(0) }
}

/// Cuts to a number of columns; a cut text ends with `…`. The text holds no escapes.
pub(crate) fn fit(text: &str, columns: usize) -> String {
    // Zero-width characters can pile up without taking room: bounded as well.
    let most_chars = columns.saturating_mul(4);
    if columns_of(text) <= columns && text.chars().nth(most_chars).is_none() {
        return text.to_owned();
    }
    if columns == 0 {
        return String::new();
    }
    let mut end = 0;
    for (at, c) in text.char_indices().take(most_chars) {
        let next = at + c.len_utf8();
        // The whole prefix is measured: an emoji can be wider than the sum of its characters.
        if columns_of(&text[..next]) > columns - 1 {
            break;
        }
        end = next;
    }
    format!("{}…", text[..end].trim_end())
}

/// The same, but the beginning is cut: of a text that is being typed the end matters.
pub(crate) fn fit_end(text: &str, columns: usize) -> String {
    if columns_of(text) <= columns {
        return text.to_owned();
    }
    let starts = text.char_indices().map(|(at, _)| at).rev();
    let fits = starts.take_while(|at| columns_of(&text[*at..]) < columns);
    fits.last().map_or_else(String::new, |at| format!("…{}", &text[at..]))
}

/// Breaks between words so that each line has at most `columns`; a word that is longer is broken anywhere.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    // Counted along: measuring the line for every character would be quadratic.
    let mut used = 0;
    for word in text.split_whitespace() {
        if !line.is_empty() && used + 1 + columns_of(word) > columns {
            lines.push(std::mem::take(&mut line));
            used = 0;
        }
        if !line.is_empty() {
            line.push(' ');
            used += 1;
        }
        for c in word.chars() {
            let wide = char_columns(c);
            if used + wide > columns && !line.is_empty() {
                lines.push(std::mem::take(&mut line));
                used = 0;
            }
            line.push(c);
            used += wide;
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// The lines of a text, broken between words where they are wider than a terminal. What follows stands below the column
/// that the line's text begins in. A word that is longer than a line is left whole, so that it can be copied.
pub fn fold(text: &str, columns: usize) -> String {
    let lines: Vec<String> = text.split('\n').map(|line| fold_line(line, columns)).collect();
    lines.join("\n")
}

fn fold_line(line: &str, columns: usize) -> String {
    if shown_columns(line) <= columns {
        return line.to_owned();
    }
    let hang = hang(line, columns);
    let mut out = String::new();
    // Spaces stand before the word they are kept with, and go where the line is broken.
    let (mut used, mut spaces) = (0, 0);
    for (at, word) in line.split(' ').enumerate() {
        spaces += usize::from(at > 0);
        if word.is_empty() {
            continue;
        }
        let wide = shown_columns(word);
        if used + spaces + wide > columns && used > hang {
            out.push_str(&format!("\n{:hang$}", ""));
            (used, spaces) = (hang, 0);
        }
        out.push_str(&format!("{:spaces$}{word}", ""));
        (used, spaces) = (used + spaces + wide, 0);
    }
    out
}

/// The column that the text of a line begins in: behind its labels, which have two spaces behind them.
fn hang(line: &str, columns: usize) -> usize {
    let (mut at, mut spaces, mut found) = (0, 0, None);
    for word in line.split(' ') {
        match word.is_empty() {
            true => spaces += 1,
            false => {
                if spaces > 1 && at <= columns / 2 {
                    found = Some(at);
                }
                spaces = 1;
            }
        }
        at += shown_columns(word) + 1;
    }
    found.unwrap_or(2).min(columns / 2)
}

/// The columns of a text with colours in it.
fn shown_columns(text: &str) -> usize {
    columns_of(&without_escapes(text))
}

/// Items with commas between, broken between items only.
pub(crate) fn wrap_list(items: &[String], columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let comma = if at + 1 < items.len() { "," } else { "" };
        match lines.last_mut() {
            Some(line) if line.width() + item.width() + 2 <= columns => {
                line.push_str(&format!(" {item}{comma}"))
            }
            _ => lines.push(format!("{item}{comma}")),
        }
    }
    lines
}

/// The lines of a text from outside, clean and wrapped, at most `most` of them; then how many are left out.
pub(crate) fn paragraph(text: &str, columns: usize, most: usize) -> Vec<String> {
    // A bound on the work as well, not only on what is shown.
    let bounded: String = text.chars().take(most.saturating_mul(columns).saturating_mul(4)).collect();
    let mut lines: Vec<String> = bounded.lines().map(clean).flat_map(|line| wrap(&line, columns)).collect();
    if lines.len() > most || bounded.len() < text.len() {
        lines.truncate(most);
        lines.push("…".to_owned());
    }
    lines
}

/// A command as it could be typed, cut to a number of columns.
pub(crate) fn command(program: &str, args: &[String], columns: usize) -> String {
    let mut out = quote(program);
    if out.width() > columns / 2
        && let Some((_, name)) = program.rsplit_once('/')
    {
        // The flags tell more than the folder.
        out = format!("…/{}", quote(name));
    }
    for arg in args {
        if out.width() > columns {
            break;
        }
        out.push(' ');
        out.push_str(&quote(arg));
    }
    fit(&out, columns)
}

fn quote(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=,@%+".contains(c);
    let word = clean(word);
    if !word.is_empty() && word.chars().all(plain) {
        word
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_text_never_takes_more_columns() {
        assert_eq!(fit("abc", 3), "abc");
        assert_eq!(fit("abcd", 3), "ab…");
        assert_eq!(fit("abcd", 1), "…");
        assert_eq!(fit("abcd", 0), "");
        // Two columns each: the second does not fit beside the ellipsis.
        assert_eq!(fit("日本語", 4), "日…");
        assert_eq!(fit("日本語", 6), "日本語");
        let heart = "❤️❤️❤️❤️";
        let zalgo = format!("a{}", "\u{301}".repeat(5000));
        for columns in 0..12 {
            assert!(columns_of(&fit(heart, columns)) <= columns, "{columns}");
            assert!(columns_of(&fit("👩‍👩‍👧‍👦 family 👍🏽", columns)) <= columns, "{columns}");
            assert!(fit(&zalgo, columns).chars().count() <= columns * 4 + 1);
        }
    }

    #[test]
    fn wrapped_lines_fit_and_lose_nothing() {
        let text = "one two threeandahalf 日本語日本語 x";
        for columns in 2..20 {
            let lines = wrap(text, columns);
            assert!(lines.iter().all(|line| line.width() <= columns), "{columns}: {lines:?}");
            let joined: String = lines.concat().split_whitespace().collect();
            assert_eq!(joined, text.split_whitespace().collect::<String>());
        }
        assert_eq!(wrap("a bc d", 4), ["a bc", "d"]);
        assert_eq!(wrap("", 4), Vec::<String>::new());
    }

    #[test]
    fn a_line_that_is_too_wide_goes_on_below_where_its_text_begins() {
        assert_eq!(fold("a line\n  that fits", 11), "a line\n  that fits");
        assert_eq!(
            fold("#12 failed 3s: exit code 9: boom  (failures 1/5)", 30),
            "#12 failed 3s: exit code 9:\n  boom  (failures 1/5)"
        );
        assert_eq!(
            fold("  agent   one two three four five", 22),
            "  agent   one two\n          three four\n          five"
        );
        assert_eq!(fold("  off: one, two, three", 14), "  off: one,\n  two, three");
        // Colours take no room, and a word that fits nowhere is left whole.
        assert_eq!(fold("\u{1b}[2mone two\u{1b}[0m three", 7), "\u{1b}[2mone two\u{1b}[0m\n  three");
        assert_eq!(fold("see /a/very/long/path now", 10), "see\n  /a/very/long/path\n  now");
        for columns in 0..5 {
            fold("  a  b c  日本語 \u{1b}[2m", columns);
        }
    }

    #[test]
    fn lists_break_between_items() {
        let items = ["one a", "two b", "three c"].map(str::to_owned);
        assert_eq!(wrap_list(&items, 80), ["one a, two b, three c"]);
        assert_eq!(wrap_list(&items, 14), ["one a, two b,", "three c"]);
        assert_eq!(wrap_list(&items, 12), ["one a,", "two b,", "three c"]);
        assert_eq!(wrap_list(&[], 10), Vec::<String>::new());
    }

    #[test]
    fn a_long_paragraph_says_that_it_was_cut() {
        assert_eq!(paragraph("a\n\nb\u{1b}[31mc", 80, 5), ["a", "bc"]);
        assert_eq!(paragraph("a\nb\nc", 80, 2), ["a", "b", "…"]);
        assert_eq!(paragraph(&"x".repeat(10_000), 10, 2).len(), 3);
    }

    #[test]
    fn commands_are_quoted_like_a_shell_reads_them() {
        let args = ["-p".to_owned(), "a b".to_owned(), "it's".to_owned(), String::new()];
        assert_eq!(command("./agent.sh", &args, 80), r"./agent.sh -p 'a b' 'it'\''s' ''");
        assert_eq!(command("agent", &["x".repeat(200)], 10), "agent xxx…");
        assert_eq!(command("/opt/tools/of/some/kind/agent", &args[..1], 40), "…/agent -p");
        assert_eq!(command("/opt/kind/agent", &args[..1], 40), "/opt/kind/agent -p");
    }
}
