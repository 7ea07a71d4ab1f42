//! What a file is, by its path alone.

/// The languages whose tests are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Language {
    Rust,
    Python,
    Script,
    Go,
    Java,
    Ruby,
    Shell,
}

impl Language {
    pub fn of(path: &str) -> Option<Language> {
        let (_, ext) = name(path).rsplit_once('.')?;
        Some(match ext.to_ascii_lowercase().as_str() {
            "rs" => Language::Rust,
            "py" => Language::Python,
            "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" => Language::Script,
            "go" => Language::Go,
            "java" | "kt" | "kts" => Language::Java,
            "rb" => Language::Ruby,
            "sh" | "bash" | "bats" | "zsh" => Language::Shell,
            _ => return None,
        })
    }
}

pub(super) fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The name without its last extension.
pub(super) fn stem(path: &str) -> &str {
    let name = name(path);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

fn folders(path: &str) -> impl Iterator<Item = &str> {
    path.rsplit_once('/').map_or("", |(folders, _)| folders).split('/')
}

/// Folders that nobody writes by hand: what is in them is installed or built.
const NOT_OURS: &[&str] = &[
    "node_modules",
    "target",
    ".git",
    ".venv",
    "venv",
    "vendor",
    "dist",
    "__pycache__",
    ".tox",
    ".nox",
    ".mypy_cache",
    ".pytest_cache",
    ".gradle",
    ".ralph",
    "site-packages",
    ".next",
    "coverage",
];

const TEST_FOLDERS: &[&str] =
    &["test", "tests", "__tests__", "spec", "specs", "testing", "testdata", "__snapshots__", "e2e"];

/// Whether the file stands where tests stand, or is named like one.
pub(super) fn is_test(path: &str) -> bool {
    let stem = stem(path);
    let lower = stem.to_ascii_lowercase();
    folders(path).any(|folder| TEST_FOLDERS.contains(&folder))
        || ["test_", "test-"].iter().any(|start| lower.starts_with(start))
        || ["_test", "-test", ".test", "_spec", "-spec", ".spec", "_tests", "-tests"]
            .iter()
            .any(|end| lower.ends_with(end))
        || ["test", "tests", "conftest", "spec_helper", "test_helper", "rails_helper"]
            .contains(&lower.as_str())
        || (Language::of(path) == Some(Language::Java)
            && (stem.starts_with("Test") || stem.ends_with("Test") || stem.ends_with("Tests")))
}

/// Whether the file is code of tests.
pub fn holds_tests(path: &str) -> bool {
    matters(path) && Language::of(path).is_some() && is_test(path)
}

/// Whether a runner of this language finds tests in a file of this name without being told. `None`: any file of it may hold
/// tests.
pub(super) fn is_collected(path: &str) -> bool {
    let stem = stem(path);
    let starts = |starts: &[&str]| starts.iter().any(|start| stem.starts_with(start));
    let ends = |ends: &[&str]| ends.iter().any(|end| stem.ends_with(end));
    match Language::of(path) {
        Some(Language::Python) => starts(&["test"]) || ends(&["_test", "_tests"]),
        Some(Language::Go) => ends(&["_test"]) && !starts(&["_", "."]) && is_for_here(stem),
        Some(Language::Ruby) => starts(&["test_"]) || ends(&["_spec", "_test"]),
        Some(Language::Script) => {
            starts(&["test-", "test"])
                || ends(&[".test", ".spec", "-test", "_test", "-spec", "_spec", ".cy", ".e2e"])
                || folders(path).any(|folder| ["test", "tests", "__tests__", "spec"].contains(&folder))
        }
        Some(Language::Java) => is_test(path),
        Some(Language::Rust | Language::Shell) => true,
        None => false,
    }
}

/// `name_windows_test.go` is built on Windows alone.
fn is_for_here(stem: &str) -> bool {
    const SYSTEMS: &[&str] = &[
        "linux", "windows", "darwin", "freebsd", "netbsd", "openbsd", "android", "ios", "js", "plan9",
        "solaris", "wasip1",
    ];
    const PROCESSORS: &[&str] =
        &["amd64", "arm64", "arm", "386", "wasm", "riscv64", "s390x", "ppc64le", "mips"];
    let system = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
    let processor = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
    let mut parts = stem.strip_suffix("_test").unwrap_or(stem).split('_').skip(1);
    parts.all(|part| {
        (!SYSTEMS.contains(&part) || part == system) && (!PROCESSORS.contains(&part) || part == processor)
    })
}

/// Files that hold what a program should print.
pub(super) fn is_golden(path: &str) -> bool {
    let name = name(path);
    let lower = name.to_ascii_lowercase();
    let ext = lower.rsplit_once('.').map_or("", |(_, ext)| ext);
    let code = Language::of(path).is_some();
    ["snap", "golden", "approved", "stdout", "stderr", "expected", "ambr"].contains(&ext)
        || !code
            && (lower.contains(".approved.")
                || lower.contains(".golden.")
                || lower.contains("expected")
                || folders(path).any(|folder| {
                    ["__snapshots__", "snapshots", "golden", "goldens", "expected", "approvals"]
                        .contains(&folder)
                }))
}

const CONFIGS: &[&str] = &[
    "pytest.ini",
    ".pytest.ini",
    "tox.ini",
    "setup.cfg",
    "pyproject.toml",
    "noxfile.py",
    "package.json",
    ".npmrc",
    ".taprc",
    ".rspec",
    "rakefile",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "gradle.properties",
    "maven.config",
    "jvm.config",
    "cargo.toml",
    "config.toml",
    "nextest.toml",
    "makefile",
    "gnumakefile",
    "justfile",
    ".justfile",
    "taskfile.yml",
    "taskfile.yaml",
    "jenkinsfile",
    "dockerfile",
    "go.mod",
    "gemfile",
    ".coveragerc",
    "deno.json",
    "deno.jsonc",
    "bunfig.toml",
    "sitecustomize.py",
    "usercustomize.py",
];

/// Settings of runners and builds, by name.
pub(super) fn is_config(path: &str) -> bool {
    let lower = name(path).to_ascii_lowercase();
    let ext = lower.rsplit_once('.').map_or("", |(_, ext)| ext);
    CONFIGS.contains(&lower.as_str())
        || ["jest.", "vitest.", "vite.config.", "karma.", "playwright.", ".mocharc", "ava.config", "cypress."]
            .iter()
            .any(|start| lower.starts_with(start))
        || matches!(ext, "mk" | "pth")
        || is_pipeline(path)
}

/// A job description of a CI service.
pub(super) fn is_pipeline(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    (lower.ends_with(".yml") || lower.ends_with(".yaml"))
        && (lower.starts_with(".github/")
            || lower.contains("/.github/")
            || lower.starts_with(".circleci/")
            || ["gitlab-ci", "azure-pipelines", "travis", "cirrus", "buildkite", "drone", "woodpecker"]
                .iter()
                .any(|word| lower.contains(word))
            || lower.split('/').any(|part| part == "ci" || part == ".ci"))
}

/// Whether the file can hold tests, what tests are told by (sources, for what they define), expected values, settings of
/// runners, or scripts. By path alone.
pub fn matters(path: &str) -> bool {
    let ours = !folders(path).any(|folder| NOT_OURS.contains(&folder));
    let bare = !name(path).contains('.');
    let data = ["json", "yaml", "yml", "toml", "txt", "csv", "tsv", "xml", "html", "sql", "golden", "snap"];
    let ext = name(path).rsplit_once('.').map_or("", |(_, ext)| ext);
    ours && (Language::of(path).is_some()
        || is_config(path)
        || is_golden(path)
        || bare
        || is_test(path) && data.contains(&ext))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_tests_settings_and_scripts_matter() {
        for path in [
            "src/lib.rs",
            "a/b/test_x.py",
            "web/x.test.tsx",
            "x_test.go",
            "src/test/java/ATest.java",
            "spec/a_spec.rb",
            "run.sh",
            "Makefile",
            "bin/check",
            "pytest.ini",
            ".github/workflows/ci.yml",
            "tests/data/cases.json",
            "tests/__snapshots__/a.snap",
            "pom.xml",
            "build.gradle.kts",
            ".mocharc.json",
            "pytest",
        ] {
            assert!(matters(path), "{path}");
        }
        for path in
            ["README.md", "node_modules/a/index.js", "target/debug/build.rs", "logo.png", "docs/a.txt"]
        {
            assert!(!matters(path), "{path}");
        }
    }

    #[test]
    fn a_file_that_no_runner_collects_holds_no_tests() {
        for path in
            ["tests/test_a.py", "a_test.go", "a.spec.ts", "test/a.js", "spec/a_spec.rb", "tests/it.rs"]
        {
            assert!(is_collected(path), "{path}");
        }
        for path in ["tests/old_a.py", "tests/conftest.py", "a.go", "_a_test.go", "src/a.js", "lib/a.rb"] {
            assert!(!is_collected(path), "{path}");
        }
    }
}
