//! Commands that ralph itself runs to their end: gates, commands whose output is part of the prompt, and the one that is
//! asked for work. Each has a keeper, as an agent does, has its own time, and ends with its group.

use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use ralph_core::engine::GRACE;
use ralph_core::plan::SandboxLevel;

use crate::executor::RunContext;
use crate::group::Group;
use crate::process::{Exit, Finished, Handle, Spec, Stream, Supervisor, resolve_program};
use crate::proxy::Proxy;
use crate::sandbox::Sandbox;
use crate::standing;
use crate::trust::Pins;

/// A command to run. No shell is involved, and there is nothing on its standard input.
pub(crate) struct Job<'a> {
    /// The program and its arguments.
    pub(crate) words: &'a [String],
    pub(crate) cwd: &'a Path,
    /// What it finds in its environment besides what all of them do.
    pub(crate) env: Vec<(OsString, Option<OsString>)>,
    pub(crate) timeout: Duration,
}

/// Where the programs of a command are looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finds {
    /// `ralph` first, then the PATH: commands of the prompt may ask the run.
    Ralph,
    /// As they were found when the run began, and the PATH alone: gates.
    Pinned,
}

/// What every command needs, whoever starts it.
pub(crate) struct Ground<'a> {
    pub(crate) supervisor: &'a Supervisor,
    /// Kept by the command's keeper until everything of it is dead.
    pub(crate) lock: BorrowedFd<'a>,
    pub(crate) path: OsString,
    /// Programs that were looked up before; any other is searched in `path`.
    pub(crate) pins: Option<&'a Pins>,
    pub(crate) env: Vec<(OsString, Option<OsString>)>,
    pub(crate) kill_leftovers: bool,
    /// What confines it.
    pub(crate) sandbox: Option<(&'a Sandbox, SandboxLevel)>,
}

impl RunContext {
    /// What a command of this run needs.
    pub(crate) fn ground(&self, finds: Finds) -> Ground<'_> {
        let level = self.sandbox.of_gates();
        let (path, pins) = match finds {
            Finds::Ralph => (self.path_variable(level), None),
            Finds::Pinned => (std::env::var_os("PATH").unwrap_or_default(), Some(&self.pins)),
        };
        Ground {
            supervisor: &self.supervisor,
            lock: self.lock.as_fd(),
            env: self.environment(path.clone(), level),
            sandbox: Some((&self.sandbox, level)),
            path,
            pins,
            kill_leftovers: self.plan.event_loop.kill_leftovers,
        }
    }
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
        ground: &Ground<'_>,
        group: &Group,
        sink: impl FnMut(Stream, &[u8]) + Send + 'static,
    ) -> JobEnd {
        if group.is_ending() {
            return JobEnd::Cancelled;
        }
        let deadline = standing::now().checked_add(self.timeout);
        let rules = ground.sandbox.and_then(|(sandbox, level)| sandbox.rules_of_jobs(level));
        let ready = self.spec(ground).and_then(|mut spec| {
            let proxy = Proxy::of(rules, &mut spec)?;
            Ok((spec, proxy))
        });
        // Its proxy ends with it.
        let (spec, _proxy) = match ready {
            Ok(ready) => ready,
            Err(message) => return JobEnd::NotStarted { message },
        };
        let (done, exits) = mpsc::channel();
        let handle = ground.supervisor.spawn(spec, Some(ground.lock), sink, move |finished| {
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
            // Its keeper decides: ralph may have been stopped, and late to hear of an end that came in time.
            Some(finished) => {
                let timed_out = timed_out && finished.was_told;
                JobEnd::Ran { finished, timed_out }
            }
            None => JobEnd::NotStarted { message: "its keeper process was lost".to_owned() },
        }
    }

    fn spec(self, ground: &Ground<'_>) -> Result<Spec, String> {
        let (name, args) = self.words.split_first().ok_or("nothing is left of it")?;
        let pinned = ground.pins.and_then(|pins| pins.get(name)).map(Path::to_owned);
        let program = pinned.map_or_else(|| resolve_program(name, self.cwd, Some(&ground.path)), Ok);
        let program = program.map_err(|error| error.to_string())?;
        let mut spec = Spec::new(&program, self.cwd);
        spec.args = args.iter().map(OsString::from).collect();
        spec.env = ground.env.clone();
        spec.env.extend(self.env);
        spec.kill_leftovers = ground.kill_leftovers;
        if let Some((sandbox, level)) = ground.sandbox {
            spec.confine = sandbox.confine_job(level, self.cwd, program);
        }
        Ok(spec)
    }
}

/// Until the command has ended. When its time is over it is told to end; the flag says so.
fn wait(
    exits: &mpsc::Receiver<Finished>,
    deadline: Option<Instant>,
    handle: &Handle,
) -> (Option<Finished>, bool) {
    let Some(deadline) = deadline else { return (exits.recv().ok(), false) };
    loop {
        match exits.recv_timeout(standing::until(deadline)) {
            Ok(finished) => return (Some(finished), false),
            Err(RecvTimeoutError::Disconnected) => return (None, false),
            // It stood still meanwhile.
            Err(RecvTimeoutError::Timeout) if standing::now() < deadline => {}
            Err(RecvTimeoutError::Timeout) => {
                handle.terminate(GRACE);
                return (exits.recv().ok(), true);
            }
        }
    }
}
