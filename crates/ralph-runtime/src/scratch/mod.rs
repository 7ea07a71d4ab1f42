//! A scratch copy of a workspace, in which gates run and files are changed without touching the workspace.
//!
//! ```text
//! STATE/scratch/ID/            0700, locked as long as somebody or something works in it
//!   NAME/                      the copy, under the workspace's own name
//!   origin/                    the same once more, where changes are to be undone
//!   saved/                     what was replaced in folders that are not copied twice
//! ```
//!
//! It has what the tree has (tracked files, and untracked ones that git does not ignore), and installed dependencies, which
//! gates need although git ignores them. Build folders start empty and are kept while changes come and go, so that a build
//! repeats only what changed. It is removed when dropped; what a killed ralph left is removed by the next one.

mod copy;
mod paths;
mod undo;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use ralph_evidence::cheat::Edit;
use ralph_store::plain;
use rustix::fs::{FlockOperation, flock};

use crate::workspace::{Trees, copy_repository};
use copy::{Budget, Copier};
use undo::PathStamp;

/// Installed dependencies that git ignores and gates need.
const DEPENDENCIES: [&str; 4] = ["node_modules", ".venv", "venv", "vendor/bundle"];

#[derive(Debug, thiserror::Error)]
pub enum ScratchError {
    #[error("cannot copy the workspace: {path}: {error}", path = .path.display())]
    Io { path: PathBuf, error: io::Error },
    #[error(
        "the workspace is too large to be copied: more than {files} files or {} MB\n\
         what git ignores is not copied: add build outputs and data to .gitignore", bytes >> 20
    )]
    TooLarge { files: u64, bytes: u64 },
}

/// Says which path an error of the system is about.
pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> ScratchError + '_ {
    move |error| ScratchError::Io { path: path.to_owned(), error }
}

/// A copy of a workspace.
#[derive(Debug)]
pub struct Scratch {
    workspace: PathBuf,
    folder: PathBuf,
    tree: PathBuf,
    lock: File,
    /// What was copied of the tree, and how it looked when it was last known to be right.
    entries: BTreeMap<PathBuf, PathStamp>,
    /// Folders of dependencies, relative to the tree.
    dependencies: Vec<PathBuf>,
    /// What was put aside of them: where it belongs, and where it is if there was something.
    saved: Vec<(PathBuf, Option<PathBuf>)>,
    /// What could not be copied, in words.
    pub notes: Vec<String>,
}

impl Scratch {
    /// Copies a workspace to a new folder below `scratches`, and removes what others left there.
    pub fn create(scratches: &Path, workspace: &Path) -> Result<Self, ScratchError> {
        Self::within(scratches, workspace, Budget::default())
    }

    fn within(scratches: &Path, workspace: &Path, budget: Budget) -> Result<Self, ScratchError> {
        DirBuilder::new().recursive(true).mode(0o700).create(scratches).map_err(at(scratches))?;
        sweep(scratches);
        let (folder, lock) = new_folder(scratches).map_err(at(scratches))?;
        let name = workspace.file_name().filter(|name| !is_own(name)).unwrap_or(OsStr::new("workspace"));
        let tree = folder.join(name);
        let (entries, dependencies, saved) = (BTreeMap::new(), Vec::new(), Vec::new());
        let notes = Vec::new();
        let workspace = workspace.to_owned();
        // From here on a failure removes the folder as well.
        let mut scratch = Self { workspace, folder, tree, lock, entries, dependencies, saved, notes };
        scratch.fill(scratches, budget)?;
        Ok(scratch)
    }

    fn fill(&mut self, scratches: &Path, budget: Budget) -> Result<(), ScratchError> {
        let (workspace, tree) = (self.workspace.clone(), self.tree.clone());
        DirBuilder::new().mode(0o700).create(&tree).map_err(at(&tree))?;
        // State that is kept inside the workspace is no part of it.
        let own = scratches.parent().unwrap_or(scratches).to_owned();
        let paths = Trees::new(&workspace, [own]).list().map_err(at(&workspace))?;
        let mut copier = Copier::new(&workspace, &tree, budget);
        for path in paths {
            if copier.copy(&path)? {
                self.entries.insert(path, PathStamp::default());
            }
        }
        let mut folders: Vec<&Path> = self.entries.keys().filter_map(|path| path.parent()).collect();
        folders.sort_unstable();
        folders.dedup();
        for dependency in folders.iter().flat_map(|folder| DEPENDENCIES.map(|name| folder.join(name))) {
            let is_new = !self.entries.keys().any(|path| path.starts_with(&dependency));
            if is_new && copier.copy_folder(&dependency)? {
                self.dependencies.push(dependency);
            }
        }
        self.notes = copier.notes;
        if let Err(error) = copy_repository(&workspace, &tree) {
            self.notes.push(format!("the copy has no git repository: {error}"));
        }
        Ok(())
    }

    /// The copy.
    pub fn tree(&self) -> &Path {
        &self.tree
    }

    /// The paths of the tree that were copied, relative to it; not those of dependencies.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.entries.keys().map(PathBuf::as_path)
    }

    /// Folders of installed dependencies that were copied, relative to the tree.
    pub fn dependencies(&self) -> impl Iterator<Item = &Path> {
        self.dependencies.iter().map(PathBuf::as_path)
    }

    /// Text in which every path of the workspace is one of the copy.
    pub fn rewrite(&self, text: &OsStr) -> OsString {
        paths::rewrite(text, &self.workspace, &self.tree)
    }

    /// The environment of this process as far as it names the workspace: in the copy it names the copy.
    pub fn environment(&self) -> Vec<(OsString, OsString)> {
        let changed = std::env::vars_os().map(|(name, value)| (name, self.rewrite(&value), value));
        changed.filter(|(_, new, old)| new != old).map(|(name, new, _)| (name, new)).collect()
    }

    /// Copies all files of a folder over the copy. Links of the copy are replaced, never followed.
    pub fn lay_in(&mut self, files: &Path) -> Result<u64, ScratchError> {
        let mut copier = Copier::new(files, &self.tree, Budget::default());
        copier.copy_all_over()?;
        Ok(copier.copied())
    }

    /// Changes files of the copy, until [`Scratch::restore`].
    pub fn apply(&mut self, edits: &[Edit]) -> Result<(), ScratchError> {
        self.remember()?;
        edits.iter().try_for_each(|edit| self.edit(edit))
    }
}

impl AsFd for Scratch {
    /// The lock on the folder: whoever holds it keeps others from removing the folder.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.lock.as_fd()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        remove(&self.folder);
    }
}

fn is_own(name: &OsStr) -> bool {
    name == "origin" || name == "saved"
}

fn new_folder(scratches: &Path) -> io::Result<(PathBuf, File)> {
    loop {
        let folder = scratches.join(format!("{:016x}", RandomState::new().hash_one(std::process::id())));
        match DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(error),
        }
        // Somebody who sweeps may have been quicker; then this one is gone.
        let Ok(lock) = plain::open_folder(&folder) else { continue };
        let is_ours = flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok();
        let same =
            fs::metadata(&folder).is_ok_and(|meta| lock.metadata().is_ok_and(|own| own.ino() == meta.ino()));
        if is_ours && same {
            return Ok((folder, lock));
        }
    }
}

/// Removes copies that nobody holds: left by a ralph that was killed.
fn sweep(scratches: &Path) {
    for entry in fs::read_dir(scratches).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let Some(lock) = is_folder.then(|| plain::open_folder(&path).ok()).flatten() else { continue };
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            remove(&path);
        }
    }
}

/// Removes a folder, also where a gate took away the permission to.
fn remove(folder: &Path) {
    if fs::remove_dir_all(folder).is_err() {
        undo::open_up(folder);
        let _ = fs::remove_dir_all(folder);
    }
}
