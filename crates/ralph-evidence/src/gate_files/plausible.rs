//! Whether a file that a gate runs is a check, or the work itself. A program that a gate tries out is what the run is there to
//! change; the script that judges it is not.

use regex::Regex;
use std::sync::LazyLock;

/// Words in the name of a check, or of its folder.
const CHECKS: &[&str] = &[
    "check",
    "checks",
    "checker",
    "test",
    "tests",
    "testing",
    "lint",
    "linter",
    "verify",
    "verifier",
    "ci",
    "gate",
    "gates",
    "spec",
    "specs",
    "validate",
    "validator",
    "validation",
    "accept",
    "acceptance",
    "e2e",
    "smoke",
    "qa",
    "audit",
    "assert",
    "asserts",
    "eval",
    "judge",
    "proof",
    "prove",
    "unit",
    "integration",
    "harness",
    "unittest",
    "tester",
    "conformance",
];

/// Folders of programs, and of what is built from them.
const PROGRAMS: &[&str] = &[
    "src", "lib", "bin", "app", "apps", "cmd", "pkg", "source", "internal", "dist", "target", "build", "out",
    "public", "server", "client", "packages", "examples", "release", "debug",
];

/// Names of programs and of scripts that make something.
const WORK: &[&str] = &[
    "app", "main", "index", "server", "cli", "tool", "program", "build", "deploy", "install", "setup",
    "start", "bundle", "compile", "package", "release", "serve", "publish", "generate", "migrate", "hello",
    "demo", "solution",
];

static RUNNERS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?m)\b(pytest|unittest|cargo (?:nextest|test|clippy)|npm (?:run )?test|(?:yarn|pnpm|bun) (?:run )?test|go (?:test|vet)|jest|vitest|mocha|rspec|bats|ctest|tox|nox|mvn|gradlew? .*\btest|make (?:test|check)|node --test|eslint|tsc|mypy|ruff)\b",
    )
    .expect("a pattern of this file")
});

static FAILS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?m)\b(process\.exit|sys\.exit|os\._exit|assert\w*|AssertionError|SystemExit|unittest|def (?:check|verify|test|validate)\w*|function (?:check|verify|test|validate)\w*)\b|(?:exports\.|const )(?:check|verify|test|validate)",
    )
    .expect("a pattern of this file")
});

fn parts(path: &str) -> impl Iterator<Item = String> {
    path.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()).map(str::to_ascii_lowercase)
}

fn is_called_a_check(path: &str) -> bool {
    parts(path).any(|part| CHECKS.contains(&part.as_str()))
}

/// Whether the file judges, as far as its name, its place, its arguments and its text tell. In doubt it does.
pub fn is_check(path: &str, text: Option<&str>, arguments: &[String]) -> bool {
    if path.split('/').any(|part| part == "node_modules" || part == ".git") || is_called_a_check(path) {
        return true;
    }
    if text.is_some_and(|text| is_script(path, text) && RUNNERS.is_match(text)) {
        return true;
    }
    let tried = arguments.iter().any(|word| {
        let word = word.trim_start_matches('-').to_ascii_lowercase().replace(['-', '_'], "");
        ["selftest", "selfcheck", "version", "help", "smoketest"].contains(&word.as_str())
    });
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.split('.').next().unwrap_or(name).to_ascii_lowercase();
    let program = folders.split('/').any(|part| PROGRAMS.contains(&part.to_ascii_lowercase().as_str()));
    !(tried || program || WORK.contains(&stem.as_str()))
}

fn is_script(path: &str, text: &str) -> bool {
    super::is_shell_script(path, text) || text.starts_with("#!")
}

/// Whether a file that a check loads helps it to judge. What it loads else is what it judges.
pub(super) fn helps(path: &str, text: &str) -> bool {
    const HELPERS: &[&str] =
        &["helper", "helpers", "harness", "expect", "expected", "support", "fixtures", "runner"];
    is_called_a_check(path)
        || parts(path).any(|part| HELPERS.contains(&part.as_str()))
        || FAILS.is_match(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_is_told_from_the_program_that_it_tries() {
        let check = |path: &str, arguments: &[&str]| {
            let words: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
            is_check(path, Some(""), &words)
        };
        for path in [
            "check.sh",
            "ci/run.sh",
            "tools/lint.py",
            "scripts/after.sh",
            "x.sh",
            "node_modules/.bin/jest",
            "src/selfcheck/verify.py",
        ] {
            assert!(check(path, &[]), "{path}");
        }
        for path in
            ["lib/calc.js", "deploy.sh", "bin/tool", "app.py", "src/main.py", "target/debug/app", "build.sh"]
        {
            assert!(!check(path, &[]), "{path}");
        }
        assert!(!check("wordcount.py", &["--selftest"]) && check("wordcount.py", &[]));
        assert!(is_check("build.sh", Some("#!/bin/sh\nset -e\nmake app\ncargo test\n"), &[]));
    }

    #[test]
    fn what_a_check_loads_is_a_helper_or_its_subject() {
        assert!(helps("lib/r.js", "process.exit(1)") && helps("helper.py", "def run(): return 1"));
        assert!(!helps("lib/calc.js", "exports.add = (a, b) => a + b;"));
    }
}
