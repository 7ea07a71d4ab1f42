//! Why a run ended. One reason, one kind, one exit code.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// The kind decides the exit code, so a new reason changes no `match` anywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopKind {
    Done,
    Failed,
    Limit,
    Blocked,
    Interrupted,
}

/// Who ended the run from outside.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Interrupt {
    /// Ctrl-C, or `ralph stop`.
    #[default]
    Int,
    Term,
    Hup,
}

impl StopKind {
    pub fn as_str(self) -> &'static str {
        match self {
            StopKind::Done => "done",
            StopKind::Failed => "failed",
            StopKind::Limit => "limit",
            StopKind::Blocked => "blocked",
            StopKind::Interrupted => "interrupted",
        }
    }

    fn exit_code(self) -> u8 {
        match self {
            StopKind::Done => 0,
            StopKind::Failed => 1,
            StopKind::Limit => 3,
            StopKind::Blocked => 4,
            StopKind::Interrupted => 130,
        }
    }
}

/// A reason to stop, as it is declared: by a guard in its file, or in [`REASONS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopDef {
    /// The stable name for programs: `reason` in `run.stopped`.
    pub key: &'static str,
    pub kind: StopKind,
    pub summary: &'static str,
}

const fn def(key: &'static str, kind: StopKind, summary: &'static str) -> StopDef {
    StopDef { key, kind, summary }
}

pub const COMPLETE: StopDef =
    def("complete", StopKind::Done, "The agent says that the task is complete, and every gate passed.");
pub const UNPROVED: StopDef = def(
    "unproved",
    StopKind::Failed,
    "The agent says that the task is complete, no gate proved it, and `stop.require_proof` asks for proof.",
);
pub const ONCE: StopDef = def("once", StopKind::Done, "The single pass of `--once` is done.");
pub const ONCE_FAILED: StopDef = def("once", StopKind::Failed, "The single pass of `--once` failed.");
pub const INTERRUPTED: StopDef =
    def("interrupted", StopKind::Interrupted, "A person or a signal ended the run.");
pub const BLOCKED: StopDef = def("blocked", StopKind::Blocked, "The agent needs a person.");
pub const WAITING_FOR_REVIEW: StopDef =
    def("waiting_for_review", StopKind::Blocked, "The agent waits for a review.");
pub const USAGE_LIMIT: StopDef =
    def("usage_limit", StopKind::Blocked, "A usage limit lasts longer than `event_loop.max_wait`.");
pub const SIGN_IN: StopDef = def("sign_in", StopKind::Blocked, "Nobody is signed in to the agent.");
pub const BILLING: StopDef = def("billing", StopKind::Blocked, "The agent's account has no plan or credit.");
pub const MODEL_NOT_FOUND: StopDef =
    def("model_not_found", StopKind::Blocked, "The agent does not know the model.");
pub const AGENT_MISSING: StopDef =
    def("agent_missing", StopKind::Blocked, "The agent's program has gone away.");
pub const NO_SUBSCRIBER: StopDef =
    def("no_subscriber", StopKind::Blocked, "No hat handles the topic that is left.");
pub const HAT_EXHAUSTED: StopDef =
    def("hat_exhausted", StopKind::Blocked, "A hat has used up its activations, and no other hat goes on.");
pub const NO_HANDOFF: StopDef =
    def("no_handoff", StopKind::Failed, "The coordinator published nothing, several times in a row.");
pub const LOOP_THRASHING: StopDef =
    def("loop_thrashing", StopKind::Failed, "A hat was blocked by the same task, again and again.");
pub const JOURNAL_ERROR: StopDef =
    def("journal_error", StopKind::Failed, "The journal could not be written.");
pub const ERROR: StopDef = def("error", StopKind::Failed, "Something that the run needs failed.");

/// The reasons that are no guard's.
pub const REASONS: &[StopDef] = &[
    COMPLETE,
    UNPROVED,
    ONCE,
    ONCE_FAILED,
    INTERRUPTED,
    BLOCKED,
    WAITING_FOR_REVIEW,
    USAGE_LIMIT,
    SIGN_IN,
    BILLING,
    MODEL_NOT_FOUND,
    AGENT_MISSING,
    NO_SUBSCRIBER,
    HAT_EXHAUSTED,
    NO_HANDOFF,
    LOOP_THRASHING,
    JOURNAL_ERROR,
    ERROR,
];

/// Every reason for which a run can stop.
pub fn all() -> impl Iterator<Item = &'static StopDef> {
    REASONS.iter().chain(crate::guard::GUARDS.iter().map(|guard| &guard.stop))
}

/// The key of a stop's reason, and of the guard that it belongs to.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct StopKey(Cow<'static, str>);

impl StopKey {
    /// The reason of this name, if there is one.
    pub fn by_name(name: &str) -> Option<Self> {
        all().find(|def| def.key == name).map(Self::from)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is one of these reasons.
    pub fn is(&self, defs: &[StopDef]) -> bool {
        defs.iter().any(|def| def.key == self.0)
    }
}

impl From<&StopDef> for StopKey {
    fn from(def: &StopDef) -> Self {
        Self(Cow::Borrowed(def.key))
    }
}

impl std::fmt::Display for StopKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.0)
    }
}

/// Why a run stops now: the declared reason, its exit code, and a sentence for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopReason {
    pub key: StopKey,
    pub kind: StopKind,
    pub exit_code: u8,
    pub message: String,
}

impl StopDef {
    /// This reason, with the sentence that tells it.
    pub fn because(&self, message: impl Into<String>) -> StopReason {
        let (key, kind) = (StopKey::from(self), self.kind);
        StopReason { key, kind, exit_code: kind.exit_code(), message: message.into() }
    }
}

impl StopReason {
    pub fn interrupted(by: Interrupt) -> Self {
        let (exit_code, message) = match by {
            Interrupt::Int => (130, "stopped by a person"),
            Interrupt::Term => (143, "stopped by SIGTERM"),
            Interrupt::Hup => (129, "stopped by SIGHUP: the terminal went away"),
        };
        Self { exit_code, ..INTERRUPTED.because(message) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_stands_for_one_reason_and_for_one_kind_but_for_a_single_pass() {
        let mut keys: Vec<&str> = all().map(|def| def.key).filter(|key| *key != ONCE.key).collect();
        let count = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), count);
    }
}
