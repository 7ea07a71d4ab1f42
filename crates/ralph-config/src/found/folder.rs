//! What is in a project's folder, as far as gates can be found from it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// Files are looked for this deep.
const MAX_DEPTH: usize = 3;
/// A folder with more entries is known in part.
const MAX_ENTRIES: usize = 20_000;
/// Files that say how a project is built are short.
const MAX_TEXT: u64 = 1 << 20;
/// What is installed or built tells nothing about the project itself.
const SKIPPED: [&str; 12] = [
    ".git",
    "node_modules",
    "target",
    ".venv",
    "venv",
    "vendor",
    "dist",
    "build",
    "__pycache__",
    ".ralph",
    ".tox",
    ".gradle",
];
/// Files whose text is read, in the top folder.
const TEXTS: [&str; 22] = [
    "Cargo.toml",
    "package.json",
    "pyproject.toml",
    "setup.cfg",
    "tox.ini",
    "pytest.ini",
    "requirements.txt",
    "requirements-dev.txt",
    "dev-requirements.txt",
    "requirements-test.txt",
    "Pipfile",
    "Gemfile",
    "Rakefile",
    "GNUmakefile",
    "makefile",
    "Makefile",
    "justfile",
    "Justfile",
    ".justfile",
    "build.gradle",
    "mix.exs",
    "composer.json",
];

/// What is in a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folder {
    /// Files, by their path from here.
    pub files: BTreeSet<String>,
    /// The text of those that say how the project is built.
    pub texts: BTreeMap<String, String>,
}

impl Folder {
    /// Looks at a folder. What cannot be read is not there.
    pub fn look(path: &Path) -> Self {
        let mut folder = Self::default();
        folder.list(path, "", 1);
        for name in TEXTS.into_iter().filter(|name| folder.files.contains(*name)) {
            if let Some(text) = read(&path.join(name)) {
                folder.texts.insert(name.to_owned(), text);
            }
        }
        // The programs of an environment beside the project: named, though what is installed is not listed.
        for name in [".venv/bin/pytest", "venv/bin/pytest"] {
            if path.join(name).is_file() {
                folder.files.insert(name.to_owned());
            }
        }
        folder
    }

    fn list(&mut self, path: &Path, inside: &str, depth: usize) {
        let Ok(entries) = fs::read_dir(path) else { return };
        for entry in entries.flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            if self.files.len() >= MAX_ENTRIES {
                return;
            }
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && depth < MAX_DEPTH && !SKIPPED.contains(&name.as_str()) {
                self.list(&entry.path(), &format!("{inside}{name}/"), depth + 1);
            } else if kind.is_file() || kind.is_symlink() && entry.path().is_file() {
                self.files.insert(format!("{inside}{name}"));
            }
        }
    }

    pub(super) fn has(&self, path: &str) -> bool {
        self.files.contains(path)
    }

    pub(super) fn text(&self, path: &str) -> &str {
        self.texts.get(path).map_or("", String::as_str)
    }

    /// The first of these that is there.
    pub(super) fn first(&self, names: &[&'static str]) -> Option<&'static str> {
        names.iter().copied().find(|name| self.has(name))
    }
}

/// A plain file's text: a pipe in its place is not waited for.
fn read(path: &Path) -> Option<String> {
    let meta = fs::metadata(path).ok().filter(|meta| meta.is_file() && meta.len() <= MAX_TEXT)?;
    let mut text = String::new();
    File::open(path).ok()?.take(meta.len()).read_to_string(&mut text).ok()?;
    Some(text)
}
