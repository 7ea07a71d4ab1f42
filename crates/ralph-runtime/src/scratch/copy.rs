//! Copies files as they are: regular ones and links, modes kept, nothing followed.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use ralph_store::plain::{self, Links};

use super::paths::{retarget, rewrite};
use super::{ScratchError, at};

/// How much is copied at most.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    pub(super) files: u64,
    pub(super) bytes: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { files: 200_000, bytes: 4 << 30 }
    }
}

/// Names that are told; the rest is a number.
const MAX_NOTES: usize = 5;
/// Files with a path in them are short.
const MAX_SCRIPT: u64 = 256 << 10;

/// Copies from one folder to another.
pub(super) struct Copier<'a> {
    from: &'a Path,
    to: &'a Path,
    whole: Budget,
    left: Budget,
    /// Folders that are known to be real ones.
    made: BTreeSet<PathBuf>,
    pub(super) notes: Vec<String>,
}

impl<'a> Copier<'a> {
    pub(super) fn new(from: &'a Path, to: &'a Path, budget: Budget) -> Self {
        Self { from, to, whole: budget, left: budget, made: BTreeSet::new(), notes: Vec::new() }
    }

    pub(super) fn copied(&self) -> u64 {
        self.whole.files - self.left.files
    }

    /// Copies one path. `false`: there is nothing that could be copied: no file, a pipe, a device, or no permission.
    pub(super) fn copy(&mut self, path: &Path) -> Result<bool, ScratchError> {
        let source = self.from.join(path);
        let Ok(meta) = fs::symlink_metadata(&source) else { return Ok(false) };
        if !meta.is_file() && !meta.is_symlink() {
            return Ok(false);
        }
        self.spend(&meta)?;
        self.make_folder(path.parent().unwrap_or(Path::new("")))?;
        let target = self.to.join(path);
        let done = match meta.is_symlink() {
            true => self.link(&source, &target, path),
            false => file(&source, &target),
        };
        match done {
            Ok(done) => Ok(done),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                if self.notes.len() < MAX_NOTES {
                    self.notes.push(format!("not copied, for it may not be read: {}", path.display()));
                }
                Ok(false)
            }
            Err(error) => Err(at(&source)(error)),
        }
    }

    /// Copies all of a folder of dependencies, and lets programs in it know where they are now. `false`: there is none.
    pub(super) fn copy_folder(&mut self, folder: &Path) -> Result<bool, ScratchError> {
        let source = self.from.join(folder);
        let Ok(meta) = fs::symlink_metadata(&source) else { return Ok(false) };
        if meta.is_symlink() {
            return self.copy(folder);
        }
        if !meta.is_dir() {
            return Ok(false);
        }
        for path in below(&source).map_err(at(&source))? {
            let path = folder.join(path);
            if self.copy(&path)? && has_paths(&path) {
                self.move_paths(&path).map_err(at(&self.to.join(&path)))?;
            }
        }
        Ok(true)
    }

    /// Copies everything over what is there.
    pub(super) fn copy_all_over(&mut self) -> Result<(), ScratchError> {
        for path in below(self.from).map_err(at(self.from))? {
            // First of all: a link on the way would lead to what is not ours.
            self.make_folder(path.parent().unwrap_or(Path::new("")))?;
            let target = self.to.join(&path);
            match fs::symlink_metadata(&target) {
                Ok(meta) if meta.is_dir() => fs::remove_dir_all(&target).map_err(at(&target))?,
                Ok(_) => fs::remove_file(&target).map_err(at(&target))?,
                Err(_) => {}
            }
            self.copy(&path)?;
        }
        Ok(())
    }

    fn spend(&mut self, meta: &Metadata) -> Result<(), ScratchError> {
        let bytes = if meta.is_file() { meta.len() } else { 0 };
        match (self.left.files.checked_sub(1), self.left.bytes.checked_sub(bytes)) {
            (Some(files), Some(bytes)) => {
                self.left = Budget { files, bytes };
                Ok(())
            }
            _ => Err(ScratchError::TooLarge { files: self.whole.files, bytes: self.whole.bytes }),
        }
    }

    /// A real folder, with the mode of the one it is a copy of. A link in its place is replaced.
    fn make_folder(&mut self, folder: &Path) -> Result<(), ScratchError> {
        if folder.as_os_str().is_empty() || self.made.contains(folder) {
            return Ok(());
        }
        self.make_folder(folder.parent().unwrap_or(Path::new("")))?;
        let target = self.to.join(folder);
        let mode =
            fs::symlink_metadata(self.from.join(folder)).map_or(0o700, |meta| meta.mode() & 0o777 | 0o700);
        match fs::symlink_metadata(&target) {
            Ok(meta) if meta.is_dir() => {}
            Ok(_) => {
                fs::remove_file(&target).map_err(at(&target))?;
                DirBuilder::new().mode(mode).create(&target).map_err(at(&target))?;
            }
            Err(_) => DirBuilder::new().mode(mode).create(&target).map_err(at(&target))?,
        }
        self.made.insert(folder.to_owned());
        Ok(())
    }

    fn link(&self, source: &Path, target: &Path, path: &Path) -> io::Result<bool> {
        let link = fs::read_link(source)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        std::os::unix::fs::symlink(retarget(&link, folder, self.from, self.to), target)?;
        Ok(true)
    }

    fn move_paths(&self, path: &Path) -> io::Result<()> {
        let target = self.to.join(path);
        let meta = fs::symlink_metadata(&target)?;
        if !meta.is_file() || meta.len() > MAX_SCRIPT {
            return Ok(());
        }
        let old = plain::read(&target, Links::Refuse, MAX_SCRIPT)?;
        let new = rewrite(std::os::unix::ffi::OsStrExt::from_bytes(&old), self.from, self.to);
        if new.as_encoded_bytes() != old {
            fs::write(&target, new.as_encoded_bytes())?;
        }
        Ok(())
    }
}

/// Whether such a file tells where its environment is installed.
fn has_paths(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let in_bin =
        path.parent().and_then(Path::file_name).is_some_and(|folder| folder == "bin" || folder == ".bin");
    let end = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    in_bin
        || matches!(end, "pth" | "egg-link" | "cfg")
        || name.starts_with("__editable__")
        || name == "direct_url.json"
}

/// Everything below a folder that is none itself, relative to it, in order. Links are not followed.
fn below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(inside) = open.pop() {
        for entry in fs::read_dir(folder.join(&inside))? {
            let entry = entry?;
            let path = inside.join(entry.file_name());
            match entry.file_type()?.is_dir() {
                true => open.push(path),
                false => found.push(path),
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Copies a regular file. `false`: it is something else by now.
pub(super) fn file(source: &Path, target: &Path) -> io::Result<bool> {
    let mut from = match plain::open(source, Links::Refuse) {
        Ok(file) => file,
        // A link, or a pipe, that somebody put there meanwhile.
        Err(error) if error.kind() == io::ErrorKind::Other => return Ok(false),
        Err(error) => return Err(error),
    };
    let meta = from.metadata()?;
    let mut to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(target)?;
    // A file that grows while it is read does not grow for ever here.
    io::copy(&mut (&mut from).take(meta.len()), &mut to)?;
    to.flush()?;
    to.set_permissions(fs::Permissions::from_mode(meta.mode() & 0o777))?;
    // make tells by their age what has to be built.
    let _ = meta.modified().map(|modified| to.set_modified(modified));
    Ok(true)
}
