//! One run as others may see it.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use ralph_core::event::{
    Containment, DelayReason, GateFinished, LoopDetected, LoopSuspected, Missing, ProtectedChange, QuotaSeen,
    RunStopped,
};
use ralph_core::guard::Unit;
use ralph_core::ids::{IterationNumber, RunId};
use ralph_core::record::Record;
use ralph_core::stop::StopKind;
use ralph_core::tampering::Finding;
use ralph_core::time::{Timestamp, millis};
use ralph_core::usage::Usage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::net::NetNow;
use crate::row::IterationRow;

/// Raised when a field changes its meaning or goes. A new field raises nothing.
pub const SNAPSHOT_VERSION: u32 = 1;

/// A run at one moment. Every list has a bound, whatever the agent prints and however long the run lasts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunSnapshot {
    /// The version of this form.
    pub version: u32,
    pub run: RunId,
    /// What the run is called: the folder of a RALPH.md, or the workspace's.
    pub name: String,
    pub workspace: String,
    /// The run in one word.
    pub state: RunWord,
    pub phase: PhaseNow,
    /// What a person has asked for when the running iteration is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub then: Option<Then>,
    /// ralph's process; nothing if none works on the run.
    pub pid: Option<u32>,
    pub started_at: Timestamp,
    /// When the run was last seen at work.
    pub last_at: Timestamp,
    /// The time that the readings and totals are of: now, or the end of the run.
    pub counted_at: Timestamp,
    pub task: TaskNow,
    pub definition: Definition,
    pub agent: AgentNow,
    pub totals: Totals,
    /// Every limit that is switched on, in the order they are asked.
    pub limits: Vec<LimitReading>,
    /// The limits that are switched off.
    pub limits_off: Vec<Cow<'static, str>>,
    /// What the agent said last in the iteration that was started last.
    pub said: Option<String>,
    /// What is happening right now.
    pub activity: Option<Activity>,
    /// A person must act, or the run does not go on.
    pub needs_person: Option<NeedsPerson>,
    /// How much of the windows of the agent's plan is used, as it told last. What is not here is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quotas: Vec<QuotaSeen>,
    /// What has to be mended before a paused run can go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_for: Option<String>,
    /// What a person would type now.
    pub next: Vec<NextStep>,
    /// The first messages that no finished iteration has carried yet.
    pub guidance: Vec<String>,
    pub guidance_count: u32,
    /// Where there are hats, each with the topics that wait for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hats: Vec<HatNow>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GateNow>,
    /// Protected files that iterations changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protected_changes: Vec<ProtectedNow>,
    /// What the changes of the run did to its tests, as far as it looks like tampering.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tampering: Vec<TamperingNow>,
    /// What keeps the processes of the run together, and what they may reach, in its last session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub containment: Option<Containment>,
    /// What of the tree is saved.
    #[serde(default)]
    pub net: NetNow,
    pub stuck: StuckNow,
    pub idle: IdleNow,
    /// The last claims of completion that were judged, oldest first.
    pub claims: Vec<JudgedClaim>,
    /// The last attempt that is over.
    pub last: Option<Arc<IterationRow>>,
    /// The newest iterations, oldest first. Older ones are in the journal.
    pub rows: Vec<Arc<IterationRow>>,
    /// How many iterations have been started.
    pub row_count: u32,
    pub stopped: Option<Stop>,
    /// The records of the journal that the stop rests on, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Record>,
}

/// The run in one word, for scripts and tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunWord {
    Running,
    Waiting,
    Paused,
    Stopped,
    /// No process works on it, and it has not stopped.
    Crashed,
    /// Its journal cannot be read.
    Damaged,
}

impl RunWord {
    pub fn as_str(self) -> &'static str {
        match self {
            RunWord::Running => "running",
            RunWord::Waiting => "waiting",
            RunWord::Paused => "paused",
            RunWord::Stopped => "stopped",
            RunWord::Crashed => "crashed",
            RunWord::Damaged => "damaged",
        }
    }
}

/// What the run does now; of a run that crashed, what it did then.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum PhaseNow {
    /// Between iterations, about to decide.
    Deciding,
    /// An agent works.
    Running {
        iteration: IterationNumber,
        attempt: u32,
        since: Timestamp,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hat: Option<String>,
        /// The agent is being ended.
        ending: bool,
    },
    /// Gates work on the iteration that was finished last.
    Gates {
        iteration: IterationNumber,
        round: u32,
        since: Timestamp,
        /// Those that have not ended yet.
        open: Vec<String>,
    },
    Waiting {
        reason: DelayReason,
        since: Timestamp,
        until: Timestamp,
    },
    Paused {
        /// The run goes in circles, and a person is asked what to do about it.
        asking: bool,
    },
    Stopped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Then {
    Stop,
    Pause,
}

/// What the run is to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskNow {
    /// The file that the text is read from before every iteration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The beginning of the text, where the plan has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Where the settings of the run come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Definition {
    /// The definition file, relative to the workspace where it is below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// A single pass instead of a loop.
    pub once: bool,
    /// The folder that the iterations' outputs are copied to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_dir: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentNow {
    /// The agent that is at work: a name that ralph knows, else `command`.
    pub name: String,
    /// The first agent's program and arguments.
    pub command: Vec<String>,
    /// Which of these switch off permission questions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bypass: Vec<String>,
    /// Who takes over at limits and outages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallback: Vec<String>,
}

/// Over all resumes, the running attempt included.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Totals {
    /// Those that are finished.
    pub iterations: u32,
    pub failures: u32,
    pub consecutive_failures: u32,
    pub rejected_claims: u32,
    /// Time that agents and gates worked.
    #[serde(rename = "runtime_ms", with = "millis")]
    #[schemars(with = "u64")]
    pub runtime: Duration,
    /// All time between starts and stops.
    #[serde(rename = "wall_time_ms", with = "millis")]
    #[schemars(with = "u64")]
    pub wall_time: Duration,
    pub usage: Usage,
    pub tokens: u64,
    /// Those of the tokens whose cost is not known.
    pub unpriced_tokens: u64,
    /// Nothing if no agent has told.
    pub cost_usd: Option<f64>,
}

/// A limit and how much of it is used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitReading {
    /// The reason of a stop at this limit.
    pub key: Cow<'static, str>,
    /// The setting that sets it.
    pub setting: Cow<'static, str>,
    pub summary: Cow<'static, str>,
    pub kind: StopKind,
    pub used: f64,
    pub limit: f64,
    pub unit: LimitUnit,
    /// How much of the limit is used, from 0 to 1.
    pub fraction: f64,
    pub spent: bool,
    pub ended_the_run: bool,
    /// It counts alarms of detectors, which say little to a person before there is one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub counts_alarms: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitUnit {
    Count,
    Seconds,
    Usd,
}

impl From<Unit> for LimitUnit {
    fn from(unit: Unit) -> Self {
        match unit {
            Unit::Count => LimitUnit::Count,
            Unit::Seconds => LimitUnit::Seconds,
            Unit::Dollars => LimitUnit::Usd,
        }
    }
}

/// The last thing that was seen of the agent, in one clean line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Activity {
    pub kind: ActivityKind,
    pub at: Timestamp,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActivityKind {
    /// It said something.
    Says,
    /// It uses a tool.
    Tool,
    /// Its service does not answer, and it tries again.
    Retry,
}

/// Why a person must act.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NeedsPerson {
    pub kind: Need,
    /// In one sentence.
    pub reason: String,
    pub since: Timestamp,
    /// What to do about it.
    pub steps: Vec<NextStep>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// The agent has a question.
    Answer,
    /// The run goes in circles, and somebody has to choose a way.
    Choice,
    /// The run has stopped because it cannot go on without a person.
    Blocked,
    /// No process works on the run any more.
    Crashed,
    /// Somebody has to look at the agent's work.
    Review,
    /// The prompt is empty.
    Prompt,
}

/// A command to type, and what for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NextStep {
    pub command: String,
    pub why: Cow<'static, str>,
}

impl NextStep {
    pub(crate) fn new(command: impl Into<String>, why: impl Into<Cow<'static, str>>) -> Self {
        Self { command: command.into(), why: why.into() }
    }
}

/// A hat and what waits for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HatNow {
    pub hat: String,
    /// Finished iterations under this hat.
    pub activations: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_activations: Option<u32>,
    /// It has been put on as often as it may.
    pub exhausted: bool,
    /// The first topics that wait for it.
    pub pending: Vec<PendingTopic>,
    pub pending_count: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PendingTopic {
    pub topic: String,
    pub from: String,
    /// The iteration that published it; nothing for the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration: Option<IterationNumber>,
}

/// A gate of the plan, and what it said last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateNow {
    pub name: String,
    /// Whether a failure refuses a claim; else it is only reported.
    pub required: bool,
    /// The agent learns nothing of it.
    #[serde(default)]
    pub hidden: bool,
    pub running: bool,
    pub last: Option<Box<GateFinished>>,
}

/// A protected file that is not what it was when the run began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProtectedNow {
    /// The iteration that changed it.
    pub iteration: IterationNumber,
    #[serde(flatten)]
    pub change: ProtectedChange,
}

/// What looks like tampering with tests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TamperingNow {
    /// The iteration since which it does.
    pub iteration: IterationNumber,
    #[serde(flatten)]
    pub finding: Finding,
}

/// Whether the run goes in circles.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StuckNow {
    /// 0 is not at all, 1 is an alarm.
    pub score: f64,
    /// Alarms without a recovery between them.
    pub alarms: u32,
    /// What detectors found after the iteration that was finished last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suspicions: Vec<LoopSuspected>,
    /// The last alarm, until the run has recovered.
    pub last: Option<Box<LoopDetected>>,
    /// An alarm ended the run.
    pub ended_the_run: bool,
}

/// What the agent says about having nothing to do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IdleNow {
    /// Iterations in a row that said so.
    pub streak: u32,
    /// Why the agent is blocked, in its words.
    pub why: Option<String>,
    /// What waiting has saved so far.
    pub saved: Option<SavedByWaiting>,
    /// Nobody has set how to wait: these are the defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_wait: Option<DefaultWait>,
}

/// How ralph waits for an idle agent where nobody has set it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DefaultWait {
    #[serde(rename = "first_ms", with = "millis")]
    #[schemars(with = "u64")]
    pub first: Duration,
    #[serde(rename = "longest_ms", with = "millis")]
    #[schemars(with = "u64")]
    pub longest: Duration,
}

/// What a run waits for, with all that is needed to say so.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaitNow {
    pub reason: DelayReason,
    pub until: Timestamp,
    /// Iterations in a row that had nothing to do.
    #[serde(default)]
    pub streak: u32,
    /// What the agent wants to know, in its words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SavedByWaiting {
    pub iterations: u64,
    pub cost_usd: Option<f64>,
    #[serde(rename = "waited_ms", with = "millis")]
    #[schemars(with = "u64")]
    pub waited: Duration,
}

/// A claim of completion and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgedClaim {
    pub iteration: IterationNumber,
    pub at: Timestamp,
    pub accepted: bool,
    pub missing: Vec<Missing>,
}

/// How the run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stop {
    pub at: Timestamp,
    #[serde(flatten)]
    pub stopped: RunStopped,
}

impl RunSnapshot {
    /// The limit of which most is used; the first one asked among equals.
    pub fn nearest(&self) -> Option<&LimitReading> {
        let mut limits = self.limits.iter();
        let first = limits.next()?;
        Some(
            limits.fold(first, |nearest, next| if next.fraction > nearest.fraction { next } else { nearest }),
        )
    }

    /// What the run waits for, if it does.
    pub fn wait(&self) -> Option<WaitNow> {
        let PhaseNow::Waiting { reason, until, .. } = self.phase else { return None };
        Some(WaitNow { reason, until, streak: self.idle.streak, why: self.idle.why.clone() })
    }

    pub fn limit(&self, key: &str) -> Option<&LimitReading> {
        self.limits.iter().find(|limit| limit.key == key)
    }

    /// How many iterations the run may have; nothing for a single pass, or where that is not limited.
    pub fn max_iterations(&self) -> Option<u64> {
        let limit = self.limit("max_iterations").filter(|_| !self.definition.once)?;
        Some(limit.limit as u64)
    }

    /// The number of the iteration that comes after those that are finished.
    pub fn next_iteration(&self) -> IterationNumber {
        IterationNumber(self.totals.iterations).next()
    }

    /// Whether an agent or a gate works now.
    pub fn is_at_work(&self) -> bool {
        matches!(self.phase, PhaseNow::Running { .. } | PhaseNow::Gates { .. })
    }
}
