//! What a script, recipe or target is for, by its name.

use super::Kind;

/// Words that say something else is done: prepared, watched, shown.
const OTHER: &[&str] = &[
    "watch", "setup", "teardown", "clean", "deps", "install", "prepare", "fixtures", "fixture", "data",
    "serve", "seed", "gen", "generate", "report", "reports", "docs", "doc", "open", "up", "down", "start",
    "stop", "env", "image", "list", "init", "create", "new", "view", "show", "results", "help", "utils",
    "deploy", "publish", "update", "format", "fmt", "pre", "post",
];
const TEST: &[&str] = &[
    "test",
    "tests",
    "spec",
    "specs",
    "unittest",
    "unittests",
    "e2e",
    "jest",
    "vitest",
    "mocha",
    "pytest",
    "rspec",
    "phpunit",
    "pest",
    "playwright",
    "cypress",
    "nextest",
    "ctest",
    "testsuite",
    "runtest",
    "runtests",
];
const LINT: &[&str] = &[
    "lint",
    "linter",
    "linting",
    "lints",
    "eslint",
    "biome",
    "oxlint",
    "stylelint",
    "clippy",
    "ruff",
    "flake8",
    "pylint",
    "rubocop",
    "vet",
    "golangci",
    "phpcs",
    "ktlint",
    "detekt",
    "swiftlint",
    "shellcheck",
    "credo",
];
const TYPES: &[&str] =
    &["typecheck", "typechecks", "typechecking", "tsc", "mypy", "pyright", "phpstan", "psalm", "dialyzer"];

const BUILD: &[&str] = &["build", "builds", "compile", "bundle", "rebuild", "assemble", "transpile"];

/// The kind of a script by the words in its name: `test:unit`, `unit-tests`, `check-types`, `lint.fix`.
pub(super) fn kind(name: &str) -> Option<Kind> {
    if name.contains(['/', '\\', '=', '$']) || name.starts_with('-') {
        return None;
    }
    let spaced = split_camel(name);
    let words: Vec<&str> = spaced.split([':', '-', '_', '.', ' ']).filter(|word| !word.is_empty()).collect();
    let has = |list: &[&str]| words.iter().any(|word| list.contains(word));
    // `test.js` is a file, `test:js` a script.
    let is_file = [".ts", ".js", ".py", ".txt", ".md", ".log", ".json", ".mjs", ".c"]
        .iter()
        .any(|ending| name.to_ascii_lowercase().ends_with(ending));
    if words.is_empty() || has(OTHER) || is_file {
        return None;
    }
    if has(BUILD) {
        return Some(Kind::Build);
    }
    let types = has(&["type", "types", "ts", "tsc", "svelte", "typing"]) && has(&["check", "test", "checks"]);
    match () {
        () if types || has(TYPES) => Some(Kind::Typecheck),
        () if has(LINT) => Some(Kind::Lint),
        () if has(TEST) => Some(Kind::Test),
        () => None,
    }
}

/// `testDebugUnitTest` in words. Lower case all of it.
fn split_camel(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    let mut before_lower = false;
    for c in name.chars() {
        if c.is_ascii_uppercase() && before_lower {
            out.push(' ');
        }
        before_lower = c.is_ascii_lowercase() || c.is_ascii_digit();
        out.push(c.to_ascii_lowercase());
    }
    out
}
