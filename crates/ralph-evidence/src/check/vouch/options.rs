//! What a test runner is told besides: a word that is not known to be harmless may leave nothing to run.
//!
//! A path that is not there is an error with every runner. A name or a pattern that fits nothing mostly is none.

use super::super::{BROAD, QUIET, QUIET_PREFIXES};
use super::{Vouched, word_of_make};

struct Known {
    /// Beginnings of what is run.
    programs: &'static [&'static str],
    flags: &'static [&'static str],
    /// Options that take the next word.
    values: &'static [&'static str],
}

/// With any runner.
const ANY: Known = Known {
    programs: &[""],
    flags: &[
        "--all",
        "--ci",
        "--no-cov",
        "--coverage",
        "--nologo",
        "--no-build",
        "--no-restore",
        "--parallel",
        "--forceExit",
        "--detectOpenHandles",
        "--no-cache",
        "--output-on-failure",
        "--no-print-directory",
        "--trace",
        "--color",
        "--colour",
        "--watchAll=false",
        "--watch=false",
        "--no-watch",
        "--headless",
        "--debug",
        "--no-warnings",
        "--progress",
        "--no-progress",
        "--no-interaction",
        "--force",
        "--tap",
        "--ignore-scripts",
        "--experimental-vm-modules",
        "--test",
        "--enable-source-maps",
    ],
    values: &[
        "--prefix",
        "-C",
        "--cwd",
        "--dir",
        "--reporter",
        "--jobs",
        "-j",
        "--maxWorkers",
        "--timeout",
        "--test-dir",
        "--testTimeout",
        "--max-workers",
        "--import",
        "--loader",
        "--reporters",
        "--cov-report",
        "--coverage.reporter",
        "--junitxml",
        "--logger",
        "--verbosity",
        "--test-threads",
        "--coverageReporters",
    ],
};

#[rustfmt::skip]
const KNOWN: &[Known] = &[
    ANY,
    Known {
        programs: &["cargo"],
        flags: &[
            "--release", "--lib", "--bins", "--doc", "--tests", "--examples", "--benches", "--no-default-features", "--include-ignored",
            "--keep-going", "--all-targets", "--ignore-rust-version", "-qq",
        ],
        values: &[
            "-p", "--package", "-F", "--features", "--test", "--bin", "--example", "--manifest-path", "--target",
            "--target-dir", "--profile", "--message-format", "--cargo-profile",
        ],
    },
    Known { programs: &["go test", "gotestsum"], flags: &["-cover", "-short", "-failfast", "-json", "-race", "-count=1", "-mod=mod", "-mod=vendor"], values: &["-p", "-parallel", "-tags", "-timeout", "-count", "-coverprofile", "-shuffle", "-cpu"] },
    Known { programs: &["pytest", "py.test"], flags: &["-l", "-rs", "-rf", "-rfE", "-rx", "--ff", "--showlocals", "--disable-warnings", "--full-trace", "--strict-markers", "--cache-clear", "-nauto"], values: &["-n", "--maxfail", "-W", "--durations", "--cov", "--rootdir", "--tb", "-r"] },
    Known { programs: &["unittest", "manage.py"], flags: &["discover", "-b", "-f", "--buffer", "--keepdb", "--noinput", "--no-input"], values: &["-t", "--settings"] },
    Known { programs: &["npm", "pnpm", "yarn", "bun", "turbo", "lerna"], flags: &["--include-workspace-root"], values: &["-w", "-F", "--workspace", "--filter", "--scope"] },
    Known { programs: &["jest", "react-scripts"], flags: &["--colors"], values: &["-w", "--rootDir"] },
    Known { programs: &["make", "gmake", "ninja", "just", "task", "rake"], flags: &["-k", "-B", "-w", "--keep-going"], values: &["-l"] },
    Known { programs: &["gradle"], flags: &["--offline", "--rerun-tasks", "--rerun", "--no-build-cache", "--build-cache", "--no-configuration-cache", "--configuration-cache", "--scan", "--warning-mode=all"], values: &["-p", "-b", "--console", "--tests", "--max-workers"] },
    Known { programs: &["mvn"], flags: &["-am", "-o", "-U", "-e", "-X", "-V", "-ntp", "-amd", "-fae", "-ff", "--no-transfer-progress", "--offline"], values: &["-pl", "-T", "-P", "-f", "-s", "-rf"] },
    Known { programs: &["dotnet"], flags: &["--no-logo"], values: &["-c", "--configuration", "-v", "-f", "--framework"] },
    Known { programs: &["tox", "nox"], flags: &["-r", "-p"], values: &["-e", "-s", "--session"] },
    Known { programs: &["rspec"], flags: &["-b", "-fd", "-fp"], values: &["-f", "--format", "--seed", "--order"] },
    Known { programs: &["ctest", "meson"], flags: &["-V", "-VV", "--verbose"], values: &["-C", "--build-config"] },
    Known { programs: &["deno"], flags: &["-A", "--allow-all", "--unstable"], values: &[] },
    Known { programs: &["mocha", "bats", "prove", "node --test", "xcodebuild", "phpunit"], flags: &["--exit", "-r", "-l", "-p", "--testdox"], values: &["--require", "-scheme", "-project", "-workspace", "-destination", "-sdk", "-configuration"] },
];

/// Beginnings of options with a value in the same word.
const HARMLESS_PREFIXES: &[&str] = &[
    "--allow-",
    "--cov=",
    "--cov-",
    "--durations=",
    "--junitxml=",
    "--maxfail=",
    "-count=",
    "-timeout=",
    "-coverprofile=",
    "-tags=",
    "--console=",
    "--warning-mode=",
    "-T",
    "--workspace=",
    "--prefix=",
    "--max-workers=",
    "--jobs=",
    "--target=",
    "--targets=",
    "-t=",
    "--test_output=",
    "--manifest-path=",
    "--package=",
    "--features=",
    "--target-dir=",
    "--profile=",
    "--timeout=",
    "--maxWorkers=",
    "--rootdir=",
    "--test-concurrency=",
    "--test-reporter=",
    "-Itest",
    "-Ispec",
    "-p=",
    "--session=",
    "--message-format=",
    "-k=0",
    "--test=",
    "--bin=",
];

/// What these words of a test runner leave to be believed.
pub(in crate::check) fn options(program: &str, rest: &[String]) -> Vouched {
    if excludes_tests(program, rest) {
        return Vouched::Never;
    }
    let known: Vec<&Known> =
        KNOWN.iter().filter(|known| known.programs.iter().any(|name| program.starts_with(name))).collect();
    // What `nx` and `lerna` are told names targets and projects.
    let names = program.starts_with("cargo");
    let mut worst = Vouched::ByStatus;
    let mut at = 0;
    while let Some(word) = rest.get(at).map(String::as_str) {
        at += 1;
        let next = rest.get(at).map_or("", String::as_str);
        let is_plugin = word == "-p" && program.starts_with("py");
        let takes = !is_plugin && known.iter().any(|known| known.values.contains(&word));
        if takes || is_plugin && next.starts_with("no:") {
            at += 1;
        } else if word.contains('=') && !word.starts_with('-') {
            worst = worst.max(word_of_make(word));
        } else if !is_harmless(word, &known) && (word.starts_with('-') || names) {
            let targets = program.starts_with("nx") && ["-t", "--target", "--targets"].contains(&word);
            worst = worst.max(if targets { Vouched::ByStatus } else { Vouched::ByCount });
        }
    }
    worst
}

fn is_harmless(word: &str, known: &[&Known]) -> bool {
    known.iter().any(|known| known.flags.contains(&word))
        || QUIET.contains(&word)
        || BROAD.contains(&word)
        || QUIET_PREFIXES.iter().any(|prefix| word.starts_with(prefix))
        || HARMLESS_PREFIXES.iter().any(|prefix| word.starts_with(prefix))
        || !word.starts_with('-') && word.chars().all(|c| c.is_ascii_digit())
}

/// `gradle test -x test`
fn excludes_tests(program: &str, rest: &[String]) -> bool {
    if !program.starts_with("gradle") {
        return false;
    }
    let is_test = |task: &str| {
        let task = task.rsplit(':').next().unwrap_or_default();
        task.to_ascii_lowercase().contains("test") || program.ends_with(task)
    };
    let apart = rest.windows(2).any(|pair| matches!(&*pair[0], "-x" | "--exclude-task") && is_test(&pair[1]));
    let glued =
        rest.iter().filter_map(|word| word.strip_prefix("-x").or(word.strip_prefix("--exclude-task=")));
    apart || glued.filter(|task| !task.is_empty()).any(is_test)
}
