//! A run in a list.

use ralph_core::event::RunStopped;
use ralph_core::ids::RunId;
use ralph_core::observe::{Observation, PhaseSeen};
use ralph_core::stop::{self, StopKind};
use ralph_core::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::snapshot::{RunWord, WaitNow};

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
    pub workspace: String,
    /// What it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<WaitNow>,
}

impl RunListing {
    /// `alive`: whether a process still works on the run.
    pub fn of(run: Observation<'_>, alive: bool) -> RunListing {
        let mut listing = RunListing {
            state: RunWord::of(run, alive),
            iterations: run.iterations(),
            failures: run.failures(),
            started_at: Some(run.started_at()),
            last_at: Some(run.last_at()),
            cost_usd: run.cost_usd(),
            name: run.plan().name.clone(),
            workspace: run.plan().workspace.to_string_lossy().into_owned(),
            ..RunListing::named(run.run().clone())
        };
        if let (PhaseSeen::Waiting { reason, until, .. }, true) = (run.phase(), alive) {
            let why = run.blocked().map(str::to_owned);
            listing.wait = Some(WaitNow { reason, until, streak: run.idle_streak(), why });
        }
        if let Some(stopped) = run.stopped() {
            listing.stop(stopped);
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
            workspace: String::new(),
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
