//! Running git so that it does what ralph asks and nothing else: nothing of the user's environment leaks in, nothing that an agent
//! wrote into the repository's settings is executed, no lock is taken that is not needed, and nothing is fetched.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use super::includes;
use super::watchdog::{self, Watchdog};
use crate::process::{leash, resolve_program};
use crate::workspace::Repository;

/// Settings that stand above those of any file.
const SETTINGS: [&str; 14] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.logAllRefUpdates=false",
    "core.protectNTFS=false",
    "core.protectHFS=false",
    "core.quotePath=true",
    "core.abbrev=7",
    "core.commitGraph=false",
    "core.attributesFile=/dev/null",
    "gc.auto=0",
    "maintenance.auto=false",
    "log.showSignature=false",
    "protocol.allow=never",
];

/// Files of a repository that git opens whatever it is asked for.
const READ_BY_GIT: [&str; 14] = [
    "HEAD",
    "config",
    "config.worktree",
    "commondir",
    "gitdir",
    "index",
    "packed-refs",
    "shallow",
    "info/exclude",
    "info/attributes",
    "info/grafts",
    "objects/info/alternates",
    "objects/info/commit-graph",
    "objects/pack/multi-pack-index",
];

const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const EMPTY_TREE_SHA256: &str = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";

/// A longer line is shown in parts.
const MAX_LINE: u64 = 64 << 10;

/// A repository, and the program that works on it.
#[derive(Debug, Clone)]
pub struct Git {
    program: PathBuf,
    repository: Repository,
    /// The workspace from the top of the repository; empty where it is the top.
    prefix: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("the workspace is not in a git repository")]
    NoRepository,
    #[error("git cannot be started: {0}")]
    Missing(String),
    #[error("git {what}: {message}")]
    Failed { what: String, message: String },
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Git {
    /// The repository that this folder is in. The program is looked up once, here; one inside the workspace does not count: an
    /// agent can write there.
    pub fn open(workspace: &Path) -> Result<Self, GitError> {
        let repository = Repository::find(workspace).ok_or(GitError::NoRepository)?;
        let prefix = workspace.strip_prefix(&repository.work_tree).unwrap_or(Path::new("")).to_owned();
        Ok(Self { program: program(workspace)?, repository, prefix })
    }

    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// The workspace from the top of the repository.
    pub fn prefix(&self) -> &Path {
        &self.prefix
    }

    /// The commit that is checked out, and the branch.
    pub fn head(&self) -> (Option<String>, Option<String>) {
        (self.repository.head(), self.repository.branch())
    }

    /// A git that is about to be started. Not where it would wait for a pipe that somebody has put into the repository.
    pub(crate) fn command<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
    ) -> Result<Command, GitError> {
        self.has_plain_files()?;
        let mut command = bare_command(&self.program);
        // An absolute path is not looked for, and `git` does not read what lies around the folder it is started in.
        command.env("GIT_DIR", self.repository.git_dir()).current_dir(self.repository.git_dir());
        command.args(args);
        Ok(command)
    }

    fn has_plain_files(&self) -> Result<(), GitError> {
        let folder = self.repository.git_dir();
        let is_none = |path: &PathBuf| {
            // What is not there is not read.
            std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
        };
        let own = READ_BY_GIT.iter().map(|name| folder.join(name)).find(is_none);
        let settings = || ["config", "config.worktree"].map(|name| folder.join(name));
        let found = own.or_else(|| settings().iter().find_map(|file| includes::first_that_is_no_file(file)));
        match found {
            None => Ok(()),
            Some(path) => {
                let message = format!("{} is no file", path.display());
                Err(GitError::Failed { what: "is not started".to_owned(), message })
            }
        }
    }

    /// Runs git to its end, and gives what it printed.
    pub fn run<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        input: &[u8],
    ) -> Result<Vec<u8>, GitError> {
        finish(self.command(args)?, input, Some(watchdog::PATIENCE))
    }

    /// The same, as text without the last newline.
    pub fn line<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Result<String, GitError> {
        let out = self.run(args, &[])?;
        Ok(String::from_utf8_lossy(&out).trim_end().to_owned())
    }

    /// Files of this folder that no commit has as they are, ignored ones aside. No filter of the repository is run.
    /// git opens every `.gitignore` that there is, and somebody may have made one of them a pipe: who only wants advice is not
    /// patient.
    pub fn uncommitted(&self, folder: &Path, patience: Option<Duration>) -> Result<Vec<PathBuf>, GitError> {
        let args = ["status", "--porcelain=v1", "-z", "--untracked-files=normal", "--ignore-submodules=all"];
        let mut command = self.command(args)?;
        let is_long = self.repository.head().is_some_and(|head| head.len() == 64);
        command.args(["--no-renames", "--", "."]).current_dir(folder);
        command.env("GIT_WORK_TREE", &self.repository.work_tree);
        // Attributes name the filters. The empty tree has none.
        command.env("GIT_ATTR_SOURCE", if is_long { EMPTY_TREE_SHA256 } else { EMPTY_TREE });
        let out = finish(command, &[], patience.or(Some(watchdog::PATIENCE)))?;
        let lines = out.split(|byte| *byte == 0).filter_map(|line| line.get(3..));
        Ok(lines.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect())
    }

    /// Runs git and gives each line that it prints to `visit`, until that has seen enough.
    pub fn lines<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        visit: &mut dyn FnMut(&[u8]) -> io::Result<bool>,
    ) -> Result<(), GitError> {
        let mut command = self.command(args)?;
        // Its complaints are short: they fit into the pipe, and are read when the lines are over.
        let what = what(&command);
        let mut child =
            command.stdin(Stdio::null()).spawn().map_err(|error| GitError::Missing(error.to_string()))?;
        let dog = Watchdog::over(child.id());
        let mut wants_more = true;
        if let Some(stdout) = child.stdout.take() {
            let mut reader = BufReader::new(stdout);
            let mut line = Vec::new();
            while wants_more {
                line.clear();
                if (&mut reader).take(MAX_LINE).read_until(b'\n', &mut line)? == 0 {
                    break;
                }
                dog.sign();
                wants_more = visit(line.strip_suffix(b"\n").unwrap_or(&line))?;
            }
        }
        if !wants_more {
            let _ = child.kill();
            return child.wait().map(drop).map_err(GitError::Io);
        }
        checked(what, child.wait_with_output()?).map(drop)
    }

    /// What a person could as well have typed in this folder: with their filters and attributes, but without hooks.
    pub fn run_as_user<S: AsRef<OsStr>>(
        &self,
        folder: &Path,
        args: impl IntoIterator<Item = S>,
    ) -> Result<Vec<u8>, GitError> {
        let mut command = plain_command(&self.program);
        command.args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"]);
        command.current_dir(folder).args(args);
        finish(command, &[], None)
    }
}

/// Makes a folder a repository.
pub fn init(folder: &Path) -> Result<(), GitError> {
    let mut command = plain_command(&program(folder)?);
    command.arg("init").arg("--quiet").arg(folder);
    finish(command, &[], None).map(drop)
}

fn program(workspace: &Path) -> Result<PathBuf, GitError> {
    let path = std::env::var_os("PATH");
    let outside = path.map(|path| {
        let folders = std::env::split_paths(&path);
        let folders = folders.filter(|dir| dir.is_absolute() && !dir.starts_with(workspace));
        std::env::join_paths(folders).unwrap_or_default()
    });
    let found = resolve_program("git", workspace, outside.as_deref());
    found.map_err(|error| GitError::Missing(error.to_string()))
}

/// git without anything of the environment that is meant for another git.
fn plain_command(program: &Path) -> Command {
    let mut command = leash::leashed(program);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"GIT_")) {
        command.env_remove(name);
    }
    let own = [("GIT_OPTIONAL_LOCKS", "0"), ("GIT_TERMINAL_PROMPT", "0"), ("LC_ALL", "C")];
    command.envs(own).arg("--no-pager");
    // A Ctrl-C at the terminal is for ralph: what it has begun to save is saved to the end.
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The same, in nobody's hands but ralph's.
fn bare_command(program: &Path) -> Command {
    let mut command = plain_command(program);
    let own = [("GIT_NO_LAZY_FETCH", "1"), ("GIT_NO_REPLACE_OBJECTS", "1"), ("GIT_ATTR_NOSYSTEM", "1")];
    command.envs(own);
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    command
}

/// `patience`: a git that shows no sign of life for so long is ended.
fn finish(mut command: Command, input: &[u8], patience: Option<Duration>) -> Result<Vec<u8>, GitError> {
    let what = what(&command);
    let mut child = command.spawn().map_err(|error| GitError::Missing(error.to_string()))?;
    let _dog = patience.map(|patience| Watchdog::patient(child.id(), patience));
    let stdin = child.stdin.take();
    let output = thread::scope(|scope| {
        if let Some(mut stdin) = stdin {
            // Whoever does not read to the end says why with its exit code.
            scope.spawn(move || drop(stdin.write_all(input)));
        }
        child.wait_with_output()
    })?;
    checked(what, output)
}

/// What git was asked for: the first word that is no option.
fn what(command: &Command) -> String {
    let mut words = leash::own_args(command).map(OsStr::to_string_lossy);
    while let Some(word) = words.next() {
        match &*word {
            "-c" => drop(words.next()),
            option if option.starts_with('-') => {}
            _ => return word.into_owned(),
        }
    }
    String::new()
}

fn checked(what: String, output: Output) -> Result<Vec<u8>, GitError> {
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(GitError::Failed { what, message: complaint(&output.stderr, &output.status.to_string()) })
}

/// The first line that says something, without git's word before it.
pub(super) fn complaint(stderr: &[u8], otherwise: &str) -> String {
    let text = String::from_utf8_lossy(stderr);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or(otherwise);
    ["fatal: ", "error: "].iter().find_map(|word| line.strip_prefix(word)).unwrap_or(line).to_owned()
}
