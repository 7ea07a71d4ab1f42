//! Limits that the kernel keeps for each process, and for the number of processes of a user.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::Usage;

/// For this process and all that it starts.
pub(super) fn limit(usage: &Usage) -> Result<(), String> {
    set(Resource::As, usage.memory, "memory")?;
    set(Resource::Nproc, usage.processes, "processes")?;
    set(Resource::Fsize, usage.disk, "disk")
}

/// No more than what there is already: only root may raise a limit.
fn set(resource: Resource, most: Option<u64>, what: &str) -> Result<(), String> {
    let Some(most) = most else { return Ok(()) };
    let most = getrlimit(resource).maximum.map_or(most, |hard| hard.min(most));
    let limit = Rlimit { current: Some(most), maximum: Some(most) };
    setrlimit(resource, limit).map_err(|error| format!("limits.{what} cannot be set: {error}"))
}
