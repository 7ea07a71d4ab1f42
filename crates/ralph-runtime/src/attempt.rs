//! One attempt at one iteration: make the prompt, start the agent, listen to it, and report how it ended.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use ralph_core::effect::SpawnAgent;
use ralph_core::event::{
    AgentExited, AgentRetrying, AgentSilent, AgentSpawned, AgentText, Exit, FilesChanged, ToolCalled,
    ToolFinished, UsageUpdated,
};
use ralph_core::input::Report;
use ralph_core::marker::{Rules, Said};
use ralph_core::plan::{AgentPlan, PromptVia};
use ralph_core::prompt;

use crate::executor::{Shared, report};
use crate::group::{Busy, Group};
use crate::output::{Heard, Output, create_log};
use crate::process::{self, SpawnErrorKind, Spec, Status, resolve_program};
use crate::silence::Silence;
use crate::spool::Spool;
use crate::task::{self, TaskError};
use crate::workspace::scan;
use crate::{control, hat, lock, memory};

/// One argument may not be longer on Linux.
const MAX_ARGUMENT: usize = 128 * 1024 - 1;
const SIGTERM: i32 = 15;

/// Sees to it that every attempt is reported, whatever becomes of its thread.
pub(crate) struct Unreported(Option<Attempt>);

impl Unreported {
    pub(crate) fn new(attempt: Attempt) -> Self {
        Self(Some(attempt))
    }

    pub(crate) fn run(mut self) {
        if let Some(attempt) = self.0.take() {
            attempt.run();
        }
    }
}

impl Drop for Unreported {
    fn drop(&mut self) {
        if let Some(attempt) = self.0.take() {
            attempt.not_started("the system has no thread for it".to_owned());
        }
    }
}

/// One attempt at one iteration.
pub(crate) struct Attempt {
    pub(crate) shared: Arc<Shared>,
    /// Everything that is started for it.
    pub(crate) group: Arc<Group>,
    /// Held until it is reported.
    busy: Mutex<Option<Busy>>,
    pub(crate) spawn: SpawnAgent,
    /// The time that was spent before the agent was started: it is work too.
    before: OnceLock<Duration>,
    /// What lets its agent publish.
    token: OnceLock<String>,
}

impl Attempt {
    pub(crate) fn new(shared: &Arc<Shared>, group: &Arc<Group>, spawn: SpawnAgent) -> Self {
        let busy = Mutex::new(Some(group.begin()));
        let (shared, group) = (Arc::clone(shared), Arc::clone(group));
        Self { shared, group, busy, spawn, before: OnceLock::new(), token: OnceLock::new() }
    }

    fn run(self) {
        match self.prepare() {
            Ok((spec, output)) => self.start(spec, output),
            Err(NotPrepared::Missing(message)) => self.ended(Exit::Missing { message }),
            Err(NotPrepared::Other(message)) => self.not_started(message),
            Err(NotPrepared::Killed) => self.ended(Exit::Signal(SIGTERM)),
        }
    }

    fn prepare(&self) -> Result<(Spec, Output), NotPrepared> {
        let Shared { plan, run, .. } = &*self.shared;
        let (iteration, attempt) = (self.spawn.iteration, self.spawn.attempt);
        let path = self.shared.path_variable();
        let begun = Instant::now();
        let task = task::text(self);
        let _ = self.before.set(begun.elapsed());
        let task = task.map_err(|error| match error {
            TaskError::Killed => NotPrepared::Killed,
            TaskError::Failed(message) => NotPrepared::Other(message),
        })?;
        let draft = hat::complete(plan, &self.spawn.prompt).map_err(NotPrepared::Other)?;
        memory::save(plan, &draft, &task);
        let prompt = prompt::render(plan, &draft, &task);
        let prompt_path = run.prompt(iteration, attempt);
        write_private(&prompt_path, &prompt)?;

        let agent = self.agent();
        let _ = self.token.set(self.shared.tokens.issue(iteration, attempt));
        let found = resolve_program(&agent.program, &plan.workspace, Some(&path));
        let program =
            found.map_err(|error| NotPrepared::Missing(format!("cannot start the agent: {error}")))?;
        let mut spec = Spec::new(program, &plan.workspace);
        spec.args = agent.args.iter().map(OsString::from).collect();
        spec.kill_leftovers = plan.kill_leftovers;
        match &agent.prompt {
            PromptVia::Stdin => spec.stdin = Some(prompt_path),
            PromptVia::File { flag } => {
                spec.args.extend(flag.iter().map(OsString::from));
                spec.args.push(prompt_path.into_os_string());
            }
            PromptVia::Arg { flag } => {
                if prompt.len() > MAX_ARGUMENT {
                    return Err(NotPrepared::Other(format!(
                        "the prompt of {} bytes does not fit into an argument; use `prompt: stdin` or `prompt: file`",
                        prompt.len()
                    )));
                }
                spec.args.extend(flag.iter().map(OsString::from));
                spec.args.push(OsString::from(&prompt));
            }
        }
        spec.env = self.agents_environment(path);
        spec.env.extend(agent.env.iter().map(|(key, value)| (key.into(), Some(value.into()))));

        let spool = Spool::create(&run.log(iteration, attempt)).map_err(|error| {
            NotPrepared::Other(format!("cannot create the log of the iteration: {error}"))
        })?;
        let copy = match &plan.log_dir {
            Some(dir) => Some(create_log(dir, iteration, crate::clock::now()).map_err(|error| {
                NotPrepared::Other(format!("cannot write to the log folder {}: {error}", dir.display()))
            })?),
            None => None,
        };
        let rules = Rules::new(&plan.signals, &prompt);
        self.look_before();
        Ok((spec, Output::new(spool, copy, rules, agent, plan)))
    }

    /// The agent whose turn it is: the run's, the hat's own, or a fallback.
    fn agent(&self) -> &AgentPlan {
        let plan = &self.shared.plan;
        let fallback = self.spawn.agent.checked_sub(1).and_then(|n| plan.fallback.get(n));
        fallback.or_else(|| hat::agent(plan, &self.spawn.prompt)).unwrap_or(&plan.agent)
    }

    fn look_before(&self) {
        let mut snapshot = lock(&self.shared.snapshot);
        if snapshot.is_none() {
            *snapshot = scan(&self.shared.plan.workspace, None).map(|(snapshot, _)| snapshot);
        }
        lock(&self.shared.seen).agent_starts(&self.shared.plan);
    }

    /// What agents and the commands before them find in their environment besides what all others do.
    pub(crate) fn environment(&self) -> Vec<(OsString, Option<OsString>)> {
        let own = [("RALPH_ITERATION", self.spawn.iteration.0), ("RALPH_ATTEMPT", self.spawn.attempt)];
        own.map(|(key, value)| (OsString::from(key), Some(value.to_string().into()))).to_vec()
    }

    /// What only the agent finds there: its hat, and the way to publish.
    fn agents_environment(&self, path: OsString) -> Vec<(OsString, Option<OsString>)> {
        let hat = self.spawn.prompt.hat.as_ref().map(|turn| OsString::from(&turn.hat));
        let own: [(&str, Option<OsString>); 3] = [
            ("RALPH_HAT", hat),
            ("RALPH_SOCKET", Some(control::socket_path(&self.shared.run).into_os_string())),
            ("RALPH_TOKEN", self.token.get().map(OsString::from)),
        ];
        let mut all = self.shared.environment(path);
        all.extend(self.environment());
        all.extend(own.map(|(key, value)| (OsString::from(key), value)));
        all
    }

    fn start(self, spec: Spec, output: Output) {
        let attempt = Arc::new(self);
        let silence = Silence::watch(attempt.spawn.silence_timeout);
        let output = Arc::new(Mutex::new(Some(output)));
        let handle = {
            let (told, sink, heard) = (Arc::clone(&attempt), Arc::clone(&output), silence.clone());
            let on_output = move |stream, bytes: &[u8]| {
                if let Some(output) = &mut *lock(&sink) {
                    output.take(stream, bytes, &mut |what| told.heard(what));
                    let (tool_runs, ended) = output.activity();
                    heard.heard(tool_runs, ended);
                }
            };
            let (spawned, done) = (Arc::clone(&attempt), Arc::clone(&attempt));
            let heard = silence.clone();
            attempt.shared.supervisor.spawn_announced(
                spec,
                Some(attempt.shared.lock.as_fd()),
                move |pid| spawned.spawned(pid),
                on_output,
                move |exit| {
                    heard.over();
                    done.exited(exit, lock(&output).take());
                },
            )
        };
        attempt.group.hold(&handle);
        silence.wait(|quiet, ended| attempt.fell_silent(quiet, ended));
    }

    fn spawned(&self, pid: u32) {
        let (iteration, attempt) = (self.spawn.iteration, self.spawn.attempt);
        report(&self.shared.inbox, Report::AgentSpawned(AgentSpawned { iteration, attempt, pid }));
    }

    fn heard(&self, what: Heard) {
        let (iteration, attempt) = (self.spawn.iteration, self.spawn.attempt);
        let told = match what {
            Heard::Said { text, truncated } => {
                Report::AgentSaid(AgentText { iteration, attempt, text, truncated })
            }
            Heard::ToolCalled { id, kind, name, command, path } => {
                let kind = kind.to_owned();
                Report::ToolCalled(ToolCalled { iteration, attempt, id, kind, name, command, path })
            }
            Heard::ToolFinished { id, ok, command, exit_code, output } => {
                Report::ToolFinished(ToolFinished { iteration, attempt, id, ok, command, exit_code, output })
            }
            Heard::Retrying { tried, of, reason } => {
                Report::AgentRetried(AgentRetrying { iteration, attempt, tried, of, reason })
            }
            Heard::Used { usage, cost_usd } => {
                Report::UsageUpdated(UsageUpdated { iteration, attempt, usage, cost_usd })
            }
        };
        report(&self.shared.inbox, told);
    }

    fn fell_silent(&self, quiet: Duration, ended: bool) {
        let (iteration, attempt) = (self.spawn.iteration, self.spawn.attempt);
        report(&self.shared.inbox, Report::AgentFellSilent(AgentSilent { iteration, attempt, quiet, ended }));
    }

    fn exited(&self, exit: process::Exit, output: Option<Output>) {
        let heading = output
            .map(|output| output.finish(&exit.status, crate::clock::now(), &mut |what| self.heard(what)));
        let heading = heading.unwrap_or_default();
        let mut report = self.blank(match exit.status {
            Status::Code(code) => Exit::Code(code),
            Status::Signal(signal) => Exit::Signal(signal),
            Status::SpawnFailed { kind: SpawnErrorKind::NotFound | SpawnErrorKind::Permission, message } => {
                Exit::Missing { message: format!("cannot start the agent: {message}") }
            }
            Status::SpawnFailed { message, .. } => {
                Exit::NotStarted { message: format!("cannot start the agent: {message}") }
            }
            Status::KeeperLost => Exit::Lost { message: "the agent's keeper process was killed".to_owned() },
        });
        if exit.leftovers_alive {
            let message = "processes of the agent cannot be ended; see `ps`".to_owned();
            report.exit = Exit::NotStarted { message };
        }
        report.duration += exit.duration;
        report.claims_complete = heading.found.complete;
        report.blocked = heading.found.blocked;
        let Said { state, delay, published, unpublished } = heading.said;
        (report.state, report.delay) = (state, delay);
        (report.published, report.unpublished) = (published, unpublished);
        report.output_bytes = heading.bytes;
        report.tail = heading.tail;
        report.sketch = heading.sketch;
        (report.usage, report.cost_usd) = (heading.usage, heading.cost_usd);
        (report.error, report.failure) = (heading.error, heading.failure);
        report.stderr = heading.stderr;
        report.leftovers = exit.killed_leftovers;
        report.files = self.look_after();
        report.tree = self.tree_after();
        lock(&self.shared.seen).agent_ended(&self.shared.plan);
        self.send(report);
    }

    fn look_after(&self) -> Option<FilesChanged> {
        let mut snapshot = lock(&self.shared.snapshot);
        let before = snapshot.take()?;
        let (after, changed) = scan(&self.shared.plan.workspace, Some(&before))?;
        *snapshot = Some(after);
        Some(changed)
    }

    /// Only where it decides something: the first look reads every file.
    fn tree_after(&self) -> Option<String> {
        let wanted = self.shared.plan.hats.as_ref().is_some_and(|hats| !hats.required_events.is_empty());
        wanted.then(|| lock(&self.shared.trees).look().ok())?.map(|tree| tree.hash)
    }

    fn not_started(&self, message: String) {
        self.ended(Exit::NotStarted { message });
    }

    fn ended(&self, exit: Exit) {
        self.send(self.blank(exit));
    }

    fn blank(&self, exit: Exit) -> AgentExited {
        let duration = self.before.get().copied().unwrap_or_default();
        AgentExited { duration, ..AgentExited::new(self.spawn.iteration, self.spawn.attempt, exit) }
    }

    /// The last thing an attempt does.
    fn send(&self, exited: AgentExited) {
        self.shared.tokens.revoke();
        drop(lock(&self.busy).take());
        report(&self.shared.inbox, Report::AgentExited(Box::new(exited)));
    }
}

enum NotPrepared {
    Missing(String),
    Other(String),
    /// The run was told to end before there was an agent.
    Killed,
}

fn write_private(path: &Path, text: &str) -> Result<(), NotPrepared> {
    let mut options = fs::OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| NotPrepared::Other(format!("cannot store the prompt {}: {error}", path.display())))
}
