//! The tree as a checkpoint has it. Commits, branches, index and stash stay as they are; ignored files are never removed.

use std::collections::{BTreeSet, HashSet};
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::entries::{Change, Contents, Entry, changes, files};
use super::git::{Git, GitError};
use crate::workspace::Trees;

/// What became of the files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Undone {
    pub written: Vec<PathBuf>,
    pub removed: Vec<PathBuf>,
    /// Not in the checkpoint, and there all the same: git ignored them, then or until now.
    pub kept: Vec<PathBuf>,
    /// What could not be brought back, and why.
    pub problems: Vec<String>,
}

/// The files that `to` has: what has to be saved before they are overwritten, ignored or not.
pub fn at_risk(git: &Git, to: &str) -> Result<Vec<PathBuf>, GitError> {
    files(git, to)
}

/// Makes the files of the workspace what `to` has. `now` is a checkpoint of what is there, taken with [`at_risk`]: what it does not
/// have is not overwritten.
pub fn undo(git: &Git, workspace: &Path, now: &str, to: &str) -> Result<Undone, GitError> {
    let (gone, wanted): (Vec<Change>, Vec<Change>) =
        changes(git, now, to)?.into_iter().partition(|change| change.to.is_none());
    let mut work = Work {
        workspace,
        contents: Contents::open(git)?,
        done: Undone::default(),
        saved: wanted.iter().filter(|it| it.from.is_some()).map(|it| it.path.clone()).collect(),
        emptied: BTreeSet::new(),
    };
    work.saved.extend(gone.iter().map(|it| it.path.clone()));
    // Where a file is to be and a folder is, or the other way round, what is there has to go first.
    let (first, later): (Vec<&Change>, Vec<&Change>) =
        gone.iter().partition(|it| is_in_the_way(&it.path, &wanted));
    first.iter().for_each(|it| work.remove(&it.path));
    work.clear_emptied();
    for Change { path, from, to } in &wanted {
        if let Some(to) = to {
            work.write(path, from.as_ref(), to);
        }
    }
    // The ignore rules are those of the checkpoint by now.
    let trees = Trees::new(workspace, std::iter::empty());
    let (unignored, _) = trees.unignored()?;
    let unignored: HashSet<&Path> = unignored.iter().map(PathBuf::as_path).collect();
    for Change { path, .. } in later {
        match unignored.contains(path.as_path()) {
            true => work.remove(path),
            false if fs::symlink_metadata(workspace.join(path)).is_ok() => work.done.kept.push(path.clone()),
            false => {}
        }
    }
    work.clear_emptied();
    let wanted: HashSet<PathBuf> = files(git, to)?.into_iter().collect();
    let known: HashSet<PathBuf> = work.done.kept.iter().cloned().collect();
    // What was ignored until now, and so is not saved, is nobody's to remove.
    let hidden = trees.list()?.into_iter().filter(|path| !wanted.contains(path) && !known.contains(path));
    work.done.kept.extend(hidden.filter(|path| is_file(&workspace.join(path))));
    Ok(work.done)
}

fn is_in_the_way(path: &Path, wanted: &[Change]) -> bool {
    let is_wanted = |path: &Path| wanted.binary_search_by(|it| it.path.as_path().cmp(path)).is_ok();
    let is_above = wanted.iter().any(|it| it.path != path && it.path.starts_with(path));
    is_above || path.ancestors().skip(1).any(is_wanted)
}

fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file() || meta.is_symlink())
}

struct Work<'a> {
    workspace: &'a Path,
    contents: Contents,
    done: Undone,
    /// Files that the checkpoint of what is there has.
    saved: HashSet<PathBuf>,
    /// Folders that files were removed from.
    emptied: BTreeSet<PathBuf>,
}

impl Work<'_> {
    fn problem(&mut self, path: &Path, why: impl std::fmt::Display) {
        self.done.problems.push(format!("{}: {why}", path.display()));
    }

    fn remove(&mut self, path: &Path) {
        if let Err(why) = self.reach(path, false) {
            return self.problem(path, why);
        }
        match fs::remove_file(self.workspace.join(path)) {
            Ok(()) => self.done.removed.push(path.to_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return self.problem(path, error),
        }
        let folders = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
        self.emptied.extend(folders.map(Path::to_owned));
    }

    /// Folders that have nothing left, the deepest first.
    fn clear_emptied(&mut self) {
        for folder in std::mem::take(&mut self.emptied).iter().rev() {
            // One that still has something stays.
            let _ = fs::remove_dir(self.workspace.join(folder));
        }
    }

    fn write(&mut self, path: &Path, from: Option<&Entry>, to: &Entry) {
        let there = fs::symlink_metadata(self.workspace.join(path));
        let is_saved = self.saved.contains(path);
        if there.as_ref().is_ok_and(|meta| !meta.is_dir()) && !is_saved {
            return self.problem(path, "what is there could not be saved, so it stays");
        }
        let old = there.ok().filter(fs::Metadata::is_file).map(|meta| meta.permissions().mode());
        let is_same = from.is_some_and(|from| from.id == to.id && !from.is_link() && !to.is_link());
        let written = match old {
            Some(old) if is_same => self.set_mode(path, wanted_mode(old, to)),
            _ => self.replace(path, old, to),
        };
        match written {
            Ok(()) => self.done.written.push(path.to_owned()),
            Err(error) => self.problem(path, error),
        }
    }

    fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        self.reach(path, false)?;
        fs::set_permissions(self.workspace.join(path), Permissions::from_mode(mode))
    }

    /// A new file in the place of whatever is there, at once.
    fn replace(&mut self, path: &Path, old: Option<u32>, to: &Entry) -> io::Result<()> {
        self.reach(path, true)?;
        let target = self.workspace.join(path);
        let new = target.with_file_name(format!(".ralph-undo-{}", std::process::id()));
        let _ = fs::remove_file(&new);
        let made = self.make(&new, old, to).and_then(|()| {
            if fs::symlink_metadata(&target).is_ok_and(|meta| meta.is_dir()) {
                fs::remove_dir(&target)?;
            }
            fs::rename(&new, &target)
        });
        if made.is_err() {
            let _ = fs::remove_file(&new);
        }
        made
    }

    fn make(&mut self, new: &Path, old: Option<u32>, to: &Entry) -> io::Result<()> {
        if to.is_link() {
            let mut target = Vec::new();
            self.contents.copy(&to.id, &mut target)?;
            return std::os::unix::fs::symlink(std::ffi::OsString::from_vec(target), new);
        }
        let usual = if to.is_program() { 0o777 } else { 0o666 };
        let mut file = OpenOptions::new().write(true).create_new(true).mode(usual).open(new)?;
        self.contents.copy(&to.id, &mut file)?;
        file.flush()?;
        match old {
            // Who may read a file is not in a checkpoint: it stays as it is.
            Some(old) => file.set_permissions(Permissions::from_mode(wanted_mode(old, to))),
            None => Ok(()),
        }
    }

    /// Every folder on the way is a plain one; what is missing is made where that is wanted.
    fn reach(&self, path: &Path, make: bool) -> io::Result<()> {
        let mut folder = self.workspace.to_owned();
        for part in path.parent().unwrap_or(Path::new("")).components() {
            folder.push(part);
            match fs::symlink_metadata(&folder) {
                Ok(meta) if meta.is_dir() => {}
                Ok(_) => {
                    return Err(io::Error::other(format!("{} is in the way", folder.display())));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound && make => fs::create_dir(&folder)?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Whoever may read a program may run it.
fn wanted_mode(old: u32, to: &Entry) -> u32 {
    let plain = old & 0o666;
    if to.is_program() { plain | (plain & 0o444) >> 2 } else { plain }
}
