//! Changes in a copy, and the way back: to what was copied, whoever changed it.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use ralph_evidence::cheat::Edit;
use ralph_store::plain::{self, Links};

use super::copy::file;
use super::{Scratch, ScratchError, at};

/// How a path looked when it was last known to be right. Nothing: it has to be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct PathStamp(Option<(u64, i64, i64, i64, i64, u64, u32)>);

impl PathStamp {
    fn of(meta: &Metadata) -> Self {
        let times = (meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec());
        Self(Some((meta.len(), times.0, times.1, times.2, times.3, meta.ino(), meta.mode())))
    }
}

/// Folders that a build fills and looks through itself: kept while changes come and go. Beside which file they count.
const BUILDS: [(&str, &[&str]); 3] = [
    ("target", &["Cargo.toml"]),
    ("build", &["build.gradle", "build.gradle.kts"]),
    (".gradle", &["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"]),
];

impl Scratch {
    fn origin(&self) -> PathBuf {
        self.folder.join("origin")
    }

    /// Keeps the copy once more, to go back to.
    pub(super) fn remember(&mut self) -> Result<(), ScratchError> {
        let origin = self.origin();
        if origin.exists() {
            return Ok(());
        }
        DirBuilder::new().mode(0o700).create(&origin).map_err(at(&origin))?;
        let paths: Vec<PathBuf> = self.entries.keys().cloned().collect();
        // Links are kept as they are: both copies of a link say the same.
        for path in &paths {
            let (from, to) = (self.tree.join(path), origin.join(path));
            let folder = to.parent().unwrap_or(&origin);
            DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(at(folder))?;
            put(&from, &to).map_err(at(&from))?;
            let seen = fs::symlink_metadata(&from).map(|meta| PathStamp::of(&meta)).unwrap_or_default();
            self.entries.insert(path.clone(), seen);
        }
        Ok(())
    }

    pub(super) fn edit(&mut self, edit: &Edit) -> Result<(), ScratchError> {
        let path = PathBuf::from(edit.path());
        let is_inside = path.components().all(|part| matches!(part, Component::Normal(_)));
        let full = self.tree.join(&path);
        if !is_inside || !self.is_reached_plainly(&path) {
            let error = io::Error::other("not a path inside the copy");
            return Err(at(&full)(error));
        }
        match self.entries.get_mut(&path) {
            Some(seen) => *seen = PathStamp::default(),
            None => self.put_aside(&path)?,
        }
        match fs::remove_file(&full) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(&full)(error)),
            _ => {}
        }
        let Edit::Write { text, executable, .. } = edit else { return Ok(()) };
        let folder = full.parent().unwrap_or(&self.tree);
        fs::create_dir_all(folder).map_err(at(folder))?;
        let mode = if *executable { 0o755 } else { 0o644 };
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(mode).open(&full).map_err(at(&full))?;
        file.write_all(text.as_bytes()).map_err(at(&full))
    }

    /// No folder on the way is a link: it might lead out of the copy.
    fn is_reached_plainly(&self, path: &Path) -> bool {
        let folders = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
        folders
            .map(|folder| fs::symlink_metadata(self.tree.join(folder)))
            .all(|meta| meta.map_or(true, |meta| meta.is_dir()))
    }

    /// Keeps what is in the place of a file that was not copied twice.
    fn put_aside(&mut self, path: &Path) -> Result<(), ScratchError> {
        let full = self.tree.join(path);
        let saved = self.folder.join("saved");
        fs::create_dir_all(&saved).map_err(at(&saved))?;
        let place = saved.join(self.saved.len().to_string());
        let place = match fs::symlink_metadata(&full) {
            Ok(_) => {
                fs::rename(&full, &place).map_err(at(&full))?;
                Some(place)
            }
            Err(_) => None,
        };
        self.saved.push((path.to_owned(), place));
        Ok(())
    }

    /// Undoes every change since the copy was made, whoever made it: edits, and what gates left behind. Build folders and
    /// dependencies stay.
    pub fn restore(&mut self) -> Result<(), ScratchError> {
        self.remember()?;
        for (path, place) in std::mem::take(&mut self.saved).into_iter().rev() {
            let full = self.tree.join(&path);
            let _ = fs::remove_file(&full);
            if let Some(place) = place {
                fs::rename(&place, &full).map_err(at(&full))?;
            }
        }
        let mut folders: BTreeSet<PathBuf> = BTreeSet::new();
        for path in self.entries.keys().chain(&self.dependencies) {
            folders.extend(path.ancestors().skip(1).map(Path::to_owned));
        }
        self.remove_new(Path::new(""), &folders)?;
        let paths: Vec<PathBuf> = self.entries.keys().cloned().collect();
        paths.iter().try_for_each(|path| self.put_back(path))
    }

    /// Removes what was not copied.
    fn remove_new(&self, folder: &Path, folders: &BTreeSet<PathBuf>) -> Result<(), ScratchError> {
        let full = self.tree.join(folder);
        // A gate may have taken the permission away, or the folder.
        let Ok(entries) = fs::read_dir(&full).or_else(|_| {
            open_up(&full);
            fs::read_dir(&full)
        }) else {
            return Ok(());
        };
        for entry in entries.flatten() {
            let path = folder.join(entry.file_name());
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let is_kept = self.entries.contains_key(&path) && !is_folder
                || self.dependencies.contains(&path)
                || path == Path::new(".git")
                || is_folder && self.is_build(&path);
            if is_kept {
                continue;
            }
            if is_folder && folders.contains(&path) {
                self.remove_new(&path, folders)?;
                continue;
            }
            let full = self.tree.join(&path);
            let removed = match is_folder {
                true => fs::remove_dir_all(&full).or_else(|_| {
                    open_up(&full);
                    fs::remove_dir_all(&full)
                }),
                false => fs::remove_file(&full),
            };
            removed.map_err(at(&full))?;
        }
        Ok(())
    }

    fn is_build(&self, path: &Path) -> bool {
        let beside = path.parent().unwrap_or(Path::new(""));
        BUILDS.iter().any(|(name, files)| {
            path.file_name().is_some_and(|own| own == *name)
                && files.iter().any(|file| self.entries.contains_key(&beside.join(file)))
        })
    }

    /// One path as it was copied. What is written anew is new: a build that looks at times has to see that it changed.
    fn put_back(&mut self, path: &Path) -> Result<(), ScratchError> {
        let (full, origin) = (self.tree.join(path), self.origin().join(path));
        let now = fs::symlink_metadata(&full).ok();
        if now.as_ref().is_some_and(|meta| self.entries.get(path) == Some(&PathStamp::of(meta))) {
            return Ok(());
        }
        if !is_same(&full, &origin).map_err(at(&full))? {
            match now {
                Some(meta) if meta.is_dir() => fs::remove_dir_all(&full).map_err(at(&full))?,
                Some(_) => fs::remove_file(&full).map_err(at(&full))?,
                None => {}
            }
            let folder = full.parent().unwrap_or(&self.tree);
            fs::create_dir_all(folder).map_err(at(folder))?;
            put(&origin, &full).map_err(at(&full))?;
            if let Ok(file) = OpenOptions::new().write(true).open(&full)
                && !fs::symlink_metadata(&full).is_ok_and(|meta| meta.is_symlink())
            {
                let _ = file.set_modified(SystemTime::now());
            }
        }
        let seen = fs::symlink_metadata(&full).map(|meta| PathStamp::of(&meta)).map_err(at(&full))?;
        self.entries.insert(path.to_owned(), seen);
        Ok(())
    }

    /// How many paths differ from what was copied.
    pub fn changed(&self) -> io::Result<usize> {
        let mut count = 0;
        for path in self.entries.keys() {
            count += usize::from(!is_same(&self.tree.join(path), &self.origin().join(path))?);
        }
        Ok(count)
    }
}

/// A file or a link, put where nothing is.
fn put(from: &Path, to: &Path) -> io::Result<()> {
    let meta = fs::symlink_metadata(from)?;
    match meta.is_symlink() {
        true => std::os::unix::fs::symlink(fs::read_link(from)?, to),
        false => file(from, to).map(drop),
    }
}

/// The same kind, mode and contents.
fn is_same(one: &Path, other: &Path) -> io::Result<bool> {
    let (Ok(a), Ok(b)) = (fs::symlink_metadata(one), fs::symlink_metadata(other)) else { return Ok(false) };
    if a.is_symlink() && b.is_symlink() {
        return Ok(fs::read_link(one)? == fs::read_link(other)?);
    }
    if !a.is_file() || !b.is_file() || a.len() != b.len() || a.mode() & 0o777 != b.mode() & 0o777 {
        return Ok(false);
    }
    let (mut one, mut other) = (plain::open(one, Links::Refuse)?, plain::open(other, Links::Refuse)?);
    let (mut left, mut right) = (vec![0; 64 << 10], vec![0; 64 << 10]);
    loop {
        let count = one.read(&mut left)?;
        if count == 0 {
            return Ok(true);
        }
        other.read_exact(&mut right[..count])?;
        if left[..count] != right[..count] {
            return Ok(false);
        }
    }
}

/// Gives the owner every permission on all folders below this one, itself included.
pub(super) fn open_up(folder: &Path) {
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path());
        }
    }
}
