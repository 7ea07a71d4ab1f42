//! Why an agent failed, by what cures it.

use serde::{Deserialize, Serialize};

use crate::stop::{self, StopDef};
use crate::time::Timestamp;

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// A usage or rate limit: wait.
    Limit,
    /// Overloaded, server or network trouble: try again.
    Outage,
    /// Nobody is signed in, or the key is bad: a person must act.
    SignIn,
    /// No money or no plan: a person must act.
    Billing,
    ModelNotFound,
    ContextTooLong,
    /// It went past one of the `limits` of what it may use.
    Breach,
    Other,
}

/// Which one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Breach {
    Memory,
    Processes,
    Disk,
}

impl Breach {
    /// The setting, and what happened.
    pub fn message(self) -> &'static str {
        match self {
            Breach::Memory => "it went past limits.memory: the kernel ended it",
            Breach::Processes => "it went past limits.processes: the kernel refused it one more",
            Breach::Disk => "it went past limits.disk: a file grew too large",
        }
    }
}

impl FailureClass {
    pub const ALL: [FailureClass; 8] = [
        FailureClass::Limit,
        FailureClass::Outage,
        FailureClass::SignIn,
        FailureClass::Billing,
        FailureClass::ModelNotFound,
        FailureClass::ContextTooLong,
        FailureClass::Breach,
        FailureClass::Other,
    ];

    pub fn name(self) -> &'static str {
        match self {
            FailureClass::Limit => "limit",
            FailureClass::Outage => "outage",
            FailureClass::SignIn => "sign_in",
            FailureClass::Billing => "billing",
            FailureClass::ModelNotFound => "model_not_found",
            FailureClass::ContextTooLong => "context_too_long",
            FailureClass::Breach => "breach",
            FailureClass::Other => "other",
        }
    }

    /// The stop, and what a person has to do before it is any use to try again; nothing where time or ralph can help.
    pub fn needs_person(self) -> Option<(StopDef, &'static str)> {
        match self {
            FailureClass::SignIn => Some((stop::SIGN_IN, "sign the agent in, then `ralph resume`")),
            FailureClass::Billing => {
                Some((stop::BILLING, "see to the account's plan or credit, then `ralph resume`"))
            }
            FailureClass::ModelNotFound => Some((stop::MODEL_NOT_FOUND, "choose a model that the agent has")),
            _ => None,
        }
    }
}

/// A failure that the agent's own output explains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Failure {
    pub class: FailureClass,
    pub message: String,
    /// Of a limit: when it ends, if the agent says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<Timestamp>,
}
