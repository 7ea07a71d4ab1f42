//! Linux: inotify.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify;

/// Tells when a file was written to. Only while somebody waits for that is the file watched: who writes to a watched file pays
/// for every watch.
pub(crate) struct FileChanges {
    inotify: OwnedFd,
    path: PathBuf,
    watch: Option<i32>,
}

impl FileChanges {
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let inotify = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
        Ok(Self { inotify, path: path.to_owned(), watch: None })
    }

    /// From now on changes are noticed, until the next [`FileChanges::wait`] is over.
    pub(crate) fn watch(&mut self) -> io::Result<()> {
        let changes = inotify::WatchFlags::MODIFY | inotify::WatchFlags::CLOSE_WRITE;
        self.watch = match inotify::add_watch(&self.inotify, &self.path, changes) {
            Ok(watch) => Some(watch),
            // The run was cleaned away: nobody writes to it any more.
            Err(rustix::io::Errno::NOENT) => None,
            Err(error) => return Err(error.into()),
        };
        Ok(())
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
        self.forget();
        Ok(is_other)
    }

    pub(crate) fn forget(&mut self) {
        if let Some(watch) = self.watch.take() {
            // It fails if the file is gone, and the watch with it.
            let _ = inotify::remove_watch(&self.inotify, watch);
        }
        let mut buffer = [0; 4096];
        while rustix::io::read(&self.inotify, &mut buffer).is_ok_and(|n| n > 0) {}
    }
}
