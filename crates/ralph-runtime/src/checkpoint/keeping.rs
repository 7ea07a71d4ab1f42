//! When a run saves: beside what comes before its first agent, and after each one, before anything ralph itself puts back.

use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Instant;

use ralph_core::event::{CheckpointFailed, CheckpointReason, CheckpointSaved};
use ralph_core::ids::IterationNumber;
use ralph_core::input::Report;

use super::git::Git;
use super::saver::{Label, Saved, Saver};
use crate::driver::Envelope;
use crate::executor::report;
use crate::lock;

/// The checkpoints of a run that is at work. Outside git, or where nobody wants them, it does nothing.
#[derive(Default)]
pub(crate) struct Checkpoints {
    saver: Option<Arc<Mutex<Saver>>>,
    run: String,
    /// The first checkpoint of this session, while it is being written.
    first: Mutex<Option<JoinHandle<()>>>,
}

/// What a run saves for: the last iteration there was, and why.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    pub why: CheckpointReason,
    pub iteration: IterationNumber,
}

impl Moment {
    /// `3`, `3-resumed`
    pub(crate) fn name(self) -> String {
        match self.why {
            CheckpointReason::Resume => format!("{}-resumed", self.iteration),
            _ => self.iteration.to_string(),
        }
    }

    fn words(self) -> String {
        match self.why {
            CheckpointReason::Start => "before the first iteration".to_owned(),
            CheckpointReason::Resume => "before the run went on".to_owned(),
            CheckpointReason::Iteration => format!("after iteration {}", self.iteration),
            CheckpointReason::Restored => {
                format!("after iteration {}, with protected files put back", self.iteration)
            }
            CheckpointReason::Undo => "before an undo".to_owned(),
        }
    }
}

impl Checkpoints {
    /// `parent` is the last checkpoint that the run has.
    pub(crate) fn of(workspace: &Path, run: &str, parent: Option<String>) -> Self {
        // Where there is no repository, the start of the run has said so.
        let git = Git::open(workspace).ok();
        let saver = git.map(|git| Arc::new(Mutex::new(Saver::new(git, workspace, parent))));
        Self { saver, run: run.to_owned(), first: Mutex::new(None) }
    }

    /// Begins the checkpoint of what is there when a session begins, beside everything else that is made ready for an agent.
    pub(crate) fn begin(&self, moment: Moment, own: Vec<PathBuf>, inbox: &Sender<Envelope>) {
        let Some(saver) = self.saver.clone() else { return };
        let (run, inbox) = (self.run.clone(), inbox.clone());
        let Moment { why, iteration } = moment;
        let failed = inbox.clone();
        let work = move || report(&inbox, save(&mut lock(&saver), &run, moment, own));
        match std::thread::Builder::new().name("checkpoint".into()).spawn(work) {
            Ok(handle) => *lock(&self.first) = Some(handle),
            Err(error) => {
                let message = format!("the system has no thread for it: {error}");
                report(&failed, Report::CheckpointFailed(CheckpointFailed { why, iteration, message }));
            }
        }
    }

    /// Returns when the tree as it was at the start is safe: nothing may change files before.
    pub(crate) fn wait(&self) {
        if let Some(first) = lock(&self.first).take() {
            let _ = first.join();
        }
    }

    /// Saves the tree as an attempt left it.
    pub(crate) fn save(&self, moment: Moment, own: Vec<PathBuf>, inbox: &Sender<Envelope>) {
        self.wait();
        if let Some(saver) = &self.saver {
            report(inbox, save(&mut lock(saver), &self.run, moment, own));
        }
    }
}

fn save(saver: &mut Saver, run: &str, moment: Moment, own: Vec<PathBuf>) -> Report {
    let (name, what, begun) = (moment.name(), moment.words(), Instant::now());
    match saver.save(Label { run, name: &name, what: &what }, own, &[]) {
        Ok(saved) => Report::CheckpointSaved(saved_event(saved, moment, name, begun)),
        Err(error) => {
            let Moment { why, iteration } = moment;
            Report::CheckpointFailed(CheckpointFailed { why, iteration, message: error.to_string() })
        }
    }
}

/// What a saved checkpoint is in the journal.
pub(super) fn saved_event(saved: Saved, moment: Moment, name: String, begun: Instant) -> CheckpointSaved {
    let Moment { why, iteration } = moment;
    let Saved { commit, tree, head, branch, files, read, left_out, nested } = saved;
    let duration =
        std::time::Duration::from_millis(u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX));
    CheckpointSaved {
        name,
        why,
        iteration,
        commit,
        tree,
        head,
        branch,
        files,
        read,
        left_out,
        nested,
        duration,
    }
}
