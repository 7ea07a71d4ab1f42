//! `--detach`: the run in a session of its own, without a terminal. It is the same command, started once more.

use std::io::{self, Read, Write};
use std::process::{Command, Stdio};

use ralph_core::ids::RunId;
use ralph_core::record::Record;
use rustix::process::{getppid, setsid};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use serde::Serialize;

use crate::error::CliError;

/// Tells the second process whom it answers. A `ralph` further down that inherits it has another parent.
const PARENT: &str = "RALPH_DETACHED_FROM";
/// More is no id.
const MOST: u64 = 4096;

/// Whether this process is to leave the terminal and work.
pub fn is_detached() -> bool {
    let parent = getppid().map(|parent| parent.as_raw_pid().to_string());
    parent.is_some_and(|parent| std::env::var(PARENT).is_ok_and(|asked| asked == parent))
}

#[derive(Serialize)]
struct Started<'a> {
    run: &'a str,
}

/// Starts this very command in the background, and returns once its run has begun. Its errors are told here.
pub fn start(json: bool) -> Result<u8, CliError> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(std::env::args_os().skip(1)).env(PARENT, std::process::id().to_string());
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut said = String::new();
    if let Some(stdout) = child.stdout.take() {
        stdout.take(MOST).read_to_string(&mut said)?;
    }
    let run = said.trim();
    if run.is_empty() {
        // It has said why.
        let code = child.wait()?.code().and_then(|code| u8::try_from(code).ok());
        return Ok(code.unwrap_or(1));
    }
    match json {
        true => crate::io::print_json(&Started { run })?,
        false => crate::io::print(&farewell(run))?,
    }
    Ok(0)
}

/// The first steps of the second process: no signal of the terminal reaches it from here on.
pub struct Detached {
    announced: bool,
}

impl Detached {
    pub fn leave_terminal() -> io::Result<Self> {
        setsid()?;
        Ok(Self { announced: false })
    }

    /// The run is on record: whoever started it may go. From here on nobody reads what is printed.
    pub fn see(&mut self, run: &RunId, _record: &Record) {
        if std::mem::replace(&mut self.announced, true) {
            return;
        }
        // A starter that went away is no reason to stop what has begun.
        let _ = writeln!(io::stdout(), "{run}").and_then(|()| io::stdout().flush());
        to_nowhere();
    }
}

/// From here on nothing is read from whoever started this process, and nothing is printed for them.
pub fn to_nowhere() {
    if let Ok(nowhere) = std::fs::File::options().read(true).write(true).open("/dev/null") {
        let _ = dup2_stdin(&nowhere);
        let _ = dup2_stdout(&nowhere);
        let _ = dup2_stderr(&nowhere);
    }
}

/// Where a run is that works in the background.
pub fn farewell(run: &str) -> String {
    format!(
        "run {run} is at work in the background\n  look    ralph attach {run}\n  stop    ralph stop {run}"
    )
}
