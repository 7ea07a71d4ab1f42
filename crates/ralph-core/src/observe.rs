//! What may be seen of a run from outside the core.
//!
//! The state itself is private: it changes with the engine. A [`Folder`] folds records and hides the state; an
//! [`Observation`] answers questions about it. So time, money and limits are counted in one place only.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::engine::Engine;
use crate::event::{
    CompletionRejected, DelayReason, GateFinished, IterationStarted, LoopDetected, PinnedProgram,
    ProtectedFile, QuotaSeen, RunStopped, StopRequest,
};
use crate::guard::{GuardDef, Guards, Reading};
use crate::hat::{Topic, TopicMessage};
use crate::ids::{IterationNumber, RunId};
use crate::plan::{AgentPlan, Plan};
use crate::record::Record;
pub use crate::state::{ChangedFile, Found, Saved};
use crate::state::{Phase, RunState};
use crate::time::Timestamp;
use crate::usage::Usage;

/// Folds records, one at a time, into the state of the run they tell of.
#[derive(Debug, Clone, Default)]
pub struct Folder {
    pub(crate) state: Option<RunState>,
}

impl Folder {
    /// Takes the next record. Until the first `run.started` there is nothing to fold into.
    pub fn push(&mut self, record: &Record) {
        match &mut self.state {
            Some(state) => state.apply(&record.event, record.at),
            None => self.state = RunState::first(&record.event, record.at),
        }
    }

    #[cfg(any(test, feature = "testing"))]
    pub fn state(&self) -> Option<&RunState> {
        self.state.as_ref()
    }

    /// Nothing if the records did not begin with `run.started`.
    pub fn observe(&self) -> Option<Observation<'_>> {
        self.state.as_ref().map(|state| Observation { state })
    }

    /// An engine that goes on where the records end. Its first input is `ResumeRun`.
    pub fn into_engine(self) -> Option<Engine> {
        self.state.map(Engine::from_state)
    }
}

impl<'a> FromIterator<&'a Record> for Folder {
    fn from_iter<T: IntoIterator<Item = &'a Record>>(records: T) -> Self {
        let mut folder = Self::default();
        records.into_iter().for_each(|record| folder.push(record));
        folder
    }
}

/// A run as it is now, to be looked at.
#[derive(Debug, Clone, Copy)]
pub struct Observation<'a> {
    state: &'a RunState,
}

/// What the run is doing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PhaseSeen {
    /// Between iterations, about to decide.
    Ready,
    Running {
        iteration: IterationNumber,
        attempt: u32,
        since: Timestamp,
        /// The agent is being ended.
        killed: bool,
    },
    Gates {
        iteration: IterationNumber,
        round: u32,
        since: Timestamp,
    },
    Waiting {
        reason: DelayReason,
        since: Timestamp,
        until: Timestamp,
    },
    Paused,
    Stopped,
}

/// A hat and what waits for it.
#[derive(Debug, Clone, Copy)]
pub struct HatSeen<'a> {
    pub id: &'a str,
    /// Finished iterations under this hat.
    pub activations: u32,
    pub max_activations: Option<u32>,
    pub exhausted: bool,
    pending: &'a VecDeque<Arc<TopicMessage>>,
}

/// A topic that waits for a hat.
#[derive(Debug, Clone, Copy)]
pub struct PendingSeen<'a> {
    pub topic: &'a Topic,
    pub from: &'a str,
    /// The iteration that published it; nothing for the start.
    pub iteration: Option<IterationNumber>,
}

impl<'a> HatSeen<'a> {
    /// The topics that wait for this hat, oldest first.
    pub fn pending(&self) -> impl ExactSizeIterator<Item = PendingSeen<'a>> + use<'a> {
        self.pending.iter().map(|event| PendingSeen {
            topic: &event.topic,
            from: &event.from,
            iteration: event.iteration,
        })
    }
}

impl<'a> Observation<'a> {
    pub(crate) fn of(state: &'a RunState) -> Self {
        Self { state }
    }

    /// A folder that goes on from here.
    pub fn to_folder(self) -> Folder {
        Folder { state: Some(self.state.clone()) }
    }

    pub fn run(self) -> &'a RunId {
        &self.state.run
    }

    /// The plan in force: the one of `run.started` with what the last `run.resumed` changed.
    pub fn plan(self) -> &'a Plan {
        &self.state.plan
    }

    /// The programs as they were found when the run began.
    pub fn pinned_programs(self) -> &'a [PinnedProgram] {
        &self.state.trust.pinned
    }

    /// The last iteration that an agent was started for; 0 before the first.
    pub fn last_iteration(self) -> IterationNumber {
        let begun = self.state.attempts > 0 || self.state.running().is_some();
        IterationNumber(self.state.iterations_finished.saturating_add(u32::from(begun)))
    }

    /// The commit of the last checkpoint.
    pub fn last_checkpoint(self) -> Option<&'a str> {
        self.state.trust.checkpoint.as_deref()
    }

    /// The files that no iteration may change.
    pub fn protected_files(self) -> &'a [ProtectedFile] {
        &self.state.trust.protected
    }

    /// The protected files that are not what they were, and since when.
    pub fn protected_changes(self) -> &'a [ChangedFile] {
        &self.state.trust.changed
    }

    /// What the changes of the run did to its tests, as far as it looks like tampering.
    pub fn tampering(self) -> &'a [Found] {
        &self.state.trust.findings
    }

    /// Whether an iteration is known to have changed this file.
    pub fn is_changed_by_agent(self, file: &ProtectedFile) -> bool {
        let mut changed = self.state.trust.differing();
        changed.any(|changed| changed.change.path == file.path && changed.change.part == file.part)
    }

    /// No attempt is running, and none was cut off that has not been made up for.
    pub fn is_between_attempts(self) -> bool {
        self.state.running().is_none() && self.state.attempts == 0
    }

    pub fn phase(self) -> PhaseSeen {
        match &self.state.phase {
            Phase::Ready => PhaseSeen::Ready,
            Phase::Running(running) => PhaseSeen::Running {
                iteration: running.iteration,
                attempt: running.attempt,
                since: running.started_at,
                killed: running.killed.is_some(),
            },
            Phase::Checking(checking) => PhaseSeen::Gates {
                iteration: checking.iteration,
                round: checking.round,
                since: checking.started_at,
            },
            Phase::Waiting(waiting) => {
                let (reason, since, until) = (waiting.reason, waiting.since, waiting.until);
                PhaseSeen::Waiting { reason, since, until }
            }
            Phase::Paused => PhaseSeen::Paused,
            Phase::Stopped => PhaseSeen::Stopped,
        }
    }

    pub fn started_at(self) -> Timestamp {
        self.state.started_at
    }

    /// When the run was last seen at work.
    pub fn last_at(self) -> Timestamp {
        self.state.last_at
    }

    /// ralph's own process id, as of the last start or resume.
    pub fn pid(self) -> u32 {
        self.state.pid
    }

    pub fn iterations(self) -> u32 {
        self.state.iterations_finished
    }

    pub fn failures(self) -> u32 {
        self.state.total_failures
    }

    pub fn consecutive_failures(self) -> u32 {
        self.state.consecutive_failures
    }

    pub fn next_iteration(self) -> IterationNumber {
        self.state.next_iteration()
    }

    /// Time worked, the running attempt included.
    pub fn runtime(self, now: Timestamp) -> Duration {
        self.state.runtime_now(now)
    }

    /// All time between starts and stops.
    pub fn wall_time(self, now: Timestamp) -> Duration {
        self.state.wall_time(now)
    }

    /// Tokens by price class, the running attempt included.
    pub fn usage(self) -> Usage {
        let mut usage = self.state.usage;
        if let Some(running) = self.state.running() {
            usage.add(&running.usage);
        }
        usage
    }

    /// Money spent, the running attempt included; nothing if no agent has told.
    pub fn cost_usd(self) -> Option<f64> {
        self.state.cost_now()
    }

    /// Tokens whose cost is not known, the running attempt included.
    pub fn unpriced(self) -> u64 {
        self.state.unpriced_now()
    }

    /// The agent that is at work: the first one, or a fallback.
    pub fn agent(self) -> &'a AgentPlan {
        let plan = &self.state.plan;
        let fallback = self.state.patience.agent.checked_sub(1).and_then(|n| plan.fallback.get(n));
        fallback.unwrap_or(&plan.agent)
    }

    /// Guidance that no finished iteration has carried yet.
    pub fn guidance(self) -> &'a [String] {
        &self.state.guidance
    }

    pub fn stop_request(self) -> Option<&'a StopRequest> {
        self.state.stop_request.as_ref()
    }

    pub fn is_pause_requested(self) -> bool {
        self.state.pause_requested
    }

    /// In the order of the plan; none where there are no hats.
    pub fn hats(self) -> impl Iterator<Item = HatSeen<'a>> {
        let plan = self.state.plan.hats.as_deref();
        let hats = self.state.bus.as_ref().map(|bus| bus.hats()).unwrap_or_default();
        hats.iter().map(move |hat| HatSeen {
            id: &hat.id,
            activations: hat.activations,
            max_activations: plan.and_then(|plan| plan.hat(&hat.id)?.max_activations),
            exhausted: hat.exhausted,
            pending: &hat.pending,
        })
    }

    /// The hat that is worn now.
    pub fn hat(self) -> Option<&'a str> {
        self.state.bus.as_ref().and_then(|bus| bus.wearing())
    }

    /// How many iterations in a row have said that there is nothing to do.
    pub fn idle_streak(self) -> u32 {
        self.state.idle_streak()
    }

    /// Why the agent is blocked, in its words.
    pub fn blocked(self) -> Option<&'a str> {
        self.state.idle.why.as_deref()
    }

    /// What waiting for work has saved.
    pub fn idle_saved(self) -> Option<Saved> {
        self.state.idle_saved()
    }

    /// How stuck the run looks: 0 is not at all, 1 is an alarm.
    pub fn stuck_score(self) -> f64 {
        self.state.stuck.score
    }

    /// Alarms without a recovery between them.
    pub fn stuck_alarms(self) -> u32 {
        self.state.stuck.escalation.alarms
    }

    /// The last alarm, until the run has recovered.
    pub fn last_alarm(self) -> Option<&'a LoopDetected> {
        self.state.stuck.last.as_deref()
    }

    /// A person was asked what to do about a run that goes in circles, and has not answered.
    pub fn is_asking(self) -> bool {
        self.state.phase == Phase::Paused && self.state.stuck.asking
    }

    /// What the agent at work has told of its plan's windows.
    pub fn quotas(self) -> &'a [QuotaSeen] {
        &self.state.quotas
    }

    /// What a person has to mend before a paused run can go on.
    pub fn paused_for(self) -> Option<&'a str> {
        self.state.paused_for.as_deref().filter(|_| self.state.phase == Phase::Paused)
    }

    /// An alarm of a detector ends the run.
    pub fn is_ended_by_loop(self) -> bool {
        self.state.stuck.ends
    }

    /// What the gates said about the iteration that was finished last, in the order they ended.
    pub fn gate_results(self) -> &'a [GateFinished] {
        &self.state.proof.results
    }

    /// The last claim, if it was refused and no other iteration has finished since.
    pub fn rejected_claim(self) -> Option<&'a CompletionRejected> {
        self.state.proof.rejected.as_ref()
    }

    pub fn rejected_claims(self) -> u32 {
        self.state.proof.total_rejected
    }

    pub fn stopped(self) -> Option<&'a RunStopped> {
        self.state.stopped.as_ref()
    }

    /// Every guard that is switched on, in the order they are asked.
    pub fn readings(self, now: Timestamp) -> Vec<(&'static GuardDef, Reading)> {
        Guards::of(&self.state.plan).readings(self.state, now).collect()
    }
}

impl IterationStarted {
    /// The agent whose turn it is: a fallback, the hat's own, or the run's.
    pub fn agent_of<'a>(&self, plan: &'a Plan) -> &'a AgentPlan {
        let fallback = self.agent.checked_sub(1).and_then(|n| plan.fallback.get(n));
        let of_hat = || plan.hats.as_deref()?.hat(self.hat.as_ref()?)?.agent.as_ref();
        fallback.or_else(of_hat).unwrap_or(&plan.agent)
    }
}
