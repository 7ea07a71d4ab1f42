//! What an agent's output says, in one vocabulary for all agents.

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
    ToolCall {
        id: String,
        kind: ToolKind,
        name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
    },
    ToolResult {
        id: String,
        status: ToolStatus,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i64>,
        /// Head and tail of what the tool printed, see [`crate::stream::excerpt`].
        output: String,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    Shell,
    Write,
    Edit,
    Read,
    Search,
    Other,
}

impl ToolKind {
    /// The kind by the tool's name. Names are lower-cased by the caller's CLI differently, so case is ignored.
    pub fn of(name: &str) -> ToolKind {
        match name.to_ascii_lowercase().as_str() {
            "bash" | "shell" | "run_shell_command" | "run_commands" | "command_execution" | "local_shell"
            | "exec" | "powershell" | "execute_command" => ToolKind::Shell,
            "write" | "write_file" | "create" | "create_file" | "writefile" | "write_to_file" => {
                ToolKind::Write
            }
            "edit" | "edit_file" | "multiedit" | "replace" | "str_replace" | "str_replace_editor"
            | "editor" | "apply_patch" | "file_change" | "notebookedit" | "strreplacefile" | "patch"
            | "replace_in_file" => ToolKind::Edit,
            "read" | "read_file" | "read_files" | "view" | "readfile" | "read_many_files" | "cat" => {
                ToolKind::Read
            }
            "grep"
            | "glob"
            | "search"
            | "search_file_content"
            | "grep_search"
            | "list"
            | "ls"
            | "list_directory"
            | "search_codebase"
            | "find"
            | "tree"
            | "rg"
            | "web_search"
            | "websearch" => ToolKind::Search,
            _ => ToolKind::Other,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    Ok,
    Failed,
    /// The CLI does not say, or says "success" whatever happened.
    Unknown,
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
    Warning,
    Rejected,
}

/// Why an agent failed, by what cures it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
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
    Other,
}

impl FailureClass {
    pub const ALL: [FailureClass; 7] = [
        FailureClass::Limit,
        FailureClass::Outage,
        FailureClass::SignIn,
        FailureClass::Billing,
        FailureClass::ModelNotFound,
        FailureClass::ContextTooLong,
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
            FailureClass::Other => "other",
        }
    }
}
