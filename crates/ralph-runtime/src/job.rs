//! Commands that ralph itself runs to their end: gates, and what else is asked of the workspace. Each is guarded like an
//! agent, has its own time, and can be ended with all others of its group.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use crate::lock;
use crate::process::{Exit, Handle, ResolveError, Spec, Status, Stream, Supervisor, resolve_program};
use crate::workspace::WorkspaceLock;

/// Between TERM and KILL for a command that has used up its time.
const GRACE: Duration = Duration::from_secs(3);

/// Commands that are ended together.
#[derive(Default)]
pub(crate) struct Group {
    state: Mutex<GroupState>,
    changed: Condvar,
}

#[derive(Default)]
struct GroupState {
    busy: u32,
    running: Vec<(u64, Handle)>,
    next: u64,
    /// Nothing more is started: the group was told to end.
    ending: Option<Duration>,
}

/// While one is held the group is at work.
pub(crate) struct Busy(Arc<Group>);

impl Drop for Busy {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.busy = state.busy.saturating_sub(1);
        if state.busy == 0 {
            state.ending = None;
        }
        self.0.changed.notify_all();
    }
}

impl Group {
    pub(crate) fn begin(self: &Arc<Self>) -> Busy {
        lock(&self.state).busy += 1;
        Busy(Arc::clone(self))
    }

    /// Ends every command of the group, and starts no more of those that are waiting for their turn.
    pub(crate) fn end(&self, grace: Duration) {
        let mut state = lock(&self.state);
        if state.busy == 0 {
            return;
        }
        state.ending = Some(state.ending.map_or(grace, |earlier| earlier.min(grace)));
        state.running.iter().for_each(|(_, handle)| end(handle, grace));
    }

    /// Ends everything at once and returns when it is gone.
    pub(crate) fn shut_down(&self) {
        self.end(Duration::ZERO);
        let state = lock(&self.state);
        drop(self.changed.wait_while(state, |state| state.busy > 0));
    }

    fn is_ending(&self) -> bool {
        lock(&self.state).ending.is_some()
    }

    fn add(&self, handle: &Handle) -> u64 {
        let mut state = lock(&self.state);
        if let Some(grace) = state.ending {
            end(handle, grace);
        }
        let id = state.next;
        state.next += 1;
        state.running.push((id, handle.clone()));
        id
    }

    fn remove(&self, id: u64) {
        lock(&self.state).running.retain(|(other, _)| *other != id);
    }
}

fn end(handle: &Handle, grace: Duration) {
    if grace.is_zero() { handle.kill() } else { handle.terminate(grace) }
}

/// A command to run.
pub(crate) struct Job<'a> {
    /// The program and its arguments.
    pub(crate) words: &'a [String],
    pub(crate) cwd: &'a Path,
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

/// Where commands are started.
pub(crate) struct Workshop<'a> {
    pub(crate) supervisor: &'a Supervisor,
    pub(crate) lock: &'a WorkspaceLock,
    pub(crate) group: &'a Group,
}

impl Workshop<'_> {
    /// Runs a command and returns when everything of it is gone. `sink` gets what it prints.
    pub(crate) fn run(&self, job: Job<'_>, sink: impl FnMut(Stream, &[u8]) + Send + 'static) -> Ended {
        if self.group.is_ending() {
            return Ended::Cancelled;
        }
        let spec = match spec_of(&job) {
            Ok(spec) => spec,
            Err(message) => return Ended::NotStarted { message },
        };
        let (done, exits) = mpsc::channel();
        let deadline = Instant::now().checked_add(job.timeout);
        let handle = self.supervisor.spawn(spec, Some(self.lock.as_fd()), sink, move |exit| {
            let _ = done.send(exit);
        });
        let id = self.group.add(&handle);
        let (exit, timed_out) = wait(&exits, deadline, &handle);
        self.group.remove(id);
        match exit {
            _ if self.group.is_ending() => Ended::Cancelled,
            Some(Exit { status: Status::SpawnFailed { message, .. }, .. }) => Ended::NotStarted { message },
            Some(exit) => Ended::Exited { exit, timed_out },
            None => Ended::NotStarted { message: "its guard process was lost".to_owned() },
        }
    }
}

fn spec_of(job: &Job<'_>) -> Result<Spec, String> {
    let (program, args) = job.words.split_first().ok_or("there is no command")?;
    let path = std::env::var_os("PATH");
    let program = resolve_program(program, job.cwd, path.as_deref());
    let program = program.map_err(|error: ResolveError| error.to_string())?;
    let mut spec = Spec::new(program, job.cwd);
    spec.args = args.iter().map(OsString::from).collect();
    spec.env.clone_from(&job.env);
    Ok(spec)
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
