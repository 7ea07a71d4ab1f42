//! The state of the tree in one hash: what the gates saw, and whether it is still there.
//!
//! It covers the contents and modes of tracked files and of untracked ones that git does not ignore, symbolic links by
//! where they point; not `.ralph/` and what is excluded by name. Tracked files count even where an ignore rule matches
//! them, so the list is git's index and a walk, together. Outside git it is every file but the usual build folders.
//!
//! The second look is cheap: a file whose status has not changed is not read again. A file that was changed shortly before
//! it was read is: within one tick of the file system's clock it could have changed again and look the same.

use std::collections::{HashMap, HashSet};
use std::fs::Metadata;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ralph_store::plain::{self, Links};
use sha2::{Digest, Sha256};

use super::git::Repository;
use super::patterns::Patterns;
use super::scan::BUILD_FOLDERS;
use super::walk::walk;

/// A tree with more files is not looked at.
const MAX_FILES: usize = 1_000_000;
/// File systems tell time in steps of up to two seconds.
const COARSEST_TICK: Duration = Duration::from_secs(2);
/// How often a file is read again that changes while it is read.
const TRIES: usize = 3;
const CHUNK: usize = 128 * 1024;

type Hash = [u8; 32];

/// The workspace as it was at one look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// In hexadecimal.
    pub hash: String,
    /// The commit that is checked out.
    pub commit: Option<String>,
    /// Sorted by path.
    files: Vec<SeenFile>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct SeenFile {
    path: PathBuf,
    /// Of its mode and contents.
    hash: Hash,
    is_tracked: bool,
}

/// A file that is new, gone or different in a later look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moved<'a> {
    pub path: &'a Path,
    /// Git tracked it in one of the looks.
    pub is_tracked: bool,
}

impl Tree {
    pub fn files(&self) -> usize {
        self.files.len()
    }

    /// All files that are new, gone or different in a later look.
    pub fn moved<'a>(&'a self, later: &'a Tree) -> Vec<Moved<'a>> {
        let mut moved = Vec::new();
        let mut note = |path: &'a Path, is_tracked| moved.push(Moved { path, is_tracked });
        let (mut old, mut new) = (self.files.iter().peekable(), later.files.iter().peekable());
        loop {
            match (old.peek(), new.peek()) {
                (Some(a), Some(b)) if a.path == b.path => {
                    if a.hash != b.hash {
                        note(&a.path, a.is_tracked || b.is_tracked);
                    }
                    old.next();
                    new.next();
                }
                (Some(a), b) if b.is_none_or(|b| a.path < b.path) => {
                    note(&a.path, a.is_tracked);
                    old.next();
                }
                (_, Some(b)) => {
                    note(&b.path, b.is_tracked);
                    new.next();
                }
                (_, None) => return moved,
            }
        }
    }

    /// The hash of the tree without some of its files.
    pub fn hash_without(&self, left_out: &HashSet<&Path>) -> String {
        hash_of(self.files.iter().filter(|file| !left_out.contains(file.path.as_path())))
    }
}

fn hash_of<'a>(files: impl Iterator<Item = &'a SeenFile>) -> String {
    let mut all = Sha256::new();
    for SeenFile { path, hash, .. } in files {
        let name = path.as_os_str().as_bytes();
        all.update(u64::try_from(name.len()).unwrap_or(u64::MAX).to_le_bytes());
        all.update(name);
        all.update(hash);
    }
    hex(&all.finalize().into())
}

/// Looks at one workspace, again and again.
#[derive(Debug)]
pub struct Trees {
    workspace: PathBuf,
    /// Relative to the workspace.
    exclude: Vec<PathBuf>,
    /// What ralph writes itself; set before each look.
    footprints: Vec<PathBuf>,
    /// What the definition leaves out of the proof.
    ignore: Patterns,
    known: HashMap<PathBuf, Known>,
    /// How long a file has to be unchanged before it is read, so that its status can be trusted.
    tick: Duration,
}

/// What was read of a file, good as long as its status stays the same.
#[derive(Debug, Clone)]
struct Known {
    status: Status,
    hash: Hash,
}

/// Everything that changes when a file does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) size: u64,
    modified: (i64, i64),
    /// Nobody can set this one back.
    changed: (i64, i64),
    place: (u64, u64),
    pub(crate) mode: u32,
}

impl Trees {
    /// `exclude`: files and folders that do not count, such as the scratchpad. `.ralph` never does.
    pub fn new(workspace: &Path, exclude: impl IntoIterator<Item = PathBuf>) -> Self {
        let own = std::iter::once(PathBuf::from(".ralph"));
        let exclude = own.chain(exclude).map(|path| match path.strip_prefix(workspace) {
            Ok(inside) => inside.to_owned(),
            Err(_) => path.components().filter(|part| *part != std::path::Component::CurDir).collect(),
        });
        // An empty path would exclude everything.
        let exclude = exclude.filter(|path| !path.as_os_str().is_empty()).collect();
        Self {
            workspace: workspace.to_owned(),
            exclude,
            footprints: Vec::new(),
            ignore: Patterns::default(),
            known: HashMap::new(),
            tick: COARSEST_TICK,
        }
    }

    /// What these match does not count either.
    pub fn ignoring(self, ignore: Patterns) -> Self {
        Self { ignore, ..self }
    }

    /// A look without ralph's own files.
    pub fn look_past(&mut self, footprints: Vec<PathBuf>) -> io::Result<Tree> {
        self.footprints = footprints;
        self.look()
    }

    /// The paths that count, relative to the workspace.
    pub fn list(&self) -> io::Result<Vec<PathBuf>> {
        let paths = self.paths(Repository::find(&self.workspace).as_ref())?;
        Ok(paths.into_iter().map(|(path, _)| path).collect())
    }

    /// The paths that count, without ralph's own files, as [`Trees::list`] has them.
    pub(crate) fn list_past(&mut self, footprints: Vec<PathBuf>) -> io::Result<Vec<PathBuf>> {
        self.footprints = footprints;
        self.list()
    }

    /// Those of them that no ignore rule matches, and the repositories inside this one.
    pub(crate) fn unignored(&self) -> io::Result<(Vec<PathBuf>, Vec<PathBuf>)> {
        Ok(self.walk(true))
    }

    pub fn look(&mut self) -> io::Result<Tree> {
        let repository = Repository::find(&self.workspace);
        let paths = self.paths(repository.as_ref())?;
        let mut known = HashMap::with_capacity(paths.len());
        let mut files = Vec::with_capacity(paths.len());
        let mut buffer = vec![0; CHUNK];
        for (path, is_tracked) in paths {
            let Some((hash, fresh)) = self.file(&path, &mut buffer)? else { continue };
            if let Some(fresh) = fresh {
                known.insert(path.clone(), fresh);
            }
            files.push(SeenFile { path, hash, is_tracked });
        }
        self.known = known;
        let commit = repository.and_then(|repository| repository.head());
        Ok(Tree { hash: hash_of(files.iter()), commit, files })
    }

    /// Every path that counts, relative to the workspace, sorted, each once, and whether git tracks it.
    fn paths(&self, repository: Option<&Repository>) -> io::Result<Vec<(PathBuf, bool)>> {
        let (paths, nested) = self.walk(repository.is_some());
        let mut paths: Vec<(PathBuf, bool)> = paths.into_iter().map(|path| (path, false)).collect();
        let nested = nested.iter().filter_map(|folder| Repository::open(folder));
        for repository in repository.cloned().into_iter().chain(nested) {
            let mut plain = HashMap::new();
            for path in repository.tracked()? {
                let path = repository.work_tree.join(path);
                let Ok(inside) = path.strip_prefix(&self.workspace) else { continue };
                if !self.is_excluded(inside) && self.is_reached_plainly(inside, &mut plain) {
                    paths.push((inside.to_owned(), true));
                }
            }
        }
        // Of a path that was found twice the entry that is tracked stays.
        paths.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
        paths.dedup_by(|a, b| a.0 == b.0);
        if paths.len() > MAX_FILES {
            return Err(io::Error::other(format!("the workspace has more than {MAX_FILES} files")));
        }
        Ok(paths)
    }

    /// What git would call tracked or untracked but not ignored, and the repositories inside this one.
    fn walk(&self, in_git: bool) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let exclude: Vec<&PathBuf> = self.exclude.iter().chain(&self.footprints).collect();
        let mut nested = Vec::new();
        let mut wanted = |path: &Path| {
            let name = path.file_name().unwrap_or_default();
            if name == ".git" {
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
                nested.extend(folder.map(|folder| self.workspace.join(folder)));
                return false;
            }
            let is_built = !in_git && name.to_str().is_some_and(|name| BUILD_FOLDERS.contains(&name));
            !is_built && !exclude.iter().any(|excluded| path == excluded.as_path())
        };
        let mut paths = Vec::new();
        walk(&self.workspace, &mut wanted, &mut |path| {
            if !self.ignore.matches(path) {
                paths.push(path.to_owned());
            }
            paths.len() <= MAX_FILES
        });
        (paths, nested)
    }

    fn is_excluded(&self, path: &Path) -> bool {
        let mut excluded = self.exclude.iter().chain(&self.footprints);
        excluded.any(|excluded| path.starts_with(excluded)) || self.ignore.matches(path)
    }

    /// No folder on the way is a link: a tracked path behind one is gone, as far as git is concerned.
    fn is_reached_plainly(&self, path: &Path, plain: &mut HashMap<PathBuf, bool>) -> bool {
        let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) else { return true };
        if let Some(known) = plain.get(folder) {
            return *known;
        }
        let is_folder = |path: &Path| std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir());
        let is_plain = self.is_reached_plainly(folder, plain) && is_folder(&self.workspace.join(folder));
        plain.insert(folder.to_owned(), is_plain);
        is_plain
    }

    /// The hash of one file, and what to remember of it. `None`: there is no such file, or it is nothing that git would keep.
    fn file(&self, path: &Path, buffer: &mut [u8]) -> io::Result<Option<(Hash, Option<Known>)>> {
        let full = self.workspace.join(path);
        for _ in 0..TRIES {
            let Ok(meta) = std::fs::symlink_metadata(&full) else { return Ok(None) };
            if meta.is_symlink() {
                let Ok(target) = std::fs::read_link(&full) else { continue };
                return Ok(Some((
                    sealed("link", Sha256::digest(target.as_os_str().as_bytes()).into()),
                    None,
                )));
            }
            if !meta.is_file() {
                return Ok(None);
            }
            let status = Status::of(&meta);
            if let Some(known) = self.known.get(path).filter(|known| known.status == status) {
                return Ok(Some((known.hash, Some(known.clone()))));
            }
            let read_at = SystemTime::now();
            match contents(&full, status, buffer) {
                Ok(Some(contents)) => {
                    let hash = sealed(if status.mode & 0o100 == 0 { "file" } else { "program" }, contents);
                    let known = status.is_settled(read_at, self.tick).then_some(Known { status, hash });
                    return Ok(Some((hash, known)));
                }
                // It changed under our eyes.
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    return Ok(Some((status.sealed(), None)));
                }
                Err(error) => return Err(error),
            }
        }
        // It changes all the time. The next look will differ, and that is the answer.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        Ok(Some((sealed("restless", Sha256::digest(now.to_le_bytes()).into()), None)))
    }
}

impl Status {
    pub(crate) fn of(meta: &Metadata) -> Self {
        Self {
            size: meta.len(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
            place: (meta.dev(), meta.ino()),
            mode: meta.mode(),
        }
    }

    /// Whether a change after this reading would show in the status, wherever the file is.
    pub(crate) fn is_settled_anywhere(&self, read_at: SystemTime) -> bool {
        self.is_settled(read_at, COARSEST_TICK)
    }

    /// Whether a change after this reading would show in the status.
    fn is_settled(&self, read_at: SystemTime, tick: Duration) -> bool {
        let last = self.modified.max(self.changed);
        let last = u64::try_from(last.0)
            .map(|secs| UNIX_EPOCH + Duration::new(secs, u32::try_from(last.1).unwrap_or_default()));
        last.is_ok_and(|last| read_at.duration_since(last).is_ok_and(|age| age > tick))
    }

    /// A file that may not be read: all there is to tell.
    fn sealed(&self) -> Hash {
        let mut all = Sha256::new();
        all.update(self.size.to_le_bytes());
        all.update(self.modified.0.to_le_bytes());
        all.update(self.modified.1.to_le_bytes());
        sealed("unreadable", all.finalize().into())
    }
}

/// The hash of a file's contents. `None`: it changed meanwhile, or is no plain file any more.
fn contents(path: &Path, status: Status, buffer: &mut [u8]) -> io::Result<Option<Hash>> {
    let mut file = match plain::open(path, Links::Refuse) {
        Ok(file) => file,
        // A link, or a pipe, that somebody put there meanwhile.
        Err(error) if error.kind() == io::ErrorKind::Other => return Ok(None),
        Err(error) => return Err(error),
    };
    if Status::of(&file.metadata()?) != status {
        return Ok(None);
    }
    let mut hash = Sha256::new();
    loop {
        match file.read(buffer) {
            Ok(0) => break,
            Ok(count) => hash.update(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok((Status::of(&file.metadata()?) == status).then(|| hash.finalize().into()))
}

fn sealed(kind: &str, contents: Hash) -> Hash {
    let mut all = Sha256::new();
    all.update(kind);
    all.update([0]);
    all.update(contents);
    all.finalize().into()
}

fn hex(hash: &Hash) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
