//! One pattern against one path. Going back to the last star is enough: what an earlier one could take more of, the last one can.

/// Nothing in it stands for anything else.
pub(super) fn is_literal(pattern: &[u8]) -> bool {
    !pattern.iter().any(|byte| matches!(byte, b'*' | b'?' | b'[' | b'\\'))
}

/// A pattern with slashes against a whole path: part by part, and `**` stands for any number of parts.
pub(super) fn matches_path(pattern: &[u8], path: &[u8]) -> bool {
    let parts = |text| <[u8]>::split(text, |byte| *byte == b'/').collect::<Vec<_>>();
    let (wanted, given) = (parts(pattern), parts(path));
    let (mut at, mut seen) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    loop {
        match wanted.get(at) {
            Some(part) if *part == b"**" => {
                if at + 1 == wanted.len() {
                    // At the end it stands for what is inside of a folder, not for the folder.
                    return seen < given.len();
                }
                at += 1;
                star = Some((at, seen));
                continue;
            }
            Some(part) if given.get(seen).is_some_and(|name| matches_name(part, name)) => {
                (at, seen) = (at + 1, seen + 1);
                continue;
            }
            None if seen == given.len() => return true,
            _ => {}
        }
        match star {
            Some((after, from)) if from < given.len() => {
                star = Some((after, from + 1));
                (at, seen) = (after, from + 1);
            }
            _ => return false,
        }
    }
}

/// A pattern without slashes against one part of a path.
pub(super) fn matches_name(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut seen) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    loop {
        let step = match (pattern.get(at), name.get(seen)) {
            (Some(b'*'), _) => {
                at += 1;
                star = Some((at, seen));
                continue;
            }
            (None, None) => return true,
            (Some(_), Some(byte)) => one(&pattern[at..], *byte),
            _ => Step::No,
        };
        match (step, star) {
            (Step::Yes(length), _) => (at, seen) = (at + length, seen + 1),
            (Step::Broken, _) => return false,
            (Step::No, Some((after, from))) if from < name.len() => {
                star = Some((after, from + 1));
                (at, seen) = (after, from + 1);
            }
            (Step::No, _) => return false,
        }
    }
}

enum Step {
    /// Matches, with so much of the pattern.
    Yes(usize),
    No,
    /// The pattern matches nothing at all.
    Broken,
}

/// The beginning of a pattern, which is no star, against one byte.
fn one(pattern: &[u8], byte: u8) -> Step {
    let is = |matches: bool, length| if matches { Step::Yes(length) } else { Step::No };
    match pattern {
        [b'?', ..] => Step::Yes(1),
        [b'\\', escaped, ..] => is(*escaped == byte, 2),
        [b'\\'] => Step::Broken,
        [b'[', rest @ ..] => match class(rest, byte) {
            Some((matches, length)) => is(matches, length + 1),
            None => Step::Broken,
        },
        [literal, ..] => is(*literal == byte, 1),
        [] => Step::No,
    }
}

/// Whether a class has this byte, and its length with the bracket at its end. Nothing if it has no end.
fn class(text: &[u8], byte: u8) -> Option<(bool, usize)> {
    let negated = matches!(text.first(), Some(b'!' | b'^'));
    let mut at = usize::from(negated);
    let first = at;
    let mut found = false;
    loop {
        let rest = text.get(at..)?;
        match rest {
            [b']', ..] if at > first => return Some((found != negated, at + 1)),
            [b'[', b':', name @ ..] => {
                let end = memchr::memmem::find(name, b":]")?;
                found |= named(&name[..end], byte)?;
                at += 2 + end + 2;
                continue;
            }
            _ => {}
        }
        let (low, length) = member(rest)?;
        at += length;
        match text.get(at..)? {
            [b'-', after @ ..] if after.first().is_some_and(|next| *next != b']') => {
                let (high, length) = member(after)?;
                at += 1 + length;
                found |= (low..=high).contains(&byte);
            }
            _ => found |= low == byte,
        }
    }
}

fn member(text: &[u8]) -> Option<(u8, usize)> {
    match text {
        [b'\\', escaped, ..] => Some((*escaped, 2)),
        [b'\\'] | [] => None,
        [byte, ..] => Some((*byte, 1)),
    }
}

fn named(name: &[u8], byte: u8) -> Option<bool> {
    Some(match name {
        b"alnum" => byte.is_ascii_alphanumeric(),
        b"alpha" => byte.is_ascii_alphabetic(),
        b"blank" => matches!(byte, b' ' | b'\t'),
        b"cntrl" => byte.is_ascii_control(),
        b"digit" => byte.is_ascii_digit(),
        b"graph" => byte.is_ascii_graphic(),
        b"lower" => byte.is_ascii_lowercase(),
        b"print" => byte.is_ascii_graphic() || byte == b' ',
        b"punct" => byte.is_ascii_punctuation(),
        b"space" => byte.is_ascii_whitespace() || byte == 0x0b,
        b"upper" => byte.is_ascii_uppercase(),
        b"xdigit" => byte.is_ascii_hexdigit(),
        _ => return None,
    })
}
