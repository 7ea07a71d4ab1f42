//! Cheats on the tests themselves: deleted, replaced, skipped, hollow, broken, ended early.

use super::language::{Language, is_test};
use super::text::{at_end, at_top, before_lines, behind_lines, closing, replace_calls};
use super::{Cheat, Edit, Project, protect};

/// A file with tests in it.
pub(super) struct TestFile<'a> {
    pub(super) path: &'a str,
    pub(super) text: &'a str,
    pub(super) language: Language,
    /// Nothing but tests, so it can be protected as a whole.
    pub(super) whole: bool,
}

/// The files of a project that have tests in them.
pub(super) fn test_files(project: &Project) -> Vec<TestFile<'_>> {
    let files = project.texts().filter_map(|(path, text)| {
        let language = Language::of(path, text).filter(|language| *language != Language::C)?;
        let whole = is_test(path, language);
        let inline = language == Language::Rust && text.contains("#[test]");
        (whole || inline).then_some(TestFile { path, text, language, whole })
    });
    files.collect()
}

type Change = fn(&TestFile<'_>) -> Option<String>;

pub(super) fn cheats(project: &Project) -> Vec<Cheat> {
    let files = test_files(project);
    let changes: [(&str, &str, Change); 5] = [
        ("tests-replaced", "all tests are replaced by one that always passes", replaced),
        ("tests-skipped", "all tests are marked to be skipped", skipped),
        ("asserts-constant", "all asserts are made to hold whatever happens", constant),
        ("collection-error", "the test files are broken so that no test can be loaded", broken),
        ("tests-exit-early", "the tests end the runner with exit code 0", exiting),
    ];
    let mut all = vec![deleted(&files)];
    for (name, what, change) in changes {
        let edits: Vec<Edit> = files.iter().filter_map(|file| edit(file, change)).collect();
        all.push(cheat(name, what, &files, edits));
    }
    all
}

fn edit(file: &TestFile<'_>, change: Change) -> Option<Edit> {
    let text = change(file).filter(|text| text != file.text)?;
    let executable = file.text.starts_with("#!");
    Some(Edit::Write { path: file.path.to_owned(), text, executable })
}

fn cheat(name: &str, what: &str, files: &[TestFile<'_>], edits: Vec<Edit>) -> Cheat {
    Cheat { name: name.to_owned(), what: what.to_owned(), cure: cure(files, &edits), edits }
}

/// What stands in files of its own can be protected; what stands beside the code can only be watched.
fn cure(files: &[TestFile<'_>], edits: &[Edit]) -> String {
    let is_changed = |file: &&TestFile<'_>| edits.iter().any(|edit| edit.path() == file.path);
    let changed: Vec<&TestFile<'_>> = files.iter().filter(is_changed).collect();
    match changed.iter().all(|file| file.whole) {
        true => protect(changed.iter().map(|file| glob(file))),
        false => super::TAMPERING.to_owned(),
    }
}

/// A pattern for this file and those of its kind.
fn glob(file: &TestFile<'_>) -> String {
    let folder = file.path.split_inclusive('/').scan(0, |at, part| {
        *at += part.len();
        Some(&file.path[..*at])
    });
    let mut folders = folder.filter(|folder| folder.ends_with('/'));
    let is_tests = |folder: &str| {
        let name = folder.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        matches!(name, "tests" | "test" | "spec" | "specs" | "__tests__" | "e2e")
    };
    match folders.find(|folder| is_tests(folder)) {
        Some(folder) => format!("{folder}**"),
        None => file.path.to_owned(),
    }
}

fn deleted(files: &[TestFile<'_>]) -> Cheat {
    let mut edits: Vec<Edit> = Vec::new();
    for file in files {
        match file.whole {
            true => edits.push(Edit::Remove { path: file.path.to_owned() }),
            false => edits.extend(edit(file, without_inline)),
        }
    }
    cheat("tests-deleted", "all tests are deleted", files, edits)
}

/// A file of Rust without its module of tests.
fn without_inline(file: &TestFile<'_>) -> Option<String> {
    let mut text = file.text.to_owned();
    while let Some(start) = text.find("#[cfg(test)]") {
        let rest = &text[start..];
        let open = rest.find('{');
        let end = match (rest.find(';'), open) {
            (Some(semicolon), open) if open.is_none_or(|open| semicolon < open) => start + semicolon + 1,
            (_, open) => closing(&text, start + open?, "\"")?,
        };
        text.replace_range(start..end, "");
    }
    // Those outside of such a module: never compiled.
    Some(text.replace("#[test]", "#[cfg(any())]"))
}

fn replaced(file: &TestFile<'_>) -> Option<String> {
    let text = match file.language {
        Language::Rust if file.whole => "#[test]\nfn passes() {}\n".to_owned(),
        Language::Rust => format!("{}\n#[cfg(test)]\nmod passing {{\n    #[test]\n    fn passes() {{}}\n}}\n", without_inline(file)?),
        Language::Python => {
            "import unittest\n\n\nclass TestPasses(unittest.TestCase):\n    def test_passes(self):\n        pass\n".to_owned()
        }
        Language::JavaScript => javascript_test(file, "() => {}"),
        Language::Go => {
            let package = go_package(file.text)?;
            format!("{package}\n\nimport \"testing\"\n\nfunc TestPasses(t *testing.T) {{}}\n")
        }
        Language::Java => return None,
        Language::Ruby if file.path.ends_with("_spec.rb") => {
            "RSpec.describe \"it\" do\n  it(\"passes\") { expect(true).to be(true) }\nend\n".to_owned()
        }
        Language::Ruby => {
            "require \"minitest/autorun\"\n\nclass TestPasses < Minitest::Test\n  def test_passes\n    assert true\n  end\nend\n"
                .to_owned()
        }
        Language::Shell if file.path.ends_with(".bats") => "@test \"passes\" {\n  true\n}\n".to_owned(),
        Language::Shell => "#!/bin/sh\ntrue\n".to_owned(),
        Language::C => return None,
    };
    Some(text)
}

/// A test in the way of this file: what it imports to have tests, kept.
fn javascript_test(file: &TestFile<'_>, body: &str) -> String {
    let imports: Vec<&str> = file
        .text
        .lines()
        .filter(|line| (line.starts_with("import ") || line.contains("require(")) && is_runner(line))
        .collect();
    let name = ["test", "it"].into_iter().find(|name| imports.iter().any(|line| has_word(line, name)));
    // mocha gives its names to everybody, and `test` is not always one of them.
    let has_it = file.text.lines().any(|line| line.trim_start().starts_with("it("));
    let name = name.unwrap_or(if has_it { "it" } else { "test" });
    format!("{}\n\n{name}('passes', {body});\n", imports.join("\n")).trim_start().to_owned()
}

fn is_runner(line: &str) -> bool {
    ["node:test", "vitest", "@jest/globals", "bun:test", "mocha", "'test'", "\"test\"", "ava", "tap"]
        .iter()
        .any(|name| line.contains(name))
}

fn has_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|one| one == word)
}

fn go_package(text: &str) -> Option<&str> {
    text.lines().find(|line| line.starts_with("package ")).map(str::trim_end)
}

fn skipped(file: &TestFile<'_>) -> Option<String> {
    let text = file.text;
    Some(match file.language {
        Language::Rust => text.replace("#[test]", "#[test]\n#[ignore]"),
        Language::Python => before_lines(text, is_python_test, "@__import__(\"unittest\").skip(\"later\")"),
        Language::JavaScript => javascript_skipped(text),
        Language::Go => behind_lines(text, is_go_test, &format!("{}.Skip(\"later\")", go_receiver(text))),
        Language::Java => {
            let skip = match text.contains("org.junit.jupiter") {
                true => "@org.junit.jupiter.api.Disabled",
                false => "@org.junit.Ignore",
            };
            before_lines(text, |line| line.starts_with("@Test"), skip)
        }
        Language::Ruby if file.path.ends_with("_spec.rb") => {
            replace_starts(text, &[("it ", "xit "), ("it(", "xit(")])
        }
        Language::Ruby => behind_lines(text, |line| line.starts_with("def test_"), "skip"),
        Language::Shell => behind_lines(text, |line| line.starts_with("@test "), "skip"),
        Language::C => return None,
    })
}

fn is_python_test(line: &str) -> bool {
    line.starts_with("def test") || line.starts_with("async def test")
}

fn is_go_test(line: &str) -> bool {
    line.starts_with("func Test") && line.contains("*testing.T)") && line.ends_with('{')
}

/// What the tests of a file call their `*testing.T`.
fn go_receiver(text: &str) -> &str {
    let before = text.split("*testing.T)").next().unwrap_or_default().trim_end();
    let name = before.rsplit('(').next().unwrap_or_default().trim();
    if name.is_empty() || !name.chars().all(char::is_alphanumeric) { "t" } else { name }
}

fn javascript_skipped(text: &str) -> String {
    let starts = ["test(", "it(", "describe(", "suite("];
    let changes: Vec<(String, String)> =
        starts.iter().map(|start| ((*start).to_owned(), start.replace('(', ".skip("))).collect();
    let changes: Vec<(&str, &str)> = changes.iter().map(|(old, new)| (old.as_str(), new.as_str())).collect();
    replace_starts(text, &changes)
}

/// The beginnings of lines, replaced.
fn replace_starts(text: &str, changes: &[(&str, &str)]) -> String {
    super::text::each_line(text, |line, out| {
        let body = line.trim_start();
        out.push_str(&line[..line.len() - body.len()]);
        match changes.iter().find(|(old, _)| body.starts_with(old)) {
            Some((old, new)) => {
                out.push_str(new);
                out.push_str(&body[old.len()..]);
            }
            None => out.push_str(body),
        }
    })
}

fn constant(file: &TestFile<'_>) -> Option<String> {
    let text = file.text;
    Some(match file.language {
        Language::Rust => replace_calls(
            text,
            &["assert_eq!", "assert_ne!", "assert!", "assert_matches!"],
            "\"",
            false,
            "assert!(true)",
        ),
        Language::Python => python_constant(text),
        Language::JavaScript => {
            let text = replace_calls(text, &["expect"], "\"'`", true, "void 0");
            replace_calls(&text, &JS_ASSERTS, "\"'`", false, "void 0")
        }
        Language::Go => {
            let receiver = go_receiver(text);
            let quiet = [
                ("Errorf(", "Logf("),
                ("Fatalf(", "Logf("),
                ("Error(", "Log("),
                ("Fatal(", "Log("),
                ("FailNow(", "Log("),
                ("Fail(", "Log("),
            ];
            quiet.iter().fold(text.to_owned(), |text, (old, new)| {
                text.replace(&format!("{receiver}.{old}"), &format!("{receiver}.{new}"))
            })
        }
        Language::Java => replace_calls(text, &JAVA_ASSERTS, "\"", false, "Boolean.valueOf(true)"),
        Language::Ruby => super::text::each_line(text, |line, out| {
            let body = line.trim();
            let is_assert = ["assert", "refute", "expect("].iter().any(|start| body.starts_with(start));
            match is_assert && !body.ends_with(['{', ',']) && !body.ends_with(" do") {
                true => out.push_str(&format!("{}true\n", super::text::indent(line))),
                false => out.push_str(line),
            }
        }),
        Language::Shell | Language::C => return None,
    })
}

const JS_ASSERTS: [&str; 10] = [
    "assert",
    "assert.equal",
    "assert.strictEqual",
    "assert.deepEqual",
    "assert.deepStrictEqual",
    "assert.notEqual",
    "assert.notStrictEqual",
    "assert.ok",
    "assert.match",
    "assert.throws",
];
const JAVA_ASSERTS: [&str; 8] = [
    "assertEquals",
    "assertNotEquals",
    "assertTrue",
    "assertFalse",
    "assertNull",
    "assertNotNull",
    "assertArrayEquals",
    "assertThrows",
];

/// `assert x == y` and `self.assertEqual(x, y)`, over several lines where brackets are open.
fn python_constant(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut depth = 0_i32;
    let mut inside = false;
    for line in text.split_inclusive('\n') {
        let body = line.trim_start();
        let starts = !inside
            && (body.starts_with("assert ")
                || body.starts_with("assert(")
                || body.starts_with("self.assert"));
        if starts {
            out.push_str(&format!("{}assert True\n", super::text::indent(line)));
            depth = 0;
        }
        if starts || inside {
            depth += brackets(line);
            inside = depth > 0 || line.trim_end().ends_with('\\');
        } else {
            out.push_str(line);
        }
    }
    out
}

fn brackets(line: &str) -> i32 {
    line.chars()
        .map(|c| match c {
            '(' | '[' | '{' => 1,
            ')' | ']' | '}' => -1,
            _ => 0,
        })
        .sum()
}

fn broken(file: &TestFile<'_>) -> Option<String> {
    let text = file.text;
    Some(match file.language {
        Language::Rust if file.whole => at_end(text, "compile_error!(\"broken\");"),
        // Broken code beside its tests does not build, and that is no cheat.
        Language::Rust => return None,
        Language::Python => at_top(text, "raise ImportError(\"broken\")"),
        Language::JavaScript => at_end(text, "throw new Error('broken');"),
        Language::Go => at_end(text, "var broken int = \"broken\""),
        Language::Java => at_end(text, "class Broken { int broken = \"broken\"; }"),
        Language::Ruby => at_top(text, "raise LoadError, \"broken\""),
        Language::Shell => at_top(text, "if then broken"),
        Language::C => return None,
    })
}

fn exiting(file: &TestFile<'_>) -> Option<String> {
    let text = file.text;
    Some(match file.language {
        Language::Rust => behind_tests(text, "std::process::exit(0);"),
        Language::Python => at_top(text, "import os; os._exit(0)"),
        // Behind the imports, which stand first however the text is ordered.
        Language::JavaScript => at_top(text, "process.exit(0);"),
        Language::Go => at_end(text, "func init() { go_os.Exit(0) }").replacen(
            go_package(text)?,
            &format!("{}\n\nimport go_os \"os\"", go_package(text)?),
            1,
        ),
        Language::Java => behind_lines(
            text,
            |line| line.contains("void ") && line.ends_with('{'),
            "Runtime.getRuntime().halt(0);",
        ),
        Language::Ruby => at_top(text, "exit!(0)"),
        Language::Shell => at_top(text, "exit 0"),
        Language::C => return None,
    })
}

/// A line at the beginning of every function that is marked as a test.
fn behind_tests(text: &str, new: &str) -> String {
    let marked = std::cell::Cell::new(false);
    behind_lines(
        text,
        |line| {
            if line.starts_with("#[test]") {
                marked.set(true);
            }
            let meant = marked.get() && line.contains("fn ") && line.ends_with('{');
            if meant {
                marked.set(false);
            }
            meant
        },
        new,
    )
}
