//! Patterns of paths, as a `.gitignore` has them: `coverage/`, `*.xml`, `/tests/**`, `!tests/new.rs`.

use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

#[derive(Debug, Clone)]
pub struct Patterns {
    rules: Gitignore,
}

impl Default for Patterns {
    fn default() -> Self {
        Self { rules: Gitignore::empty() }
    }
}

impl Patterns {
    /// The error names the pattern that cannot be read.
    pub fn new<'a>(patterns: impl IntoIterator<Item = &'a String>) -> Result<Self, String> {
        // Paths are relative, so they are below any root.
        let mut rules = GitignoreBuilder::new("");
        for pattern in patterns {
            rules
                .add_line(None, pattern)
                .map_err(|error| format!("`{pattern}` is no pattern of paths: {error}"))?;
        }
        let rules =
            rules.build().map_err(|error| format!("the patterns of paths cannot be read: {error}"))?;
        Ok(Self { rules })
    }

    /// Whether a file is meant, by its own path or by a folder on the way. The path is relative.
    pub fn matches(&self, path: &Path) -> bool {
        !self.rules.is_empty() && self.rules.matched_path_or_any_parents(path, false).is_ignore()
    }

    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(all: &[&str]) -> Patterns {
        let all: Vec<String> = all.iter().map(|one| (*one).to_owned()).collect();
        Patterns::new(&all).expect("patterns")
    }

    #[test]
    fn they_read_as_those_of_git() {
        let some = patterns(&["coverage/", "*.xml", "/tests/**", "!tests/new.rs"]);
        for path in ["coverage/a", "x/coverage/a", "junit.xml", "x/y.xml", "tests/a.rs", "tests/a/b.rs"] {
            assert!(some.matches(Path::new(path)), "{path}");
        }
        for path in ["src/a.rs", "x/tests/a.rs", "tests/new.rs", "coverage"] {
            assert!(!some.matches(Path::new(path)), "{path}");
        }
        assert!(!patterns(&[]).matches(Path::new("a")));
    }

    #[test]
    fn a_pattern_that_cannot_be_read_is_named() {
        let error = Patterns::new(&["[z-a]".to_owned()]).expect_err("an error");
        assert!(error.contains("`[z-a]`"), "{error}");
    }
}
