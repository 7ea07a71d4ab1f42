//! What an agent's output says, in one vocabulary for all agents.

use ralph_core::event::{ToolCall, ToolResult};
pub use ralph_core::failure::FailureClass;
use ralph_core::usage::Usage;
use serde::{Deserialize, Serialize};

/// One fact read from an agent's output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AgentSignal {
    Session {
        id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// What the agent says. `delta: false` is a whole message; a delta may still be discarded by a retry.
    Text {
        text: String,
        delta: bool,
    },
    ToolCall(ToolCall),
    /// Its output is bounded, see [`crate::stream::excerpt`].
    ToolResult(ToolResult),
    /// The model of the usage that follows, where a stream names it message by message.
    Model {
        name: String,
    },
    Usage {
        usage: Usage,
        scope: Scope,
    },
    Cost {
        usd: f64,
        scope: Scope,
    },
    /// The CLI tries again by itself.
    Retry {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attempt: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delay_ms: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        http: Option<u16>,
        reason: String,
    },
    RateLimit {
        status: LimitStatus,
        /// Seconds since 1970.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resets_at: Option<i64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        window: Option<String>,
        /// Share of the window that is used, 0 to 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        used: Option<f64>,
    },
    Error {
        /// The CLI gave up because of it.
        fatal: bool,
        class: FailureClass,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        http: Option<u16>,
        /// From a `retry-after` header, where the CLI hands it on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
        message: String,
    },
    /// The stream's own end.
    Result {
        ok: bool,
        /// The agent's final word, see [`crate::stream::FINAL_TEXT_MAX`].
        text: String,
        reason: String,
    },
    /// A line that is not part of the format: kept, never interpreted.
    Noise {
        line: String,
    },
}

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// One model call: add.
    Step,
    /// This process so far: replace.
    Run,
    /// Everything since the session began, other processes included: subtract what was known before.
    Thread,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitStatus {
    /// There is room; only worth telling with how much is used.
    Allowed,
    Warning,
    Rejected,
}
