//! Where a check that is gone went to.
//!
//! A lost assert is accounted for if it stands word for word in another test that is new; if the values that it compared
//! stand in what the change added to a test of the same subject (a table of cases, one assert on the whole, another style);
//! if a test of properties took the examples' place; or if what it tested is no longer part of the program.

use super::super::asserts::{Assert, is_neutral};
use super::super::lex::{Kind, Token};
use super::{ComparedTest, Side, gaps};
use std::collections::{BTreeMap, BTreeSet};

/// Words of the languages and of test frameworks, which every test has.
const COMMON: &[&str] = &[
    "let",
    "mut",
    "const",
    "var",
    "val",
    "def",
    "fn",
    "func",
    "fun",
    "function",
    "async",
    "import",
    "from",
    "as",
    "for",
    "while",
    "test",
    "tests",
    "it",
    "describe",
    "do",
    "end",
    "public",
    "private",
    "void",
    "static",
    "class",
    "use",
    "super",
    "Test",
    "testing",
    "T",
    "range",
    "String",
    "int",
    "str",
    "string",
    "i32",
    "u32",
    "usize",
    "list",
    "dict",
    "result",
    "expected",
    "actual",
    "got",
    "want",
    "name",
    "value",
    "input",
    "output",
    "run",
    "print",
    "len",
    "throws",
    "with",
    "cfg",
    "tt",
    "tc",
    "parametrize",
    "mark",
    "pytest",
    "rstest",
    "case",
    "each",
];

/// Frameworks that make up their inputs.
const PROPERTIES: &[&str] = &[
    "given",
    "proptest",
    "quickcheck",
    "fc",
    "forAll",
    "forall",
    "prop",
    "rapid",
    "gopter",
    "jqwik",
    "Property",
    "property_of",
    "prop_assert",
    "prop_assert_eq",
    "testing_quick",
];

#[derive(Default)]
struct Gained {
    literals: BTreeMap<String, usize>,
    words: BTreeSet<String>,
    /// Its text as a whole, for values that stand in a longer string.
    texts: Vec<String>,
    properties: bool,
}

impl Gained {
    fn is_empty(&self) -> bool {
        self.literals.is_empty() && self.words.is_empty()
    }

    fn values(&self) -> usize {
        self.literals.values().sum()
    }

    fn covers(&self, literal: &str) -> bool {
        self.literals.contains_key(literal)
            || !literal.is_empty() && self.texts.iter().any(|text| holds(text, literal))
    }
}

pub(super) struct Account {
    /// By test of now.
    gained: Vec<Gained>,
    /// All words of each test of now.
    words: Vec<BTreeSet<String>>,
    live: Vec<bool>,
    /// How many tests each can still have taken in.
    room: Vec<usize>,
    /// What stands between and beside the tests now and did not before.
    beside: Gained,
    /// Asserts that are new, by text.
    moved: BTreeMap<String, usize>,
    bodies: BTreeSet<String>,
    /// The asserts now, of each test: their names.
    checked: Vec<Vec<BTreeSet<String>>>,
    vanished: BTreeSet<String>,
    /// Asserts of tests that did not change.
    standing: BTreeSet<String>,
    /// New tests, which may each be one that is gone.
    successors: BTreeSet<usize>,
    /// The file of each test of now, and how much it checks.
    places: Vec<(String, usize)>,
}

impl Account {
    pub fn new(
        before: &Side,
        after: &Side,
        old: &[ComparedTest],
        new: &[ComparedTest],
        pairs: &[(usize, usize)],
        data: &[String],
    ) -> Account {
        let partner: BTreeMap<usize, usize> = pairs.iter().map(|(old, new)| (*new, *old)).collect();
        let gained: Vec<Gained> = new
            .iter()
            .enumerate()
            .map(|(at, test)| {
                gained(tokens(test), partner.get(&at).map(|old_at| tokens(&old[*old_at])).unwrap_or_default())
            })
            .collect();
        let mut moved: BTreeMap<String, usize> = BTreeMap::new();
        for assert in new.iter().filter(|test| test.test.skipped.is_none()).flat_map(|test| &test.real) {
            *moved.entry(assert.text.clone()).or_default() += 1;
        }
        for assert in old.iter().filter(|test| test.test.skipped.is_none()).flat_map(|test| &test.real) {
            if let Some(count) = moved.get_mut(&assert.text) {
                *count = count.saturating_sub(1);
            }
        }
        let mut beside = gained_beside(before, after);
        beside.texts.extend(data.iter().cloned());
        Account {
            room: gained.iter().map(|one| (one.values() + beside.values()).max(1)).collect(),
            words: new.iter().map(|test| subjects(tokens(test).into_iter())).collect(),
            live: new.iter().map(|test| test.test.skipped.is_none() && test.checks() > 0).collect(),
            bodies: new.iter().filter(|test| test.test.skipped.is_none()).map(body).collect(),
            checked: new
                .iter()
                .map(|test| test.real.iter().map(|assert| assert.words.clone()).collect())
                .collect(),
            vanished: vanished(before, after),
            standing: BTreeSet::new(),
            successors: (0..new.len())
                .filter(|at| !partner.contains_key(at) && new[*at].test.skipped.is_none())
                .collect(),
            places: new.iter().map(|test| (test.file.to_owned(), test.checks())).collect(),
            gained,
            beside,
            moved,
        }
    }

    /// What the tests say that did not change: a test that stood twice may go once.
    pub fn stands(&mut self, standing: &[ComparedTest]) {
        let live = standing.iter().filter(|test| test.test.skipped.is_none());
        for test in live {
            self.bodies.insert(body(test));
            self.standing.extend(test.checked().map(|assert| assert.text.clone()));
        }
    }

    pub fn has_beside(&self, literal: &str) -> bool {
        self.beside.covers(literal)
    }

    /// Whether a test that is gone is gone for a reason.
    pub fn explains(&mut self, test: &ComparedTest) -> bool {
        let all = tokens(test);
        // One that asks for the system itself may go to a file for that system.
        let by_system = all.iter().any(|token| token.is("GOOS") || token.is("GOARCH"));
        if by_system || self.bodies.contains(&body(test)) || self.is_vanished(all.iter().copied()) {
            return true;
        }
        let mut literals: Vec<&str> =
            test.real.iter().flat_map(|assert| &assert.literals).map(String::as_str).collect();
        if literals.is_empty() {
            literals =
                all.iter().filter(|token| token.is_literal()).map(|token| token.text.as_str()).collect();
        }
        let about = subjects(all.iter().copied());
        let checks: BTreeSet<String> =
            test.real.iter().flat_map(|assert| assert.words.iter().cloned()).collect();
        let found = (0..self.gained.len()).find(|at| self.takes(*at, &literals, &about, &checks));
        if let Some(at) = found {
            self.room[at] = self.room[at].saturating_sub(1);
            return true;
        }
        if let Some(at) = self.rewritten(test, &about) {
            self.successors.remove(&at);
            return true;
        }
        if test.checks() > 0 && test.checked().all(|assert| self.standing.contains(&assert.text)) {
            return true;
        }
        // In parts: each of its asserts went somewhere.
        !test.real.is_empty() && test.real.iter().all(|assert| self.has_assert(assert, test, None))
    }

    /// A new test of the same file on the same subject, with as many checks or more: the same one, rewritten and renamed.
    fn rewritten(&self, test: &ComparedTest, about: &BTreeSet<String>) -> Option<usize> {
        let common = |at: &usize| about.intersection(&self.words[*at]).count();
        let fits = |at: &&usize| {
            let (file, checks) = &self.places[**at];
            file == test.file && *checks >= test.checks().max(1) && common(at) * 5 >= about.len() * 3
        };
        self.successors.iter().filter(fits).max_by_key(|at| common(at)).copied().filter(|_| !about.is_empty())
    }

    /// Whether the values of a case that is gone from a table stand in what is new, or the case was about what is gone.
    pub fn has_case(&self, case: &[&Token], test: &ComparedTest) -> bool {
        let literals: Vec<&str> =
            case.iter().filter(|token| token.is_literal()).map(|token| token.text.as_str()).collect();
        let about = subjects(tokens(test).into_iter());
        let names = subjects(case.iter().copied());
        self.is_vanished(case.iter().copied())
            || literals.iter().all(|literal| self.beside.covers(literal))
            || (0..self.gained.len()).any(|at| self.takes(at, &literals, &about, &names))
    }

    fn takes(
        &self,
        at: usize,
        literals: &[&str],
        about: &BTreeSet<String>,
        checks: &BTreeSet<String>,
    ) -> bool {
        let gained = &self.gained[at];
        // A long text is as good as a name.
        let related = about.is_empty()
            || !about.is_disjoint(&self.beside.words)
            || !about.is_disjoint(&self.words[at])
            || literals.iter().any(|literal| literal.len() > 5);
        if !self.live[at] || gained.is_empty() || !related || self.room[at] == 0 {
            return false;
        }
        if gained.properties {
            return true;
        }
        match literals {
            // No value to go by: all names of its asserts have to be there.
            [] => !checks.is_empty() && checks.iter().all(|word| gained.words.contains(word)),
            _ => literals.iter().all(|literal| gained.covers(literal) || self.beside.covers(literal)),
        }
    }

    /// Whether a lost assert of a test that is still there went somewhere.
    pub fn has_assert(&mut self, assert: &Assert, test: &ComparedTest, now: Option<usize>) -> bool {
        if let Some(count) = self.moved.get_mut(&assert.text).filter(|count| **count > 0) {
            *count -= 1;
            return true;
        }
        let part = test.sheet.tokens.part(assert.range.clone());
        if self.is_vanished(part.iter()) || now.is_some_and(|now| self.is_implied(assert, now)) {
            return true;
        }
        let literals: Vec<&str> = assert.literals.iter().map(String::as_str).collect();
        let about = subjects(tokens(test).into_iter());
        (0..self.gained.len()).any(|at| self.takes(at, &literals, &about, &assert.words))
    }

    fn is_vanished<'t>(&self, mut tokens: impl Iterator<Item = &'t Token>) -> bool {
        tokens.any(|token| {
            token.kind != Kind::Number && token.text.len() > 1 && self.vanished.contains(&token.text)
        })
    }

    /// "There is something" follows from "it is this".
    fn is_implied(&self, assert: &Assert, now: usize) -> bool {
        const EXISTS: &[&str] = &[
            "is_ok",
            "is_some",
            "IsNotNone",
            "NotNull",
            "NotNil",
            "NoError",
            "toBeDefined",
            "is not None",
            "!= nil",
            "!= null",
            "!== undefined",
            "be_present",
            "toBeTruthy",
            "not_nil",
        ];
        let exists = EXISTS.iter().any(|word| assert.text.contains(word));
        let about: BTreeSet<&String> =
            assert.words.iter().filter(|word| !EXISTS.contains(&word.as_str())).collect();
        exists
            && !about.is_empty()
            && self.checked[now].iter().any(|words| about.iter().all(|word| words.contains(*word)))
    }
}

/// What is defined less often than before: one of its definitions is gone.
fn vanished(before: &Side, after: &Side) -> BTreeSet<String> {
    let mut counts: BTreeMap<&str, isize> = BTreeMap::new();
    for (side, step) in [(before, 1), (after, -1)] {
        for name in side.values().flat_map(|sheet| &sheet.defines) {
            *counts.entry(name.as_str()).or_default() += step;
        }
    }
    counts.into_iter().filter(|(_, count)| *count > 0).map(|(name, _)| name.to_owned()).collect()
}

fn tokens<'a>(test: &ComparedTest<'a>) -> Vec<&'a Token> {
    let list = &test.sheet.tokens.list;
    test.places().map(|at| &list[at]).collect()
}

fn body(test: &ComparedTest) -> String {
    let list = &test.sheet.tokens.list[test.test.body.clone()];
    let text: Vec<String> = list.iter().map(Token::key).collect();
    if text.is_empty() { format!("{} (loose)", test.file) } else { text.join(" ") }
}

/// The names that tell what a test is about.
pub(super) fn subjects<'a>(tokens: impl Iterator<Item = &'a Token>) -> BTreeSet<String> {
    let words = tokens
        .filter_map(Token::word)
        .filter(|word| !is_neutral(word) && !COMMON.contains(word) && word.len() > 1);
    words.map(str::to_owned).collect()
}

fn gained(new: Vec<&Token>, old: Vec<&Token>) -> Gained {
    let mut had: BTreeMap<String, usize> = BTreeMap::new();
    for token in old {
        *had.entry(token.key()).or_default() += 1;
    }
    let mut gained = Gained::default();
    for token in new {
        gained.properties |= token.word().is_some_and(|word| PROPERTIES.contains(&word));
        if let Some(count) = had.get_mut(&token.key()).filter(|count| **count > 0) {
            *count -= 1;
            continue;
        }
        match token.kind {
            Kind::Word => {
                gained.words.insert(token.text.clone());
            }
            Kind::Number | Kind::Text => {
                *gained.literals.entry(token.text.clone()).or_default() += 1;
                if token.text.len() > 8 || token.text.contains([',', ' ']) {
                    gained.texts.push(token.text.clone());
                }
            }
            Kind::Sign => {}
        }
    }
    gained
}

fn gained_beside(before: &Side, after: &Side) -> Gained {
    let outside = |side: &Side| -> Vec<Token> {
        let sheets = side.values();
        sheets
            .flat_map(|sheet| {
                let places = gaps(sheet)
                    .into_iter()
                    .chain(sheet.helpers.iter().map(|(_, range)| range.clone()))
                    .flatten();
                places.filter(|at| sheet.in_territory(*at)).map(|at| sheet.tokens.list[at].clone())
            })
            .collect()
    };
    let (new, old) = (outside(after), outside(before));
    gained(new.iter().collect(), old.iter().collect())
}

/// Whether the text holds the value as a word of its own.
pub(super) fn holds(text: &str, value: &str) -> bool {
    let edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    text.match_indices(value)
        .any(|(at, _)| edge(text[..at].chars().next_back()) && edge(text[at + value.len()..].chars().next()))
}
