//! What one line of an output adds to the sketch: its tokens, numbers, marks, wording and error.
//!
//! Apart from the stream, which decides which lines are read.

use std::sync::LazyLock;

use super::Sketcher;
use crate::detector::hash::{self, Hasher, short};
use crate::detector::lexicon::Sense;
use crate::detector::sketch::Counts;
use crate::detector::sketch::wording::{
    CLAUSE_ENDS, OPEN, Senses, form, is_drawn, is_neutral, label, names_error, result, status,
};
use crate::detector::text::{self, Kind, Token};

const MOST_MARKS: usize = 64;
const MOST_FORMS: usize = 64;
/// More errors than these are many.
const MOST_FAULTS: usize = 1000;
/// Lines that are shown to a person.
const SHOWN_LINE: usize = 160;
const SHOWN_LINES: usize = 3;

impl Sketcher {
    pub(super) fn read_line(&mut self, line: &str) {
        let mut tokens = std::mem::take(&mut self.tokens);
        text::tokens(line, &mut tokens);
        self.signature.line(line);
        if !tokens.is_empty() {
            self.show(line);
            self.sketch.tokens = self.sketch.tokens.saturating_add(tokens.len() as u32);
            self.take_tokens(&tokens);
            self.take_numbers(line, &tokens);
            self.take_status(line, &tokens);
            self.take_wording(line, &tokens);
            if names_error(&tokens) {
                self.take_error(line, &tokens);
            }
        }
        self.tokens = tokens;
    }

    fn show(&mut self, line: &str) {
        if self.sketch.shown.len() < SHOWN_LINES && line.chars().any(char::is_alphabetic) {
            self.sketch.shown.push(cut(line));
        }
    }

    fn take_tokens(&mut self, tokens: &[Token]) {
        for token in tokens {
            match token.kind {
                Kind::Fact => self.facts.add(short(token.hash)),
                Kind::Word if token.letters > 3 && !token.sense.is(Sense::FILLER) => {
                    self.words.add(short(token.hash));
                }
                _ => {}
            }
        }
        let idle_noise = Sense::NOISE.and(Sense::TRY).and(Sense::SIZE);
        let shingle = |tokens: &[Token]| {
            short(tokens.iter().fold(Hasher::new(), |hasher, token| hasher.number(token.hash)).finish())
        };
        // What only counts or tells the time is shared by all.
        let says =
            |token: &Token| matches!(token.kind, Kind::Word | Kind::Fact) && !token.sense.is(idle_noise);
        let mut add = |tokens: &[Token]| {
            if !tokens.iter().any(says) {
                return;
            }
            let hash = shingle(tokens);
            self.shingles.add(hash);
            if tokens.iter().any(|token| token.kind == Kind::Fact) {
                self.named.add(hash);
            }
        };
        match tokens.len() {
            0..3 => add(tokens),
            _ => tokens.windows(3).for_each(add),
        }
    }

    fn take_numbers(&mut self, line: &str, tokens: &[Token]) {
        let (drawn, neutral) = (is_drawn(line), is_neutral(tokens));
        for (at, token) in tokens.iter().enumerate().filter(|(_, token)| token.kind == Kind::Number) {
            let before = at.checked_sub(1).map(|at| tokens[at]);
            let around = [before, tokens.get(at + 1).copied(), tokens.get(at + 2).copied()];
            let is_word = |token: &Token| matches!(token.kind, Kind::Word | Kind::Fact);
            let of = token.of.is_some() || is_of(&tokens[at + 1..]);
            // A number among numbers is a column of a table.
            if !around[..2].iter().flatten().any(is_word) && !of {
                continue;
            }
            let behind = tokens[at + 1..].iter().take(3).take_while(move |token| is_word(token) || of);
            let tells = |token: &Token| token.sense.is(Sense::PROGRESS);
            // A frame is headed by the name of what it counts: `── pass 3 ──`.
            let progress = behind.clone().any(tells) || (!drawn && before.iter().any(tells));
            let key = around.iter().flatten().fold(Hasher::new(), |hasher, token| hasher.number(token.hash));
            let size = tokens.get(at + 1).is_some_and(|token| token.sense.is(Sense::SIZE));
            let counts = match (progress, of) {
                (true, _) if !size => Counts::Work,
                _ if token.percent => Counts::Share,
                (_, true) if drawn || neutral => Counts::FrameParts,
                _ if (drawn || neutral) && !size => Counts::Frame,
                (false, true) => Counts::Parts,
                _ if size => Counts::Size,
                _ => Counts::Unknown,
            };
            self.numbers.add(short(key.finish()), token.value, counts);
        }
    }

    /// A checkbox or a test result: what stands behind it is the key.
    fn take_status(&mut self, line: &str, tokens: &[Token]) {
        let named = tokens.iter().filter(|token| matches!(token.kind, Kind::Word | Kind::Fact));
        let named = named.filter(|token| token.letters > 1 && !token.sense.is(Sense::PROGRESS));
        let mut names = 0;
        let key = named.fold(Hasher::new(), |hasher, token| {
            names += 1;
            hasher.number(token.hash)
        });
        if names == 0 {
            return;
        }
        if let Some(status) = status(line) {
            self.sketch.marks.add(short(key.number(7).finish()), status, MOST_MARKS);
            self.open += u32::from(status == OPEN);
        } else if let Some(last) = result(line, tokens) {
            // `test parse ... ok`, `3. Write the docs (done)`, `parse_line still fails`.
            self.sketch.marks.add(short(key.number(8).finish()), short(last.hash), MOST_MARKS);
        } else if let Some(value) = form(line, tokens) {
            self.sketch.forms.set(short(key.number(9).finish()), value, MOST_FORMS);
        }
        if let Some((label, value)) = label(line) {
            self.sketch.forms.set(label, value, MOST_FORMS);
        }
    }

    fn take_wording(&mut self, line: &str, tokens: &[Token]) {
        let words = tokens.iter().filter(|token| token.kind == Kind::Word).count() as u32;
        if words == 0 {
            return;
        }
        let says = &mut self.sketch.says;
        says.lines += 1;
        says.words += words;
        for clause in line.split(CLAUSE_ENDS) {
            let sense = Senses::of(clause);
            if sense.idle {
                says.idle += sense.words;
            }
            if sense.waiting {
                says.waiting += sense.words;
            }
            if sense.outage {
                says.outage += sense.words;
            }
            says.blocked += if sense.blocked { sense.words } else { 0 };
            says.deeds += if sense.deed { sense.words } else { 0 };
            says.done += if sense.done { sense.words } else { 0 };
        }
    }

    fn take_error(&mut self, line: &str, tokens: &[Token]) {
        let named = tokens.iter().filter(|token| token.kind != Kind::Number);
        let error = short(named.fold(Hasher::new(), |hasher, token| hasher.number(token.hash)).finish());
        self.errors.add(error);
        if tokens.iter().any(|token| token.kind == Kind::Fact) && self.faults.len() < MOST_FAULTS {
            self.faults.insert(error);
        }
        if self.sketch.error.is_none() {
            self.sketch.error = Some(cut(line));
        }
    }
}

/// Whether these tokens go on as in `3 of 12`.
fn is_of(behind: &[Token]) -> bool {
    matches!(behind, [of, total, ..] if of.hash == *OF && total.kind == Kind::Number)
}

static OF: LazyLock<u64> = LazyLock::new(|| hash::of("of"));

fn cut(line: &str) -> String {
    if line.len() <= SHOWN_LINE {
        return line.to_owned();
    }
    let end = (0..=SHOWN_LINE).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0);
    format!("{}…", &line[..end])
}
