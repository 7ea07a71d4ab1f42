//! The workspace: held by one run at a time, and looked at before and after each iteration.

mod git;
mod git_index;
mod lock;
mod scan;
mod tree;

pub use lock::{LockError, WorkspaceLock};
pub use scan::{Snapshot, scan};
pub use tree::{Tree, Trees};
