//! What a program is confined to, applied by its keeper between the fork and the program.
//!
//! - `rules.rs`: Landlock, and what it does not reach by seccomp. Both bind a thread and everything that it starts, so the
//!   keeper starts the program from a thread of its own and stays free itself.
//! - `hide.rs`: in a namespace secrets are mounted over, so that they are not even there.
//! - `rights.rs`: what root keeps of its rights.
//! - `usage.rs`: limits of single processes.

#[cfg(target_os = "linux")]
mod hide;
#[cfg(target_os = "linux")]
mod network;
#[cfg(target_os = "linux")]
mod rights;
#[cfg(target_os = "linux")]
mod rules;
mod usage;

use std::os::fd::OwnedFd;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::cgroup::{Ground, Group, Limits};

#[cfg(target_os = "linux")]
pub use rules::landlock_version;

/// Where a program may go. Paths that do not exist are passed over.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confine {
    /// Nothing: it may reach what the user may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reach: Option<Reach>,
    #[serde(default, skip_serializing_if = "Usage::is_free")]
    pub usage: Usage,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reach {
    /// Files and whole trees that it may read and execute.
    #[serde(with = "super::wire::paths")]
    pub read: Vec<PathBuf>,
    /// Folders whose names it may list.
    #[serde(with = "super::wire::paths")]
    pub list: Vec<PathBuf>,
    /// Files and whole trees that it may change.
    #[serde(with = "super::wire::paths")]
    pub write: Vec<PathBuf>,
    /// In a namespace: what is not there for it.
    #[serde(with = "super::wire::paths")]
    pub hide: Vec<PathBuf>,
    /// In a namespace: what is there all the same, below something hidden.
    #[serde(with = "super::wire::paths")]
    pub keep: Vec<PathBuf>,
    /// In a namespace: a folder that stands where the folders for temporary files are.
    #[serde(with = "super::wire::paths")]
    pub temp: Vec<PathBuf>,
    pub network: Network,
}

/// Whom it may speak to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// Everybody.
    Open,
    /// Its own processes.
    #[default]
    Closed,
    /// In a namespace: its own processes, and ralph's proxy.
    Proxy,
}

/// What each of its processes may use. The processes are counted together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u64>,
    /// Where a group can be made that all its processes are held to together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ground: Option<Ground>,
}

impl Usage {
    /// What a group does not hold is held for each process.
    fn of_each(&self) -> Self {
        let grouped = |has: fn(&Ground) -> bool| self.ground.as_ref().is_some_and(has);
        Self {
            memory: self.memory.filter(|_| !grouped(|ground| ground.memory)),
            processes: self.processes.filter(|_| !grouped(|ground| ground.processes)),
            disk: self.disk,
            ..Self::default()
        }
    }

    /// The group of one program, where there can be one. `number` is nobody else's.
    pub(super) fn group(&self, number: u32) -> Result<Option<Group>, String> {
        let Some(ground) = &self.ground else { return Ok(None) };
        let Self { memory, processes, cpus, .. } = *self;
        Group::make(ground, number, Limits { memory, processes, cpus }).map(Some)
    }

    fn is_free(&self) -> bool {
        *self == Self::default()
    }
}

impl Confine {
    /// Starts a program confined to this. `inside`: this process is the init of a namespace. `door`: for the proxy.
    pub(super) fn start<T: Send + 'static>(
        self,
        inside: bool,
        door: Option<OwnedFd>,
        start: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, String> {
        usage::limit(&self.usage.of_each())?;
        match self.reach {
            None => Ok(start()),
            Some(reach) => start_within(reach, inside, door, start),
        }
    }
}

#[cfg(target_os = "linux")]
fn start_within<T: Send + 'static>(
    reach: Reach,
    inside: bool,
    door: Option<OwnedFd>,
    start: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    if inside {
        hide::hide(&reach)?;
    }
    let (tell, told) = std::sync::mpsc::channel();
    let confined = move || {
        let started = rules::restrict(&reach, inside, door).map(|()| start());
        let _ = tell.send(started);
        // A program may ask to be killed when the thread that started it ends.
        loop {
            std::thread::park();
        }
    };
    std::thread::Builder::new().spawn(confined).map_err(|error| format!("no thread: {error}"))?;
    told.recv().map_err(|error| error.to_string())?
}

#[cfg(not(target_os = "linux"))]
fn start_within<T>(_: Reach, _: bool, _: Option<OwnedFd>, _: impl FnOnce() -> T) -> Result<T, String> {
    Err("this system has no sandbox that ralph knows".to_owned())
}

/// There is none.
#[cfg(not(target_os = "linux"))]
pub fn landlock_version() -> u32 {
    0
}
