//! Text from outside, made fit to be shown.

/// Text from outside as it can stand in one line of a terminal: without escape sequences, control characters and the
/// invisible ones that reorder a line; breaks and tabs become spaces; trimmed.
pub fn clean(text: &str) -> String {
    passed(text, ' ').trim().to_owned()
}

/// The same for a line whose blanks mean something: tabs stay, and nothing is trimmed.
pub fn scrub(line: &str) -> String {
    passed(line, '\t')
}

fn passed(text: &str, tab: char) -> String {
    let mut out = String::with_capacity(text.len().min(4096));
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape(&mut chars),
            '\u{9b}' => skip_csi(&mut chars),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => skip_string(&mut chars),
            '\t' => out.push(tab),
            '\n' | '\r' | '\u{2028}' | '\u{2029}' => out.push(' '),
            c if c.is_control() || is_invisible(c) => {}
            c => out.push(c),
        }
    }
    out
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn skip_escape(chars: &mut Chars<'_>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            skip_csi(chars);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            chars.next();
            skip_string(chars);
        }
        Some(' '..='/') => {
            while chars.next_if(|c| matches!(c, ' '..='/')).is_some() {}
            chars.next_if(|c| matches!(c, '0'..='~'));
        }
        Some('0'..='~') => {
            chars.next();
        }
        _ => {}
    }
}

fn skip_csi(chars: &mut Chars<'_>) {
    while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
    chars.next_if(|c| matches!(c, '@'..='~'));
}

/// A string to the terminal (a title, a link) ends with BEL or ST. One that is never closed ends with its line.
fn skip_string(chars: &mut Chars<'_>) {
    while let Some(c) = chars.next_if(|c| !matches!(c, '\n' | '\r')) {
        match c {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                chars.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}

/// Format characters that take no room but change how a line is laid out. The joiner of emoji is not among them.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}' | '\u{200c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// What a task is called where there is room for a few words only: the first ones of its first line that has any.
pub fn first_words(text: &str) -> String {
    const WORDS: usize = 12;
    const CHARS: usize = 100;
    let line = |line: &str| clean(line).trim_start_matches(['#', '-', '*', '>', ' ']).to_owned();
    let first = text.lines().map(line).find(|line| !line.is_empty()).unwrap_or_default();
    cut(&first.split_whitespace().take(WORDS).collect::<Vec<_>>().join(" "), CHARS)
}

/// At most so many characters of a text.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_called_by_the_words_of_its_first_line() {
        assert_eq!(first_words("\n# Fix the \u{1b}[31mparser\n\nIt breaks."), "Fix the parser");
        assert_eq!(first_words("> - a b c d e f g h i j k l m n"), "a b c d e f g h i j k l");
        assert_eq!(first_words(&"x".repeat(300)).chars().count(), 101);
        assert_eq!(first_words(" \n##\n"), "");
    }

    #[test]
    fn cleaning_leaves_what_can_stand_in_a_line() {
        assert_eq!(clean("  plain\ttext \n"), "plain text");
        assert_eq!(clean("\u{1b}[1;31mred\u{1b}[0m \u{1b}(Bx\u{1b}7y\u{1b}=z"), "red xyz");
        assert_eq!(clean("a\u{1b}]0;title\u{7}b\u{1b}]8;;http://x\u{1b}\\c\u{1b}Pdata\u{9c}d"), "abcd");
        assert_eq!(clean("\u{9b}31ma\u{9d}title\u{7}b"), "ab");
        assert_eq!(clean("a\u{0}\u{7}\u{8}\u{7f}\u{85}b\u{202e}\u{2066}\u{feff}c\u{2028}d"), "abc d");
        assert_eq!(clean("日本語 👩‍👩‍👧 e\u{301}"), "日本語 👩‍👩‍👧 e\u{301}");
        // A string that is never closed takes its line with it, and no more.
        assert_eq!(clean("a\u{1b}]0;never\nb"), "a b");
        for broken in [
            "\u{1b}",
            "\u{1b}[",
            "\u{1b}[12",
            "\u{1b}]",
            "\u{1b}(",
            "\u{1b}\u{1b}[",
            "\u{9b}",
            "\u{90}\u{1b}",
        ] {
            assert_eq!(clean(broken), "", "{broken:?}");
        }
        assert_eq!(clean("\u{1b}[31\u{1b}[32mx"), "x");
        assert_eq!(scrub("+\tif x:  \u{1b}[31mred\u{7}"), "+\tif x:  red", "blanks stay, escapes do not");
    }
}
