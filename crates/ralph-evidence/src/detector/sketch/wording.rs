//! What a line says about how things stand: done or not, nothing to do, waiting.

use crate::detector::hash::{self, Hasher, short};
use crate::detector::lexicon::{self, Sense};
use crate::detector::text::{self, Kind, Token};

/// What a sentence comes to.
pub(super) struct Senses {
    pub(super) words: u32,
    pub(super) idle: bool,
    pub(super) waiting: bool,
    pub(super) outage: bool,
    pub(super) blocked: bool,
    pub(super) deed: bool,
    pub(super) done: bool,
}

/// What ends a clause.
pub(super) const CLAUSE_ENDS: &[char] = &['.', ',', ';', '!', '—', ':', '。', '，', '；', '！', '：'];

impl Senses {
    pub(super) fn of(clause: &str) -> Self {
        let mut words = 0;
        let mut sense = Sense::default();
        for word in clause.split(|c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '’' | '_')) {
            let signs = word.chars().filter(|c| text::is_ideograph(*c)).count();
            if signs > 0 {
                words += signs.div_ceil(2) as u32;
                sense = sense.and(lexicon::in_signs(word));
            } else if !word.is_empty() {
                words += 1;
                sense = sense.and(Sense::of(&word.to_lowercase().replace('’', "'")));
            }
        }
        let has = |one: Sense, other: Sense| sense.is(one) && sense.is(other);
        let idle = has(Sense::WHOLE, Sense::DONE) || has(Sense::NONE, Sense::WORK);
        let refused =
            has(Sense::LIMITED, Sense::LIMIT) || clause.to_lowercase().contains("too many requests");
        let outage = (sense.is(Sense::OUTAGE) || refused) && !sense.is(Sense::ACT) && !is_about_code(clause);
        let deed = sense.is(Sense::ACT);
        let blocked = (sense.is(Sense::BLOCKED) || has(Sense::PERSON, Sense::NEED)) && !deed;
        let done = sense.is(Sense::DONE) && !deed;
        Self { words, idle: idle && !deed, waiting: sense.is(Sense::WAIT), outage, blocked, deed, done }
    }
}

/// Limits are also what programs are written about.
fn is_about_code(clause: &str) -> bool {
    const WORDS: [&str; 8] =
        ["test", "check", "handl", "implement", "module", "function", "code", "middleware"];
    let clause = clause.to_lowercase();
    WORDS.iter().any(|word| clause.contains(word)) || clause.contains('/') || clause.contains("()")
}

/// The result that a line ends with: a word for it that stands apart from the rest, or behind little more than a name.
pub(super) fn result<'a>(line: &str, tokens: &'a [Token]) -> Option<&'a Token> {
    let last = tokens.last().filter(|last| last.sense.is(Sense::PROGRESS))?;
    let named = || tokens.len() <= RESULT && tokens.iter().any(|token| token.kind == Kind::Fact);
    (ends_apart(line) || named()).then_some(last)
}

/// Whether a line's last word stands apart from the rest, as a result does.
fn ends_apart(line: &str) -> bool {
    let line = line.trim_end_matches(|c: char| !c.is_alphanumeric());
    let before = line.trim_end_matches(char::is_alphanumeric).trim_end();
    before.ends_with(['(', '[', ':', '.', '-', '…', '|', '=', '→', '—'])
}

/// Longer lines are no marks and no labels.
const SHORT_LINE: usize = 16;
/// Tokens of a line that tells the result of one thing.
const RESULT: usize = 4;
/// Words of a label, and of what stands behind it.
const LABEL: usize = 3;

/// What a line shows besides its words: signs for done and not done, and words for it.
pub(super) fn form(line: &str, tokens: &[Token]) -> Option<u32> {
    if tokens.len() > SHORT_LINE {
        return None;
    }
    let told = tokens.iter().filter(|token| token.kind == Kind::Word);
    let cross = hash::of("x");
    let told = told.filter(|token| token.hash == cross || token.sense.is(Sense::PROGRESS));
    let told = told.fold(Hasher::new(), |hasher, token| hasher.number(token.hash));
    let signs = line.chars().filter(|c| is_sign(*c));
    Some(short(signs.fold(told, |hasher, sign| hasher.number(u32::from(sign).into())).finish()))
}

/// Ballot boxes, check marks, crosses, lamps, and what strikes a text out.
fn is_sign(c: char) -> bool {
    matches!(u32::from(c), 0x2610..=0x2612 | 0x2705 | 0x2713..=0x2718 | 0x274c | 0x274e | 0x2b1b | 0x2b1c | 0x1f7e0..=0x1f7eb | 0x1f534 | 0x1f535)
        || matches!(c, '~' | '×' | '√' | '■' | '□' | '▣' | '●' | '○')
}

/// `phase: linking`: a label and what stands behind it.
pub(super) fn label(line: &str) -> Option<(u32, u32)> {
    let (label, value) = line.split_once(": ").filter(|_| line.len() <= 80)?;
    let mut tokens = Vec::new();
    let mut hash = |part: &str, kind: u64| {
        text::tokens(part, &mut tokens);
        let few = (1..=LABEL).contains(&tokens.len());
        let plain = tokens.iter().all(|token| matches!(token.kind, Kind::Word | Kind::Fact));
        let hasher =
            tokens.iter().fold(Hasher::new().number(kind), |hasher, token| hasher.number(token.hash));
        (few && plain).then(|| short(hasher.finish()))
    };
    Some((hash(label, 10)?, hash(value, 11)?))
}

/// Whether a line says nothing of the work: it has neither a name nor a deed.
pub(super) fn is_neutral(tokens: &[Token]) -> bool {
    let deeds = Sense::PROGRESS.and(Sense::DONE).and(Sense::ACT).and(Sense::DEED).and(Sense::ERROR);
    let neutral = |token: &Token| token.kind != Kind::Fact && !token.sense.is(deeds);
    tokens.len() <= SHORT_LINE && tokens.iter().all(neutral)
}

/// Whether a line tells of an error: `3 errors` and `no such file: error`, but not `no test errors` or `0 failed`; and
/// `exit code 2`.
pub(super) fn names_error(tokens: &[Token]) -> bool {
    let none =
        |token: &Token| token.sense.is(Sense::NONE) || (token.kind == Kind::Number && token.value == 0.0);
    let errors = tokens.iter().enumerate().filter(|(_, token)| token.sense.is(Sense::ERROR));
    let exit = |trio: &[Token]| {
        trio[0].hash == hash::of("exit") && trio[2].kind == Kind::Number && trio[2].value != 0.0
    };
    errors.into_iter().any(|(at, _)| !tokens[at.saturating_sub(2)..at].iter().any(none))
        || tokens.windows(3).any(exit)
}

/// Whether a line is drawn as a frame: `=== 3 ===`, `── pass 3 ──`.
pub(super) fn is_drawn(line: &str) -> bool {
    let mut run = (' ', 0);
    line.chars().any(|c| {
        run = if c == run.0 { (c, run.1 + 1) } else { (c, 1) };
        run.1 >= 2 && !c.is_alphanumeric() && !c.is_whitespace() && c != '.'
    })
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
        ("×", OPEN),
        ("[DONE]", CLOSED),
        ("[TODO]", OPEN),
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
