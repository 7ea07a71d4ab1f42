//! Systems without inotify (macOS): the same calls, looking again once in a while.

use std::io;
use std::path::Path;
use std::time::Duration;

/// Without change notices a file is looked at again ten times a second.
pub(crate) struct FileChanges;

impl FileChanges {
    pub(crate) fn watch(_path: &Path) -> io::Result<Self> {
        Ok(Self)
    }

    pub(crate) fn wait(&mut self, at_most: Duration) -> io::Result<()> {
        std::thread::sleep(at_most.min(Duration::from_millis(100)));
        Ok(())
    }
}
