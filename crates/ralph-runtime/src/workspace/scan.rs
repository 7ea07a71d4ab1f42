//! Which files an iteration changed: two looks at the tree, compared. Sixteen bytes a file, no contents read.

use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ralph_core::event::FilesChanged;
use ralph_store::plain::{self, Links};
use sha2::{Digest, Sha256};

use super::walk::walk;

/// Names that are told; the rest is a number.
const MAX_PATHS: usize = 20;
/// Bytes of changed files that are read for their digest.
const MAX_READ: u64 = 4 << 20;
/// A tree with more files is not looked at.
const MAX_FILES: usize = 500_000;
/// What nobody edits by hand, where no `.gitignore` says so.
pub(super) const BUILD_FOLDERS: &[&str] =
    &["node_modules", "target", "__pycache__", ".venv", "venv", ".tox", ".gradle", ".next"];

/// A look at the workspace: for each file a hash of its path and one of its size, times and mode.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Sorted by path hash.
    files: Vec<(u64, u64)>,
}

/// What a look found, beside the one before it.
#[derive(Debug, Default)]
pub struct Looked {
    pub snapshot: Snapshot,
    /// For people: the first names, and the number of all.
    pub changed: FilesChanged,
    /// All paths that changed, as numbers: see [`path_number`].
    pub touched: Vec<u64>,
}

/// Looks at the workspace, without what stands at `exclude`. With the look before it, tells what changed. `None`: too many
/// files.
pub fn scan(workspace: &Path, exclude: &[PathBuf], before: Option<&Snapshot>) -> Option<Looked> {
    let Looked { mut snapshot, mut changed, mut touched } = Looked::default();
    let in_git = workspace.ancestors().any(|dir| dir.join(".git").exists());
    let excluded: Vec<&Path> =
        exclude.iter().map(|path| path.strip_prefix(workspace).unwrap_or(path)).collect();
    let mut wanted = |path: &Path| {
        let is_own = excluded.contains(&path);
        !is_own && !is_skipped(path.file_name().and_then(OsStr::to_str), in_git)
    };
    walk(workspace, &mut wanted, &mut |path| {
        let Ok(meta) = fs::symlink_metadata(workspace.join(path)) else { return true };
        let seen = (
            path_number(path),
            hash(&(meta.len(), meta.mtime(), meta.mtime_nsec(), meta.ino(), meta.mode(), meta.ctime_nsec())),
        );
        if before.is_some_and(|before| before.get(seen.0) != Some(seen.1)) {
            changed.count = changed.count.saturating_add(1);
            touched.push(seen.0);
            if changed.paths.len() < MAX_PATHS {
                changed.paths.push(path.to_string_lossy().into_owned());
            }
        }
        snapshot.files.push(seen);
        snapshot.files.len() <= MAX_FILES
    });
    if snapshot.files.len() > MAX_FILES {
        return None;
    }
    snapshot.files.sort_unstable();
    if let Some(before) = before {
        // What is known as ralph's own only now has not gone away.
        let own: Vec<u64> = excluded.iter().map(|path| path_number(path)).collect();
        let gone = before.files.iter().map(|(path, _)| *path);
        let gone = gone.filter(|path| snapshot.get(*path).is_none() && !own.contains(path));
        let seen = touched.len();
        touched.extend(gone);
        let gone = u32::try_from(touched.len() - seen).unwrap_or(u32::MAX);
        changed.count = changed.count.saturating_add(gone);
    }
    changed.paths.sort();
    changed.digest = digest(workspace, &changed);
    Some(Looked { snapshot, changed, touched })
}

/// Stands for a path, relative to the workspace: eight bytes instead of a name.
pub fn path_number(path: &Path) -> u64 {
    hash(path)
}

/// Stands for what the changed files are now: a change that is made again has the same. Nothing where there is much to read.
fn digest(workspace: &Path, changed: &FilesChanged) -> Option<String> {
    if changed.count == 0 || usize::try_from(changed.count).ok()? != changed.paths.len() {
        return None;
    }
    let mut hasher = Sha256::new();
    let mut left = MAX_READ;
    for name in &changed.paths {
        let path = workspace.join(name);
        let text = plain::read(&path, Links::Follow, left).ok()?;
        left = left.checked_sub(u64::try_from(text.len()).ok()?)?;
        hasher.update(name.as_bytes());
        hasher.update([0]);
        hasher.update(&text);
        hasher.update([0]);
    }
    Some(hasher.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect())
}

impl Snapshot {
    fn get(&self, path: u64) -> Option<u64> {
        let at = self.files.binary_search_by_key(&path, |(path, _)| *path).ok()?;
        Some(self.files[at].1)
    }
}

fn is_skipped(name: Option<&str>, in_git: bool) -> bool {
    let Some(name) = name else { return false };
    name == ".git" || name == ".ralph" || (!in_git && BUILD_FOLDERS.contains(&name))
}

fn hash(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(dir: &Path, act: impl FnOnce(&Path)) -> FilesChanged {
        let before = scan(dir, &[], None).expect("a look").snapshot;
        act(dir);
        scan(dir, &[], Some(&before)).expect("a look").changed
    }

    #[test]
    fn added_changed_and_removed_files_are_counted_and_named() {
        let dir = tempfile::tempdir().expect("a folder");
        fs::write(dir.path().join("kept"), "1").expect("write");
        fs::write(dir.path().join("changed"), "1").expect("write");
        fs::write(dir.path().join("removed"), "1").expect("write");
        let changed = changes(dir.path(), |dir| {
            fs::create_dir(dir.join("sub")).expect("mkdir");
            fs::write(dir.join("sub/added"), "").expect("write");
            fs::write(dir.join("changed"), "22").expect("write");
            fs::remove_file(dir.join("removed")).expect("remove");
        });
        assert_eq!((changed.count, changed.paths), (3, vec!["changed".into(), "sub/added".into()]));
        assert_eq!(changed.digest, None, "what is gone has no contents");
        assert_eq!(changes(dir.path(), |_| {}).count, 0);
    }

    #[test]
    fn what_git_ignores_and_what_is_not_the_users_does_not_count() {
        let dir = tempfile::tempdir().expect("a folder");
        fs::create_dir(dir.path().join(".git")).expect("mkdir");
        fs::write(dir.path().join(".gitignore"), "*.log\n").expect("write");
        let changed = changes(dir.path(), |dir| {
            fs::write(dir.join(".git/index"), "x").expect("write");
            fs::write(dir.join("a.log"), "x").expect("write");
            fs::create_dir(dir.join(".ralph")).expect("mkdir");
            fs::write(dir.join(".ralph/note"), "x").expect("write");
            fs::write(dir.join(".hidden"), "x").expect("write");
        });
        assert_eq!((changed.count, changed.paths), (1, vec![".hidden".into()]));
    }

    #[test]
    fn the_same_change_made_again_has_the_same_digest() {
        let dir = tempfile::tempdir().expect("a folder");
        let write = |text: &'static str| {
            changes(dir.path(), |dir| fs::write(dir.join("file"), text).expect("write"))
                .digest
                .expect("a digest")
        };
        let (one, two) = (write("one"), write("two"));
        assert_ne!(one, two);
        assert_eq!(write("one"), one);
        let much = changes(dir.path(), |dir| {
            fs::write(dir.join("file"), vec![b'x'; 5 << 20]).expect("write");
        });
        assert_eq!((much.count, much.digest), (1, None));
    }

    #[test]
    fn excluded_files_and_folders_are_no_change_and_every_change_has_its_number() {
        let dir = tempfile::tempdir().expect("a folder");
        fs::create_dir(dir.path().join("logs")).expect("mkdir");
        let names = ["run.log", "logs/1", "kept", "gone"];
        let write =
            |text: &str| names.iter().for_each(|name| fs::write(dir.path().join(name), text).expect("write"));
        write("one");
        let exclude = [PathBuf::from("run.log"), PathBuf::from("logs")];
        let before = scan(dir.path(), &exclude, None).expect("a look").snapshot;
        write("the other");
        fs::remove_file(dir.path().join("gone")).expect("removed");
        let looked = scan(dir.path(), &exclude, Some(&before)).expect("a look");
        assert_eq!((looked.changed.count, looked.changed.paths), (2, vec!["kept".to_owned()]));
        let mut numbers = ["kept", "gone"].map(|name| path_number(Path::new(name)));
        let mut touched = looked.touched;
        numbers.sort_unstable();
        touched.sort_unstable();
        assert_eq!(touched, numbers);
    }

    #[test]
    fn outside_git_build_folders_do_not_count() {
        let dir = tempfile::tempdir().expect("a folder");
        let changed = changes(dir.path(), |dir| {
            fs::create_dir(dir.join("node_modules")).expect("mkdir");
            fs::write(dir.join("node_modules/x"), "x").expect("write");
        });
        assert_eq!(changed.count, 0);
    }
}
