//! What the systems do differently. Everything that only Linux has stands in `linux.rs` and `linux_output.rs`.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod linux_output;
#[cfg(target_os = "linux")]
mod linux_processes;
#[cfg(target_os = "linux")]
pub use linux::*;
#[cfg(target_os = "linux")]
pub use linux_output::OwnOutput;
#[cfg(target_os = "linux")]
pub(crate) use linux_processes::processes;
#[cfg(not(target_os = "linux"))]
mod other;
#[cfg(not(target_os = "linux"))]
pub use other::*;
