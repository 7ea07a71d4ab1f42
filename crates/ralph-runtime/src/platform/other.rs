//! Systems without inotify and timerfd (macOS): the same calls, looking again once in a while.

use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ralph_core::time::Timestamp;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Without change notices files are looked at again twice a second.
pub struct PathChanges {
    paths: Vec<(PathBuf, Option<SystemTime>)>,
}

impl PathChanges {
    pub fn watch(paths: Vec<PathBuf>) -> io::Result<Self> {
        let paths = paths.into_iter().map(|path| (path.clone(), written(&path))).collect();
        Ok(Self { paths })
    }

    pub fn wait(&mut self, ended: &impl AsFd) -> io::Result<Option<PathBuf>> {
        loop {
            let timeout = Timespec { tv_sec: 0, tv_nsec: 500_000_000 };
            let mut fds = [PollFd::new(ended, PollFlags::IN)];
            match poll(&mut fds, Some(&timeout)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
            if let Some((path, _)) = self.paths.iter().find(|(path, before)| written(path) != *before) {
                return Ok(Some(path.clone()));
            }
        }
    }
}

/// Not known without `/proc`.
pub(crate) fn processes() -> Vec<crate::attempt::Process> {
    Vec::new()
}

/// Not known without `/proc`: a HUP ends the run, as without `nohup`.
pub fn ignores(_signal: i32) -> bool {
    false
}

/// Without `/proc` the files behind ralph's own output are not known. Those that match an ignore rule do no harm.
#[derive(Debug, Default)]
pub struct OwnOutput;

impl OwnOutput {
    pub fn files(&mut self) -> Vec<PathBuf> {
        Vec::new()
    }
}

fn written(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|found| found.modified()).ok()
}

/// The weaker alarm: after a suspended machine wakes it may be up to thirty seconds late.
pub struct WallClockAlarm;

impl WallClockAlarm {
    pub fn new() -> io::Result<Self> {
        Ok(Self)
    }

    pub fn wait(&self, wake: &impl AsFd, at: Option<Timestamp>, after: Option<Duration>) -> io::Result<()> {
        let at = at.map(|at| at.since(crate::clock::now()).min(Duration::from_secs(30)));
        let timeout = match (at, after) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let timeout =
            timeout.map(|d| Timespec { tv_sec: d.as_secs() as i64, tv_nsec: d.subsec_nanos().into() });
        let mut fds = [PollFd::new(wake, PollFlags::IN)];
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
