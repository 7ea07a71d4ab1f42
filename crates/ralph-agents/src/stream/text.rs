//! Bounded pieces of text.

use std::borrow::Cow;

/// A final text keeps at most this many bytes, the last ones.
pub const FINAL_TEXT_MAX: usize = 256 << 10;
const EXCERPT_HEAD: usize = 1200;
const EXCERPT_TAIL: usize = 800;
/// A message of an error or a retry.
const MESSAGE_MAX: usize = 4000;
/// A line of noise.
const NOISE_MAX: usize = 2000;

/// In place of an output that was not kept.
pub const NOT_SHOWN: &str = "[too long to show]";

/// Head and tail of a tool's output, about 2 kB.
pub fn excerpt(text: &str) -> String {
    cut_middle(text, EXCERPT_HEAD, EXCERPT_TAIL)
}

/// An error message, bounded.
pub fn message(text: &str) -> String {
    cut_middle(text.trim(), MESSAGE_MAX * 3 / 4, MESSAGE_MAX / 4)
}

/// A line of noise, bounded.
pub fn noise(line: &str) -> String {
    cut_middle(line, NOISE_MAX * 3 / 4, NOISE_MAX / 4)
}

fn cut_middle(text: &str, head: usize, tail: usize) -> String {
    if text.len() <= head + tail {
        return text.to_string();
    }
    let (head, tail) = (start(text, head), end(text, tail));
    let left_out = text.len() - head.len() - tail.len();
    format!("{head}\n[… {left_out} bytes left out …]\n{tail}")
}

/// The longest beginning of at most `max` bytes that ends at a character.
pub fn start(text: &str, max: usize) -> &str {
    let mut at = max.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    &text[..at]
}

/// The longest end of at most `max` bytes that begins at a character.
pub fn end(text: &str, max: usize) -> &str {
    let mut at = text.len().saturating_sub(max);
    while !text.is_char_boundary(at) {
        at += 1;
    }
    &text[at..]
}

/// The excerpt of a string that is still JSON, quotes included. Only the part that is shown is decoded.
pub fn excerpt_of_raw(raw: &str) -> Cow<'_, str> {
    let Some(inside) = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')) else {
        return Cow::Borrowed("");
    };
    if inside.len() > 4 * (EXCERPT_HEAD + EXCERPT_TAIL)
        && let Some(cut) = cut_raw(inside)
    {
        return Cow::Owned(cut);
    }
    Cow::Owned(serde_json::from_str::<String>(raw).map(|text| excerpt(&text)).unwrap_or_default())
}

/// Head and tail of a long JSON string, cut where no escape sequence is torn.
fn cut_raw(inside: &str) -> Option<String> {
    let head_end = safe_cut(inside, EXCERPT_HEAD)?;
    let tail_start = safe_cut(inside, inside.len() - EXCERPT_TAIL)?;
    let head = serde_json::from_str::<String>(&format!("\"{}\"", &inside[..head_end])).ok()?;
    let tail = serde_json::from_str::<String>(&format!("\"{}\"", &inside[tail_start..])).ok()?;
    Some(format!("{head}\n[… about {} bytes left out …]\n{tail}", tail_start.saturating_sub(head_end)))
}

/// The first place from `from` on that has no backslash in the 12 bytes before it: an escaped surrogate pair is the
/// longest thing that must stay together.
fn safe_cut(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    (from..(from + 400).min(bytes.len()))
        .find(|&at| text.is_char_boundary(at) && !bytes[at.saturating_sub(12)..at].contains(&b'\\'))
}

/// The last bytes of a text that grows.
#[derive(Debug, Clone, Default)]
pub struct Tail {
    text: String,
}

impl Tail {
    pub fn push(&mut self, text: &str) {
        self.text.push_str(end(text, FINAL_TEXT_MAX));
        // Cutting at twice the size moves each byte once on average.
        if self.text.len() > 2 * FINAL_TEXT_MAX {
            self.text = end(&self.text, FINAL_TEXT_MAX).to_string();
        }
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub fn clear(&mut self) {
        self.text.clear();
    }

    pub fn take(&mut self) -> String {
        let text = std::mem::take(&mut self.text);
        bounded(text)
    }
}

/// A final text within its bound.
pub fn bounded(text: String) -> String {
    if text.len() <= FINAL_TEXT_MAX { text } else { end(&text, FINAL_TEXT_MAX).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpt_keeps_short_texts_and_both_ends_of_long_ones() {
        let exact = "x".repeat(2000);
        assert_eq!(excerpt(&exact), exact);
        let long = format!("BEGIN{}END", "é".repeat(5000));
        let cut = excerpt(&long);
        assert!(cut.starts_with("BEGINé") && cut.ends_with("éEND") && cut.contains("left out"));
        assert!(cut.len() < 2100, "{}", cut.len());
    }

    #[test]
    fn raw_excerpt_is_the_decoded_one() {
        let short = "a \"quoted\"\nline \u{1f980}";
        let raw = serde_json::to_string(short).unwrap();
        assert_eq!(excerpt_of_raw(&raw), short);
        for unit in ["plain text, ", "line\n", "\u{1f980}", "\\\"\t\n", "\u{1}\u{2}"] {
            let text = format!("BEGIN{}END", unit.repeat(20_000));
            let cut = excerpt_of_raw(&serde_json::to_string(&text).unwrap()).into_owned();
            assert!(cut.starts_with("BEGIN") && cut.ends_with("END"), "{unit:?}");
            assert!(cut.len() < 4000, "{unit:?}: {}", cut.len());
        }
    }

    #[test]
    fn raw_excerpt_never_tears_escapes() {
        // Escaped surrogate pairs at every phase of the cut.
        for shift in 0..24 {
            let raw = format!("\"{}{}\"", "x".repeat(shift), "\\ud83e\\udd80 1234567890abc".repeat(2000));
            let cut = excerpt_of_raw(&raw);
            assert!(
                cut.contains("\u{1f980}") && !cut.contains("udd80") && !cut.contains('\u{fffd}'),
                "{shift}"
            );
        }
    }

    #[test]
    fn tail_keeps_the_last_bytes_only() {
        let mut tail = Tail::default();
        for _ in 0..100 {
            tail.push(&"ä".repeat(10_000));
        }
        tail.push("the end");
        let text = tail.take();
        assert!(
            text.ends_with("äthe end") && text.len() <= FINAL_TEXT_MAX && text.len() > FINAL_TEXT_MAX - 4
        );
        assert!(tail.is_empty());
    }
}
