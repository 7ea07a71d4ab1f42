//! The workspace: held by one run at a time, and looked at before and after each iteration.

mod lock;
mod scan;

pub use lock::{LockError, WorkspaceLock};
pub use scan::{Snapshot, scan};
