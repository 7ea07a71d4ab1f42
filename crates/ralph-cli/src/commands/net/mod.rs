//! The net under the code: `ralph diff`, `ralph undo`, `ralph bisect`, worktrees, and what is said at the start of a run.

pub mod bisect;
pub mod diff;
pub mod pager;
pub mod start;
pub mod undo;
pub mod worktree;

use ralph_core::event::{CheckpointReason, CheckpointSaved, Event};
use ralph_core::ids::IterationNumber;
use ralph_core::plan::Plan;
use ralph_runtime::checkpoint::{Git, GitError};
use ralph_store::RunDir;

use super::each_record;
use crate::error::CliError;

/// The checkpoints of a run, as its journal tells of them. What the agent does to references changes nothing here.
pub struct Book {
    pub run: RunDir,
    pub plan: Plan,
    /// In the order in which they were saved.
    pub saved: Vec<CheckpointSaved>,
}

impl Book {
    pub fn read(run: RunDir) -> Result<Self, CliError> {
        let (mut plan, mut saved, mut failed) = (None, Vec::new(), None);
        each_record(&run, &mut |record| {
            match record.event {
                Event::RunStarted(started) => plan = Some(started.plan),
                Event::CheckpointSaved(one) => saved.push(one),
                Event::CheckpointFailed(one) => failed = Some(one.message),
                _ => {}
            }
            Ok(())
        })?;
        let plan = plan.ok_or_else(|| CliError::Failed(format!("nothing is recorded of run {}", run.id)))?;
        if saved.is_empty() {
            let why = match failed {
                Some(message) => format!("saving failed: {message}"),
                None if !plan.checkpoints.is_on() => "they were off".to_owned(),
                None => "its workspace was not in a git repository, or no iteration was started".to_owned(),
            };
            return Err(CliError::Usage(format!("run {} has no checkpoints: {why}", run.id)));
        }
        Ok(Self { run, plan, saved })
    }

    pub fn git(&self) -> Result<Git, CliError> {
        Ok(Git::open(&self.plan.workspace)?)
    }

    /// The state before the run: of its first session, before the first iteration.
    pub fn start(&self) -> &CheckpointSaved {
        &self.saved[0]
    }

    pub fn last(&self) -> &CheckpointSaved {
        self.saved.iter().rfind(|one| one.why != CheckpointReason::Undo).unwrap_or(self.start())
    }

    /// The newest state after this iteration.
    pub fn after(&self, iteration: u32) -> Option<&CheckpointSaved> {
        if iteration == 0 {
            return Some(self.start());
        }
        self.saved.iter().rfind(|one| one.iteration.0 == iteration && is_after(one))
    }

    /// The last state before this iteration did anything.
    pub fn before(&self, iteration: u32) -> Option<&CheckpointSaved> {
        let first = self.saved.iter().position(|one| one.iteration.0 == iteration && is_after(one))?;
        self.saved.get(first.checked_sub(1)?)
    }

    /// What a person means: an iteration, the name of a checkpoint, or the beginning of a commit's id.
    pub fn find(&self, text: &str) -> Result<&CheckpointSaved, CliError> {
        let by_number = text.parse().ok().and_then(|number| self.after(number));
        let by_name = || self.saved.iter().rfind(|one| one.name == text);
        let by_commit = || self.saved.iter().rfind(|one| text.len() >= 4 && one.commit.starts_with(text));
        by_number.or_else(by_name).or_else(by_commit).ok_or_else(|| self.unknown(text))
    }

    pub fn unknown(&self, text: &str) -> CliError {
        let mut names: Vec<&str> = Vec::new();
        for one in &self.saved {
            if !names.contains(&one.name.as_str()) {
                names.push(&one.name);
            }
        }
        let shown = match names.len() {
            0..=12 => names.join(", "),
            many => format!("{}, … {} ({many} in all)", names[..6].join(", "), names[many - 5..].join(", ")),
        };
        CliError::Usage(format!("run {} has no checkpoint `{text}`; it has {shown}", self.run.id))
    }

    /// Iterations that have a checkpoint, in order.
    pub fn iterations(&self) -> Vec<IterationNumber> {
        let mut all: Vec<IterationNumber> =
            self.saved.iter().filter(|one| is_after(one)).map(|one| one.iteration).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

fn is_after(one: &CheckpointSaved) -> bool {
    matches!(one.why, CheckpointReason::Iteration | CheckpointReason::Restored)
}

/// `after iteration 3`
pub fn moment(saved: &CheckpointSaved) -> String {
    match saved.why {
        CheckpointReason::Start => "before the run".to_owned(),
        CheckpointReason::Resume => format!("when the run was resumed after iteration {}", saved.iteration),
        CheckpointReason::Iteration | CheckpointReason::Restored => {
            format!("after iteration {}", saved.iteration)
        }
        CheckpointReason::Undo => format!("at {}", saved.name),
    }
}

impl From<GitError> for CliError {
    fn from(error: GitError) -> Self {
        CliError::Failed(error.to_string())
    }
}
