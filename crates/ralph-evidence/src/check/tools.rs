//! The programs that check something, and how they are told to do it.

mod programs;
mod runners;
mod table;

use super::wrappers::base_name;
use super::{Kind, script_names};
use programs::{
    cargo, cmake, coverage, go, images, interpreter, is_python, node, nx, package_manager, python, sbt, zig,
};
use runners::RUNNERS;
use table::TOOLS;

/// One check that a command line runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Check {
    pub kind: Kind,
    /// What is run, in the words that make it this check: `npm test`, `pytest`.
    pub program: String,
    /// What it is told besides.
    pub rest: Vec<String>,
}

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
    "--collect-only",
    "--collectonly",
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
        "docker" | "podman" => return images(name, rest),
        "cmake" => return cmake(rest),
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

/// Whether a pass shows that what this tool compiles does compile.
pub(super) fn compiles(check: &Check) -> bool {
    const COMPILERS: &[&str] = &[
        "cargo", "go", "gradle", "gradlew", "mvn", "mvnw", "dotnet", "swift", "sbt", "mix", "zig", "bazel",
        "stack", "cabal", "dune", "flutter", "rebar3", "make", "gmake", "ninja", "meson", "bazelisk",
    ];
    let tool = check.program.split(' ').next().unwrap_or_default();
    matches!(check.kind, Kind::Test | Kind::Build)
        && COMPILERS.contains(&tool)
        && !check.program.ends_with("fmt")
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
