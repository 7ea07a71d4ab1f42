//! Starts the work that the engine asks for, and reports what comes of it. Nothing here is waited for.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ralph_core::effect::{Effect, SpawnAgent};
use ralph_core::event::{AgentExited, AgentSilent, AgentSpawned, AgentText, Exit};
use ralph_core::input::{Input, Report};
use ralph_core::marker::Rules;
use ralph_core::plan::{Plan, PromptVia, Task};
use ralph_core::prompt;

use crate::driver::Envelope;
use crate::output::{Output, create_log};
use crate::process::{self, Handle, SpawnErrorKind, Spec, Status, Supervisor, resolve_program};
use crate::spool::Spool;
use crate::store::RunDir;
use crate::timer::Timers;
use crate::workspace::{Snapshot, WorkspaceLock, scan};

/// One argument may not be longer on Linux.
const MAX_ARGUMENT: usize = 128 * 1024 - 1;

pub(crate) struct Executor {
    shared: Arc<Shared>,
    timers: Timers,
    slot: Arc<Slot>,
}

/// What every attempt needs.
struct Shared {
    plan: Plan,
    run: RunDir,
    supervisor: Supervisor,
    lock: WorkspaceLock,
    inbox: Sender<Envelope>,
    /// The workspace after the last iteration: the next one's before.
    snapshot: Mutex<Option<Snapshot>>,
}

/// The attempt that is running, if any.
#[derive(Default)]
struct Slot {
    state: Mutex<SlotState>,
    changed: Condvar,
}

#[derive(Default)]
struct SlotState {
    busy: bool,
    handle: Option<Handle>,
    /// A kill that came before there was anything to kill.
    kill: Option<Duration>,
}

impl Slot {
    fn lock(&self) -> MutexGuard<'_, SlotState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kill(&self, grace: Duration) {
        let mut state = self.lock();
        match &state.handle {
            Some(handle) if grace.is_zero() => handle.kill(),
            Some(handle) => handle.terminate(grace),
            None => state.kill = Some(state.kill.map_or(grace, |earlier| earlier.min(grace))),
        }
    }

    fn free(&self) {
        *self.lock() = SlotState::default();
        self.changed.notify_all();
    }
}

impl Executor {
    pub(crate) fn new(
        plan: Plan,
        run: RunDir,
        supervisor: Supervisor,
        lock: WorkspaceLock,
        inbox: Sender<Envelope>,
    ) -> std::io::Result<Self> {
        let fired = inbox.clone();
        let timers = Timers::start(move |timer| report(&fired, Report::TimerFired(timer)))?;
        let shared = Shared { plan, run, supervisor, lock, inbox, snapshot: Mutex::new(None) };
        Ok(Self { shared: Arc::new(shared), timers, slot: Arc::default() })
    }

    pub(crate) fn start(&mut self, effect: Effect) {
        match effect {
            Effect::StartTimer { timer, when } => self.timers.set(timer, when),
            Effect::KillAgent { grace } => self.slot.kill(grace),
            Effect::SpawnAgent(spawn) => {
                self.slot.lock().busy = true;
                let (shared, slot) = (Arc::clone(&self.shared), Arc::clone(&self.slot));
                let attempt = Attempt { shared, slot, spawn };
                // If there is no thread to be had the closure is dropped, and the attempt with it.
                let attempt = Unreported(Some(attempt));
                let _ = std::thread::Builder::new().name("agent".into()).spawn(move || attempt.take(Attempt::run));
            }
        }
    }

    /// Ends the agent at once and returns when it is gone.
    pub(crate) fn shut_down(&mut self) {
        self.slot.kill(Duration::ZERO);
        let state = self.slot.lock();
        drop(self.slot.changed.wait_while(state, |state| state.busy));
    }
}

fn report(inbox: &Sender<Envelope>, report: Report) {
    let _ = inbox.send(Input::Report(report).into());
}

/// Sees to it that every attempt is reported, whatever becomes of its thread.
struct Unreported(Option<Attempt>);

impl Unreported {
    fn take(mut self, run: impl FnOnce(Attempt)) {
        if let Some(attempt) = self.0.take() {
            run(attempt);
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
struct Attempt {
    shared: Arc<Shared>,
    slot: Arc<Slot>,
    spawn: SpawnAgent,
}

impl Attempt {
    fn run(self) {
        match self.prepare() {
            Ok((spec, output)) => self.start(spec, output),
            Err(NotPrepared::Missing(message)) => self.ended(Exit::Missing { message }),
            Err(NotPrepared::Other(message)) => self.not_started(message),
        }
    }

    fn prepare(&self) -> Result<(Spec, Output), NotPrepared> {
        let Shared { plan, run, .. } = &*self.shared;
        let (iteration, attempt) = (self.spawn.iteration, self.spawn.attempt);
        let task = task_text(&plan.task)?;
        let prompt = prompt::render(plan, &self.spawn.prompt, &task);
        let prompt_path = run.prompt(iteration, attempt);
        write_private(&prompt_path, &prompt)?;

        let path = self.path_variable();
        let found = resolve_program(&plan.agent.program, &plan.workspace, Some(&path));
        let program = found.map_err(|error| NotPrepared::Missing(format!("can not start the agent: {error}")))?;
        let mut spec = Spec::new(program, &plan.workspace);
        spec.args = plan.agent.args.iter().map(OsString::from).collect();
        spec.kill_leftovers = plan.kill_leftovers;
        match &plan.agent.prompt {
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
        spec.env = self.environment(path);

        let spool = Spool::create(&run.log(iteration, attempt))
            .map_err(|error| NotPrepared::Other(format!("can not create the log of the iteration: {error}")))?;
        let copy = match &plan.log_dir {
            Some(dir) => Some(create_log(dir, iteration, crate::clock::now()).map_err(|error| {
                NotPrepared::Other(format!("can not write to the log folder {}: {error}", dir.display()))
            })?),
            None => None,
        };
        let rules = Rules::new(plan.signals.completion_promise.as_deref(), &prompt);
        self.look_before();
        Ok((spec, Output::new(spool, copy, rules)))
    }

    fn look_before(&self) {
        let mut snapshot = lock(&self.shared.snapshot);
        if snapshot.is_none() {
            *snapshot = scan(&self.shared.plan.workspace, None).map(|(snapshot, _)| snapshot);
        }
    }

    /// The agent finds this very `ralph` first, wherever it was started from.
    fn path_variable(&self) -> OsString {
        let mut path = self.shared.run.bin().into_os_string();
        if let Some(inherited) = std::env::var_os("PATH") {
            path.push(":");
            path.push(inherited);
        }
        path
    }

    fn environment(&self, path: OsString) -> Vec<(OsString, Option<OsString>)> {
        let Shared { plan, run, .. } = &*self.shared;
        let ralph = process::guard_exe().ok().map(PathBuf::into_os_string);
        let own: [(&str, Option<OsString>); 6] = [
            ("PATH", Some(path)),
            ("RALPH_RUN_ID", Some(run.id.0.clone().into())),
            ("RALPH_ITERATION", Some(self.spawn.iteration.to_string().into())),
            ("RALPH_ATTEMPT", Some(self.spawn.attempt.to_string().into())),
            ("RALPH_WORKSPACE", Some(plan.workspace.clone().into_os_string())),
            ("RALPH_BIN", ralph),
        ];
        let own = own.into_iter().map(|(key, value)| (OsString::from(key), value));
        let users = plan.agent.env.iter().map(|(key, value)| (key.into(), Some(value.into())));
        own.chain(users).collect()
    }

    fn start(self, spec: Spec, output: Output) {
        let attempt = Arc::new(self);
        let silence = attempt.spawn.silence_timeout.map(Silence::watch);
        let output = Arc::new(Mutex::new(Some(output)));
        let handle = {
            let (told, sink, heard) = (Arc::clone(&attempt), Arc::clone(&output), silence.clone());
            let on_output = move |stream, bytes: &[u8]| {
                heard.iter().for_each(|silence| silence.heard());
                if let Some(output) = &mut *lock(&sink) {
                    output.take(stream, bytes, &mut |text, truncated| told.said(text, truncated));
                }
            };
            let (spawned, done) = (Arc::clone(&attempt), Arc::clone(&attempt));
            let heard = silence.clone();
            attempt.shared.supervisor.spawn(
                spec,
                Some(std::os::fd::AsFd::as_fd(&attempt.shared.lock)),
                move |pid| spawned.spawned(pid),
                on_output,
                move |exit| {
                    heard.iter().for_each(|silence| silence.over());
                    done.exited(exit, lock(&output).take());
                },
            )
        };
        let mut state = attempt.slot.lock();
        match state.kill.take() {
            Some(grace) if grace.is_zero() => handle.kill(),
            Some(grace) => handle.terminate(grace),
            None => {}
        }
        if state.busy {
            state.handle = Some(handle);
        }
        drop(state);
        if let Some(silence) = silence {
            silence.wait(|quiet| attempt.fell_silent(quiet));
        }
    }

    fn spawned(&self, pid: u32) {
        let (iteration, attempt) = (self.spawn.iteration, self.spawn.attempt);
        report(&self.shared.inbox, Report::AgentSpawned(AgentSpawned { iteration, attempt, pid }));
    }

    fn said(&self, text: String, truncated: bool) {
        let (iteration, attempt) = (self.spawn.iteration, self.spawn.attempt);
        report(&self.shared.inbox, Report::AgentSaid(AgentText { iteration, attempt, text, truncated }));
    }

    fn fell_silent(&self, quiet: Duration) {
        let (iteration, attempt) = (self.spawn.iteration, self.spawn.attempt);
        report(&self.shared.inbox, Report::AgentFellSilent(AgentSilent { iteration, attempt, quiet }));
    }

    fn exited(&self, exit: process::Exit, output: Option<Output>) {
        let found = output.map(|output| output.finish(&mut |text, truncated| self.said(text, truncated)));
        let (found, output_bytes) = found.unwrap_or_default();
        let mut report = self.blank(match exit.status {
            Status::Code(code) => Exit::Code(code),
            Status::Signal(signal) => Exit::Signal(signal),
            Status::SpawnFailed { kind: SpawnErrorKind::NotFound | SpawnErrorKind::Permission, message } => {
                Exit::Missing { message: format!("can not start the agent: {message}") }
            }
            Status::SpawnFailed { message, .. } => {
                Exit::NotStarted { message: format!("can not start the agent: {message}") }
            }
            Status::GuardLost => Exit::Lost { message: "the agent's guard process was killed".to_owned() },
        });
        if exit.leftovers_alive {
            let message = "processes of the agent can not be ended; see `ps`".to_owned();
            report.exit = Exit::NotStarted { message };
        }
        report.duration = exit.duration;
        report.claims_complete = found.complete;
        report.blocked = found.blocked;
        report.output_bytes = output_bytes;
        report.leftovers = exit.killed_leftovers;
        report.files = self.look_after();
        self.send(report);
    }

    fn look_after(&self) -> Option<ralph_core::event::FilesChanged> {
        let mut snapshot = lock(&self.shared.snapshot);
        let before = snapshot.take()?;
        let (after, changed) = scan(&self.shared.plan.workspace, Some(&before))?;
        *snapshot = Some(after);
        Some(changed)
    }

    fn not_started(&self, message: String) {
        self.ended(Exit::NotStarted { message });
    }

    fn ended(&self, exit: Exit) {
        self.send(self.blank(exit));
    }

    fn blank(&self, exit: Exit) -> AgentExited {
        AgentExited {
            iteration: self.spawn.iteration,
            attempt: self.spawn.attempt,
            exit,
            duration: Duration::ZERO,
            claims_complete: false,
            blocked: None,
            files: None,
            output_bytes: 0,
            leftovers: 0,
            usage: Default::default(),
            cost_usd: None,
        }
    }

    /// The last thing an attempt does.
    fn send(&self, exited: AgentExited) {
        self.slot.free();
        report(&self.shared.inbox, Report::AgentExited(Box::new(exited)));
    }
}

enum NotPrepared {
    Missing(String),
    Other(String),
}

fn task_text(task: &Task) -> Result<String, NotPrepared> {
    let path = match task {
        Task::Text(text) => return Ok(text.clone()),
        Task::File(path) | Task::RalphMd(path) => path,
    };
    let bytes = fs::read(path)
        .map_err(|error| NotPrepared::Other(format!("can not read the prompt {}: {error}", path.display())))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        NotPrepared::Other(format!("the prompt {} is not UTF-8 at byte {at}", path.display()))
    })?;
    Ok(match task {
        Task::RalphMd(_) => ralph_core::ralph_md::body(&text),
        _ => text,
    })
}

fn write_private(path: &std::path::Path, text: &str) -> Result<(), NotPrepared> {
    let mut options = fs::OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| NotPrepared::Other(format!("can not store the prompt {}: {error}", path.display())))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for an agent that prints nothing.
#[derive(Clone)]
struct Silence {
    timeout: Duration,
    state: Arc<(Mutex<(Instant, bool)>, Condvar)>,
}

impl Silence {
    fn watch(timeout: Duration) -> Self {
        Self { timeout, state: Arc::new((Mutex::new((Instant::now(), false)), Condvar::new())) }
    }

    fn heard(&self) {
        lock(&self.state.0).0 = Instant::now();
    }

    fn over(&self) {
        lock(&self.state.0).1 = true;
        self.state.1.notify_all();
    }

    /// Returns when the agent has ended, or has been reported as silent.
    fn wait(&self, silent: impl FnOnce(Duration)) {
        let mut state = lock(&self.state.0);
        loop {
            let quiet = state.0.elapsed();
            if state.1 {
                return;
            }
            if quiet >= self.timeout {
                return silent(quiet);
            }
            let waited = self.state.1.wait_timeout(state, self.timeout - quiet);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
