//! A run in a list.

use ralph_core::event::RunStopped;
use ralph_core::ids::RunId;
use ralph_core::observe::{Observation, PhaseSeen};
use ralph_core::stop::{self, StopKind};
use ralph_core::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::snapshot::{NeedsPerson, RunSnapshot, RunWord, WaitNow};

/// A run as one line of a list. A run whose journal cannot be read has its name and the damage, and nothing else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunListing {
    pub run: RunId,
    pub state: RunWord,
    /// Of a run that has stopped: why.
    pub reason: Option<String>,
    pub kind: Option<StopKind>,
    /// Of a run that is complete: whether gates proved it.
    pub proved: Option<bool>,
    /// Why the journal cannot be read.
    pub damage: Option<String>,
    pub iterations: u32,
    pub failures: u32,
    pub started_at: Option<Timestamp>,
    pub last_at: Option<Timestamp>,
    pub cost_usd: Option<f64>,
    pub name: String,
    /// The first words of the task; empty if nobody knows them.
    #[serde(default)]
    pub task: String,
    pub workspace: String,
    /// Why a person must act, and what to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs_person: Option<NeedsPerson>,
    /// What it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<WaitNow>,
}

impl RunListing {
    /// `task`: its first words.
    pub fn of(run: &RunSnapshot, task: String) -> RunListing {
        let mut listing = RunListing {
            state: run.state,
            iterations: run.totals.iterations,
            failures: run.totals.failures,
            started_at: Some(run.started_at),
            last_at: Some(run.last_at),
            cost_usd: run.totals.cost_usd,
            name: run.name.clone(),
            task,
            workspace: run.workspace.clone(),
            needs_person: run.needs_person.clone(),
            wait: run.wait().filter(|_| run.state == RunWord::Waiting),
            ..RunListing::named(run.run.clone())
        };
        if let Some(stop) = &run.stopped {
            listing.stop(&stop.stopped);
        }
        listing
    }

    /// Nothing but its name is known.
    pub fn named(run: RunId) -> RunListing {
        RunListing {
            run,
            state: RunWord::Crashed,
            reason: None,
            kind: None,
            proved: None,
            damage: None,
            iterations: 0,
            failures: 0,
            started_at: None,
            last_at: None,
            cost_usd: None,
            name: String::new(),
            task: String::new(),
            workspace: String::new(),
            needs_person: None,
            wait: None,
        }
    }

    /// A run whose journal tells nothing.
    pub fn damaged(run: RunId, why: impl Into<String>) -> RunListing {
        RunListing { state: RunWord::Damaged, damage: Some(why.into()), ..RunListing::named(run) }
    }

    /// The record of a stop says it all.
    pub fn stop(&mut self, stopped: &RunStopped) {
        self.state = RunWord::Stopped;
        (self.reason, self.kind) = (Some(stopped.reason.to_string()), Some(stopped.kind));
        (self.iterations, self.failures) = (stopped.iterations, stopped.failures);
        self.cost_usd = stopped.cost_usd;
        self.proved = stopped.reason.is(&[stop::COMPLETE]).then_some(stopped.proved);
    }
}

impl RunWord {
    pub(crate) fn of(run: Observation<'_>, alive: bool) -> RunWord {
        match (run.stopped(), run.phase()) {
            (Some(_), _) => RunWord::Stopped,
            (None, _) if !alive => RunWord::Crashed,
            (None, PhaseSeen::Waiting { .. }) => RunWord::Waiting,
            (None, PhaseSeen::Paused) => RunWord::Paused,
            (None, _) => RunWord::Running,
        }
    }
}
