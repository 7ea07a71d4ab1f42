//! After an agent has ended: how, what it said, and what it changed.

use ralph_core::event::{AgentExited, Exit, FilesChanged};
use ralph_core::input::Report;
use ralph_core::marker::Said;

use super::Attempt;
use super::listen::Output;
use crate::executor::report;
use crate::process::{self, SpawnErrorKind, Status};
use crate::workspace::scan;
use crate::{lock, sketches};

impl Attempt {
    pub(super) fn exited(&self, exit: process::Exit, output: Option<Output>) {
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
        (report.usage, report.cost_usd) = (heading.usage, heading.cost_usd);
        (report.error, report.failure) = (heading.error, heading.failure);
        report.stderr = heading.stderr;
        report.leftovers = exit.killed_leftovers;
        report.files = self.look_after();
        report.tree = self.tree_after();
        lock(&self.shared.seen).agent_ended(&self.shared.plan);
        if let Some(sketch) = &heading.sketch {
            // Without it only the memory of the detectors after a resume is poorer.
            let _ = sketches::keep(&self.shared.run.path, &report, sketch);
        }
        report.evidence = lock(&self.shared.watch).look(&report, heading.sketch).map(Box::new);
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

    pub(super) fn not_started(&self, message: String) {
        self.ended(Exit::NotStarted { message });
    }

    pub(super) fn ended(&self, exit: Exit) {
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
