//! The tree into a commit. What has not changed since the last one is not read again.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Stdio};
use std::time::SystemTime;

use rustix::fs::{Mode, OFlags};

use super::git::{Git, GitError, complaint};
use super::stream::{FILE, Header, LINK, PROGRAM, Stream};
use super::watchdog::Watchdog;
use crate::workspace::{Repository, Status, Trees};

/// A bigger file is left out, and named.
const MAX_FILE: u64 = 512 << 20;
/// Names of files that are left out, and of repositories inside this one, that are told.
const MAX_NAMES: usize = 20;
const CHUNK: usize = 128 * 1024;

/// What a checkpoint is called, and what it says of itself.
#[derive(Debug, Clone, Copy)]
pub struct Label<'a> {
    pub run: &'a str,
    pub name: &'a str,
    /// `after iteration 3`
    pub what: &'a str,
}

/// A checkpoint that was saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    pub commit: String,
    pub tree: String,
    pub head: Option<String>,
    pub branch: Option<String>,
    pub files: u32,
    /// Files that were read: those that are different, and those that changed so recently that this cannot be told.
    pub read: u32,
    /// Files that are not in it, and why.
    pub left_out: Vec<String>,
    /// Repositories inside this one, and what they have checked out. Their files are saved, their history is not.
    pub nested: Vec<String>,
}

/// Saves one workspace, again and again.
#[derive(Debug)]
pub struct Saver {
    git: Git,
    workspace: PathBuf,
    trees: Trees,
    /// The last checkpoint: the parent of the next.
    parent: Option<String>,
    /// What it has, as far as that is known.
    known: Option<Files>,
}

/// Each file with its status. Nothing: it changed too recently to be sure that it has not changed since.
type Files = HashMap<PathBuf, Option<Status>>;

/// How much of what is there already a new commit stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    /// The last checkpoint: only differences are written.
    Last,
    /// Its history alone.
    History,
    /// Nothing: even if commits are broken or gone.
    Nothing,
}

impl Saver {
    /// `parent` is the last checkpoint of this run.
    pub fn new(git: Git, workspace: &Path, parent: Option<String>) -> Self {
        let trees = Trees::new(workspace, std::iter::empty());
        Self { git, workspace: workspace.to_owned(), trees, parent, known: None }
    }

    pub fn git(&self) -> &Git {
        &self.git
    }

    /// Saves the tree without `own`, the files of ralph itself; with `also`, wherever these are there, ignored or not.
    pub fn save(&mut self, label: Label<'_>, own: Vec<PathBuf>, also: &[PathBuf]) -> Result<Saved, GitError> {
        let mut paths = self.trees.list_past(own)?;
        if !also.is_empty() {
            paths.extend(also.iter().filter(|path| self.is_there(path)).cloned());
            paths.sort_unstable();
            paths.dedup();
        }
        let bases = [Base::Last, Base::History, Base::Nothing];
        let mut failed = None;
        for base in bases {
            if base == Base::Last && (self.known.is_none() || self.parent.is_none()) {
                continue;
            }
            match self.write(label, &paths, base) {
                Ok((saved, files)) => {
                    (self.parent, self.known) = (Some(saved.commit.clone()), Some(files));
                    return Ok(saved);
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        self.known = None;
        Err(failed.unwrap_or(GitError::NoRepository))
    }

    /// Whether there is something at this very path, and no link on the way leads elsewhere.
    fn is_there(&self, path: &Path) -> bool {
        let meta = |path: &Path| fs::symlink_metadata(self.workspace.join(path));
        let mut folders = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
        meta(path).is_ok() && folders.all(|folder| meta(folder).is_ok_and(|meta| meta.is_dir()))
    }

    fn write(&self, label: Label<'_>, paths: &[PathBuf], base: Base) -> Result<(Saved, Files), GitError> {
        let (head, branch) = self.git.head();
        let nested = self.nested(paths);
        let reference = format!("{}{}", super::references(label.run), label.name);
        let message = message(label, head.as_deref(), branch.as_deref(), &nested);
        let parents: Vec<String> = match base {
            Base::Nothing => Vec::new(),
            _ => self.parent.iter().chain(&head).cloned().collect(),
        };
        let header = Header {
            reference: &reference,
            message: &message,
            time: crate::clock::now().as_millis().div_euclid(1000),
            parents: &parents,
            from_parent: base == Base::Last,
        };
        let none = Files::new();
        let before = self.known.as_ref().filter(|_| base == Base::Last).unwrap_or(&none);
        let mut batch = Batch {
            workspace: &self.workspace,
            prefix: self.git.prefix(),
            files: Files::with_capacity(paths.len()),
            read: 0,
            left_out: Vec::new(),
            buffer: vec![0; CHUNK],
        };
        let (commit, tree) = self.import(&header, &mut |stream| batch.all(stream, paths, before))?;
        let Batch { files, read, left_out, .. } = batch;
        let count = u32::try_from(files.len()).unwrap_or(u32::MAX);
        Ok((Saved { commit, tree, head, branch, files: count, read, left_out, nested }, files))
    }

    /// Runs `git fast-import`. Answers with the commit and its tree.
    fn import(
        &self,
        header: &Header<'_>,
        fill: &mut dyn FnMut(&mut Stream<BufWriter<Watched<'_>>>) -> io::Result<()>,
    ) -> Result<(String, String), GitError> {
        let mut command = self.git.command(["fast-import", "--quiet", "--force", "--done"])?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| GitError::Missing(error.to_string()))?;
        let pid = child.id();
        let dog = Watchdog::over(pid);
        let mut stdin = child.stdin.take().ok_or_else(|| io::Error::other("git has no input"))?;
        let out = BufWriter::with_capacity(CHUNK, Watched { inner: &mut stdin, dog: &dog });
        let written = Stream::begin(out, header).and_then(|mut stream| {
            fill(&mut stream)?;
            stream.finish()
        });
        drop(stdin);
        let answer = child.stdout.take().map(read_answer).transpose();
        let output = child.wait_with_output()?;
        let complain = |message| GitError::Failed { what: "fast-import".to_owned(), message };
        if !output.status.success() {
            // git leaves a report of its failure behind in the repository.
            let report = format!("fast_import_crash_{pid}");
            let _ = fs::remove_file(self.git.repository().git_dir().join(report));
            return Err(complain(complaint(&output.stderr, &output.status.to_string())));
        }
        written?;
        answer?.flatten().ok_or_else(|| complain("it does not say what it has saved".to_owned()))
    }

    /// The repositories that saved files are in, besides the one around them.
    fn nested(&self, paths: &[PathBuf]) -> Vec<String> {
        let mut folders: Vec<&Path> = paths.iter().filter_map(|path| path.parent()).collect();
        folders.dedup();
        let mut all: Vec<&Path> = folders.iter().flat_map(|folder| folder.ancestors()).collect();
        all.sort_unstable();
        all.dedup();
        let nested = all.into_iter().filter(|folder| !folder.as_os_str().is_empty()).filter_map(|folder| {
            let repository = Repository::open(&self.workspace.join(folder))?;
            let head = repository.head().unwrap_or_else(|| "no commit".to_owned());
            Some(format!("{} at {head}", folder.display()))
        });
        nested.take(MAX_NAMES).collect()
    }
}

/// What git takes in is a sign of life.
struct Watched<'a> {
    inner: &'a mut ChildStdin,
    dog: &'a Watchdog,
}

impl Write for Watched<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.dog.sign();
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// One commit being written.
struct Batch<'a> {
    workspace: &'a Path,
    prefix: &'a Path,
    files: Files,
    read: u32,
    left_out: Vec<String>,
    buffer: Vec<u8>,
}

impl Batch<'_> {
    /// Writes what is different from `before`: first what is gone, for a folder may stand where a file was.
    fn all<W: Write>(&mut self, out: &mut Stream<W>, paths: &[PathBuf], before: &Files) -> io::Result<()> {
        let mut new = Vec::new();
        for path in paths {
            if let Some(why) = unfit(path) {
                self.leave_out(path, why);
                continue;
            }
            let Ok(meta) = fs::symlink_metadata(self.workspace.join(path)) else { continue };
            if !meta.is_file() && !meta.is_symlink() {
                continue;
            }
            let status = Status::of(&meta);
            match before.get(path) {
                Some(Some(known)) if *known == status => drop(self.files.insert(path.clone(), Some(status))),
                _ => new.push((path, status, meta.is_symlink())),
            }
        }
        let mut staying: std::collections::HashSet<&Path> =
            new.iter().map(|(path, ..)| path.as_path()).collect();
        staying.extend(self.files.keys().map(PathBuf::as_path));
        for gone in before.keys().filter(|path| !staying.contains(path.as_path())) {
            out.remove(&self.prefix.join(gone))?;
        }
        drop(staying);
        for (path, status, is_link) in new {
            self.one(out, path, status, is_link, before.contains_key(path))?;
        }
        Ok(())
    }

    fn one<W: Write>(
        &mut self,
        out: &mut Stream<W>,
        path: &Path,
        status: Status,
        is_link: bool,
        was_there: bool,
    ) -> io::Result<()> {
        let (read_at, full) = (SystemTime::now(), self.workspace.join(path));
        let name = self.prefix.join(path);
        let written = match is_link {
            true => self.link(out, &full, &name)?,
            false => self.file(out, &full, &name, status)?,
        };
        match written {
            Ok(()) => {
                self.read = self.read.saturating_add(1);
                let settled = status.is_settled_anywhere(read_at).then_some(status);
                self.files.insert(path.to_owned(), settled);
            }
            Err(why) => {
                if was_there {
                    out.remove(&name)?;
                }
                self.leave_out(path, &why);
            }
        }
        Ok(())
    }

    /// The inner error says why this file is left out, the outer one ends it all.
    fn link<W: Write>(
        &self,
        out: &mut Stream<W>,
        full: &Path,
        name: &Path,
    ) -> io::Result<Result<(), String>> {
        let target = match fs::read_link(full) {
            Ok(target) => target,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let bytes = target.as_os_str().as_bytes();
        out.file(LINK, name, bytes.len() as u64)?;
        out.bytes(bytes)?;
        out.end_file().map(Ok)
    }

    fn file<W: Write>(
        &mut self,
        out: &mut Stream<W>,
        full: &Path,
        name: &Path,
        status: Status,
    ) -> io::Result<Result<(), String>> {
        let (mut file, size) = match open(full) {
            Ok((_, size)) if size > MAX_FILE => {
                return Ok(Err(format!("bigger than {} MB", MAX_FILE >> 20)));
            }
            Ok(opened) => opened,
            Err(error) => return Ok(Err(error.to_string())),
        };
        out.file(if status.mode & 0o100 == 0 { FILE } else { PROGRAM }, name, size)?;
        let mut left = size;
        let mut broken = None;
        while left > 0 {
            let most = usize::try_from(left).unwrap_or(usize::MAX).min(self.buffer.len());
            let count = match file.read(&mut self.buffer[..most]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Ok(0) => {
                    broken.get_or_insert_with(|| "it changed while it was read".to_owned());
                    self.buffer.fill(0);
                    most
                }
                Ok(count) => count,
                Err(error) => {
                    broken.get_or_insert_with(|| error.to_string());
                    self.buffer.fill(0);
                    most
                }
            };
            // So many bytes were promised, so many have to follow.
            out.bytes(&self.buffer[..count])?;
            left -= count as u64;
        }
        out.end_file()?;
        match broken {
            None => Ok(Ok(())),
            Some(why) => out.remove(name).map(|()| Err(why)),
        }
    }

    fn leave_out(&mut self, path: &Path, why: &str) {
        if self.left_out.len() < MAX_NAMES {
            self.left_out.push(format!("{}: {why}", path.display()));
        }
    }
}

/// Names that git would not take, or take for something of its own.
fn unfit(path: &Path) -> Option<&'static str> {
    let is_git = |part: std::path::Component<'_>| part.as_os_str().eq_ignore_ascii_case(".git");
    path.components().any(is_git).then_some("git has no place for this name")
}

/// Neither a link nor a pipe that somebody put there meanwhile: the one leads away, the other never ends.
fn open(path: &Path) -> io::Result<(File, u64)> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let meta = file.metadata()?;
    match meta.is_file() {
        true => Ok((file, meta.len())),
        false => Err(io::Error::other("it is no plain file any more")),
    }
}

/// `040000 tree ID` and the id of the commit.
fn read_answer(mut out: ChildStdout) -> io::Result<Option<(String, String)>> {
    let mut text = String::new();
    out.read_to_string(&mut text)?;
    let mut lines = text.lines();
    let tree = lines.next().and_then(|line| line.split_whitespace().nth(2));
    let commit = lines.next().filter(|id| !id.is_empty());
    Ok(commit.map(|commit| {
        // A tree without a file has no line of its own.
        (commit.to_owned(), tree.unwrap_or_default().to_owned())
    }))
}

fn message(label: Label<'_>, head: Option<&str>, branch: Option<&str>, nested: &[String]) -> String {
    let Label { run, name, what } = label;
    let mut text = format!("ralph checkpoint {name}: {what}\n\nRalph-Run: {run}\n");
    let facts = [("Ralph-Head", head), ("Ralph-Branch", branch)];
    for (key, value) in facts {
        text.extend(value.map(|value| format!("{key}: {value}\n")));
    }
    text.extend(nested.iter().map(|one| format!("Ralph-Nested: {}\n", one.replace('\n', " "))));
    text
}
