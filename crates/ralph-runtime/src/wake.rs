//! Looks for work while the run waits: files that change, and a command that is asked again and again.

use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use ralph_core::event::{WakeCause, WakeTriggered};
use ralph_core::input::Report;
use ralph_core::plan::{CommandPlan, Plan};
use ralph_core::time::Timestamp;

use crate::executor::{RunContext, report};
use crate::group::Group;
use crate::job::{Finds, Job, JobEnd};
use crate::lock;
use crate::platform::PathChanges;
use crate::process::Exit;

/// What tells one state of a file from the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    size: u64,
    written: (i64, i64),
}

/// The files of the plan as the agent knows them. What is different in a wait is news.
#[derive(Default)]
pub(crate) struct KnownFiles {
    stamps: Option<Vec<Option<Stamp>>>,
    /// The stamps are those of the agent's start: a file has changed while the agent worked.
    moved: bool,
    /// The agent was started because of such a change.
    again: bool,
}

impl KnownFiles {
    /// An agent is about to look.
    pub(crate) fn agent_starts(&mut self, plan: &Plan) {
        self.stamps = look(plan);
    }

    /// The agent has ended. A file that changed meanwhile may be the agent's own work, or news that came after the agent had
    /// looked: so the next agent looks once more. Never twice in a row: an agent that always touches the files would not rest.
    pub(crate) fn agent_ended(&mut self, plan: &Plan) {
        let now = look(plan);
        self.moved = self.stamps != now && !self.again;
        self.again = false;
        if !self.moved {
            self.stamps = now;
        }
    }

    /// The run waits. Nothing if ralph was down before.
    fn wait_begins(&mut self) -> Option<Vec<Option<Stamp>>> {
        self.again = std::mem::take(&mut self.moved);
        self.stamps.take()
    }
}

fn look(plan: &Plan) -> Option<Vec<Option<Stamp>>> {
    plan.wake.is_set().then(|| plan.wake_files().iter().map(|path| stamp(path)).collect())
}

fn stamp(path: &Path) -> Option<Stamp> {
    let found = path.metadata().ok()?;
    Some(Stamp { inode: found.ino(), size: found.size(), written: (found.mtime(), found.mtime_nsec()) })
}

/// What is known of the files before the watch.
enum Before {
    Stamps(Vec<Option<Stamp>>),
    /// Of a run that was down: what was written after this is news.
    Since(Timestamp),
}

impl Before {
    fn is_other(&self, number: usize, path: &Path) -> bool {
        let now = stamp(path);
        match self {
            Before::Stamps(stamps) => stamps.get(number).is_some_and(|before| *before != now),
            Before::Since(since) => now.is_some_and(|now| {
                let (seconds, nanos) = now.written;
                seconds.saturating_mul(1000).saturating_add(nanos / 1_000_000) > since.as_millis()
            }),
        }
    }
}

/// Looks until it is dropped, or until there is work.
pub(crate) struct Wake {
    /// Closing these ends the threads.
    _alive: Vec<UnixStream>,
    group: Arc<Group>,
}

impl Wake {
    /// Nothing if there is nothing to look at. Without a thread or a watch the wait ends by its time all the same.
    pub(crate) fn start(shared: &Arc<RunContext>, epoch: u64, since: Timestamp) -> Option<Self> {
        let plan = &shared.plan;
        if !plan.wake.is_set() {
            return None;
        }
        let (files, command, every) = (plan.wake_files(), plan.wake_command(), plan.wake.every);
        let group = Arc::new(Group::default());
        let mut alive = Vec::new();
        let before = lock(&shared.known_files).wait_begins().map_or(Before::Since(since), Before::Stamps);
        let tell = {
            let inbox = shared.inbox.clone();
            move |by| report(&inbox, Report::WakeTriggered(WakeTriggered { epoch, by }))
        };
        if !files.is_empty() {
            let tell = tell.clone();
            alive.extend(start("wake-files", move |ended| watch(files, &before, ended, tell)));
        }
        if let Some(command) = command {
            let (shared, group, busy) = (Arc::clone(shared), Arc::clone(&group), group.begin());
            alive.extend(start("wake-command", move |ended| {
                if ask(&shared, &group, &command, every, ended) {
                    tell(WakeCause::Command);
                }
                drop(busy);
            }));
        }
        Some(Self { _alive: alive, group })
    }

    /// Returns when no process of a wake command is left.
    pub(crate) fn shut_down(self) {
        let group = Arc::clone(&self.group);
        drop(self);
        group.shut_down();
    }
}

impl Drop for Wake {
    fn drop(&mut self) {
        self.group.end(Duration::ZERO);
    }
}

/// A thread that is told to end by the end of a stream.
fn start(name: &str, run: impl FnOnce(UnixStream) + Send + 'static) -> io::Result<UnixStream> {
    let (alive, ended) = UnixStream::pair()?;
    thread::Builder::new().name(name.into()).spawn(move || run(ended))?;
    Ok(alive)
}

fn watch(files: Vec<PathBuf>, before: &Before, ended: UnixStream, tell: impl Fn(WakeCause)) {
    let Ok(mut changes) = PathChanges::watch(files.clone()) else { return };
    // Looked at only after the watch has begun, so that nothing can slip through between the two.
    let changed = files.into_iter().enumerate().find(|(i, path)| before.is_other(*i, path));
    let path = changed.map_or_else(|| changes.wait(&ended).ok().flatten(), |(_, path)| Some(path));
    if let Some(path) = path {
        tell(WakeCause::File { path: path.to_string_lossy().into_owned() });
    }
}

/// Whether the command has found work before the wait ended.
fn ask(
    shared: &RunContext,
    group: &Group,
    plan: &CommandPlan,
    every: Duration,
    mut ended: UnixStream,
) -> bool {
    if ended.set_read_timeout(Some(every)).is_err() {
        return false;
    }
    loop {
        match ended.read(&mut [0]) {
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            _ => return false,
        }
        let (env, timeout) = (Vec::new(), plan.timeout);
        let job = Job { words: &plan.words, cwd: &plan.cwd, env, timeout };
        match job.run(&shared.ground(Finds::Ralph), group, |_, _| {}) {
            JobEnd::Ran { finished, timed_out: false } if finished.exit == Exit::Code(0) => return true,
            JobEnd::Cancelled => return false,
            // A program that is missing may be there the next time.
            JobEnd::Ran { .. } | JobEnd::NotStarted { .. } => {}
        }
    }
}
