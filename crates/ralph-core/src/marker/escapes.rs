//! Escape sequences of a terminal, over lines: what stands inside of one was said to a terminal.

/// In the place of a sequence: what has one in its middle was not written in one piece.
pub(super) const MARK: char = '\x1b';

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sequence {
    /// A title, which a bell ends too.
    Title,
    /// DCS, APC and their like, up to `ESC \`.
    Text,
}

/// Whether a text that a line did not end still runs.
#[derive(Debug, Clone, Default)]
pub(super) struct Escapes {
    open: Option<Sequence>,
}

/// A line without its escape sequences.
pub(super) struct Plain {
    /// A [`MARK`] stands where a sequence stood.
    pub text: String,
    /// Some of it was said to the terminal, is hidden, or was written over.
    pub disturbed: bool,
}

/// Whether these bytes hold what begins a text that may go on over lines.
pub(super) fn may_open(bytes: &[u8]) -> bool {
    let begins = |at: usize| bytes.get(at + 1).is_some_and(|next| b"]P_^Xk".contains(next));
    memchr::memchr_iter(0x1b, bytes).any(begins)
        || memchr::memchr_iter(0xc2, bytes)
            .any(|at| bytes.get(at + 1).is_some_and(|b| matches!(b, 0x90 | 0x98 | 0x9d..=0x9f)))
}

impl Escapes {
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    pub(super) fn strip(&mut self, raw: &str) -> Plain {
        let mut plain = Plain { text: String::with_capacity(raw.len()), disturbed: self.open.is_some() };
        let mut chars = raw.chars().peekable();
        while let Some(c) = chars.next() {
            if let Some(open) = self.open {
                let ends = match c {
                    '\x07' => open == Sequence::Title,
                    '\x1b' => chars.next_if_eq(&'\\').is_some(),
                    c => c == '\u{9c}',
                };
                // No terminal goes on with it behind such a byte.
                let broken = c == char::REPLACEMENT_CHARACTER || c.is_control() && !"\t\r\x1b".contains(c);
                if ends || broken {
                    self.open = None;
                    plain.text.push(MARK);
                }
                continue;
            }
            match c {
                '\x1b' => match chars.next() {
                    Some('[') => control(&mut chars, &mut plain),
                    Some(']' | 'k') => self.open = Some(Sequence::Title),
                    Some('P' | '_' | '^' | 'X') => self.open = Some(Sequence::Text),
                    // A character set: one more character.
                    Some('(' | ')' | '*' | '+' | '#' | '%') => {
                        chars.next();
                        plain.text.push(MARK);
                    }
                    _ => plain.text.push(MARK),
                },
                '\u{9b}' => control(&mut chars, &mut plain),
                '\u{9d}' => self.open = Some(Sequence::Title),
                '\u{90}' | '\u{98}' | '\u{9e}' | '\u{9f}' => self.open = Some(Sequence::Text),
                c => plain.text.push(c),
            }
        }
        // A return in the middle: what follows is written over what stands before.
        let shown = trim(&plain.text);
        plain.disturbed |= shown.contains('\r');
        plain
    }
}

/// `ESC [` up to its final byte.
fn control(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, plain: &mut Plain) {
    let mut given = String::new();
    let end = loop {
        match chars.next() {
            Some(c) if ('@'..='~').contains(&c) => break c,
            Some(c) => given.push(c),
            None => return plain.text.push(MARK),
        }
    };
    match end {
        'm' => plain.disturbed |= given.split(';').any(|code| code == "8"),
        // The line is cleared from its beginning on: what stood there is gone.
        'K' if plain.text.trim_end_matches(MARK).ends_with('\r') || given == "2" => plain.text.clear(),
        'K' if given.is_empty() || given == "0" => {}
        'h' | 'l' => {}
        _ => plain.disturbed |= !trim(&plain.text).is_empty(),
    }
    plain.text.push(MARK);
}

/// Without blanks and sequences around it.
pub(super) fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || c == MARK)
}
