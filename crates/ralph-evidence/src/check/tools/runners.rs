//! Programs that run targets of the project, such as `make`: the name of the target says what is checked.
//!
//! Apart from the programs that themselves are checks.

use super::{Check, Kind, positionals, script_names};

/// What a runner of targets needs to be read.
pub(super) struct Runner {
    pub(super) name: &'static str,
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
pub(super) const RUNNERS: &[Runner] = &[
    Runner { name: "make", sub: &[], values: &["-C", "-f", "-I", "-o", "-W", "--directory", "--file"], never: &["-n", "--just-print", "--recon", "-q", "--question", "-p", "-t", "--touch", "-v"], many: true, tests: &["check"] },
    Runner { name: "gmake", sub: &[], values: &["-C", "-f"], never: &["-n", "-q", "-t", "--touch", "-p"], many: true, tests: &["check"] },
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
    Runner { name: "mvn", sub: &[], values: &["-f", "-pl", "-P", "-s", "-rf", "-T"], never: &["-v"], many: true, tests: &["verify", "package", "install", "integration-test"] },
    Runner { name: "mvnw", sub: &[], values: &["-f", "-pl", "-P", "-s", "-rf", "-T"], never: &["-v"], many: true, tests: &["verify", "package", "install", "integration-test"] },
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

impl Runner {
    pub(super) fn takes(&self, rest: &[String]) -> bool {
        let first = positionals(rest, self.values).first().map(|at| rest[*at].as_str());
        self.sub.is_empty() || first.is_some_and(|word| self.sub.contains(&word))
    }

    pub(super) fn checks(&self, rest: &[String]) -> Vec<Check> {
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
        if targets.is_empty() && self.builds_by_default() {
            return super::check(Kind::Build, self.name, rest);
        }
        let found = targets.iter().filter_map(|at| {
            // `:app:test` of Gradle, `app/test` of moon.
            let target = rest[*at].rsplit(['/']).next().unwrap_or_default();
            let is_test = self.tests.contains(&target) && !skips_tests(rest);
            let kind = is_test.then_some(Kind::Test).or_else(|| self.kind(target))?;
            let runs = kind != Kind::Test || !skips_tests(rest);
            let check =
                || Check { kind, program: format!("{} {}", self.name, rest[*at]), rest: others.clone() };
            runs.then(check)
        });
        found.collect()
    }
}

impl Runner {
    fn builds_by_default(&self) -> bool {
        matches!(self.name, "make" | "gmake" | "ninja" | "ant" | "xcodebuild")
    }

    /// By the name of the target, and by those that this program itself defines.
    fn kind(&self, target: &str) -> Option<Kind> {
        let of_jvm =
            ["classes", "jar", "bootJar", "shadowJar", "war", "testClasses", "package", "install", "verify"];
        let builds = match self.name {
            "make" | "gmake" | "ninja" => target == "all",
            "gradle" | "gradlew" | "mvn" | "mvnw" => {
                of_jvm.contains(&target) || target.starts_with("compile") || target.ends_with("-compile")
            }
            _ => false,
        };
        builds.then_some(Kind::Build).or_else(|| script_names::kind(target))
    }
}

/// `gradle build -x test`, `mvn package -DskipTests`
fn skips_tests(rest: &[String]) -> bool {
    let skips = |word: &String| {
        word.starts_with("-DskipTests") && !word.ends_with("=false")
            || word.starts_with("-Dmaven.test.skip") && !word.ends_with("=false")
    };
    let apart = rest
        .windows(2)
        .any(|pair| (pair[0] == "-x" || pair[0] == "--exclude-task") && pair[1].contains("est"));
    apart || rest.iter().any(|word| skips(word) || word.starts_with("-xtest"))
}
