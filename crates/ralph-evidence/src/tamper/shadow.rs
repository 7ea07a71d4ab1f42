//! Programs and modules of a runner's name, put where they are found first.

use super::SourceFile;
use super::compare::finding;
use super::path;
use ralph_core::tampering::{Finding, Tampering};

const PROGRAMS: &[&str] = &[
    "pytest",
    "py.test",
    "cargo",
    "rustc",
    "node",
    "npm",
    "npx",
    "yarn",
    "pnpm",
    "bun",
    "deno",
    "jest",
    "vitest",
    "mocha",
    "tap",
    "go",
    "gotestsum",
    "python",
    "python3",
    "pip",
    "tox",
    "nox",
    "ruby",
    "rspec",
    "rake",
    "bundle",
    "java",
    "mvn",
    "gradle",
    "make",
    "just",
    "bats",
    "prove",
    "git",
    "bash",
    "sh",
    "env",
    "diff",
    "grep",
    "cmp",
    "test",
    "cmake",
    "ctest",
    "tsc",
    "eslint",
];

const MODULES: &[&str] = &["pytest", "unittest", "_pytest", "nose", "hypothesis", "pluggy", "doctest"];

pub(super) fn review(files: &[SourceFile]) -> Vec<Finding> {
    let new = files.iter().filter(|file| file.before.is_none());
    new.filter_map(|file| {
        let text = file.after.as_deref()?;
        let name = path::name(&file.path);
        let what = match name {
            "sitecustomize.py" | "usercustomize.py" => {
                "Python runs this file before everything else".to_owned()
            }
            _ if name.ends_with(".pth")
                && text.lines().any(|line| line.trim_start().starts_with("import")) =>
            {
                "Python runs the lines of this file before everything else".to_owned()
            }
            _ if is_module(&file.path) => "Python finds this module before the real one".to_owned(),
            _ if PROGRAMS.contains(&name) && is_program(text) && !hands_over(text, name) => {
                format!("a program called `{name}` that is not {name}")
            }
            _ => return None,
        };
        Some(finding(Tampering::RunnerShadowed, &file.path, 1, what))
    })
    .collect()
}

/// `pytest.py` or `unittest/__init__.py` where an import from the root finds it.
fn is_module(path: &str) -> bool {
    let path = path.strip_prefix("src/").or_else(|| path.strip_prefix("tests/")).unwrap_or(path);
    MODULES.iter().any(|module| path == format!("{module}.py") || path == format!("{module}/__init__.py"))
}

/// A script. What git keeps as text and a kernel would not run is a document, a folder's list, a completion.
fn is_program(text: &str) -> bool {
    text.starts_with("#!")
}

/// A wrapper that starts the real one with its arguments: a binstub, a shim.
fn hands_over(text: &str, name: &str) -> bool {
    let code: String =
        text.lines().filter(|line| !line.trim_start().starts_with('#')).collect::<Vec<_>>().join("\n");
    let arguments = ["$@", "ARGV", "argv", "Gem.", "bin_path"].iter().any(|word| code.contains(word));
    let starts = ["exec", "load", "require", "import", "spawn"].iter().any(|word| code.contains(word));
    arguments && starts && code.contains(name)
}
