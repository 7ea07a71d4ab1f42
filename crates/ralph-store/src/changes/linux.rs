//! Linux: inotify.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
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

    /// Returns after a change, when there is something to read at `other`, or when the time is up. Tells whether it was
    /// `other`.
    pub(crate) fn wait(&mut self, at_most: Duration, other: Option<BorrowedFd<'_>>) -> io::Result<bool> {
        let timeout = Timespec { tv_sec: at_most.as_secs() as i64, tv_nsec: at_most.subsec_nanos().into() };
        let mut fds = vec![PollFd::new(&self.inotify, PollFlags::IN)];
        fds.extend(other.as_ref().map(|other| PollFd::new(other, PollFlags::IN)));
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let is_other = fds.get(1).is_some_and(|fd| !fd.revents().is_empty());
        let mut buffer = [0; 4096];
        while rustix::io::read(&self.inotify, &mut buffer).is_ok_and(|n| n > 0) {}
        Ok(is_other)
    }
}
