//! What can go wrong before, around and after a run, and the exit code of each.

use std::fmt;
use std::io::IsTerminal;

use ralph_runtime::session::SessionError;
use ralph_store::{ReadError, StoreError};

use ralph_config::ConfigError;

#[derive(Debug)]
pub enum CliError {
    /// Bad arguments or a bad definition; nothing was started.
    Usage(String),
    Config(ConfigError),
    Session(SessionError),
    Failed(String),
}

impl CliError {
    pub fn exit_code(&self) -> u8 {
        match self {
            CliError::Usage(_) | CliError::Config(_) => 2,
            CliError::Session(SessionError::Busy { .. }) => 5,
            CliError::Session(SessionError::Unenforceable(_)) => 2,
            CliError::Session(_) | CliError::Failed(_) => 1,
        }
    }

    pub fn print(&self) {
        match self {
            CliError::Config(error) => {
                let color = crate::io::color(std::io::stderr().is_terminal());
                eprintln!("{}", error.render(color));
            }
            other => crate::io::complain(&format!("error: {other}")),
        }
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CliError::Config(error) => error.fmt(f),
            CliError::Session(error) => error.fmt(f),
            CliError::Usage(message) | CliError::Failed(message) => f.write_str(message),
        }
    }
}

impl From<ConfigError> for CliError {
    fn from(error: ConfigError) -> Self {
        CliError::Config(error)
    }
}

impl From<SessionError> for CliError {
    fn from(error: SessionError) -> Self {
        CliError::Session(error)
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Io { .. } => CliError::Failed(error.to_string()),
            _ => CliError::Usage(error.to_string()),
        }
    }
}

impl From<ReadError> for CliError {
    fn from(error: ReadError) -> Self {
        CliError::Failed(error.to_string())
    }
}

impl From<std::io::Error> for CliError {
    fn from(error: std::io::Error) -> Self {
        CliError::Failed(error.to_string())
    }
}
