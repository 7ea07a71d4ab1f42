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
use ralph_core::event::{
    AgentRetrying, AgentSilent, AgentSpawned, AgentText, Exit, ToolCalled, ToolFinished, UsageUpdated,
};
use ralph_core::input::Report;
use ralph_evidence::check::CheckReader;

use self::listen::silence::Silence;
use self::listen::{Heard, Output};
use self::prepare::NotPrepared;
use crate::executor::{Shared, report};
use crate::group::{Busy, Group};
use crate::lock;
use crate::process::Spec;

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
    /// Recognises the checks that its tools run.
    checks: Mutex<CheckReader>,
}

impl Attempt {
    pub(crate) fn new(shared: &Arc<Shared>, group: &Arc<Group>, spawn: SpawnAgent) -> Self {
        let busy = Mutex::new(Some(group.begin()));
        let (shared, group) = (Arc::clone(shared), Arc::clone(group));
        let workspace = shared.plan.workspace.to_string_lossy();
        let checks = Mutex::new(CheckReader::new(&workspace, &shared.plan.proof.checks));
        drop(workspace);
        Self { shared, group, busy, spawn, before: OnceLock::new(), token: OnceLock::new(), checks }
    }

    fn run(self) {
        match self.prepare() {
            Ok((spec, output)) => self.start(spec, output),
            Err(NotPrepared::Missing(message)) => self.ended(Exit::Missing { message }),
            Err(NotPrepared::Other(message)) => self.not_started(message),
            Err(NotPrepared::Killed) => self.ended(Exit::Signal(SIGTERM)),
        }
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
                Report::AgentText(AgentText { iteration, attempt, text, truncated })
            }
            Heard::ToolCalled { id, kind, name, command, path } => {
                let (kind, checks) = (kind.to_owned(), Vec::new());
                let mut called = ToolCalled { iteration, attempt, id, kind, name, command, path, checks };
                lock(&self.checks).called(&mut called);
                Report::ToolCalled(called)
            }
            Heard::ToolFinished { id, ok, command, exit_code, output } => {
                let (checks, only_looks) = (Vec::new(), false);
                let mut finished = ToolFinished {
                    iteration,
                    attempt,
                    id,
                    ok,
                    command,
                    exit_code,
                    output,
                    checks,
                    only_looks,
                };
                lock(&self.checks).finished(&mut finished);
                Report::ToolFinished(finished)
            }
            Heard::Retrying { tried, of, reason } => {
                Report::AgentRetrying(AgentRetrying { iteration, attempt, tried, of, reason })
            }
            Heard::Used { usage, cost_usd } => {
                Report::UsageUpdated(UsageUpdated { iteration, attempt, usage, cost_usd })
            }
        };
        report(&self.shared.inbox, told);
    }

    fn fell_silent(&self, quiet: Duration, ended: bool) {
        let (iteration, attempt) = (self.spawn.iteration, self.spawn.attempt);
        report(&self.shared.inbox, Report::AgentSilent(AgentSilent { iteration, attempt, quiet, ended }));
    }
}
