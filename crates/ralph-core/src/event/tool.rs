//! The tools that an agent uses. The same types go all the way from the agent's output to the journal.

use serde::{Deserialize, Serialize};

use crate::check::CheckRun;
use crate::ids::IterationNumber;

/// What a tool does, whatever an agent calls it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    Shell,
    Write,
    Edit,
    Read,
    Search,
    #[default]
    Other,
}

impl ToolKind {
    /// The word for it, on the wire and elsewhere.
    pub fn name(self) -> &'static str {
        match self {
            ToolKind::Shell => "shell",
            ToolKind::Write => "write",
            ToolKind::Edit => "edit",
            ToolKind::Read => "read",
            ToolKind::Search => "search",
            ToolKind::Other => "other",
        }
    }
}

/// An agent's use of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ToolCall {
    /// The agent's own name for this call: its end has the same.
    pub id: String,
    pub kind: ToolKind,
    /// The tool, as the agent calls it.
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// How a tool has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ToolResult {
    /// Of the call that it ends.
    pub id: String,
    /// Absent where the agent does not say, or says "success" whatever happened.
    pub ok: Option<bool>,
    pub exit_code: Option<i64>,
    /// The beginning and the end of what the tool printed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
}

/// The agent uses a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ToolCalled {
    pub iteration: IterationNumber,
    pub attempt: u32,
    #[serde(flatten)]
    pub call: ToolCall,
    /// The tests, linters and type checkers that the command runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckRun>,
}

/// A tool of the agent has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ToolFinished {
    pub iteration: IterationNumber,
    pub attempt: u32,
    #[serde(flatten)]
    pub result: ToolResult,
    /// Of the call, where its beginning was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ToolKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// What the tests, linters and type checkers that the command ran came to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckRun>,
    /// The call does nothing but look around: a search that finds nothing is an answer, not an error.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_looks: bool,
}

impl ToolCalled {
    /// A call in which nobody has looked for checks yet.
    pub fn new(iteration: IterationNumber, attempt: u32, call: ToolCall) -> Self {
        Self { iteration, attempt, call, checks: Vec::new() }
    }
}

impl ToolFinished {
    /// The end of a call, in which nobody has looked for checks yet. `call` where its beginning was seen.
    pub fn new(iteration: IterationNumber, attempt: u32, result: ToolResult, call: Option<ToolCall>) -> Self {
        let kind = call.as_ref().map(|call| call.kind);
        let command = call.and_then(|call| call.command);
        Self { iteration, attempt, result, kind, command, checks: Vec::new(), only_looks: false }
    }

    /// Nothing where the agent does not say.
    pub fn has_failed(&self) -> Option<bool> {
        match (self.result.exit_code, self.result.ok) {
            (Some(code), ok) => Some(code != 0 || ok == Some(false)),
            (None, ok) => ok.map(|ok| !ok),
        }
    }
}
