//! What a rewritten test still checks. Asserts that stood one below the other may now be the rows of a table, the arguments of
//! a helper, the steps of a loop over a range, or a condition that fails by hand. Counted is what is checked, not how.

use super::super::asserts::{Assert, is_assert, is_neutral};
use super::super::lex::{Kind, Token};
use super::super::path::Language;
use super::account::{Account, holds, subjects};
use super::{ComparedTest, Words};
use std::collections::BTreeSet;

/// Words by which code fails without an assert.
const FAILS: &[&str] = &[
    "raise",
    "throw",
    "panic",
    "unreachable",
    "flunk",
    "fail",
    "Err",
    "ok_or",
    "ok_or_else",
    "bail",
    "ensure",
];

/// Words by which one assert stands for many cases.
const LOOPS: &[&str] = &[
    "for",
    "each",
    "each_with_index",
    "each_pair",
    "forEach",
    "map",
    "all",
    "every",
    "parametrize",
    "while",
    "iter",
    "times",
    "upto",
    "foreach",
    "stream",
    "any",
    "zip",
    "subTest",
    "Run",
    "until",
];

/// Words by which the cases are made up and not written down.
const RANGES: &[&str] = &[
    "range",
    "..",
    "..=",
    "...",
    "times",
    "upto",
    "downto",
    "step",
    "rangeClosed",
    "seq",
    "++",
    "+=",
    "count",
    "from",
];

/// Words that ask only whether there is something.
const EXISTS: &[&str] = &[
    "is_ok",
    "is_err",
    "is_some",
    "is_none",
    "IsNotNone",
    "assertIsNotNone",
    "assertNotNull",
    "NotNull",
    "NotNil",
    "NoError",
    "toBeDefined",
    "None",
    "nil",
    "null",
    "undefined",
    "be_present",
    "toBeTruthy",
    "not_nil",
    "be_nil",
    "toBeNull",
    "not",
    "is",
    "notNullValue",
    "isNotNull",
    "refute_nil",
    "be_truthy",
    "hasattr",
];

pub(super) struct Kept {
    /// Values that stand in no assert which stayed word for word, each as often as it is there.
    left: Vec<String>,
    all: Vec<String>,
    texts: Vec<String>,
    /// Names in what checks now and did not check in these words before.
    words: BTreeSet<String>,
    /// Names that stand beside the asserts: in tables.
    beside: BTreeSet<String>,
    about: BTreeSet<String>,
    /// What stands in the asserts of now, by word.
    mentioned: BTreeSet<String>,
    /// Values are words there.
    shell: bool,
    checks: bool,
    loops: bool,
    ranges: bool,
}

impl Kept {
    /// `fresh`: the texts of asserts that were not there before.
    pub fn of(old: &ComparedTest, new: &ComparedTest, fresh: &[&str], helpers: &Words) -> Kept {
        let list = &new.sheet.tokens.list;
        let is_fresh = |assert: &&Assert| fresh.contains(&assert.text.as_str());
        let stayed: Vec<&Assert> = new.checked().filter(|assert| !is_fresh(assert)).collect();
        let places: Vec<usize> =
            new.places().filter(|at| !stayed.iter().any(|assert| assert.range.contains(at))).collect();
        let token = |at: &usize| &list[*at];
        let all: Vec<String> = places
            .iter()
            .map(token)
            .filter(|token| token.is_literal())
            .map(|token| token.text.clone())
            .collect();
        let texts =
            all.iter().filter(|text| text.len() > 8 || text.contains([',', ' ', '\n'])).cloned().collect();
        let mut words: BTreeSet<String> =
            new.checked().filter(is_fresh).flat_map(|assert| assert.words.clone()).collect();
        let called = places.iter().map(token).filter_map(|token| helpers.get(token.word()?));
        let before = told(old);
        let mut helped = false;
        for (name, inside) in called {
            helped |= !before.contains(name.as_str());
            words.extend(inside.iter().cloned());
        }
        let by_hand = fails(new) > fails(old);
        if by_hand {
            words.extend(places.iter().map(token).filter_map(Token::word).map(str::to_owned));
        }
        let has =
            |these: &[&str]| places.iter().map(token).any(|token| these.iter().any(|word| token.is(word)));
        Kept {
            left: all.clone(),
            all,
            texts,
            words,
            beside: places
                .iter()
                .filter(|at| !new.checked().any(|assert| assert.range.contains(at)))
                .filter_map(|at| list[*at].word())
                .map(str::to_owned)
                .collect(),
            about: subjects(old.places().map(|at| &old.sheet.tokens.list[at])),
            mentioned: new.checked().flat_map(names).collect(),
            checks: by_hand || helped || new.checked().any(|assert| is_fresh(&assert)),
            shell: new.sheet.language == Some(Language::Shell),
            loops: has(LOOPS),
            ranges: has(LOOPS) && has(RANGES),
        }
    }

    /// Whether what this assert checked is still checked. Each value stands for one case.
    pub fn takes(&mut self, lost: &Assert, account: &Account) -> bool {
        if self.exists(lost) {
            return true;
        }
        if self.shell && self.checks && self.loops {
            return true;
        }
        let related = lost.words.is_empty()
            || !lost.words.is_disjoint(&self.words)
            || !self.about.is_disjoint(&self.words);
        if !self.checks || !related {
            return false;
        }
        if lost.literals.is_empty() {
            return lost.words.iter().all(|word| self.words.contains(word) || self.beside.contains(word));
        }
        let mut left = self.left.clone();
        let mut taken = 0;
        for literal in &lost.literals {
            let place = left.iter().position(|other| other == literal);
            taken += usize::from(place.is_some());
            if let Some(place) = place {
                left.swap_remove(place);
            } else if self.texts.iter().any(|text| holds(text, literal)) || account.has_beside(literal) {
                taken += 1;
            }
        }
        let whole = taken == lost.literals.len();
        let same = !lost.words.is_disjoint(&self.words);
        // A case whose expected value is computed, or whose function stands in the table.
        let part = self.loops && same && taken > 0;
        // A value that stands for two cases: what tells them apart is there as well.
        let named = self.loops
            && lost.literals.iter().all(|literal| self.all.contains(literal))
            && lost.words.iter().all(|word| self.beside.contains(word) || self.words.contains(word));
        if whole || part {
            self.left = left;
        }
        whole || part || named || self.ranges && same
    }

    /// "There is something" follows from whatever else is asked of it.
    fn exists(&self, lost: &Assert) -> bool {
        let asks = lost.literals.is_empty()
            && lost.text.split(' ').any(|word| EXISTS.contains(&word) || word.contains("NotNull"));
        let about: Vec<String> =
            names(lost).into_iter().filter(|word| !EXISTS.contains(&word.as_str())).collect();
        asks && about.len() <= 3 && (self.checks || about.iter().any(|word| self.mentioned.contains(word)))
    }
}

/// The names in an assert, those of one letter too.
fn names(assert: &Assert) -> Vec<String> {
    let words = assert.text.split(' ').filter(|word| {
        word.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && !is_assert(word)
            && (word.len() == 1 || !is_neutral(word))
    });
    words.map(str::to_owned).collect()
}

fn told<'a>(test: &'a ComparedTest) -> BTreeSet<&'a str> {
    test.places().filter_map(|at| test.sheet.tokens.list[at].word()).collect()
}

fn fails(test: &ComparedTest) -> usize {
    let list = &test.sheet.tokens.list;
    let shell = test.sheet.language == Some(Language::Shell);
    let words = if shell { &["exit", "return", "fail", "false", "die"][..] } else { FAILS };
    let is = |at: &usize| list[*at].kind == Kind::Word && words.iter().any(|word| list[*at].is(word));
    test.places()
        .filter(is)
        // A path of that name is none: `std::panic::catch_unwind`.
        .filter(|at| !list.get(at + 1).is_some_and(|next| next.is("::") || next.is(".")))
        .filter(|at| !test.checked().any(|assert| assert.range.contains(at)))
        .count()
}
