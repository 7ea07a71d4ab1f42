//! This machine, as far as a definition is checked against it.

use std::path::{Path, PathBuf};

use ralph_config::{ConfigError, Machine, Obstacle, ProgramProblem, Ready, Sources};
use ralph_runtime::process::{ResolveError, resolve_program};

/// Everything there is to say about a definition before it is run here.
pub fn preflight(sources: &Sources, log_dir: Option<PathBuf>) -> Result<Ready, ConfigError> {
    let path = std::env::var_os("PATH");
    let find = |name: &str, folder: &Path| {
        resolve_program(name, folder, path.as_deref()).map(drop).map_err(|error| problem(&error))
    };
    ralph_config::preflight(sources, log_dir, &Machine { is_root: is_root(), find_program: &find })
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn problem(error: &ResolveError) -> ProgramProblem {
    let obstacle = match error {
        ResolveError::NotFound { .. } => Obstacle::Missing,
        ResolveError::NotExecutable { path } if path.is_file() => Obstacle::NotExecutable(path.clone()),
        ResolveError::NotExecutable { .. } => Obstacle::NotAFile,
    };
    ProgramProblem { message: error.to_string(), obstacle }
}
