//! One attempt at one iteration: make the prompt, start the agent, listen to it, and report how it ended.
//!
//! ```text
//! prepare/   task text, prompt commands, hat, memory files, prompt, program      -> what to start
//! listen/    bytes -> signals, log, samples                                       -> reports while the agent works
//! finish.rs  how the agent ended, what it said, what it changed in the workspace  -> the last report
//! ```

mod finish;
mod listen;
pub(crate) mod prepare;

use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use ralph_core::effect::SpawnAgent;
use ralph_core::event::{AgentSilent, AgentSpawned, Exit};
use ralph_core::input::Report;

use self::listen::Listener;
pub use self::listen::MakeDialogue;
pub(crate) use self::listen::life::Process;
use self::listen::life::{Life, Look};
use self::listen::silence::Silence;
use self::prepare::{NotPrepared, Ready};
use crate::executor::{RunContext, report};
use crate::group::{Busy, Group};
use crate::lock;
use crate::platform;
use crate::process::{Input, Spec};
use crate::proxy::Proxy;

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
    pub(crate) shared: Arc<RunContext>,
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
    pub(crate) fn new(shared: &Arc<RunContext>, group: &Arc<Group>, spawn: SpawnAgent) -> Self {
        let busy = Mutex::new(Some(group.begin()));
        let (shared, group) = (Arc::clone(shared), Arc::clone(group));
        Self { shared, group, busy, spawn, before: OnceLock::new(), token: OnceLock::new() }
    }

    fn run(self) {
        match self.prepare() {
            Ok(Ready { spec, listener, proxy }) => {
                self.shared.checkpoints.wait();
                self.start(spec, listener, proxy);
            }
            Err(NotPrepared::Missing(message)) => self.ended(Exit::Missing { message }),
            Err(NotPrepared::NoPrompt(message)) => self.ended(Exit::NoPrompt { message }),
            Err(NotPrepared::Other(message)) => self.not_started(message),
            Err(NotPrepared::Killed) => self.ended(Exit::Signal(SIGTERM)),
        }
    }

    fn start(self, spec: Spec, listener: Listener, proxy: Option<Proxy>) {
        let attempt = Arc::new(self);
        let silence = Silence::watch(attempt.spawn.silence_timeout);
        let listener = Arc::new(Mutex::new(Some(listener)));
        let on_start = {
            let (attempt, listener) = (Arc::clone(&attempt), Arc::clone(&listener));
            move |pid, input: &mut Input| {
                attempt.spawned(pid);
                if let Some(listener) = &mut *lock(&listener) {
                    listener.started(input);
                }
            }
        };
        let on_output = {
            let (attempt, listener) = (Arc::clone(&attempt), Arc::clone(&listener));
            let silence = silence.clone();
            move |stream, bytes: &[u8], input: &mut Input| {
                if let Some(listener) = &mut *lock(&listener) {
                    listener.take(stream, bytes, input, &mut |heard| attempt.report(heard));
                    silence.heard(listener.activity());
                }
            }
        };
        let on_exit = {
            let (attempt, silence) = (Arc::clone(&attempt), silence.clone());
            move |finished| {
                silence.over();
                drop(proxy);
                attempt.exited(finished, lock(&listener).take());
            }
        };
        let (supervisor, held) = (&attempt.shared.supervisor, attempt.shared.lock.as_fd());
        let handle = supervisor.spawn_answered(spec, Some(held), on_start, on_output, on_exit);
        attempt.group.hold(&handle);
        let below = || Some(Look::of(handle.pid()?, &platform::processes()));
        silence.wait(&mut Life::new(below), |quiet, ended| attempt.fell_silent(quiet, ended));
    }

    fn spawned(&self, pid: u32) {
        let (iteration, attempt) = (self.spawn.iteration, self.spawn.attempt);
        self.report(Report::AgentSpawned(AgentSpawned { iteration, attempt, pid }));
    }

    fn fell_silent(&self, quiet: Duration, ended: bool) {
        let (iteration, attempt) = (self.spawn.iteration, self.spawn.attempt);
        self.report(Report::AgentSilent(AgentSilent { iteration, attempt, quiet, ended }));
    }

    fn report(&self, what: Report) {
        report(&self.shared.inbox, what);
    }
}
