//! Starts agents, gates and commands so that nothing of them outlives ralph.
//!
//! ```text
//!  ralph ── control socket ──► keeper (`ralph __keeper`) ──► agent ──► anything it starts
//!    ▲                           own session, subreaper      own process group
//!    └──── stdout, stderr, and stdin of those who are answered (pipes) ────┘
//! ```
//!
//! Where a pid namespace is to be had, the process that watches the program is the first one in it (`namespace.rs`), and the
//! keeper only stands above it (`above.rs`).
//!
//! - [`Supervisor`] is ralph's side. [`Supervisor::spawn`] never blocks: one thread per process talks to the
//!   keeper, hands output to a sink as it comes, and calls `on_exit` exactly once.
//! - [`run_keeper_if_asked`] is the keeper's side: the first line of `main` of the binary.
//! - The theory (why a keeper, why it always wins) stands on top of `linux.rs`.
//!
//! What is deliberately absent: no pid files, no sleeps, no polling, no async runtime, no shell.

mod above;
pub mod cgroup;
mod children;
pub mod confine;
mod door;
mod input;
mod keeper;
pub(crate) mod leash;
mod link;
mod pool;
mod program;
mod stillness;
mod supervisor;
mod types;
mod vigil;
mod watch;
mod wire;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod namespace;
#[cfg(target_os = "linux")]
mod survivors;
#[cfg(target_os = "linux")]
use linux as platform;
#[cfg(not(target_os = "linux"))]
mod portable;
#[cfg(not(target_os = "linux"))]
use portable as platform;

pub use children::become_reaper;
pub use door::Door;
pub(crate) use door::{AT as PROXY_AT, Doorway};
pub use input::Input;
pub use keeper::{KEEPER_ARG, run_keeper_if_asked};
pub use platform::keeper_exe;
pub use pool::KeeperNews;
#[cfg(not(target_os = "linux"))]
pub use portable::{end_marked, sweep_survivors};
pub use program::{ResolveError, resolve_program};
pub use ralph_agents::Stream;
pub use ralph_core::event::Exit;
pub use supervisor::{Handle, Supervisor};
#[cfg(target_os = "linux")]
pub use survivors::{end_marked, sweep_survivors};
pub use types::{Finished, Spec, Stdin};
