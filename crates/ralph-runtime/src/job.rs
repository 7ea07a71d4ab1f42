//! Commands that ralph itself runs to their end: gates, commands whose output is part of the prompt, and the one that is
//! asked for work. Each has a keeper, as an agent does, has its own time, and ends with its group.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use ralph_core::engine::GRACE;

use crate::executor::Shared;
use crate::group::Group;
use crate::process::{Exit, Handle, Spec, Status, Stream, resolve_program};

/// A command to run. No shell is involved, and there is nothing on its standard input.
pub(crate) struct Job<'a> {
    /// The program and its arguments.
    pub(crate) words: &'a [String],
    pub(crate) cwd: &'a Path,
    /// What it finds in its environment besides what all of them do.
    pub(crate) env: Vec<(OsString, Option<OsString>)>,
    pub(crate) timeout: Duration,
}

/// How a command ended.
pub(crate) enum Ended {
    NotStarted {
        message: String,
    },
    /// The group was told to end.
    Cancelled,
    Exited {
        exit: Exit,
        timed_out: bool,
    },
}

impl Job<'_> {
    /// Returns when everything of the command is gone. `sink` gets what it prints.
    pub(crate) fn run(
        self,
        shared: &Shared,
        group: &Group,
        sink: impl FnMut(Stream, &[u8]) + Send + 'static,
    ) -> Ended {
        if group.is_ending() {
            return Ended::Cancelled;
        }
        let deadline = Instant::now().checked_add(self.timeout);
        let spec = match self.spec(shared) {
            Ok(spec) => spec,
            Err(message) => return Ended::NotStarted { message },
        };
        let (done, exits) = mpsc::channel();
        let handle = shared.supervisor.spawn(spec, Some(shared.lock.as_fd()), sink, move |exit| {
            let _ = done.send(exit);
        });
        let id = group.hold(&handle);
        let (exit, timed_out) = wait(&exits, deadline, &handle);
        group.release(id);
        match exit {
            _ if group.is_ending() => Ended::Cancelled,
            Some(Exit { status: Status::SpawnFailed { message, .. }, .. }) => Ended::NotStarted { message },
            Some(exit) => Ended::Exited { exit, timed_out },
            None => Ended::NotStarted { message: "its keeper process was lost".to_owned() },
        }
    }

    fn spec(self, shared: &Shared) -> Result<Spec, String> {
        let path = shared.path_variable();
        let (program, args) = self.words.split_first().ok_or("nothing is left of it")?;
        let program = resolve_program(program, self.cwd, Some(&path)).map_err(|error| error.to_string())?;
        let mut spec = Spec::new(program, self.cwd);
        spec.args = args.iter().map(OsString::from).collect();
        spec.env = shared.environment(path);
        spec.env.extend(self.env);
        spec.kill_leftovers = shared.plan.kill_leftovers;
        Ok(spec)
    }
}

/// Until it has ended; it is told to when its time is over.
fn wait(exits: &mpsc::Receiver<Exit>, deadline: Option<Instant>, handle: &Handle) -> (Option<Exit>, bool) {
    let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    let Some(left) = left else { return (exits.recv().ok(), false) };
    match exits.recv_timeout(left) {
        Ok(exit) => (Some(exit), false),
        Err(RecvTimeoutError::Disconnected) => (None, false),
        Err(RecvTimeoutError::Timeout) => {
            handle.terminate(GRACE);
            (exits.recv().ok(), true)
        }
    }
}
