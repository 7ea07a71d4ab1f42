//! Checks that were disarmed where they are defined: an assert of a library that is defined anew and checks nothing, a runner
//! whose own functions are replaced, a subject that the test itself replaces, a count of failures that nothing raises.

use super::SourceFile;
use super::asserts::is_library;
use super::compare::finding;
use super::lex::{Kind, Token, Tokens};
use super::marks::Mark;
use super::path::{self, Language};
use super::sheet::{Sheet, line_end};
use ralph_core::tampering::{Finding, Tampering};
use regex::Regex;
use std::ops::Range;
use std::sync::LazyLock;

pub(super) fn marks(path: &str, text: &str) -> Vec<Mark> {
    if let Some(found) = settings(path, text) {
        return found;
    }
    let Some(language) = Language::of(path) else { return Vec::new() };
    let is_ours = path::is_test(path)
        || path.contains("setup")
        || path.contains("helper")
        || language == Language::Rust;
    if language == Language::Shell {
        return never_raised(text).into_iter().collect();
    }
    if !is_ours {
        return Vec::new();
    }
    let tokens = Tokens::read(text, language);
    let mut found = defined_anew(&tokens, language);
    if language == Language::Python {
        found.extend(patched(&tokens));
        found.extend(replaced_by_test(&Sheet::read(path, text)));
    }
    if language == Language::Script {
        found.extend(mocked(&tokens));
    }
    if language == Language::Ruby {
        found.extend(skipping_hook(&tokens));
    }
    found
}

/// Words without which nothing fails.
const FAILS: &[&str] = &[
    "panic",
    "raise",
    "throw",
    "fail",
    "flunk",
    "super",
    "unreachable",
    "Error",
    "Errorf",
    "Fatal",
    "Fatalf",
    "exit",
    "require",
    "reject",
    "AssertionError",
    "abort",
    "compile_error",
    "original",
    "orig",
    "actual",
];

fn can_fail(part: &[Token], own: &str) -> bool {
    part.iter()
        .filter_map(Token::word)
        .any(|word| FAILS.contains(&word) || word != own && super::asserts::is_assert(word))
}

/// An assert that everybody knows, defined in this file, that cannot fail.
fn defined_anew(tokens: &Tokens, language: Language) -> Vec<Mark> {
    let mut found = Vec::new();
    for at in 0..tokens.list.len() {
        let Some((name, body)) = definition(tokens, at, language) else { continue };
        let known = is_library(name) && !["t", "if", "require"].contains(&name);
        // The name itself, called inside with more in front of it (`core::assert_eq!`), is the real one.
        let hands_on = body
            .clone()
            .any(|at| tokens.is(at, name) && at > 0 && (tokens.is(at - 1, "::") || tokens.is(at - 1, ".")));
        if known && !body.is_empty() && !hands_on && !can_fail(tokens.part(body), name) {
            let detail = format!("`{name}` is defined anew, and checks nothing");
            found.push(Mark::new(Tampering::OutcomeForced, tokens.list[at].line, detail));
        }
    }
    found
}

/// The name of what is defined here, and all that defines it.
fn definition(tokens: &Tokens, at: usize, language: Language) -> Option<(&str, Range<usize>)> {
    let brackets = |open: usize| {
        let open = (open..(open + 40).min(tokens.list.len())).find(|at| tokens.is(*at, "{"))?;
        Some(open + 1..tokens.close(open))
    };
    match language {
        Language::Rust if tokens.is(at, "macro_rules") => Some((tokens.word(at + 2)?, brackets(at + 2)?)),
        Language::Python if tokens.is(at, "def") && tokens.list[at].first => {
            let end = (at + 1..tokens.list.len()).find(|place| {
                tokens.list[*place].first && tokens.list[*place].indent <= tokens.list[at].indent
            });
            Some((tokens.word(at + 1)?, tokens.close(at + 2) + 1..end.unwrap_or(tokens.list.len())))
        }
        Language::Ruby if tokens.is(at, "def") => {
            let name = tokens.word(at + 1)?;
            let end = (at + 1..tokens.list.len()).find(|place| {
                tokens.is(*place, "end") && tokens.list[*place].indent <= tokens.list[at].indent
            });
            Some((name, at + 2..end.unwrap_or(tokens.list.len())))
        }
        Language::Script if tokens.is(at, "function") => {
            let name = tokens.word(at + 1)?;
            Some((name, brackets(tokens.close(at + 2))?))
        }
        Language::Script if tokens.is(at + 1, "=") => {
            let declared = at > 0 && ["const", "let", "var"].iter().any(|word| tokens.is(at - 1, word));
            let global =
                at > 1 && ["global", "globalThis", "window"].iter().any(|word| tokens.is(at - 2, word));
            if !(declared || global) {
                return None;
            }
            let end = statement_end(tokens, at + 2);
            let makes = ["=>", "function", "Proxy"]
                .iter()
                .any(|word| (at + 2..end).any(|place| tokens.is(place, word)));
            makes.then_some((tokens.word(at)?, at + 2..end))
        }
        Language::Java if tokens.is(at, "void") && tokens.is(at + 2, "(") => {
            Some((tokens.word(at + 1)?, brackets(tokens.close(at + 2))?))
        }
        _ => None,
    }
}

fn statement_end(tokens: &Tokens, from: usize) -> usize {
    let mut at = from;
    while at < tokens.list.len() && !tokens.is(at, ";") && !(at > from && tokens.list[at].first) {
        at = if tokens.opens(at) { tokens.close(at) } else { at } + 1;
    }
    at.min(tokens.list.len())
}

/// `_pytest.python.Function.runtest = …`, `unittest.TestResult.addFailure = …`, and the same by `setattr`.
fn patched(tokens: &Tokens) -> Vec<Mark> {
    const MODULES: &[&str] = &["_pytest", "pytest", "unittest", "pluggy"];
    const METHODS: &[&str] = &[
        "runtest",
        "addFailure",
        "addError",
        "addSubTest",
        "wasSuccessful",
        "failureException",
        "runtestprotocol",
        "call_runtest_hook",
        "pytest_runtest_call",
        "pytest_pyfunc_call",
        "perform_collect",
        "pytest_runtest_makereport",
    ];
    const HARMLESS: &[&str] = &["maxDiff", "longMessage", "_MAX_LENGTH", "register_assert_rewrite"];
    let mut found = Vec::new();
    for at in 0..tokens.list.len() {
        let mut end = at;
        while tokens.is(end + 1, ".") && tokens.word(end + 2).is_some() {
            end += 2;
        }
        let last = tokens.word(end).unwrap_or_default();
        let starts = at == 0 || !tokens.is(at - 1, ".");
        let of_runner =
            tokens.word(at).is_some_and(|word| MODULES.contains(&word)) || METHODS.contains(&last);
        let assigned =
            end > at && starts && tokens.is(end + 1, "=") && of_runner && !HARMLESS.contains(&last);
        let inside = tokens.part(at..=tokens.close(at + 1));
        let set = tokens.is(at, "setattr")
            && tokens.is(at + 1, "(")
            && inside.iter().any(|token| token.kind == Kind::Text && METHODS.contains(&token.text.as_str()));
        if assigned || set {
            let detail = format!("`{last}` of the test runner is replaced");
            found.push(Mark::new(Tampering::OutcomeForced, tokens.list[at].line, detail));
        }
    }
    found
}

/// `monkeypatch.setattr(Cart, "total", lambda …)` in the test that asserts on `total()`.
fn replaced_by_test(sheet: &Sheet) -> Vec<Mark> {
    let tokens = &sheet.tokens;
    let mut found = Vec::new();
    for test in &sheet.tests {
        for at in test.extent.clone() {
            let sets = ["setattr", "object"].iter().any(|word| tokens.is(at, word)) && tokens.is(at + 1, "(");
            if !sets {
                continue;
            }
            let close = tokens.close(at + 1);
            let inside = tokens.part(at + 2..close);
            let fixed = inside.iter().any(|token| token.is("lambda") || token.is("return_value"));
            let Some(name) = inside.iter().find(|token| token.kind == Kind::Text) else { continue };
            let asked = super::asserts::asserts(tokens, test.body.clone(), Language::Python);
            let by_call = |range: Range<usize>| {
                range.clone().any(|place| {
                    let direct = tokens.word(place) == Some(name.text.as_str()) && tokens.is(place + 1, "(");
                    direct
                        && tokens.close(place + 1) < range.end
                        && tokens.list[place].line == tokens.list[range.start].line
                })
            };
            let stated =
                |range: &Range<usize>| tokens.is(range.start, "assert") && tokens.is(range.start + 2, ".");
            if fixed && asked.iter().any(|assert| stated(&assert.range) && by_call(assert.range.clone())) {
                let detail = format!("`{}` replaces `{}`, which it checks", test.name, name.text);
                found.push(Mark::new(Tampering::AssertConstant, tokens.list[at].line, detail));
            }
        }
    }
    found
}

/// `jest.mock("../src/slug", () => …)` where the test then asks `expect(slug(…))` of that very module.
fn mocked(tokens: &Tokens) -> Vec<Mark> {
    let mut found = Vec::new();
    for at in 0..tokens.list.len() {
        let mocks = ["jest", "vi"].iter().any(|word| tokens.is(at, word))
            && tokens.is(at + 1, ".")
            && ["mock", "doMock"].iter().any(|word| tokens.is(at + 2, word))
            && tokens.is(at + 3, "(");
        let Some(module) = tokens.get(at + 4).filter(|token| mocks && token.kind == Kind::Text) else {
            continue;
        };
        let close = tokens.close(at + 3);
        let real = ["requireActual", "importActual", "importOriginal", "actual", "original", "fn", "spyOn"];
        let factory = tokens.part(at + 5..close);
        if factory.len() < 3 || factory.iter().any(|token| real.iter().any(|word| token.is(word))) {
            continue;
        }
        let names = imported(tokens, &module.text, close);
        let asked = (0..tokens.list.len()).any(|place| {
            tokens.is(place, "expect")
                && tokens.is(place + 1, "(")
                && tokens.word(place + 2).is_some_and(|word| names.contains(&word))
                && tokens.is(place + 3, "(")
        });
        if asked {
            let detail = format!("`{}` is replaced by the test that checks it", module.text);
            found.push(Mark::new(Tampering::AssertConstant, tokens.list[at].line, detail));
        }
    }
    found
}

/// The names that come from this module.
fn imported<'a>(tokens: &'a Tokens, module: &str, behind: usize) -> Vec<&'a str> {
    let mut names = Vec::new();
    for at in (0..tokens.list.len()).filter(|at| *at > behind || *at + 6 < behind) {
        let here = tokens.get(at).is_some_and(|token| token.kind == Kind::Text && token.text == module);
        if here {
            let line = tokens.list[at].line;
            let same = (0..at).rev().take_while(|place| tokens.list[*place].line == line);
            names.extend(same.filter_map(|place| tokens.word(place)).filter(|word| {
                !["const", "let", "var", "require", "import", "from", "await", "as", "jest", "vi", "mock"]
                    .contains(word)
            }));
        }
    }
    names
}

/// `config.around(:each) { |ex| skip "x" }`: no example runs.
fn skipping_hook(tokens: &Tokens) -> Vec<Mark> {
    let mut found = Vec::new();
    for at in 0..tokens.list.len() {
        let hook = ["around", "before", "prepend_before"].iter().any(|word| tokens.is(at, word))
            && at > 0
            && tokens.is(at - 1, ".");
        if !hook {
            continue;
        }
        let line = line_end(tokens, at);
        let opens = (at..line).find(|place| tokens.is(*place, "{") || tokens.is(*place, "do"));
        let Some(open) = opens else { continue };
        let end = match tokens.is(open, "{") {
            true => tokens.close(open),
            false => (open..tokens.list.len()).find(|place| tokens.is(*place, "end")).unwrap_or(open),
        };
        let inside = tokens.part(open..end);
        let has = |words: &[&str]| inside.iter().any(|token| words.iter().any(|word| token.is(word)));
        if has(&["skip", "pending"]) && !has(&["if", "unless", "run", "call", "case", "metadata"]) {
            let detail = "every example is skipped by a hook";
            found.push(Mark::new(Tampering::OutcomeForced, tokens.list[at].line, detail));
        }
    }
    found
}

macro_rules! pattern {
    ($name:ident, $text:literal) => {
        static $name: LazyLock<Regex> = LazyLock::new(|| Regex::new($text).expect("a pattern of this file"));
    };
}

pattern!(ENDS_WITH, r#"(?m)^\s*(?:exit|return)\s+"?\$\{?(\w+)\}?"?\s*$"#);
pattern!(MAKE_SHELL, r"^\s*(?:override |export |private )*\.?SHELL\s*[:?]?:?=\s*\S*\b(true|echo)\s*$");

/// A script that ends with a count of failures which nothing raises.
fn never_raised(text: &str) -> Option<Mark> {
    let ends = ENDS_WITH.captures_iter(text).last()?;
    let name = &ends[1];
    let line = text[..ends.get(0)?.start()].lines().count() + 1;
    let set = Regex::new(&format!(
        r"\b{name}\+?=|\(\(\s*{name}|{name}\s*\+\+|\b(?:read|let|local|declare)\b[^\n]*\b{name}\b"
    ))
    .ok()?;
    let zero = Regex::new(&format!(r#"^{name}=["']?0["']?(?:[\s;&|)}}]|$)"#)).ok()?;
    let (mut sets, mut raises) = (0, false);
    for found in set.find_iter(text) {
        let rest = &text[found.start()..];
        sets += 1;
        // In a subshell of one command it is lost again.
        let lost = text[..found.start()].trim_end().ends_with('(')
            && rest.find([')', '\n']).is_some_and(|at| rest[at..].starts_with(')'))
            && !text[..found.start()].trim_end().ends_with("((")
            && !text[..found.start()].trim_end().ends_with("$(");
        raises |= !zero.is_match(rest) && !lost;
    }
    (sets > 0 && !raises).then(|| {
        Mark::new(
            Tampering::ExitSwallowed,
            line,
            format!("the script ends with ${name}, which no failure raises"),
        )
    })
}

/// Files that are no code: `None` for any other.
fn settings(path: &str, text: &str) -> Option<Vec<Mark>> {
    let name = path::name(path).to_ascii_lowercase();
    let lines = || text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    if name.ends_with("makefile") || name.ends_with(".mk") {
        let found = lines().filter(|(_, line)| MAKE_SHELL.is_match(line));
        return Some(found.map(|(at, line)| Mark::new(Tampering::ExitSwallowed, at, line)).collect());
    }
    if path::is_pipeline(path) {
        let off = |line: &str| {
            let line = line.strip_prefix("- ").unwrap_or(line);
            let value = line.strip_prefix("if:").map(|value| value.trim().trim_matches(['"', '\'']));
            value.is_some_and(|value| ["false", "${{ false }}", "${{false}}"].contains(&value))
        };
        let found = lines().filter(|(_, line)| off(line));
        return Some(found.map(|(at, line)| Mark::new(Tampering::RunnerNarrowed, at, line)).collect());
    }
    if name.starts_with("eslint.config") || name.starts_with(".eslintrc") || name == ".eslintignore" {
        let all = ["\"**/*\"", "'**/*'", "\"**\"", "'**'", "\"*\"", "'*'"];
        let off = |line: &str| {
            line.to_ascii_lowercase().contains("ignore") && all.iter().any(|one| line.contains(one))
                || name == ".eslintignore" && ["*", "**", "**/*", "."].contains(&line)
        };
        let found = lines().filter(|(_, line)| off(line));
        return Some(found.map(|(at, line)| Mark::new(Tampering::RunnerNarrowed, at, line)).collect());
    }
    None
}

/// Files that a runner of JavaScript is told to load with this change, and that end it with success.
pub(super) fn loaded(files: &[SourceFile]) -> Vec<Finding> {
    let configs =
        files.iter().filter(|file| path::is_config(&file.path)).filter_map(|file| file.after.as_deref());
    let text: String = configs.collect::<Vec<_>>().join("\n");
    let hooks = ["globalTeardown", "globalSetup", "setupFiles", "reporters", "--require", "--import"];
    if !hooks.iter().any(|hook| text.contains(hook)) {
        return Vec::new();
    }
    let ends = |text: &str| {
        let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        text.contains("process.exit(0)")
            || text.contains("process.exitCode=0")
            || text.contains("process.exit=")
    };
    let found = files.iter().filter_map(|file| {
        let after = file.after.as_deref()?;
        let named =
            Language::of(&file.path) == Some(Language::Script) && text.contains(path::stem(&file.path));
        let was = file.before.as_deref().is_some_and(ends);
        let beside = named && !path::is_config(&file.path);
        let anew =
            |text: &str| !defined_anew(&Tokens::read(text, Language::Script), Language::Script).is_empty();
        if beside && anew(after) && !file.before.as_deref().is_some_and(anew) {
            return Some(finding(
                Tampering::OutcomeForced,
                &file.path,
                1,
                "the runner loads this file, and it defines an assert anew",
            ));
        }
        let new = beside && ends(after) && !was;
        new.then(|| {
            finding(
                Tampering::OutcomeForced,
                &file.path,
                1,
                "the runner loads this file, and it ends with success",
            )
        })
    });
    found.collect()
}
