//! What a line says about how things stand: done or not, nothing to do, waiting.

use crate::detector::lexicon::Sense;

/// What a sentence comes to.
pub(super) struct Senses {
    pub(super) words: u32,
    pub(super) idle: bool,
    pub(super) waiting: bool,
}

impl Senses {
    pub(super) fn of(sentence: &str) -> Self {
        let mut words = 0;
        let mut sense = Sense::default();
        for word in sentence.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '_') {
            if !word.is_empty() {
                words += 1;
                sense = sense.and(Sense::of(&word.to_lowercase()));
            }
        }
        let waiting = sense.is(Sense::WAIT);
        Self {
            words,
            idle: sense.is(Sense::WHOLE) && sense.is(Sense::DONE) && !sense.is(Sense::ACT),
            waiting,
        }
    }
}

/// Whether a line's last word stands apart from the rest, as a result does.
pub(super) fn ends_apart(line: &str) -> bool {
    let line = line.trim_end_matches(|c: char| !c.is_alphanumeric());
    let word = line.rfind(|c: char| !c.is_alphanumeric()).map(|at| line[..at + 1].trim_end());
    word.is_some_and(|before| before.ends_with(['(', '[', ':', '.', '-', '…', '|', '=', '→', '—']))
}

/// Done, and not done.
const CLOSED: u32 = 1;
pub(super) const OPEN: u32 = 2;

/// The state that the beginning of a line gives to what it names.
pub(super) fn status(line: &str) -> Option<u32> {
    let line = line
        .trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '-' | '*' | '+' | '=' | '|' | '#'));
    const SIGNS: &[(&str, u32)] = &[
        ("[x]", CLOSED),
        ("[X]", CLOSED),
        ("[ ]", OPEN),
        ("[~]", 3),
        ("☑", CLOSED),
        ("✅", CLOSED),
        ("✔", CLOSED),
        ("✓", CLOSED),
        ("☐", OPEN),
        ("⬜", OPEN),
        ("✗", OPEN),
        ("✘", OPEN),
        ("❌", OPEN),
        ("✖", OPEN),
        ("PASS", CLOSED),
        ("FAIL", OPEN),
        ("FAILED", OPEN),
        ("PASSED", CLOSED),
        ("ok ", CLOSED),
        ("not ok ", OPEN),
        ("DONE", CLOSED),
        ("TODO", OPEN),
    ];
    SIGNS.iter().find(|(sign, _)| line.starts_with(sign)).map(|(_, value)| *value)
}
