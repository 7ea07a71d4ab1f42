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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Interrupt {
    /// Ctrl-C, or `ralph stop`.
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

/// A reason to stop: a stable key for programs, its kind, and a sentence for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopReason {
    pub key: Cow<'static, str>,
    pub kind: StopKind,
    pub exit_code: u8,
    pub message: String,
}

impl StopReason {
    pub fn new(key: &'static str, kind: StopKind, message: impl Into<String>) -> Self {
        Self { key: Cow::Borrowed(key), kind, exit_code: kind.exit_code(), message: message.into() }
    }

    pub fn interrupted(by: Interrupt) -> Self {
        let (exit_code, message) = match by {
            Interrupt::Int => (130, "stopped by a person"),
            Interrupt::Term => (143, "stopped by SIGTERM"),
            Interrupt::Hup => (129, "stopped by SIGHUP: the terminal went away"),
        };
        Self { exit_code, ..Self::new("interrupted", StopKind::Interrupted, message) }
    }
}
