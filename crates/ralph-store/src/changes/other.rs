//! Systems without inotify (macOS): the same calls, looking again once in a while.

use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Without change notices a file is looked at again ten times a second.
pub(crate) struct FileChanges;

impl FileChanges {
    pub(crate) fn of(_path: &Path) -> io::Result<Self> {
        Ok(Self)
    }

    pub(crate) fn watch(&mut self) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn forget(&mut self) {}

    pub(crate) fn wait(&mut self, at_most: Duration, other: Option<BorrowedFd<'_>>) -> io::Result<bool> {
        let pause = at_most.min(Duration::from_millis(100));
        let timeout = Timespec { tv_sec: 0, tv_nsec: pause.subsec_nanos().into() };
        let mut fds: Vec<PollFd<'_>> =
            other.as_ref().map(|other| PollFd::new(other, PollFlags::IN)).into_iter().collect();
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(fds.first().is_some_and(|fd| !fd.revents().is_empty()))
    }
}
