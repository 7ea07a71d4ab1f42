//! The line that closes a cheat, where protecting the file would forbid the work itself.
//!
//! `protect` holds a file as it is. That is right for a test or a check, and wrong for a program that the task is about, or for
//! a manifest into which every new dependency is written.

use super::language::{Language, is_test};
use super::{Cheat, Edit, GateLine, Project};
use crate::gate_files::gate_files;
use crate::tamper::{SourceFile, review};

/// Files in which checks are defined beside much else.
const MANIFESTS: &[&str] = &[
    "package.json",
    "Cargo.toml",
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "Gemfile",
    "Rakefile",
    "go.mod",
    "Makefile",
    "makefile",
    "justfile",
];

/// Keeps the cure, unless it would protect what is under work.
pub(super) fn settle(cheat: &mut Cheat, project: &Project, gates: &[GateLine]) {
    if !cheat.cure.starts_with("protect:") || !cheat.edits.iter().any(|edit| is_work(edit, project, gates)) {
        return;
    }
    cheat.cure = match is_seen(&cheat.edits, project) {
        true => super::TAMPERING.to_owned(),
        false => format!("gates: {}", super::HELD_OUT),
    };
}

fn is_work(edit: &Edit, project: &Project, gates: &[GateLine]) -> bool {
    let path = edit.path();
    let Some(text) = project.text(path) else { return false };
    if MANIFESTS.contains(&path.rsplit('/').next().unwrap_or(path)) {
        return true;
    }
    let Some(language) = Language::of(path, text) else { return false };
    let read = |path: &str| project.text(path).map(str::to_owned);
    let judges = |gate: &GateLine| gate_files(&gate.words, &read).iter().any(|file| file.path == path);
    !is_test(path, language) && !gates.iter().any(judges)
}

/// Whether a run that refuses tampering refuses this.
fn is_seen(edits: &[Edit], project: &Project) -> bool {
    let after = project.edited(edits);
    let mut paths: Vec<&String> = project.files.keys().chain(after.files.keys()).collect();
    paths.sort();
    paths.dedup();
    let text = |side: &Project, path: &str| side.text(path).map(str::to_owned);
    let file = |path: &String| SourceFile {
        path: path.clone(),
        before: text(project, path),
        after: text(&after, path),
    };
    !review(&paths.into_iter().map(file).collect::<Vec<_>>()).is_empty()
}
