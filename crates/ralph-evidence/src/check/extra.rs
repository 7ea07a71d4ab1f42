//! Checks that only this project has.

use ralph_core::check::ExtraPattern;

pub(super) fn matches(pattern: &ExtraPattern, words: &[String]) -> bool {
    let pattern: Vec<&str> = pattern.command.split_whitespace().collect();
    !pattern.is_empty()
        && pattern.len() <= words.len()
        && pattern.iter().zip(words).all(|(pattern, word)| glob(pattern, word))
}

fn glob(pattern: &str, word: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = pieces.next().and_then(|first| word.strip_prefix(first)) else { return false };
    let mut pieces = pieces.peekable();
    if pieces.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    true
}
