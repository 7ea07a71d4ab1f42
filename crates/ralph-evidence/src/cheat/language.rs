//! What a file of a project is written in, and whether it is a test.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Language {
    Rust,
    Python,
    JavaScript,
    Go,
    Java,
    Ruby,
    Shell,
    /// C and its family: only ever broken, never cheated on.
    C,
}

impl Language {
    /// By the end of the name, or by the first line of what has none.
    pub fn of(path: &str, text: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let end = name.rsplit_once('.').map(|(_, end)| end);
        Some(match end {
            Some("rs") => Self::Rust,
            Some("py") => Self::Python,
            Some("js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx") => Self::JavaScript,
            Some("go") => Self::Go,
            Some("java") => Self::Java,
            Some("rb") => Self::Ruby,
            Some("sh" | "bash" | "bats") => Self::Shell,
            Some("c" | "cc" | "cpp" | "cxx" | "h" | "hpp") => Self::C,
            Some(_) => return None,
            None => return Self::of_shebang(text),
        })
    }

    /// What runs a script, by its first line.
    pub fn of_shebang(text: &str) -> Option<Self> {
        let line = text.strip_prefix("#!")?.lines().next()?;
        let program = line.split([' ', '/']).rfind(|word| !word.is_empty() && !word.starts_with('-'))?;
        let program = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        Some(match program {
            "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" | "bats" => Self::Shell,
            "python" => Self::Python,
            "node" | "deno" | "bun" | "tsx" => Self::JavaScript,
            "ruby" => Self::Ruby,
            _ => return None,
        })
    }
}

/// Folders whose files are tests.
const TEST_FOLDERS: [&str; 6] = ["tests", "test", "spec", "specs", "__tests__", "e2e"];

/// Whether a file holds tests, by its path alone: a file of Rust may hold some beside its code, and is none for that.
pub fn is_test(path: &str, language: Language) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let in_folder = folders.split('/').any(|folder| TEST_FOLDERS.contains(&folder));
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    match language {
        Language::Rust => in_folder || matches!(stem, "tests" | "test") || stem.ends_with("_test"),
        Language::Python => {
            stem.starts_with("test_")
                || stem.ends_with("_test")
                || stem == "tests"
                || in_folder && stem != "conftest"
        }
        Language::JavaScript => {
            let of_name = [".test", ".spec", "-test", "_test"].iter().any(|end| stem.ends_with(end));
            of_name || matches!(stem, "test" | "tests") || stem.starts_with("test-") || in_folder
        }
        Language::Go => stem.ends_with("_test"),
        Language::Java => {
            path.contains("src/test/")
                || stem.ends_with("Test")
                || stem.ends_with("Tests")
                || stem.ends_with("IT")
        }
        Language::Ruby => stem.ends_with("_spec") || stem.ends_with("_test") || stem.starts_with("test_"),
        Language::Shell => {
            name.ends_with(".bats") || in_folder || stem.starts_with("test") || stem.ends_with("test")
        }
        Language::C => in_folder || stem.contains("test"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_told_from_sources_by_their_path() {
        for (path, expected) in [
            ("tests/a.rs", true),
            ("crates/x/tests/deep/a.rs", true),
            ("src/lib.rs", false),
            ("src/latest.rs", false),
            ("test_a.py", true),
            ("pkg/tests/helper.py", true),
            ("tests/conftest.py", false),
            ("src/contest.py", false),
            ("a.test.ts", true),
            ("__tests__/a.jsx", true),
            ("src/attest.js", false),
            ("x_test.go", true),
            ("x.go", false),
            ("src/test/java/a/B.java", true),
            ("src/main/java/a/B.java", false),
            ("spec/a_spec.rb", true),
            ("lib/a.rb", false),
            ("run.sh", false),
            ("test.sh", true),
            ("a.bats", true),
        ] {
            let language = Language::of(path, "").unwrap_or_else(|| panic!("{path}"));
            assert_eq!(is_test(path, language), expected, "{path}");
        }
    }

    #[test]
    fn a_script_without_an_ending_is_known_by_its_first_line() {
        for (text, language) in [
            ("#!/bin/sh\n", Some(Language::Shell)),
            ("#! /usr/bin/env -S python3.11\n", Some(Language::Python)),
            ("#!/usr/bin/env node\n", Some(Language::JavaScript)),
            ("#!/usr/bin/awk -f\n", None),
            ("plain", None),
        ] {
            assert_eq!(Language::of("check", text), language, "{text}");
        }
        assert_eq!(Language::of("notes.txt", "#!/bin/sh\n"), None);
    }
}
