//! The tests before against the tests now, of all files together: a test that is gone in one place and stands in another
//! was moved.

mod account;
mod kept;
mod pair;
mod rows;
mod unknown;

use super::asserts::{Assert, asserts, is_counted};
use super::path;
use super::sheet::{Sheet, Test};
use account::Account;
use kept::Kept;
use ralph_core::tampering::{Finding, Tampering};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Told of one file; more of the same says nothing new.
const MOST_OF_A_FILE: usize = 10;

/// One side of the change: what was read of each file that is there.
pub(super) type Side = BTreeMap<String, Sheet>;

/// Helpers that check something, by name: the name, and the words in each.
pub(super) type Words = BTreeMap<String, (String, BTreeSet<String>)>;

/// A test with everything that is compared.
pub(super) struct ComparedTest<'a> {
    pub file: &'a str,
    pub sheet: &'a Sheet,
    pub test: Test,
    /// Its stretches: one, unless it is what stands between the functions of a file.
    pub stretches: Vec<Range<usize>>,
    pub real: Vec<Assert>,
    pub constant: Vec<Assert>,
    /// Calls of helpers that check something.
    pub calls: Vec<Assert>,
    /// Asserts of the helpers that it calls.
    pub helped: usize,
}

impl ComparedTest<'_> {
    pub fn checks(&self) -> usize {
        self.real.len() + self.helped
    }

    /// Everything by which it checks.
    pub fn checked(&self) -> impl Iterator<Item = &Assert> + '_ {
        self.real.iter().chain(&self.calls)
    }

    pub fn places(&self) -> impl Iterator<Item = usize> + '_ {
        self.stretches.iter().cloned().flatten()
    }

    pub fn is_loose(&self) -> bool {
        self.test.name.is_empty()
    }
}

/// What came of a comparison.
pub(super) struct Compared<'a> {
    pub findings: Vec<Finding>,
    /// Tests are gone for a reason that can be seen: fewer are to be expected.
    pub fewer_expected: bool,
    pub before: Vec<ComparedTest<'a>>,
    pub after: Vec<ComparedTest<'a>>,
    pub pairs: Vec<(usize, usize)>,
}

/// `data` is the text of the other files of the tests that are new or changed: tables of cases, snapshots.
/// `standing`: the test files that did not change.
pub(super) fn compare<'a>(
    before: &'a Side,
    after: &'a Side,
    data: &[String],
    standing: &Side,
) -> Compared<'a> {
    let (old, new) = (seen(before), seen(after));
    let pairs = pair::pairs(&old, &new);
    let mut account = Account::new(before, after, &old, &new, &pairs, data);
    let mut findings = Vec::new();
    let partner: BTreeMap<usize, usize> = pairs.iter().copied().collect();
    account.stands(&seen(standing));
    let (idle, helpers) = (idle(after), words(after, standing));
    for (at, test) in old.iter().enumerate() {
        if let Some(now) = partner.get(&at) {
            findings.extend(switched_off(test, &new[*now], after));
        }
    }
    for (at, test) in old.iter().enumerate().filter(|(_, test)| test.test.skipped.is_none()) {
        if let Some(now) = partner.get(&at).filter(|now| new[**now].test.skipped.is_none()) {
            findings.extend(asserts_lost(test, (&new[*now], *now), &mut account, (&idle, &helpers)));
            findings.extend(rows::lost(test, &new[*now], &account));
        }
    }
    let gone =
        old.iter().enumerate().filter(|(at, test)| !partner.contains_key(at) && test.test.skipped.is_none());
    let mut lost: BTreeMap<&str, Vec<&ComparedTest>> = BTreeMap::new();
    let mut fewer_expected = pairs.len() < old.len();
    for (_, test) in gone {
        // Calls of helpers between the functions of a script may have gone anywhere.
        let only_calls = test.is_loose() && test.real.is_empty();
        if !only_calls && !account.explains(test) {
            lost.entry(test.file).or_default().push(test);
        }
    }
    fewer_expected &= lost.is_empty();
    findings.extend(lost.iter().flat_map(|(file, tests)| removed(file, tests, after.contains_key(*file))));
    findings.extend(focused(before, after));
    findings.extend(unlinked(before, after));
    Compared { findings, fewer_expected, before: old, after: new, pairs }
}

pub(super) fn finding(kind: Tampering, file: &str, line: usize, detail: impl Into<String>) -> Finding {
    Finding { kind, file: file.to_owned(), line: u32::try_from(line).ok(), detail: detail.into() }
}

fn seen(side: &Side) -> Vec<ComparedTest<'_>> {
    let helpers = helpers(side);
    let mut found = Vec::new();
    for (file, sheet) in side {
        for test in &sheet.tests {
            found.push(look(
                file,
                sheet,
                test.clone(),
                vec![test.extent.clone()],
                test.body.clone(),
                &helpers,
            ));
        }
        if path::is_test(file) && path::is_collected(file) {
            let test = Test {
                name: String::new(),
                line: 1,
                extent: 0..0,
                body: 0..0,
                skipped: None,
                gates: Vec::new(),
            };
            let mut loose = look(file, sheet, test, gaps(sheet), 0..0, &helpers);
            for gap in loose.stretches.clone() {
                let (calls, helped) = helper_calls(sheet, gap, &[], &helpers);
                loose.calls.extend(calls);
                loose.helped += helped;
            }
            if let Some(language) = sheet.language {
                let all =
                    loose.stretches.iter().flat_map(|gap| asserts(&sheet.tokens, gap.clone(), language));
                (loose.constant, loose.real) = all.partition(|assert| assert.constant);
            }
            let first = loose.checked().chain(&loose.constant).next().map(|assert| assert.line);
            if let Some(line) = first {
                loose.test.line = line;
                found.push(loose);
            }
        }
    }
    found
}

fn look<'a>(
    file: &'a str,
    sheet: &'a Sheet,
    test: Test,
    stretches: Vec<Range<usize>>,
    body: Range<usize>,
    helpers: &BTreeMap<String, usize>,
) -> ComparedTest<'a> {
    let all =
        sheet.language.map(|language| asserts(&sheet.tokens, body.clone(), language)).unwrap_or_default();
    let (constant, mut real): (Vec<Assert>, Vec<Assert>) =
        all.into_iter().partition(|assert| assert.constant);
    // An expected failure is written on the head of a test.
    let head = test.extent.start..body.start.max(test.extent.start);
    let expected = |word: &str| ["should_panic", "expected", "expectedExceptions"].contains(&word);
    if let Some(at) = head.clone().find(|at| sheet.tokens.word(*at).is_some_and(expected)) {
        let end = (at + 4).min(head.end);
        let part = sheet.tokens.part(at..end);
        real.push(Assert {
            line: part[0].line,
            range: at..end,
            text: part.iter().map(|token| token.key()).collect::<Vec<_>>().join(" "),
            literals: part
                .iter()
                .filter(|token| token.is_literal())
                .map(|token| token.text.clone())
                .collect(),
            words: BTreeSet::new(),
            constant: false,
        });
    }
    let (calls, helped) = helper_calls(sheet, body, &real, helpers);
    ComparedTest { file, sheet, test, stretches, real, constant, calls, helped }
}

/// The calls of helpers that check something, and how much these check.
fn helper_calls(
    sheet: &Sheet,
    body: Range<usize>,
    real: &[Assert],
    helpers: &BTreeMap<String, usize>,
) -> (Vec<Assert>, usize) {
    let Some(language) = sheet.language else { return (Vec::new(), 0) };
    let (mut calls, mut helped) = (Vec::new(), 0);
    for at in body.filter(|at| !inside(real, *at)) {
        let count = sheet.tokens.word(at).and_then(|word| helpers.get(word)).copied().unwrap_or(0);
        let call = (count > 0 && !inside(&calls, at))
            .then(|| super::asserts::helper_call(&sheet.tokens, at, language));
        if let Some(call) = call.flatten() {
            calls.push(call);
            helped += count;
        }
    }
    (calls, helped)
}

fn inside(asserts: &[Assert], at: usize) -> bool {
    asserts.iter().any(|assert| assert.range.contains(&at))
}

/// How many asserts each helper has. One that is named like an assert is counted where it is called.
fn helpers(side: &Side) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for sheet in side.values() {
        let counted = |name: &str| sheet.language.is_some_and(|language| is_counted(name, language));
        for (name, range) in sheet.helpers.iter().filter(|(name, _)| !counted(name)) {
            if let Some(language) = sheet.language {
                let count = asserts(&sheet.tokens, range.clone(), language)
                    .iter()
                    .filter(|one| !one.constant)
                    .count();
                *found.entry(name.clone()).or_default() += count;
            }
        }
    }
    found
}

/// Helpers that check something, whatever their name, with the words in them.
fn words(after: &Side, standing: &Side) -> Words {
    let mut found = Words::new();
    for sheet in after.values().chain(standing.values()) {
        let Some(language) = sheet.language else { continue };
        for (name, range) in &sheet.helpers {
            let tokens = sheet.tokens.part(range.clone());
            let fails = tokens.iter().filter_map(|token| token.word()).any(|word| {
                ["raise", "throw", "panic", "fail", "exit", "return", "Errorf", "Fatalf", "Error", "Fatal"]
                    .contains(&word)
            });
            if fails || asserts(&sheet.tokens, range.clone(), language).iter().any(|one| !one.constant) {
                let all = tokens.iter().filter_map(|token| token.word()).map(str::to_owned);
                found.entry(name.clone()).or_insert_with(|| (name.clone(), BTreeSet::new())).1.extend(all);
            }
        }
    }
    found
}

/// Helpers that check nothing.
fn idle(side: &Side) -> BTreeSet<String> {
    helpers(side).into_iter().filter(|(_, count)| *count == 0).map(|(name, _)| name).collect()
}

/// What is neither test nor helper.
fn gaps(sheet: &Sheet) -> Vec<Range<usize>> {
    let mut taken: Vec<Range<usize>> = sheet
        .tests
        .iter()
        .map(|test| test.extent.clone())
        .chain(sheet.helpers.iter().map(|(_, range)| range.clone()))
        .collect();
    taken.sort_by_key(|range| range.start);
    let mut gaps = Vec::new();
    let mut from = 0;
    for range in taken {
        if from < range.start {
            gaps.push(from..range.start);
        }
        from = from.max(range.end);
    }
    if from < sheet.tokens.list.len() {
        gaps.push(from..sheet.tokens.list.len());
    }
    gaps
}

fn switched_off(old: &ComparedTest, new: &ComparedTest, after: &Side) -> Option<Finding> {
    if old.test.skipped.is_some() {
        return None;
    }
    if let Some(line) = new.test.skipped {
        return Some(finding(
            Tampering::TestSkipped,
            new.file,
            line,
            format!("`{}` ran before", new.test.name),
        ));
    }
    let keys = |test: &ComparedTest, range: Range<usize>| {
        test.sheet.tokens.part(range).iter().map(|token| token.key()).collect::<Vec<_>>()
    };
    let panics = |test: &ComparedTest| {
        let head = keys(test, test.test.extent.start..test.test.body.start.max(test.test.extent.start));
        head.iter().any(|word| word == "should_panic")
    };
    if panics(new) && !panics(old) && keys(old, old.test.body.clone()) == keys(new, new.test.body.clone()) {
        let detail = format!("`{}` passes only if it fails", new.test.name);
        return Some(finding(Tampering::TestSkipped, new.file, new.test.line, detail));
    }
    // A feature that the program itself goes by may well gate its tests.
    let program_has = |gate: &str| {
        after.values().any(|sheet| {
            sheet.tokens.list.iter().enumerate().any(|(at, token)| {
                token.is("feature")
                    && !sheet.in_territory(at)
                    && sheet.tokens.get(at + 2).is_some_and(|value| value.text == gate)
            })
        })
    };
    let gate = new.test.gates.iter().find(|gate| !old.test.gates.contains(gate) && !program_has(gate))?;
    let detail = format!(
        "`{}` is compiled only with the feature `{gate}`, which nothing else in this change has",
        new.test.name
    );
    Some(finding(Tampering::TestSkipped, new.file, new.test.line, detail))
}

fn asserts_lost(
    old: &ComparedTest,
    (new, now): (&ComparedTest, usize),
    account: &mut Account,
    (idle, helpers): (&BTreeSet<String>, &Words),
) -> Option<Finding> {
    let short = old.checks().checked_sub(new.checks()).filter(|short| *short > 0)?;
    let mut kept: Vec<&str> = new.checked().map(|assert| assert.text.as_str()).collect();
    let stands: BTreeSet<&str> = kept.iter().copied().collect();
    let mut lost = Vec::new();
    for assert in old.checked() {
        match kept.iter().position(|text| *text == assert.text) {
            Some(at) => {
                kept.swap_remove(at);
            }
            None => lost.push(assert),
        }
    }
    // What is asked twice is still asked.
    lost.retain(|assert| !stands.contains(assert.text.as_str()));
    let mut rewritten = Rewritten::of(new, &kept);
    lost.retain(|assert| !rewritten.takes(assert) && !account.has_assert(assert, old, Some(now)));
    let mut unknown = unknown::calls(old, new, idle);
    lost.retain(|assert| !unknown::takes(&mut unknown, assert));
    let mut still = Kept::of(old, new, &kept, helpers);
    lost.retain(|assert| !still.takes(assert, account));
    let first = *lost.first()?;
    let count = lost.len().min(short);
    let known: Vec<&str> = old.constant.iter().map(|assert| assert.text.as_str()).collect();
    let what = if new.is_loose() { "the file".to_owned() } else { format!("`{}`", new.test.name) };
    if let Some(constant) = new.constant.iter().find(|assert| !known.contains(&assert.text.as_str())) {
        let detail =
            format!("`{}` in {what} cannot fail; it was `{}`", cut(&constant.text), cut(&first.text));
        return Some(finding(Tampering::AssertConstant, new.file, constant.line, detail));
    }
    let more = if count > 1 { format!(" and {} more", count - 1) } else { String::new() };
    let detail = format!("{what} no longer has `{}`{more}", cut(&first.text));
    Some(finding(Tampering::AssertRemoved, new.file, new.test.line, detail))
}

/// What the asserts of a test compare that it did not have before, word for word.
struct Rewritten<'a> {
    literals: Vec<&'a str>,
    words: BTreeSet<&'a str>,
}

impl<'a> Rewritten<'a> {
    fn of(test: &'a ComparedTest, texts: &[&str]) -> Rewritten<'a> {
        let new: Vec<&Assert> =
            test.checked().filter(|assert| texts.contains(&assert.text.as_str())).collect();
        Rewritten {
            literals: new.iter().flat_map(|assert| &assert.literals).map(String::as_str).collect(),
            words: new.iter().flat_map(|assert| &assert.words).map(String::as_str).collect(),
        }
    }

    /// One assert on the whole stands for several on its parts. A value stands for one of them.
    fn takes(&mut self, lost: &Assert) -> bool {
        if lost.literals.is_empty() {
            return !lost.words.is_empty()
                && lost.words.iter().all(|word| self.words.contains(word.as_str()));
        }
        let mut left = self.literals.clone();
        let all = lost.literals.iter().all(|literal| match left.iter().position(|other| other == literal) {
            Some(at) => {
                left.swap_remove(at);
                true
            }
            None => false,
        });
        if all {
            self.literals = left;
        }
        all
    }
}

/// A text for one line of a report.
pub(super) fn cut(text: &str) -> String {
    let line = spaced(&text.replace('\n', " "));
    let Some((end, _)) = line.char_indices().nth(70) else { return line };
    let end = line[..end].rfind(' ').filter(|space| *space > end / 2).unwrap_or(end);
    format!("{} …", line[..end].trim_end())
}

/// Tokens as a person would write them: `Sq(2) != 4`, not `Sq ( 2 ) != 4`.
fn spaced(text: &str) -> String {
    let mut out: Vec<char> = Vec::with_capacity(text.len());
    let chars: Vec<char> = text.chars().collect();
    // Brackets that belong to the word before them; those of a shell stand alone.
    let (mut quoted, mut indexes) = (false, 0_usize);
    let word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || "_)]!>".contains(c));
    for (at, c) in chars.iter().enumerate() {
        quoted ^= *c == '"';
        let (before, next) = (out.last().copied(), chars.get(at + 1).copied());
        if *c == '[' && word(before) {
            indexes += 1;
        }
        let opened = before == Some('[') && out.len() > 1 && word(out.get(out.len() - 2).copied());
        let tight = match next {
            Some('(') => word(before),
            Some(')' | ',' | ';') => true,
            Some(']') => indexes > 0,
            Some('.') => word(before) || before == Some('"'),
            Some('[') => word(before) && chars.get(at + 2) == Some(&' '),
            Some('!') => word(before) && chars.get(at + 2) == Some(&' ') && chars.get(at + 3) == Some(&'('),
            Some(':') => chars.get(at + 2) == Some(&':'),
            _ => false,
        } || before == Some('(')
            || opened
            || before == Some('.') && next.is_some_and(char::is_alphabetic)
            || before == Some(':') && out.len() > 1 && out[out.len() - 2] == ':';
        if *c == ' ' && tight && !quoted {
            continue;
        }
        out.push(*c);
    }
    out.into_iter().collect()
}

fn removed(file: &str, tests: &[&ComparedTest], still_there: bool) -> Vec<Finding> {
    let named: Vec<&&ComparedTest> = tests.iter().filter(|test| !test.is_loose()).collect();
    if !still_there {
        let first = named.first().map(|test| format!(", `{}` first", test.test.name)).unwrap_or_default();
        let count = tests.len();
        let tests = if count == 1 { "test is" } else { "tests are" };
        return vec![finding(
            Tampering::TestFileRemoved,
            file,
            1,
            format!("{count} {tests} nowhere any more{first}"),
        )];
    }
    let tests = tests.iter().filter(|test| !test.is_loose() || test.checks() > 0).take(MOST_OF_A_FILE);
    tests
        .map(|test| match test.is_loose() {
            true => {
                finding(Tampering::AssertRemoved, file, test.test.line, "the file has no assert any more")
            }
            false => finding(
                Tampering::TestRemoved,
                file,
                test.test.line,
                format!("`{}` is nowhere any more", test.test.name),
            ),
        })
        .collect()
}

fn focused(before: &Side, after: &Side) -> Vec<Finding> {
    let mut found = Vec::new();
    for (file, sheet) in after {
        let old = before.get(file).map_or(0, |old| old.focused.len());
        for (line, name) in sheet.focused.iter().skip(old).take(MOST_OF_A_FILE) {
            found.push(finding(
                Tampering::TestFocused,
                file,
                *line,
                format!("only `{name}` and its like run"),
            ));
        }
    }
    found
}

/// `mod tests;` is gone, and its file is not.
fn unlinked(before: &Side, after: &Side) -> Vec<Finding> {
    let mut found = Vec::new();
    for (file, old) in before {
        let Some(new) = after.get(file) else { continue };
        for (name, line) in &old.modules {
            let file_gone = |path: &str| {
                (path.ends_with(&format!("/{name}.rs")) || path.ends_with(&format!("/{name}/mod.rs")))
                    && !after.contains_key(path)
            };
            let moved = after.values().any(|sheet| sheet.modules.iter().any(|(other, _)| other == name))
                || new.tokens.list.windows(2).any(|pair| pair[0].is("mod") && pair[1].is(name));
            if !moved && !before.keys().any(|path| file_gone(path)) {
                let detail = format!("`mod {name};` is gone: its tests are not compiled");
                found.push(finding(Tampering::TestRemoved, file, *line, detail));
            }
        }
    }
    found
}
