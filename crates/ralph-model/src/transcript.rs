//! What an agent printed, as a person reads it.

use serde::{Deserialize, Serialize};

/// One thing that an agent said or did, in the order in which it printed them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TranscriptEntry {
    /// A whole message.
    Said { text: String },
    /// A tool that it called.
    Tool(ToolEntry),
    /// Its service failed, or it tried again.
    Trouble { text: String },
    /// A line that is no part of its stream; of an agent that prints plain text, every line.
    Line { text: String },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolEntry {
    pub name: String,
    /// The command, or the file, where the call names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    pub end: ToolEnd,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// The beginning and the end of what it gave back.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
}

/// How a tool ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolEnd {
    Ok,
    Failed,
    /// It ended, and its agent does not say how.
    Unknown,
    /// Nothing was heard of its end.
    Open,
}
