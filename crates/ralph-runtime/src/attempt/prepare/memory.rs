//! The files in `.ralph/`, for the agent to read. They are rendered from the journal, so losing them costs nothing, and a
//! folder that cannot be written keeps nobody from working.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use ralph_core::plan::Plan;
use ralph_core::prompt::{Draft, memory_files};

use super::task;

const FOLDER: &str = ".ralph";

/// Before an iteration. `task` is its text as it is now.
pub(crate) fn save(plan: &Plan, draft: &Draft, task: &str) {
    for (name, text) in memory_files(plan, draft, task).into_iter().flatten() {
        let _ = save_file(plan, &name, text.as_bytes());
    }
}

/// One file in the folder, which is made if it is not there.
pub(crate) fn save_file(plan: &Plan, name: &str, bytes: &[u8]) -> io::Result<()> {
    let folder = plan.workspace.join(FOLDER);
    make(&folder)?;
    replace(&folder, name, bytes)
}

/// The folder has a `.gitignore` for itself, so that it never gets into a commit. A workspace that is gone is not made again.
fn make(folder: &Path) -> io::Result<()> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    match folder.join(".gitignore") {
        ignore if ignore.exists() => Ok(()),
        ignore => fs::write(ignore, "*\n"),
    }
}

/// When the run has stopped: the same files, with how it ended.
pub(crate) fn save_at_the_end(plan: &Plan, draft: &Draft) {
    if plan.remembers() {
        save(plan, draft, &task::read(&plan.task).unwrap_or_default());
    }
}

/// Whole at every instant: written beside, then put in its place.
fn replace(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let beside = folder.join(format!(".{name}.new"));
    let mut file = fs::File::create(&beside)?;
    file.write_all(bytes)?;
    drop(file);
    fs::rename(&beside, folder.join(name))
}
