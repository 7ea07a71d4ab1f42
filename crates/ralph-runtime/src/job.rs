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
use crate::process::{Exit, Finished, Handle, Spec, Stream, resolve_program};

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
pub(crate) enum JobEnd {
    NotStarted {
        message: String,
    },
    /// The group was told to end.
    Cancelled,
    Ran {
        finished: Finished,
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
    ) -> JobEnd {
        if group.is_ending() {
            return JobEnd::Cancelled;
        }
        let deadline = Instant::now().checked_add(self.timeout);
        let spec = match self.spec(shared) {
            Ok(spec) => spec,
            Err(message) => return JobEnd::NotStarted { message },
        };
        let (done, exits) = mpsc::channel();
        let handle = shared.supervisor.spawn(spec, Some(shared.lock.as_fd()), sink, move |finished| {
            let _ = done.send(finished);
        });
        let id = group.hold(&handle);
        let (finished, timed_out) = wait(&exits, deadline, &handle);
        group.release(id);
        match finished {
            _ if group.is_ending() => JobEnd::Cancelled,
            Some(Finished { exit: Exit::Missing { message } | Exit::NotStarted { message }, .. }) => {
                JobEnd::NotStarted { message }
            }
            Some(finished) => JobEnd::Ran { finished, timed_out },
            None => JobEnd::NotStarted { message: "its keeper process was lost".to_owned() },
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
        spec.kill_leftovers = shared.plan.event_loop.kill_leftovers;
        Ok(spec)
    }
}

/// Until the command has ended. When its time is over it is told to end; the flag says so.
fn wait(
    exits: &mpsc::Receiver<Finished>,
    deadline: Option<Instant>,
    handle: &Handle,
) -> (Option<Finished>, bool) {
    let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    let Some(left) = left else { return (exits.recv().ok(), false) };
    match exits.recv_timeout(left) {
        Ok(finished) => (Some(finished), false),
        Err(RecvTimeoutError::Disconnected) => (None, false),
        Err(RecvTimeoutError::Timeout) => {
            handle.terminate(GRACE);
            (exits.recv().ok(), true)
        }
    }
}
