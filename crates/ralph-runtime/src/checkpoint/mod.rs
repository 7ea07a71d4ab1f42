//! A net under the code: the whole state of the tree as a commit of its own, before the first iteration and after each one.
//!
//! ```text
//! git.rs      git itself, run so that nothing but what is asked for happens
//! saver.rs    the tree into a commit under `refs/ralph/RUN/`; HEAD, index, branches and files are not touched
//! stream.rs   what is written to `git fast-import`
//! entries.rs  what a commit has, and how two of them differ
//! undo.rs     the tree as a commit has it
//! watchdog.rs ends a git that hangs
//! keeping.rs  when a run saves
//! ```
//!
//! ralph reads the files itself and hands their bytes to `git fast-import`: so no filter, line ending, attribute or hook has a say,
//! and what comes back is byte for byte what was there. Nested repositories and submodules are saved by their files.

mod entries;
mod git;
mod includes;
mod keeping;
mod saver;
mod stream;
mod undo;
mod watchdog;

pub use entries::{Change, Entry, changes};
pub use git::{Git, GitError, init};
pub(crate) use keeping::{Checkpoints, Moment};
pub use saver::{Label, Saved, Saver};
pub use undo::{Undone, at_risk, undo};

/// Where the checkpoints of a run are.
pub fn references(run: &str) -> String {
    format!("refs/ralph/{run}/")
}

/// Takes the references of a run away. Their commits go with git's next clean-up.
pub fn forget(git: &Git, run: &str) -> Result<u32, GitError> {
    let all = git.line(["for-each-ref", "--format=delete %(refname) %(objectname)", &references(run)])?;
    let count = u32::try_from(all.lines().count()).unwrap_or(u32::MAX);
    if count > 0 {
        git.run(["update-ref", "--no-deref", "--stdin"], format!("{all}\n").as_bytes())?;
    }
    Ok(count)
}
