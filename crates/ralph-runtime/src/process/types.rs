//! What to start, and how it ended.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use ralph_core::event::Exit;
use ralph_core::failure::Breach;

use super::confine::Confine;
use super::door::Door;

/// A program to run under a keeper. No shell is involved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// Best absolute, from [`resolve_program`](super::resolve_program): a bare name is looked up on ralph's own
    /// `PATH`, and a relative path means different things on different systems once `cwd` is set.
    pub program: PathBuf,
    pub args: Vec<OsString>,
    /// Changes to ralph's own environment: a value sets, `None` removes.
    pub env: Vec<(OsString, Option<OsString>)>,
    pub cwd: PathBuf,
    pub stdin: Stdin,
    /// Kill what the program left behind when it exited by itself. When it is told to end, everything below it
    /// is killed whatever this says.
    pub kill_leftovers: bool,
    /// How long a survivor that holds stdout or stderr may keep the exit from being reported.
    /// Matters only with `kill_leftovers: false`.
    pub drain: Duration,
    /// What it may reach and use.
    pub confine: Confine,
    /// The way out of a network of its own.
    pub door: Option<Door>,
}

impl Spec {
    pub const DEFAULT_DRAIN: Duration = Duration::from_millis(500);

    pub fn new(program: impl Into<PathBuf>, cwd: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            cwd: cwd.into(),
            stdin: Stdin::Null,
            kill_leftovers: true,
            drain: Self::DEFAULT_DRAIN,
            confine: Confine::default(),
            door: None,
        }
    }
}

/// What a program reads on its standard input.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Stdin {
    /// `/dev/null`.
    #[default]
    Null,
    /// This file: whoever never reads it blocks nobody.
    File(PathBuf),
    /// What ralph writes while the program works, see [`Input`](super::Input).
    Pipe,
}

/// How a process ended, and what became of everything below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    pub exit: Exit,
    /// From the start of the program to its exit, on the monotonic clock; output and sweep not counted.
    pub duration: Duration,
    /// It had been told to end before it did.
    pub was_told: bool,
    /// The limit of what it may use that it went past.
    pub breach: Option<Breach>,
    /// Processes that were still alive when the program ended and were killed.
    pub killed_leftovers: u32,
    /// The sweep did not finish in time: something cannot be killed (stuck in the kernel, or another user's).
    /// The keeper keeps at it and keeps the workspace lock.
    pub leftovers_alive: bool,
    /// Both pipes were read to their end. If not, a survivor still held one of them.
    pub drained: bool,
}
