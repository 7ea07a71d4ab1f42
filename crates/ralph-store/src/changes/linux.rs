//! Linux: inotify.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify;

/// Tells when a file was written to.
pub(crate) struct FileChanges {
    inotify: OwnedFd,
}

impl FileChanges {
    pub(crate) fn watch(path: &Path) -> io::Result<Self> {
        let inotify = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
        inotify::add_watch(&inotify, path, inotify::WatchFlags::MODIFY | inotify::WatchFlags::CLOSE_WRITE)?;
        Ok(Self { inotify })
    }

    /// Returns after a change, or when the time is up.
    pub(crate) fn wait(&mut self, at_most: Duration) -> io::Result<()> {
        let timeout = Timespec { tv_sec: at_most.as_secs() as i64, tv_nsec: at_most.subsec_nanos().into() };
        let mut fds = [PollFd::new(&self.inotify, PollFlags::IN)];
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut buffer = [0; 4096];
        while rustix::io::read(&self.inotify, &mut buffer).is_ok_and(|n| n > 0) {}
        Ok(())
    }
}
