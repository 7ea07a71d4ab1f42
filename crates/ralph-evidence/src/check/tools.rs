//! The programs that check something, and how they are told to do it.

use super::wrappers::base_name;
use super::{Kind, script_names};

/// One check that a command line runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Check {
    pub kind: Kind,
    /// What is run, in the words that make it this check: `npm test`, `pytest`.
    pub program: String,
    /// What it is told besides.
    pub rest: Vec<String>,
}

struct Tool {
    name: &'static str,
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
const TOOLS: &[Tool] = &[
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

/// Whatever the program: with one of these nothing is checked, or it never ends.
const NEVER: &[&str] = &[
    "--help",
    "-h",
    "--version",
    "--dry-run",
    "--watch",
    "--watchAll",
    "--watch-all",
    "--listTests",
    "--list-tests",
    "--no-run",
];

/// What a runner of targets needs to be read.
struct Runner {
    name: &'static str,
    /// Words before the target, one of which has to come first.
    sub: &'static [&'static str],
    /// Options that take the next word.
    values: &'static [&'static str],
    never: &'static [&'static str],
    /// All words are targets, not only the first.
    many: bool,
    /// Targets that are tests though their name does not say so.
    tests: &'static [&'static str],
}

#[rustfmt::skip]
const RUNNERS: &[Runner] = &[
    Runner { name: "make", sub: &[], values: &["-C", "-f", "-I", "-o", "-W", "--directory", "--file"], never: &["-n", "--just-print", "-q", "-p"], many: true, tests: &["check"] },
    Runner { name: "gmake", sub: &[], values: &["-C", "-f"], never: &["-n"], many: true, tests: &["check"] },
    Runner { name: "ninja", sub: &[], values: &["-C", "-f", "-j", "-k"], never: &["-n", "-t"], many: true, tests: &["check"] },
    Runner { name: "just", sub: &[], values: &["-f", "--justfile", "-d", "--working-directory"], never: &["-n", "-l", "--list", "--show", "-s", "--evaluate"], many: false, tests: &[] },
    Runner { name: "task", sub: &[], values: &["-d", "--dir", "-t", "--taskfile"], never: &["-l", "--list", "-a", "-n", "--dry", "-w"], many: true, tests: &[] },
    Runner { name: "mage", sub: &[], values: &["-d", "-w"], never: &["-l"], many: true, tests: &[] },
    Runner { name: "rake", sub: &[], values: &["-f", "-C"], never: &["-T", "-n", "-P"], many: true, tests: &[] },
    Runner { name: "rails", sub: &[], values: &[], never: &["-T"], many: false, tests: &[] },
    Runner { name: "invoke", sub: &[], values: &["-c", "-r"], never: &["-l", "--list"], many: false, tests: &[] },
    Runner { name: "inv", sub: &[], values: &["-c", "-r"], never: &["-l", "--list"], many: false, tests: &[] },
    Runner { name: "poe", sub: &[], values: &["-C"], never: &["-d"], many: false, tests: &[] },
    Runner { name: "doit", sub: &[], values: &["-f"], never: &["list"], many: false, tests: &[] },
    Runner { name: "gradle", sub: &[], values: &["-x", "--exclude-task", "-p", "-b", "-c", "--tests", "-I"], never: &["-m", "tasks"], many: true, tests: &["check", "build"] },
    Runner { name: "gradlew", sub: &[], values: &["-x", "--exclude-task", "-p", "-b", "-c", "--tests", "-I"], never: &["-m", "tasks"], many: true, tests: &["check", "build"] },
    Runner { name: "mvn", sub: &[], values: &["-f", "-pl", "-P", "-s", "-rf", "-T"], never: &["-DskipTests", "-DskipTests=true", "-Dmaven.test.skip", "-Dmaven.test.skip=true", "-v"], many: true, tests: &["verify", "package", "install", "integration-test"] },
    Runner { name: "mvnw", sub: &[], values: &["-f", "-pl", "-P", "-s", "-rf", "-T"], never: &["-DskipTests", "-DskipTests=true", "-Dmaven.test.skip", "-Dmaven.test.skip=true", "-v"], many: true, tests: &["verify", "package", "install", "integration-test"] },
    Runner { name: "ant", sub: &[], values: &["-f"], never: &["-p"], many: true, tests: &[] },
    Runner { name: "turbo", sub: &[], values: &["--filter", "-F", "--concurrency", "--cwd"], never: &["--dry"], many: true, tests: &[] },
    Runner { name: "lerna", sub: &["run"], values: &["--scope"], never: &[], many: false, tests: &[] },
    Runner { name: "moon", sub: &["run"], values: &[], never: &[], many: true, tests: &[] },
    Runner { name: "grunt", sub: &[], values: &[], never: &[], many: true, tests: &[] },
    Runner { name: "gulp", sub: &[], values: &["-f"], never: &["-T", "--tasks"], many: true, tests: &[] },
    Runner { name: "mise", sub: &["run", "r"], values: &["-C", "--cd"], never: &[], many: false, tests: &[] },
    Runner { name: "deno", sub: &["task"], values: &["--cwd"], never: &[], many: false, tests: &[] },
    Runner { name: "composer", sub: &[], values: &["-d"], never: &["require", "install", "update", "remove", "show"], many: false, tests: &[] },
    Runner { name: "artisan", sub: &[], values: &[], never: &[], many: false, tests: &[] },
    Runner { name: "npm-run-all", sub: &[], values: &[], never: &[], many: true, tests: &[] },
    Runner { name: "run-s", sub: &[], values: &[], never: &[], many: true, tests: &[] },
    Runner { name: "run-p", sub: &[], values: &[], never: &[], many: true, tests: &[] },
    Runner { name: "rush", sub: &[], values: &[], never: &["add", "install"], many: false, tests: &[] },
    Runner { name: "xcodebuild", sub: &[], values: &["-scheme", "-project", "-workspace", "-destination", "-sdk", "-configuration"], never: &["-list"], many: true, tests: &["test-without-building"] },
];

/// Which checks these words run. Wrappers are off already.
pub(super) fn checks(words: &[String]) -> Vec<Check> {
    let Some((program, rest)) = words.split_first() else { return Vec::new() };
    if rest.iter().any(|word| NEVER.contains(&word.as_str())) {
        return Vec::new();
    }
    let name = base_name(program);
    match name {
        "npm" | "pnpm" | "yarn" | "bun" => return package_manager(name, rest),
        "cargo" => return cargo(rest),
        "go" => return go(rest),
        "node" | "tsx" => return node(rest),
        "php" | "ruby" | "perl" => return interpreter(name, rest),
        "coverage" => return coverage(rest),
        "zig" => return zig(rest),
        "nx" => return nx(rest),
        "sbt" => return sbt(rest),
        name if is_python(name) => return python(rest),
        _ => {}
    }
    if let Some(runner) = RUNNERS.iter().find(|runner| runner.name == name && runner.takes(rest)) {
        return runner.checks(rest);
    }
    let found = TOOLS.iter().find_map(|tool| tool.check(name, rest));
    found.or_else(|| script_file(program, rest)).into_iter().collect()
}

fn check(kind: Kind, program: impl Into<String>, rest: &[String]) -> Vec<Check> {
    vec![Check { kind, program: program.into(), rest: rest.to_vec() }]
}

impl Tool {
    fn check(&self, name: &str, rest: &[String]) -> Option<Check> {
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

impl Runner {
    fn takes(&self, rest: &[String]) -> bool {
        let first = positionals(rest, self.values).first().map(|at| rest[*at].as_str());
        self.sub.is_empty() || first.is_some_and(|word| self.sub.contains(&word))
    }

    fn checks(&self, rest: &[String]) -> Vec<Check> {
        if rest.iter().any(|word| self.never.contains(&word.as_str())) {
            return Vec::new();
        }
        let mut targets = positionals(rest, self.values);
        let first = targets.first().copied();
        let word = first.filter(|at| !self.sub.is_empty() || rest[*at] == "run");
        targets.drain(..usize::from(word.is_some()));
        targets.truncate(if self.many { usize::MAX } else { 1 });
        let others: Vec<String> = (0..rest.len())
            .filter(|at| !targets.contains(at) && Some(*at) != word)
            .map(|at| rest[at].clone())
            .collect();
        let found = targets.iter().filter_map(|at| {
            // `:app:test` of Gradle, `app/test` of moon.
            let target = rest[*at].rsplit(['/']).next().unwrap_or_default();
            let is_test = self.tests.contains(&target) && !skips_tests(rest);
            let kind = is_test.then_some(Kind::Test).or_else(|| script_names::kind(target))?;
            Some(Check { kind, program: format!("{} {}", self.name, rest[*at]), rest: others.clone() })
        });
        found.collect()
    }
}

/// `gradle build -x test`
fn skips_tests(rest: &[String]) -> bool {
    rest.windows(2).any(|pair| pair[0] == "-x" || pair[0] == "--exclude-task")
}

/// Where the words stand that are neither options nor the values of options, up to `--`.
fn positionals(rest: &[String], values: &[&str]) -> Vec<usize> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(word) = rest.get(at).filter(|word| *word != "--") {
        if word.starts_with('-') {
            at += 1 + usize::from(values.contains(&word.as_str()));
            continue;
        }
        if !word.contains('=') {
            found.push(at);
        }
        at += 1;
    }
    found
}

const JS_VALUES: &[&str] =
    &["--filter", "-F", "--prefix", "-w", "--workspace", "-C", "--cwd", "--dir", "--exclude", "--from"];

fn package_manager(name: &str, rest: &[String]) -> Vec<Check> {
    let mut places = positionals(rest, JS_VALUES);
    // Which packages of many is an option that looks like a command.
    while let Some(first) = places.first().map(|at| rest[*at].as_str()) {
        let skip = match (name, first) {
            ("yarn", "workspace") => 2,
            ("yarn", "workspaces" | "foreach") | ("pnpm", "recursive" | "multi" | "m") => 1,
            _ => break,
        };
        places.drain(..skip.min(places.len()));
    }
    let Some((&first, others)) = places.split_first() else { return Vec::new() };
    let word = rest[first].as_str();
    let without = |used: &[usize]| -> Vec<String> {
        (0..rest.len()).filter(|at| !used.contains(at)).map(|at| rest[at].clone()).collect()
    };
    match (name, word) {
        ("npm", "test" | "t" | "tst" | "it" | "install-test" | "cit") | ("pnpm" | "yarn", "test" | "t") => {
            check(Kind::Test, format!("{name} test"), &without(&[first]))
        }
        ("bun", "test") => check(Kind::Test, "bun test", &without(&[first])),
        (_, "run" | "run-script" | "rum" | "urn") => {
            let Some(&script) = others.first() else { return Vec::new() };
            let what = rest[script].as_str();
            let tail = &rest[script..];
            let known = name != "npm" && TOOLS.iter().any(|tool| tool.name == what);
            match script_names::kind(what) {
                _ if known => checks(tail),
                Some(Kind::Test) if what == "test" && name != "bun" => {
                    check(Kind::Test, format!("{name} test"), &without(&[first, script]))
                }
                Some(kind) => check(kind, format!("{name} run {what}"), &without(&[first, script])),
                None if name != "npm" => checks(tail),
                None => Vec::new(),
            }
        }
        ("npm", _) => Vec::new(),
        // `yarn jest`, `pnpm tsc`: a program of the project, or a script.
        _ => {
            let known = TOOLS.iter().any(|tool| tool.name == word);
            match script_names::kind(word) {
                _ if known => checks(&rest[first..]),
                Some(kind) => check(kind, format!("{name} run {word}"), &without(&[first])),
                None if RUNNERS.iter().any(|runner| runner.name == word) || word == "nx" => {
                    checks(&rest[first..])
                }
                None => Vec::new(),
            }
        }
    }
}

fn cargo(rest: &[String]) -> Vec<Check> {
    const VALUES: &[&str] = &["--manifest-path", "-C", "--config", "--color", "-Z", "--target-dir"];
    let rest = match rest.split_first() {
        Some((toolchain, others)) if toolchain.starts_with('+') => others,
        _ => rest,
    };
    let places = positionals(rest, VALUES);
    let word = |n: usize| places.get(n).map_or("", |at: &usize| rest[*at].as_str());
    let tail = |n: usize| {
        let used = &places[..n.min(places.len())];
        (0..rest.len()).filter(|at| !used.contains(at)).map(|at| rest[at].clone()).collect::<Vec<_>>()
    };
    if rest.iter().any(|word| word == "--list" || word == "--list-tests") {
        return Vec::new();
    }
    match (word(0), word(1)) {
        ("test" | "t", _) => check(Kind::Test, "cargo test", &tail(1)),
        ("nextest", "run" | "r") => check(Kind::Test, "cargo nextest", &tail(2)),
        ("miri" | "careful" | "hack" | "insta" | "llvm-cov", "test" | "nextest") => {
            check(Kind::Test, format!("cargo {} {}", word(0), word(1)), &tail(2))
        }
        ("hack", "check" | "clippy") => {
            let kind = if word(1) == "check" { Kind::Typecheck } else { Kind::Lint };
            check(kind, format!("cargo hack {}", word(1)), &tail(2))
        }
        ("llvm-cov", "report" | "clean" | "show-env") => Vec::new(),
        ("tarpaulin" | "llvm-cov", _) => check(Kind::Test, format!("cargo {}", word(0)), &tail(1)),
        ("check" | "c", _) => check(Kind::Typecheck, "cargo check", &tail(1)),
        ("clippy", _) => check(Kind::Lint, "cargo clippy", &tail(1)),
        ("make" | "xtask", name) => script_names::kind(name)
            .map(|kind| check(kind, format!("cargo {} {name}", word(0)), &tail(2)))
            .unwrap_or_default(),
        _ => Vec::new(),
    }
}

fn go(rest: &[String]) -> Vec<Check> {
    let rest = match rest.first().map(String::as_str) {
        Some("-C") => rest.get(2..).unwrap_or_default(),
        _ => rest,
    };
    let Some((word, args)) = rest.split_first() else { return Vec::new() };
    let has = |flags: &[&str]| args.iter().any(|arg| flags.contains(&arg.as_str()));
    match word.as_str() {
        "test" if !has(&["-c", "-n", "-list"]) && !args.iter().any(|arg| arg.starts_with("-list=")) => {
            check(Kind::Test, "go test", args)
        }
        "vet" => check(Kind::Lint, "go vet", args),
        "run" | "tool" => checks(args),
        _ => Vec::new(),
    }
}

fn is_python(name: &str) -> bool {
    let version = ["python", "pypy", "py"].iter().find_map(|prefix| name.strip_prefix(prefix));
    version.is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

fn python(rest: &[String]) -> Vec<Check> {
    let mut at = 0;
    while let Some(word) = rest.get(at).filter(|word| word.starts_with('-')) {
        match word.as_str() {
            "-m" => return checks(rest.get(at + 1..).unwrap_or_default()),
            "-c" | "-" => return Vec::new(),
            "-W" | "-X" => at += 2,
            // `-3` of the Windows launcher, `-u`, `-B`.
            _ => at += 1,
        }
    }
    let Some((file, args)) = rest.get(at..).and_then(<[String]>::split_first) else { return Vec::new() };
    match (base_name(file), args.first().map(String::as_str)) {
        ("manage.py", Some("test")) => check(Kind::Test, "manage.py test", &args[1..]),
        ("setup.py", Some("test")) => check(Kind::Test, "setup.py test", &args[1..]),
        _ => script_file(file, args).into_iter().collect(),
    }
}

/// `coverage run -m pytest`
fn coverage(rest: &[String]) -> Vec<Check> {
    if rest.first().is_none_or(|word| word != "run") {
        return Vec::new();
    }
    match rest.iter().position(|word| word == "-m") {
        Some(at) => checks(&rest[at + 1..]),
        None => python(&rest[1..]),
    }
}

fn node(rest: &[String]) -> Vec<Check> {
    if rest.iter().any(|word| word == "--test") {
        let others: Vec<String> = rest.iter().filter(|word| *word != "--test").cloned().collect();
        return check(Kind::Test, "node --test", &others);
    }
    if let Some(at) = rest.iter().position(|word| word == "--run") {
        let Some(name) = rest.get(at + 1) else { return Vec::new() };
        let found =
            script_names::kind(name).map(|kind| check(kind, format!("npm run {name}"), &rest[at + 2..]));
        return found.unwrap_or_default();
    }
    let Some(at) = rest.iter().position(|word| !word.starts_with('-')) else { return Vec::new() };
    if !rest[at].contains("node_modules/") {
        return Vec::new();
    }
    let program = base_name(&rest[at]);
    let program = program.strip_suffix(".js").or(program.strip_suffix(".mjs")).unwrap_or(program);
    let words: Vec<String> =
        std::iter::once(program.to_owned()).chain(rest[at + 1..].iter().cloned()).collect();
    checks(&words)
}

/// `php artisan test`, `php vendor/bin/phpunit`, `ruby -Itest test/all.rb`.
fn interpreter(name: &str, rest: &[String]) -> Vec<Check> {
    if name == "ruby" && rest.iter().any(|word| word.starts_with("-Itest") || word == "-Ispec") {
        return check(Kind::Test, "ruby -Itest", rest);
    }
    match rest.iter().position(|word| !word.starts_with('-')) {
        Some(at) => checks(&rest[at..]),
        None => Vec::new(),
    }
}

fn zig(rest: &[String]) -> Vec<Check> {
    match (rest.first().map(String::as_str), rest.get(1).map(String::as_str)) {
        (Some("test"), _) => check(Kind::Test, "zig test", &rest[1..]),
        (Some("build"), Some("test")) => check(Kind::Test, "zig build test", &rest[2..]),
        _ => Vec::new(),
    }
}

/// `nx test app`, `nx run app:test`, `nx run-many -t lint test`, `nx affected --target=test`.
fn nx(rest: &[String]) -> Vec<Check> {
    let Some((word, args)) = rest.split_first() else { return Vec::new() };
    let targets: Vec<&str> = match word.as_str() {
        "run" => args.first().and_then(|what| what.split(':').nth(1)).into_iter().collect(),
        "run-many" | "affected" => {
            let named = args.iter().filter_map(|arg| {
                arg.strip_prefix("--target=").or(arg.strip_prefix("--targets=")).or(arg.strip_prefix("-t="))
            });
            let at = args.iter().position(|arg| ["-t", "--target", "--targets"].contains(&arg.as_str()));
            let behind = at.map_or(&[][..], |at| &args[at + 1..]).iter().map(String::as_str);
            named.chain(behind.take_while(|arg| !arg.starts_with('-'))).flat_map(|t| t.split(',')).collect()
        }
        other => vec![other],
    };
    let found = targets.iter().filter_map(|target| {
        let kind = script_names::kind(target)?;
        Some(Check { kind, program: format!("nx {target}"), rest: args.to_vec() })
    });
    found.collect()
}

fn sbt(rest: &[String]) -> Vec<Check> {
    let tasks = rest.iter().flat_map(|word| word.split(';')).filter_map(|task| {
        let task = task.split_whitespace().next()?.rsplit('/').next()?;
        ["test", "testOnly", "testQuick", "testFull"].contains(&task).then_some(task)
    });
    let mut tasks: Vec<&str> = tasks.collect();
    tasks.dedup();
    tasks.iter().flat_map(|task| check(Kind::Test, format!("sbt {task}"), rest)).collect()
}

/// `./run-tests.sh`, `scripts/lint`: a script of the project whose name says what it checks.
fn script_file(program: &str, rest: &[String]) -> Option<Check> {
    const FOLDERS: &[&str] = &["bin", "script", "scripts", "dev", "tools", "ci", ".ci", "hack"];
    let (folder, name) = program.rsplit_once('/').unwrap_or(("", program));
    let stem = [".sh", ".bash"].iter().find_map(|ext| name.strip_suffix(ext));
    let is_ours = !folder.starts_with('/') && FOLDERS.contains(&folder.rsplit('/').next()?);
    let stem = stem.or(is_ours.then_some(name).filter(|name| !name.contains('.')))?;
    let kind = script_names::kind(stem)?;
    Some(Check { kind, program: program.trim_start_matches("./").to_owned(), rest: rest.to_vec() })
}
