//! What a variable of the agent's environment is set to: a value, or where the value is found when the agent starts.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum EnvValue {
    Text(String),
    Found(EnvSource),
}

/// Read before every start of the agent. What is recorded is this, and never the value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum EnvSource {
    /// A variable of ralph's own environment.
    Env(String),
    /// A file, from the workspace; without the line break at its end.
    File(String),
    /// What a command prints, without the line break at its end. No shell runs.
    Command(super::value::CommandLine),
}

impl EnvValue {
    /// The value, where it stands here.
    pub fn text(&self) -> Option<&str> {
        match self {
            EnvValue::Text(text) => Some(text),
            EnvValue::Found(_) => None,
        }
    }
}

impl From<String> for EnvValue {
    fn from(text: String) -> Self {
        EnvValue::Text(text)
    }
}

impl From<&str> for EnvValue {
    fn from(text: &str) -> Self {
        EnvValue::Text(text.to_owned())
    }
}
