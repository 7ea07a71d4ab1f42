//! What has to be known of a git repository, read from its files: which paths are tracked, and which commit is checked out.
//!
//! No program is run and nothing is written. The formats are git's: `gitformat-index(5)`, `gitrepository-layout(5)`.

use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ralph_evidence::git_index::{self, Index};
use ralph_store::plain::{self, Links};

/// Symbolic references that point at each other.
const MAX_HOPS: usize = 5;
/// More references than anybody has.
const MAX_PACKED: u64 = 64 << 20;
/// An index of a million paths.
const MAX_INDEX: u64 = 256 << 20;
/// Settings of a repository.
const MAX_CONFIG: u64 = 1 << 20;

/// A repository, by its folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// Where the files are.
    pub work_tree: PathBuf,
    /// What this checkout alone has: HEAD and index.
    pub(crate) git_dir: PathBuf,
    /// What all worktrees share.
    pub(crate) common_dir: PathBuf,
}

impl Repository {
    /// The repository that this folder is in.
    pub fn find(folder: &Path) -> Option<Self> {
        folder.ancestors().find_map(Self::open)
    }

    /// The repository whose top folder this is.
    pub fn open(folder: &Path) -> Option<Self> {
        let entry = folder.join(".git");
        let meta = std::fs::metadata(&entry).ok()?;
        let git_dir = if meta.is_dir() {
            entry
        } else {
            // A worktree or a submodule: the file says where.
            let text = plain::read(&entry, Links::Follow, plain::SMALL).ok()?;
            folder.join(path_of(text.strip_prefix(b"gitdir:")?))
        };
        let common_dir = match plain::read(&git_dir.join("commondir"), Links::Follow, plain::SMALL) {
            Ok(text) => git_dir.join(path_of(&text)),
            Err(_) => git_dir.clone(),
        };
        Some(Self { work_tree: folder.to_owned(), git_dir, common_dir })
    }

    /// The commit that is checked out. `None`: there is none yet, or it is kept in a way that is not known here.
    pub fn head(&self) -> Option<String> {
        let mut name = "HEAD".to_owned();
        for _ in 0..MAX_HOPS {
            let value = self.reference(&name)?;
            match value.strip_prefix("ref:") {
                Some(target) => name = target.trim().to_owned(),
                None => return is_object_id(&value).then_some(value),
            }
        }
        None
    }

    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// What all worktrees of this repository share.
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// The branch that is checked out, by its whole name. `None`: a commit is checked out, and no branch.
    pub fn branch(&self) -> Option<String> {
        let head = plain::read_text(&self.git_dir.join("HEAD"), Links::Follow, plain::SMALL).ok()?;
        head.strip_prefix("ref:").map(|name| name.trim().to_owned())
    }

    fn reference(&self, name: &str) -> Option<String> {
        if name.split('/').any(|part| part == "..") || name.starts_with('/') {
            return None;
        }
        for folder in [&self.git_dir, &self.common_dir] {
            if let Ok(text) = plain::read_text(&folder.join(name), Links::Follow, plain::SMALL) {
                return Some(text.trim().to_owned());
            }
        }
        let packed = plain::read(&self.common_dir.join("packed-refs"), Links::Follow, MAX_PACKED).ok()?;
        packed.split(|byte| *byte == b'\n').find_map(|line| {
            let line = std::str::from_utf8(line).ok()?;
            let (id, packed_name) = line.split_once(' ')?;
            (packed_name.trim_end() == name).then(|| id.to_owned())
        })
    }

    /// The paths that git tracks, from the top folder. Those of a sparse checkout that are not there may be missing.
    pub(crate) fn tracked(&self) -> io::Result<Vec<PathBuf>> {
        let id_length = if self.uses_sha256() { 32 } else { 20 };
        let path = self.git_dir.join("index");
        let index = match plain::read(&path, Links::Follow, MAX_INDEX) {
            Ok(bytes) => parsed(&path, &bytes, id_length)?,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(at(&path, &error)),
        };
        let mut paths = index.paths;
        if let Some(id) = index.shared {
            // The other half of a split index. What it has and this one took out is on disk or it is not.
            let path = self.git_dir.join(format!("sharedindex.{id}"));
            let shared = plain::read(&path, Links::Follow, MAX_INDEX).map_err(|error| at(&path, &error))?;
            paths.extend(parsed(&path, &shared, id_length)?.paths);
        }
        Ok(paths.into_iter().map(|path| PathBuf::from(OsStr::from_bytes(&path))).collect())
    }

    /// Rules of what is ignored that stand in no work tree.
    pub(super) fn exclude_file(&self) -> PathBuf {
        self.common_dir.join("info/exclude")
    }

    /// The settings of the repository; nothing where they cannot be read.
    pub(super) fn config(&self) -> String {
        let config = plain::read(&self.common_dir.join("config"), Links::Follow, MAX_CONFIG);
        config.map_or_else(|_| String::new(), |bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    fn uses_sha256(&self) -> bool {
        let config = self.config().to_ascii_lowercase();
        config.lines().any(|line| {
            let value = line.trim().strip_prefix("objectformat").map(str::trim_start);
            value.and_then(|value| value.strip_prefix('=')).is_some_and(|value| value.trim() == "sha256")
        })
    }
}

fn parsed(path: &Path, bytes: &[u8], id_length: usize) -> io::Result<Index> {
    let damaged = || io::Error::new(ErrorKind::InvalidData, "the index of the git repository cannot be read");
    git_index::parse(bytes, id_length).ok_or_else(|| at(path, &damaged()))
}

fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn is_object_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn path_of(text: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(text.trim_ascii()))
}
