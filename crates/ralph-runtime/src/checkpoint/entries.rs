//! What a commit has, and how two of them differ.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout};

use super::git::{Git, GitError};
use super::stream::{LINK, PROGRAM};

/// A file as a commit has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub mode: String,
    pub id: String,
}

impl Entry {
    pub fn is_link(&self) -> bool {
        self.mode == LINK
    }

    pub fn is_program(&self) -> bool {
        self.mode == PROGRAM
    }

    /// Whether it is something that a checkpoint saves.
    fn is_file(&self) -> bool {
        self.is_link() || self.mode.starts_with("100")
    }
}

/// A path that two commits have differently. Nothing: it is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Relative to the workspace.
    pub path: PathBuf,
    pub from: Option<Entry>,
    pub to: Option<Entry>,
}

/// Everything of the workspace that differs between two commits, sorted by path.
pub fn changes(git: &Git, from: &str, to: &str) -> Result<Vec<Change>, GitError> {
    let args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff", from, to];
    let out = git.run(args, &[])?;
    let mut parts = out.split(|byte| *byte == 0);
    let mut found = BTreeMap::new();
    while let (Some(head), Some(path)) = (parts.next(), parts.next()) {
        // `:100644 100755 ID ID M`
        let head = String::from_utf8_lossy(head);
        let words: Vec<&str> = head.trim_start_matches(':').split(' ').collect();
        let [old_mode, new_mode, old_id, new_id, _] = words[..] else {
            return Err(
                io::Error::other(format!("git tells of a difference in an unknown way: {head}")).into()
            );
        };
        let entry = |mode: &str, id: &str| {
            let entry = Entry { mode: mode.to_owned(), id: id.to_owned() };
            Some(entry).filter(Entry::is_file)
        };
        let Ok(path) = Path::new(OsStr::from_bytes(path)).strip_prefix(git.prefix()) else { continue };
        let (from, to) = (entry(old_mode, old_id), entry(new_mode, new_id));
        found.insert(path.to_owned(), Change { path: path.to_owned(), from, to });
    }
    Ok(found.into_values().collect())
}

/// The files of a commit, relative to the workspace.
pub(super) fn files(git: &Git, commit: &str) -> Result<Vec<PathBuf>, GitError> {
    let out = git.run(["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit], &[])?;
    let paths = out.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    let paths = paths.map(|path| Path::new(OsStr::from_bytes(path)));
    Ok(paths.filter_map(|path| Some(path.strip_prefix(git.prefix()).ok()?.to_owned())).collect())
}

/// Reads the contents of files out of the repository, one after the other.
pub(super) struct Contents {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Contents {
    pub(super) fn open(git: &Git) -> Result<Self, GitError> {
        let mut command = git.command(["cat-file", "--batch"])?;
        command.stderr(std::process::Stdio::null());
        let mut child = command.spawn().map_err(|error| GitError::Missing(error.to_string()))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        match (input, output) {
            (Some(input), Some(output)) => Ok(Self { child, input, output: BufReader::new(output) }),
            _ => Err(io::Error::other("git has no pipes").into()),
        }
    }

    /// Copies the contents of a file to `out`.
    pub(super) fn copy(&mut self, id: &str, out: &mut dyn Write) -> io::Result<()> {
        writeln!(self.input, "{id}")?;
        self.input.flush()?;
        let mut head = String::new();
        self.output.read_line(&mut head)?;
        // `ID blob SIZE`
        let size = match head.split_whitespace().collect::<Vec<_>>()[..] {
            [_, "blob", size] => size.parse::<u64>().map_err(io::Error::other)?,
            _ => return Err(io::Error::other(format!("git does not have {id}"))),
        };
        let copied = io::copy(&mut (&mut self.output).take(size), out)?;
        let mut newline = [0];
        self.output.read_exact(&mut newline)?;
        match copied == size {
            true => Ok(()),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

impl Drop for Contents {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
