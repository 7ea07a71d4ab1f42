//! After an agent has ended: how, what it said, and what it changed.

use std::thread;

use ralph_core::event::{AgentExited, CheckpointReason, Exit, FilesChanged, TestReview};
use ralph_core::failure::{Failure, FailureClass};
use ralph_core::input::Report;
use ralph_core::plan::ProtectPolicy;
use ralph_evidence::tamper::{Review, examine};

use super::Attempt;
use super::listen::Listener;
use crate::checkpoint::Moment;
use crate::executor::report;
use crate::process::Finished;
use crate::workspace::scan;
use crate::{lock, sketches};

/// Findings that are recorded.
const MAX_FINDINGS: usize = 20;

impl Attempt {
    pub(super) fn exited(&self, finished: Finished, listener: Option<Listener>) {
        let mut exited = self.blank(match finished.exit {
            Exit::Missing { message } => Exit::Missing { message: cannot_start(&message) },
            Exit::NotStarted { message } => Exit::NotStarted { message: cannot_start(&message) },
            Exit::Lost { message } => Exit::Lost { message: message.replacen("its", "the agent's", 1) },
            ended => ended,
        });
        exited.duration += finished.duration;
        exited.leftovers = finished.killed_leftovers;
        let now = crate::clock::now();
        let emitted = lock(&self.shared.watch).take_emitted();
        let sketch = listener.and_then(|mut listener| {
            listener.emitted(&emitted);
            listener.finish(&mut exited, now, &mut |heard| self.report(heard))
        });
        if let Some(breach) = finished.breach {
            let (class, message) = (FailureClass::Breach, breach.message().to_owned());
            exited.failure = Some(Failure { class, message, resets_at: None });
        }
        if finished.leftovers_alive {
            let message = "processes of the agent cannot be ended; see `ps`".to_owned();
            exited.exit = Exit::NotStarted { message };
        }
        self.look(&mut exited);
        lock(&self.shared.known_files).agent_ended(&self.shared.plan);
        if let Some(sketch) = &sketch {
            // Without it only the memory of the detectors after a resume is poorer.
            let _ = sketches::keep(&self.shared.run.path, &exited, sketch);
        }
        exited.evidence = lock(&self.shared.watch).look(&exited, sketch).map(Box::new);
        self.send(exited);
    }

    /// What the attempt did to the workspace. It is saved beside that, but before anything is put back.
    fn look(&self, exited: &mut AgentExited) {
        let restores = self.shared.plan.protect_policy == ProtectPolicy::Restore;
        thread::scope(|scope| {
            let save = || self.save(CheckpointReason::Iteration);
            let beside = (!restores)
                .then(|| thread::Builder::new().name("checkpoint".into()).spawn_scoped(scope, save));
            if !matches!(beside, Some(Ok(_))) {
                save();
            }
            let changes = self.shared.protection.changes();
            if changes.iter().any(|change| change.restored) {
                self.save(CheckpointReason::Restored);
            }
            exited.protected = Some(changes);
            exited.files = self.look_after();
            exited.tampering = self.review_tests(exited.files.as_ref());
            exited.tree = self.tree_after();
        });
    }

    fn save(&self, why: CheckpointReason) {
        let own = lock(&self.shared.footprints).paths();
        let moment = Moment { why, iteration: self.spawn.iteration };
        self.shared.checkpoints.save(moment, own, &self.shared.inbox);
    }

    fn look_after(&self) -> Option<FilesChanged> {
        let mut snapshot = lock(&self.shared.snapshot);
        let before = snapshot.take()?;
        let own = lock(&self.shared.footprints).paths();
        let mut looked = scan(&self.shared.plan.workspace, &own, Some(&before))?;
        if let Some(own) = self.shared.own_logs_among(&looked.changed.paths) {
            looked = scan(&self.shared.plan.workspace, &own, Some(&before))?;
        }
        *snapshot = Some(looked.snapshot);
        lock(&self.shared.touched).add(&looked.touched);
        Some(looked.changed)
    }

    /// What all changes since the start did to the tests. An attempt that changed nothing changed no test either.
    fn review_tests(&self, files: Option<&FilesChanged>) -> Option<TestReview> {
        if self.shared.baseline.is_none() || files.is_some_and(|files| files.count == 0) {
            return None;
        }
        let mut files = self.shared.baseline.changed();
        files.extend(self.shared.baseline.standing(&files));
        let Review { mut findings, fewer_expected } = examine(&files);
        findings.truncate(MAX_FINDINGS);
        Some(TestReview { findings, fewer_expected })
    }

    /// Only where it decides something: the first look reads every file.
    fn tree_after(&self) -> Option<String> {
        let wanted = self.shared.plan.hats.as_ref().is_some_and(|hats| !hats.required_events.is_empty());
        wanted.then(|| self.shared.look_at_tree().ok())?.map(|tree| tree.hash)
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
