//! Text that has to fit: cut to a width, wrapped, quoted.

use ralph_core::view::clean;
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
