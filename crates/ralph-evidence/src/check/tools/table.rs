//! The programs whose name, or name and first word, says that something is checked.
//!
//! Apart from the reading of command lines: a table that grows by a line for each program.

use super::{Check, Kind};

pub(super) struct Tool {
    pub(super) name: &'static str,
    kind: Kind,
    /// The words one of which has to come first; none: the name alone says it.
    sub: &'static [&'static str],
    /// Words that say nothing is checked.
    never: &'static [&'static str],
}

const fn test(name: &'static str, sub: &'static [&'static str], never: &'static [&'static str]) -> Tool {
    Tool { name, kind: Kind::Test, sub, never }
}

const fn lint(name: &'static str, sub: &'static [&'static str], never: &'static [&'static str]) -> Tool {
    Tool { name, kind: Kind::Lint, sub, never }
}

const fn types(name: &'static str, sub: &'static [&'static str], never: &'static [&'static str]) -> Tool {
    Tool { name, kind: Kind::Typecheck, sub, never }
}

#[rustfmt::skip]
pub(super) const TOOLS: &[Tool] = &[
    test("jest", &[], &["--init", "--clearCache", "--showConfig", "-v"]),
    test("vitest", &[], &["watch", "dev", "bench", "list", "init", "-w", "-v", "--ui"]),
    test("mocha", &[], &["-w", "-V"]),
    test("ava", &[], &["-w"]),
    test("tap", &[], &[]),
    test("jasmine", &[], &["init"]),
    test("karma", &["start"], &["--no-single-run"]),
    test("cypress", &["run"], &[]),
    test("playwright", &["test"], &["--ui", "--list"]),
    test("testcafe", &[], &[]),
    test("wtr", &[], &[]),
    test("web-test-runner", &[], &[]),
    test("uvu", &[], &[]),
    test("nightwatch", &[], &[]),
    test("react-scripts", &["test"], &[]),
    test("react-app-rewired", &["test"], &[]),
    test("craco", &["test"], &[]),
    test("ng", &["test", "t", "e2e"], &[]),
    test("deno", &["test"], &["--no-run"]),
    test("pytest", &[], &["--collect-only", "--co", "--fixtures", "--markers", "-V"]),
    test("py.test", &[], &["--collect-only", "--co", "--fixtures", "--markers", "-V"]),
    test("nosetests", &[], &["--collect-only"]),
    test("unittest", &[], &[]),
    test("tox", &[], &["-l", "--listenvs", "-a", "list", "l", "--notest", "config"]),
    test("nox", &[], &["-l", "--list", "--install-only"]),
    test("hatch", &["test"], &["--show"]),
    test("ward", &[], &[]),
    test("behave", &[], &[]),
    test("robot", &[], &["--dryrun"]),
    test("rspec", &[], &["--init", "-v"]),
    test("cucumber", &[], &["--init"]),
    test("phpunit", &[], &["--list-tests", "--generate-configuration"]),
    test("simple-phpunit", &[], &[]),
    test("paratest", &[], &[]),
    test("pest", &[], &["--init", "--list-tests"]),
    test("codecept", &["run"], &[]),
    test("behat", &[], &["--init"]),
    test("ctest", &[], &["-N", "--show-only"]),
    test("meson", &["test"], &[]),
    test("gotestsum", &[], &[]),
    test("ginkgo", &[], &["build", "watch", "bootstrap", "generate", "help", "version", "labels", "outline"]),
    test("prove", &[], &[]),
    test("bats", &[], &["-c", "--count"]),
    test("busted", &[], &["-l", "--list"]),
    test("shellspec", &[], &["--init", "--list"]),
    test("stack", &["test"], &["--no-run-tests"]),
    test("cabal", &["test", "v2-test", "new-test"], &[]),
    test("lein", &["test", "midje", "spec"], &[]),
    test("swift", &["test"], &["list"]),
    test("flutter", &["test"], &[]),
    test("dart", &["test"], &[]),
    test("gleam", &["test"], &[]),
    test("crystal", &["spec"], &[]),
    test("nimble", &["test"], &[]),
    test("dune", &["test", "runtest"], &["-w"]),
    test("mix", &["test", "test.watch", "coveralls"], &["test.watch"]),
    test("rebar3", &["eunit", "ct", "proper"], &[]),
    test("bazel", &["test", "coverage"], &[]),
    test("bazelisk", &["test", "coverage"], &[]),
    test("buck2", &["test"], &[]),
    test("pants", &["test"], &[]),
    test("plz", &["test"], &[]),
    test("forge", &["test"], &["--list"]),
    test("hardhat", &["test"], &[]),
    test("truffle", &["test"], &[]),
    test("anchor", &["test"], &[]),
    test("wasm-pack", &["test"], &[]),
    test("newman", &["run"], &[]),
    test("molecule", &["test", "verify"], &[]),
    test("terraform", &["test"], &[]),
    test("dotnet", &["test", "vstest"], &["-t", "--list-tests"]),
    test("sail", &["test", "phpunit", "pest"], &[]),
    lint("eslint", &[], &["-v", "--init", "--print-config", "--env-info"]),
    lint("eslint_d", &[], &["start", "stop", "restart", "status"]),
    lint("biome", &["check", "lint", "ci"], &[]),
    lint("oxlint", &[], &["--rules", "--init"]),
    lint("standard", &[], &[]),
    lint("xo", &[], &[]),
    lint("tslint", &[], &["--init"]),
    lint("jshint", &[], &[]),
    lint("stylelint", &[], &["--print-config"]),
    lint("next", &["lint"], &[]),
    lint("ng", &["lint"], &[]),
    lint("deno", &["lint"], &["--rules"]),
    lint("ruff", &[], &["format", "clean", "rule", "config", "linter", "server", "version", "analyze", "--show-files", "--show-settings", "help"]),
    lint("flake8", &[], &[]),
    lint("pylint", &[], &["--list-msgs", "--generate-rcfile"]),
    lint("pyflakes", &[], &[]),
    lint("pycodestyle", &[], &[]),
    lint("pydocstyle", &[], &[]),
    lint("bandit", &[], &[]),
    lint("rubocop", &[], &["-V", "-v", "--list-target-files", "-L", "--init", "--show-cops"]),
    lint("standardrb", &[], &[]),
    lint("brakeman", &[], &[]),
    lint("golangci-lint", &["run"], &[]),
    lint("staticcheck", &[], &["-explain"]),
    lint("revive", &[], &[]),
    lint("golint", &[], &[]),
    lint("shellcheck", &[], &["-V"]),
    lint("hadolint", &[], &[]),
    lint("yamllint", &[], &[]),
    lint("ansible-lint", &[], &[]),
    lint("markdownlint", &[], &[]),
    lint("markdownlint-cli2", &[], &[]),
    lint("actionlint", &[], &[]),
    lint("tflint", &[], &["--init"]),
    lint("sqlfluff", &["lint"], &[]),
    lint("buf", &["lint"], &[]),
    lint("helm", &["lint"], &[]),
    lint("spectral", &["lint"], &[]),
    lint("phpcs", &[], &["-i"]),
    lint("swiftlint", &[], &["rules", "version", "docs"]),
    lint("ktlint", &[], &[]),
    lint("detekt", &[], &[]),
    lint("clang-tidy", &[], &["--list-checks", "--dump-config"]),
    lint("cppcheck", &[], &[]),
    lint("cpplint", &[], &[]),
    lint("luacheck", &[], &[]),
    lint("selene", &[], &[]),
    lint("hlint", &[], &[]),
    lint("mix", &["credo"], &[]),
    lint("dart", &["analyze"], &[]),
    lint("flutter", &["analyze"], &[]),
    lint("pre-commit", &["run"], &[]),
    lint("trunk", &["check"], &[]),
    types("tsc", &[], &["-v", "--init", "--showConfig", "-w", "--all", "--listFilesOnly", "--clean"]),
    types("vue-tsc", &[], &["-v", "--init", "--showConfig", "-w"]),
    types("tsgo", &[], &["-v", "--init", "--showConfig", "-w"]),
    types("svelte-check", &[], &[]),
    types("astro", &["check"], &[]),
    types("tsd", &[], &[]),
    types("deno", &["check"], &[]),
    types("mypy", &[], &["-V"]),
    types("dmypy", &["run", "check"], &[]),
    types("pyright", &[], &[]),
    types("basedpyright", &[], &[]),
    types("pyre", &["check"], &[]),
    types("pytype", &[], &[]),
    types("ty", &["check"], &[]),
    types("pyrefly", &["check"], &[]),
    types("flow", &["check", "status"], &[]),
    types("srb", &["tc"], &[]),
    types("phpstan", &["analyse", "analyze"], &[]),
    types("psalm", &[], &["--init", "--clear-cache"]),
    types("mix", &["dialyzer"], &["--plt"]),
];

impl Tool {
    pub(super) fn check(&self, name: &str, rest: &[String]) -> Option<Check> {
        if self.name != name || rest.iter().any(|word| self.never.contains(&word.as_str())) {
            return None;
        }
        if self.sub.is_empty() {
            return Some(Check { kind: self.kind, program: name.to_owned(), rest: rest.to_vec() });
        }
        // An option before the word may take the next one: then this is not the word.
        let at = rest.iter().position(|word| !word.starts_with('-'))?;
        let word = rest.get(at).filter(|word| self.sub.contains(&word.as_str()))?;
        Some(Check {
            kind: self.kind,
            program: format!("{name} {word}"),
            rest: [&rest[..at], &rest[at + 1..]].concat(),
        })
    }
}
