//! The workspace: held by one run at a time, and looked at before and after each iteration.

mod git;
mod git_copy;
mod lock;
mod patterns;
mod scan;
mod tree;
mod walk;

pub use git::Repository;
pub(crate) use git_copy::copy_repository;
pub use lock::{Holder, LockError, WorkspaceLock};
pub use patterns::Patterns;
pub use scan::{Looked, Snapshot, path_number, scan};
pub(crate) use tree::Status;
pub use tree::{Moved, Tree, Trees};
