//! A flood is not taken apart line by line: of a piece in which nothing opens or closes, only its last lines are read. They say
//! the same as all of them, so that it does not matter where a piece ends.

use super::fence::Glance;
use super::scene::{Scene, is_at_margin};

/// How many lines with something on them are an agent's last words.
pub(super) const KEPT: usize = 20;
/// What stands further on in a line is not looked at.
pub(super) const MAX_LINE: usize = 8 * 1024;

/// What has to be read of these bytes, which begin with a line.
pub(super) fn to_read<'a>(scene: &Scene, seen: Glance, bytes: &'a [u8]) -> &'a [u8] {
    if scene.outlasts(seen) { last_words(bytes) } else { bytes }
}

/// More than enough lines with something on them. The first one is at the margin: it ends every item of a list, and with the
/// items all that lines without a mark may leave behind.
fn last_words(bytes: &[u8]) -> &[u8] {
    let Some(mut end) = memchr::memrchr(b'\n', bytes) else { return bytes };
    let mut found = 0;
    while let Some(newline) = memchr::memrchr(b'\n', &bytes[..end]) {
        let line = &bytes[newline + 1..end];
        found += usize::from(found <= KEPT && is_visible(line));
        if found > KEPT && is_at_margin(line) {
            return &bytes[newline + 1..];
        }
        end = newline;
    }
    bytes
}

/// Whether a reader finds something on the line: a line of colours alone is a blank one.
fn is_visible(line: &[u8]) -> bool {
    let line = &line[..line.len().min(MAX_LINE)];
    match line.iter().all(|b| matches!(b, b'\t' | b'\r' | b' '..=b'~')) {
        true => line.iter().any(u8::is_ascii_graphic),
        false => !Scene::default().line(&String::from_utf8_lossy(line), false).text.is_empty(),
    }
}
