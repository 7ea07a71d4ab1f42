//! After an agent has ended: how, what it said, and what it changed.

use ralph_core::event::{AgentExited, Exit, FilesChanged};
use ralph_core::input::Report;

use super::Attempt;
use super::listen::Listener;
use crate::executor::report;
use crate::process::Finished;
use crate::workspace::scan;
use crate::{lock, sketches};

impl Attempt {
    pub(super) fn exited(&self, finished: Finished, listener: Option<Listener>) {
        let mut exited = self.blank(match finished.exit {
            Exit::Missing { message } => Exit::Missing { message: cannot_start(&message) },
            Exit::NotStarted { message } => Exit::NotStarted { message: cannot_start(&message) },
            Exit::Lost { .. } => Exit::Lost { message: "the agent's keeper process was killed".to_owned() },
            ended => ended,
        });
        exited.duration += finished.duration;
        exited.leftovers = finished.killed_leftovers;
        let now = crate::clock::now();
        let sketch =
            listener.and_then(|listener| listener.finish(&mut exited, now, &mut |heard| self.report(heard)));
        if finished.leftovers_alive {
            let message = "processes of the agent cannot be ended; see `ps`".to_owned();
            exited.exit = Exit::NotStarted { message };
        }
        exited.files = self.look_after();
        exited.tree = self.tree_after();
        lock(&self.shared.seen).agent_ended(&self.shared.plan);
        if let Some(sketch) = &sketch {
            // Without it only the memory of the detectors after a resume is poorer.
            let _ = sketches::keep(&self.shared.run.path, &exited, sketch);
        }
        exited.evidence = lock(&self.shared.watch).look(&exited, sketch).map(Box::new);
        self.send(exited);
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

pub(super) fn cannot_start(why: &str) -> String {
    format!("cannot start the agent: {why}")
}
