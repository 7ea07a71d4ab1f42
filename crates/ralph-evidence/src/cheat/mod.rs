//! Ways to make gates pass without doing the work, and ways to break code so that honest gates notice.
//!
//! `ralph gates audit` applies them to a copy of a workspace, one at a time. Which of them fit a project, and what each changes,
//! is decided here, from the project's files alone: edits are data. Whether a cheat is let through is decided in [`verdict`].

mod breakage;
mod by_hand;
mod cure;
mod language;
mod log;
mod places;
mod runner;
mod script;
mod test_files;
mod text;
pub mod verdict;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use breakage::{Breakage, breakages};
pub use by_hand::{Copy, by_hand};
pub use language::{Language, is_test};

/// The files of a project, by their path from its top folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Project {
    pub files: BTreeMap<String, SourceFile>,
    /// Files that git ignores and gates use all the same: programs of installed dependencies.
    pub installed: Vec<String>,
    /// Folders inside the project that are on the PATH, from the first.
    pub path_folders: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Nothing for what is no text, or too long to be written by hand.
    pub text: Option<String>,
    pub executable: bool,
}

impl Project {
    fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path)?.text.as_deref()
    }

    /// Every file that is text.
    fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().filter_map(|(path, file)| Some((path.as_str(), file.text.as_deref()?)))
    }

    fn has(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// The folders, `""` or with a slash at their end, that have a file of this name.
    fn folders_with<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.files.keys().filter_map(move |path| {
            let folder = path.strip_suffix(name)?;
            (folder.is_empty() || folder.ends_with('/')).then_some(folder)
        })
    }

    /// What the files are after these edits.
    pub fn edited(&self, edits: &[Edit]) -> Self {
        let mut after = self.clone();
        for edit in edits {
            match edit {
                Edit::Remove { path } => drop(after.files.remove(path)),
                Edit::Write { path, text, executable } => {
                    let file = SourceFile { text: Some(text.clone()), executable: *executable };
                    after.files.insert(path.clone(), file);
                }
            }
        }
        after
    }
}

/// A change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// The file has this text from now on.
    Write {
        path: String,
        text: String,
        executable: bool,
    },
    Remove {
        path: String,
    },
}

impl Edit {
    fn write(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Write { path: path.into(), text: text.into(), executable: false }
    }

    fn program(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Write { path: path.into(), text: text.into(), executable: true }
    }

    pub fn path(&self) -> &str {
        match self {
            Self::Write { path, .. } | Self::Remove { path } => path,
        }
    }
}

/// A gate as far as cheats are concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateLine {
    pub name: String,
    /// The program and its arguments.
    pub words: Vec<String>,
}

/// A way to make gates pass without doing the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cheat {
    /// Unique in one audit, such as `tests-skipped` or `runner-patched-pytest`.
    pub name: String,
    /// What is done, in words.
    pub what: String,
    pub edits: Vec<Edit>,
    /// The one line that closes it.
    pub cure: String,
}

/// The cheats that fit this project and these gates. The first one does nothing at all.
pub fn corpus(project: &Project, gates: &[GateLine]) -> Vec<Cheat> {
    let mut all = vec![nothing_done()];
    all.extend(test_files::cheats(project));
    all.extend(runner::cheats(project, gates));
    all.extend(script::cheats(project, gates));
    all.extend(places::cheats(project, gates));
    all.extend(log::cheats(project, gates));
    // A cheat that changes nothing here is none.
    all.retain(|cheat| cheat.name == NOTHING_DONE || !cheat.edits.is_empty());
    all.iter_mut().for_each(|cheat| cure::settle(cheat, project, gates));
    all
}

/// The cheat without an edit.
pub const NOTHING_DONE: &str = "nothing-done";

fn nothing_done() -> Cheat {
    Cheat {
        name: NOTHING_DONE.to_owned(),
        what: "nothing at all is done".to_owned(),
        edits: Vec::new(),
        cure: format!("gates: add one that fails until the task is done, best a held-out one: {HELD_OUT}"),
    }
}

/// A gate that an agent knows nothing of.
const HELD_OUT: &str = "{name: acceptance, run: …, hidden: true, files: ../held-out}";
const TAMPERING: &str = "stop: {tampering: refuse}";

/// `protect: [a, b]`
fn protect(paths: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let mut paths: Vec<String> = paths.into_iter().map(|path| path.as_ref().to_owned()).collect();
    paths.sort();
    paths.dedup();
    format!("protect: [{}]", paths.iter().map(|path| yaml(path)).collect::<Vec<_>>().join(", "))
}

/// A path as an item of a list in one line of YAML.
fn yaml(path: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-".contains(c);
    let starts_plain = path.starts_with(|c: char| c.is_alphanumeric() || c == '.' || c == '/' || c == '_');
    match path.chars().all(plain) && starts_plain {
        true => path.to_owned(),
        false => format!("'{}'", path.replace('\'', "''")),
    }
}
