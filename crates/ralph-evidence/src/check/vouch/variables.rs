//! What is set for a command: a variable that its runner, its shell or its loader reads may be what makes it pass.

use super::super::wrappers;
use super::{Vouched, places};

/// What a shell or a loader does before the first line of the program.
const TAKES_OVER: &[&str] =
    &["BASH_ENV", "ENV", "SHELL", "SHELLOPTS", "BASHOPTS", "PROMPT_COMMAND", "ZDOTDIR", "GCONV_PATH", "IFS"];
const TAKES_OVER_PREFIXES: &[&str] = &["LD_", "DYLD_", "BASH_FUNC"];
/// They name a program that is run in the place of another.
const PROGRAMS: &[&str] =
    &["CARGO", "RUSTC", "RUSTDOC", "NODE", "PYTHON", "MAKE", "npm_node_execpath", "CC", "CXX", "JAVA"];
const PROGRAM_ENDINGS: &[&str] = &["_WRAPPER", "_RUNNER", "_shell", "_SHELL", "_EXECUTABLE", "_LAUNCHER"];
const HONEST_PROGRAMS: &[&str] = &[
    "sccache", "ccache", "gcc", "cc", "c++", "g++", "clang", "clang++", "rustc", "node", "python3", "python",
];
/// Beginnings of the names that runners read.
#[rustfmt::skip]
const READ_BY_RUNNERS: &[&str] = &[
    "CARGO", "RUST", "npm_", "NPM_", "YARN_", "PNPM_", "NODE_", "PYTHON", "PYTEST", "PY_", "GOFLAGS", "GOROOT",
    "GOPATH", "GOWORK", "GOENV", "MAVEN_", "MVN_", "GRADLE_", "JAVA_", "JDK_", "_JAVA", "RUBY", "BUNDLE_", "RSPEC",
    "SPEC", "TESTOPTS", "TEST_OPTS", "RAKE", "JEST_", "VITEST", "MOCHA", "AVA_", "PHP", "PERL", "HARNESS_", "PROVE",
    "MAKE", "MFLAGS", "GNUMAKE", "TOX", "NOX", "CTEST", "CMAKE_", "DOTNET_", "MSBUILD", "VSTEST", "MIX_", "ERL_",
    "ELIXIR_", "BATS_", "DENO_", "BUN_", "TS_NODE", "BABEL_", "GIT_", "DOCKER_", "COMPOSE_", "HOME", "XDG_CONFIG",
    "JUST_", "TURBO_", "NX_", "SBT_", "UV_", "COVERAGE_", "NYC_", "C8_", "NEXTEST_",
];
/// Those of them that change nothing about what is run.
#[rustfmt::skip]
const HARMLESS: &[&str] = &[
    "RUST_BACKTRACE", "RUST_LOG", "RUST_MIN_STACK", "RUST_TEST_THREADS", "RUST_TEST_NOCAPTURE", "CARGO_TERM_",
    "CARGO_INCREMENTAL", "CARGO_TARGET_DIR", "CARGO_NET_", "CARGO_BUILD_JOBS", "NODE_ENV", "NODE_NO_WARNINGS",
    "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PYTHONHASHSEED", "PYTHONWARNINGS", "PYTHONIOENCODING",
    "PYTHONUTF8", "PYTHONFAULTHANDLER", "MIX_ENV", "DOTNET_CLI_", "DOTNET_NOLOGO", "npm_config_loglevel",
    "npm_config_yes", "npm_config_cache", "npm_config_audit", "npm_config_fund", "JAVA_HOME", "COMPOSE_PROJECT",
    "MAKELEVEL", "GIT_AUTHOR", "GIT_COMMITTER", "GIT_PAGER", "GIT_TERMINAL", "RUBY_YJIT", "UV_CACHE",
];
const SOURCE_FOLDERS: &[&str] = &[
    "",
    ".",
    "./",
    "src",
    "./src",
    "lib",
    "./lib",
    "..",
    "$PWD",
    "${PWD}",
    "$(pwd)",
    "$PYTHONPATH",
    "${PYTHONPATH}",
    "$PWD/src",
    "$(pwd)/src",
    "tests",
];

/// The words in front of a command, or those of `export`.
pub(in crate::check) fn assignments<'a>(words: impl IntoIterator<Item = &'a String>) -> Vouched {
    let judged = words.into_iter().filter(|word| wrappers::is_assignment(word)).filter_map(|word| {
        let (name, value) = word.split_once('=')?;
        Some(variable(name.strip_suffix('+').unwrap_or(name), value))
    });
    judged.max().unwrap_or_default()
}

/// `make test SHELL=/bin/true`: no variable of a makefile is known to be harmless.
pub(in crate::check) fn word_of_make(word: &str) -> Vouched {
    let Some((name, value)) = word.split_once('=') else { return Vouched::ByStatus };
    let name = name.trim_end_matches([':', '+', '?']);
    match name {
        "SHELL" | ".SHELLFLAGS" | "MAKE" => Vouched::Never,
        _ => variable(name, value).max(Vouched::ByCount),
    }
}

fn variable(name: &str, value: &str) -> Vouched {
    let begins = |list: &[&str]| list.iter().any(|prefix| name.starts_with(prefix));
    if name == "PATH" {
        return places::search_path(value);
    }
    if TAKES_OVER.contains(&name) || begins(TAKES_OVER_PREFIXES) {
        return Vouched::Never;
    }
    if begins(HARMLESS) {
        return Vouched::ByStatus;
    }
    if PROGRAMS.contains(&name) || PROGRAM_ENDINGS.iter().any(|end| name.ends_with(end)) {
        let is_honest = HONEST_PROGRAMS.contains(&wrappers::base_name(value));
        let honest = is_honest && places::program(value) == Vouched::ByStatus;
        return if honest || value.is_empty() { Vouched::ByCount } else { Vouched::Never };
    }
    let loads = ["--require", "-r ", "--import", "--loader", "--experimental-loader"];
    match name {
        "NODE_OPTIONS" | "RUBYOPT" | "PERL5OPT" if loads.iter().any(|flag| value.contains(flag)) => {
            Vouched::Never
        }
        "PYTHONPATH" if value.split(':').all(|part| SOURCE_FOLDERS.contains(&part)) => Vouched::ByStatus,
        "RUSTFLAGS" if value.split_whitespace().all(is_about_warnings) => Vouched::ByStatus,
        "MAKEFLAGS" if value.starts_with("-j") && !value.contains(' ') => Vouched::ByStatus,
        _ if begins(READ_BY_RUNNERS) => Vouched::ByCount,
        _ => Vouched::ByStatus,
    }
}

fn is_about_warnings(word: &str) -> bool {
    matches!(word, "-D" | "-A" | "-W" | "warnings" | "-Dwarnings" | "-Awarnings")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_judged_by_who_reads_them() {
        let judged = |word: &str| assignments([&word.to_owned()]);
        for fine in
            ["FOO=1", "CI=true", "DATABASE_URL=x", "PYTHONPATH=src", "RUSTFLAGS=-D warnings", "RUST_LOG=x"]
        {
            assert_eq!(judged(fine), Vouched::ByStatus, "{fine}");
        }
        for read in ["PYTEST_ADDOPTS=--co", "GOFLAGS=-run=x", "PYTHONPATH=./fake", "RUSTC_WRAPPER=sccache"] {
            assert_eq!(judged(read), Vouched::ByCount, "{read}");
        }
        for made in [
            "PATH=/tmp/x:$PATH",
            "LD_PRELOAD=./x.so",
            "BASH_ENV=x",
            "RUSTC_WRAPPER=/bin/true",
            "CARGO=/bin/true",
            "npm_config_script_shell=/bin/true",
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER=true",
            "NODE_OPTIONS=--require ./x.js",
        ] {
            assert_eq!(judged(made), Vouched::Never, "{made}");
        }
        assert_eq!(word_of_make("SHELL=/bin/true"), Vouched::Never);
        assert_eq!(word_of_make("V=1"), Vouched::ByCount);
    }
}
