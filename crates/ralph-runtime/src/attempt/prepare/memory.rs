//! The files in `.ralph/`, for the agent to read. They are rendered from the journal, so losing them costs nothing, and a
//! folder that cannot be written keeps nobody from working.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use ralph_core::plan::Plan;
use ralph_core::prompt::{Draft, memory_files};
use ralph_evidence::redact::Redactor;
use ralph_store::plain;

use super::task;

const FOLDER: &str = ".ralph";

/// Before an iteration. `task` is its text as it is now.
pub(crate) fn save(plan: &Plan, draft: &Draft, task: &str, redactor: &Redactor) {
    for (name, text) in memory_files(plan, draft, task).into_iter().flatten() {
        let _ = save_file(plan, &name, &redactor.bytes(text.as_bytes()));
    }
}

/// One file in the folder, which is made if it is not there.
pub(crate) fn save_file(plan: &Plan, name: &str, bytes: &[u8]) -> io::Result<()> {
    let folder = plan.workspace.join(FOLDER);
    plain::replace_in(make(&folder)?, name, bytes)
}

/// The folder has a `.gitignore` for itself, so that it never gets into a commit. A workspace that is gone is not made again.
///
/// A link in its place is not followed: the agent may have put it there, and what it leads to is not ours.
fn make(folder: &Path) -> io::Result<File> {
    plain::make_folder(folder)?;
    let folder = plain::open_folder(folder)?;
    if !plain::stands_in(&folder, ".gitignore") {
        plain::create_in(&folder, Path::new(".gitignore"))?.write_all(b"*\n")?;
    }
    Ok(folder)
}

/// When the run has stopped: the same files, with how it ended.
pub(crate) fn save_at_the_end(plan: &Plan, draft: &Draft, redactor: &Redactor) {
    if plan.remembers() {
        save(plan, draft, &task::read(&plan.task).unwrap_or_default(), redactor);
    }
}
