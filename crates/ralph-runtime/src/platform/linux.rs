//! Linux: inotify to follow a file, timerfd to wait for a time of day.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use ralph_core::time::Timestamp;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

/// Tells when a file was written to.
pub struct FileChanges {
    inotify: OwnedFd,
}

impl FileChanges {
    pub fn watch(path: &Path) -> io::Result<Self> {
        let inotify = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
        inotify::add_watch(&inotify, path, inotify::WatchFlags::MODIFY | inotify::WatchFlags::CLOSE_WRITE)?;
        Ok(Self { inotify })
    }

    /// Returns after a change, or when the time is up.
    pub fn wait(&mut self, at_most: Duration) -> io::Result<()> {
        wait_readable(&[&self.inotify], Some(at_most))?;
        let mut buffer = [0; 4096];
        while rustix::io::read(&self.inotify, &mut buffer).is_ok_and(|n| n > 0) {}
        Ok(())
    }
}

/// Wakes at a time of day: right after a suspended machine wakes, and when the clock is set.
pub struct WallClockAlarm {
    timer: OwnedFd,
}

impl WallClockAlarm {
    pub fn new() -> io::Result<Self> {
        let timer = timerfd_create(TimerfdClockId::Realtime, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        Ok(Self { timer })
    }

    /// Waits for `wake` to be readable, the alarm at `at`, or `after` to pass.
    pub fn wait(
        &self,
        wake: &impl std::os::fd::AsFd,
        at: Option<Timestamp>,
        after: Option<Duration>,
    ) -> io::Result<()> {
        let value = match at {
            // Zero would switch it off; a past time goes off at once.
            Some(at) => timespec(Duration::from_millis(u64::try_from(at.as_millis()).unwrap_or(0).max(1))),
            None => Timespec { tv_sec: 0, tv_nsec: 0 },
        };
        let spec = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &spec)?;
        let (timer, wake) = (std::os::fd::AsFd::as_fd(&self.timer), wake.as_fd());
        wait_readable(&[&timer, &wake], after)
    }
}

fn wait_readable(fds: &[&dyn std::os::fd::AsFd], timeout: Option<Duration>) -> io::Result<()> {
    let mut fds: Vec<PollFd> =
        fds.iter().map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)).collect();
    let timeout = timeout.map(timespec);
    match poll(&mut fds, timeout.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    }
}
