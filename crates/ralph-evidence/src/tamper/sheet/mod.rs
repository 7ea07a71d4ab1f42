//! What a source file holds for a test runner: its tests, which of them are switched off, the helpers beside them, and what
//! the rest of the file defines.

mod go;
mod java;
mod python;
mod ruby;
mod rust;
mod script;
mod shell;

use super::lex::{Kind, Tokens};
use super::path::{self, Language};
use std::collections::BTreeSet;
use std::ops::Range;

/// One test, as places in the tokens of its file.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::tamper) struct Test {
    pub name: String,
    pub line: usize,
    /// With its attributes, decorators and table of cases.
    pub extent: Range<usize>,
    pub body: Range<usize>,
    /// The line that switches it off.
    pub skipped: Option<usize>,
    /// Conditions under which alone it is compiled.
    pub gates: Vec<String>,
}

#[derive(Debug, Default)]
pub(in crate::tamper) struct Sheet {
    pub language: Option<Language>,
    pub tokens: Tokens,
    pub tests: Vec<Test>,
    /// Functions that stand with the tests and are none.
    pub helpers: Vec<(String, Range<usize>)>,
    /// Lines that make a runner run nothing else.
    pub focused: Vec<(usize, String)>,
    /// What the program in this file defines, each as often as it is defined.
    pub defines: Vec<String>,
    /// Test modules that this file declares and does not hold.
    pub modules: Vec<(String, usize)>,
    /// Places that belong to tests, in a file that also holds the program.
    pub territory: Vec<Range<usize>>,
}

impl Sheet {
    pub fn read(path: &str, text: &str) -> Sheet {
        let Some(language) = Language::of(path) else { return Sheet::default() };
        let tokens = Tokens::read(text, language);
        let mut sheet = Sheet { language: Some(language), tokens, ..Sheet::default() };
        match language {
            Language::Rust => rust::read(&mut sheet, path),
            Language::Python => python::read(&mut sheet, path),
            Language::Script => script::read(&mut sheet, path),
            Language::Go => go::read(&mut sheet, path, text),
            Language::Java => java::read(&mut sheet, path),
            Language::Ruby => ruby::read(&mut sheet, path),
            Language::Shell => shell::read(&mut sheet, path),
        }
        if path::is_test(path) {
            let all = 0..sheet.tokens.list.len();
            sheet.territory = Vec::from([all]);
            sheet.defines.clear();
        } else {
            let texts = flags_and_routes(&sheet);
            sheet.defines.extend(texts);
        }
        sheet
    }

    pub fn in_territory(&self, at: usize) -> bool {
        self.territory.iter().any(|range| range.contains(&at))
    }

    /// What is program and not test, for telling whether the program changed.
    pub fn program(&self) -> Vec<String> {
        let tokens = self.tokens.list.iter().enumerate();
        tokens.filter(|(at, _)| !self.in_territory(*at)).map(|(_, token)| token.key()).collect()
    }
}

/// Options and routes that a program knows: they are defined by being there.
fn flags_and_routes(sheet: &Sheet) -> BTreeSet<String> {
    let texts = sheet.tokens.list.iter().enumerate().filter(|(at, token)| {
        token.kind == Kind::Text
            && token.text.len() > 2
            && token.text.starts_with(['-', '/'])
            && !token.text.contains(char::is_whitespace)
            && !sheet.in_territory(*at)
    });
    texts.map(|(_, token)| token.text.clone()).collect()
}

/// Of what encloses the place: whether it is off, and whether it is for tests.
#[derive(Debug, Clone)]
struct Container {
    end: usize,
    skipped: Option<usize>,
    test: bool,
    gates: Vec<String>,
}

struct Containers(Vec<Container>);

impl Containers {
    fn new(test: bool, skipped: Option<usize>, gates: Vec<String>) -> Self {
        Containers(vec![Container { end: usize::MAX, skipped, test, gates }])
    }

    fn leave(&mut self, at: usize) {
        while self.0.len() > 1 && self.0.last().is_some_and(|container| container.end <= at) {
            self.0.pop();
        }
    }

    fn enter(&mut self, end: usize, skipped: Option<usize>, test: bool, gates: Vec<String>) {
        let outer = self.last();
        let skipped = outer.skipped.or(skipped);
        let test = outer.test || test;
        let gates = outer.gates.iter().cloned().chain(gates).collect();
        self.0.push(Container { end, skipped, test, gates });
    }

    fn last(&self) -> Container {
        self.0[self.0.len() - 1].clone()
    }
}

/// The words of a range.
fn words(tokens: &Tokens, range: Range<usize>) -> impl Iterator<Item = &str> {
    let end = range.end.min(tokens.list.len());
    tokens.part(range.start.min(end)..end).iter().filter_map(|token| token.word())
}

/// Whether an argument list begins with something that is always true (or always false).
fn first_is(tokens: &Tokens, open: usize, yes: bool) -> bool {
    let Some(first) = tokens.get(open + 1) else { return false };
    let second_ends = tokens.get(open + 2).is_some_and(|token| token.is(")") || token.is(","));
    let is = |words: &[&str]| words.iter().any(|word| first.text == *word);
    second_ends && if yes { is(&["True", "true", "1"]) } else { is(&["False", "false", "0"]) }
}

/// The first place in the range, outside all brackets that open in it, where this holds.
fn outside(tokens: &Tokens, range: Range<usize>, mut is: impl FnMut(usize) -> bool) -> Option<usize> {
    let mut at = range.start;
    while at < range.end {
        if is(at) {
            return Some(at);
        }
        at = if tokens.opens(at) { tokens.close(at) } else { at } + 1;
    }
    None
}

/// The `{ … }` of a function whose head starts here: its inside. None for a declaration.
fn braces(tokens: &Tokens, from: usize) -> Option<Range<usize>> {
    let end = tokens.list.len();
    let at = outside(tokens, from..end, |at| tokens.is(at, "{") || tokens.is(at, ";"))?;
    tokens.is(at, "{").then(|| at + 1..tokens.close(at))
}

/// The block of lines below this place that are indented further, in languages that go by lines.
fn indented(tokens: &Tokens, at: usize) -> usize {
    let indent = tokens.list[at].indent;
    let behind = tokens.list.iter().enumerate().skip(at + 1);
    behind
        .filter(|(_, token)| token.first && token.line > tokens.list[at].line)
        .find(|(_, token)| token.indent <= indent)
        .map_or(tokens.list.len(), |(place, _)| place)
}

/// The end of the line of the place, its brackets included.
pub(in crate::tamper) fn line_end(tokens: &Tokens, at: usize) -> usize {
    let behind = tokens.list.iter().enumerate().skip(at + 1);
    behind.filter(|(_, token)| token.first).map(|(place, _)| place).next().unwrap_or(tokens.list.len())
}
