//! Reading on while a run writes.

use std::io;
use std::path::Path;
use std::time::Duration;

use crate::changes::FileChanges;
use crate::read::{Line, Lines};

/// Gives every whole line from `offset` on to `visit`, and waits for more until `visit` or `over` says that it is enough.
/// Where the system tells of changes to a file this sleeps until there is one.
pub fn follow(
    path: &Path,
    mut offset: u64,
    visit: &mut dyn FnMut(&[u8]) -> io::Result<bool>,
    over: &mut dyn FnMut() -> bool,
) -> io::Result<()> {
    let mut changes = FileChanges::watch(path)?;
    loop {
        // Asked before reading: what was written before the end is then still seen.
        let last_round = over();
        let mut lines = Lines::open_at(path, offset)?;
        while let Some(Line::Whole(line)) = lines.read()? {
            offset += line.len() as u64 + 1;
            if !visit(line)? {
                return Ok(());
            }
        }
        if last_round {
            return Ok(());
        }
        changes.wait(Duration::from_secs(1))?;
    }
}
