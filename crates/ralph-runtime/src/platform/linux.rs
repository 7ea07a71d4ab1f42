//! Linux: inotify to wait for files, timerfd to wait for a time of day.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::time::Timestamp;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

use crate::clock;

/// Whether this process was started with this signal ignored.
pub fn ignores(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // The lowest bit is signal 1.
    let bit = u32::try_from(signal - 1).ok().and_then(|bit| 1_u64.checked_shl(bit)).unwrap_or(0);
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & bit != 0)
}

/// Tells when one of some files, or something in one of some folders, has changed. A file need not be there yet.
pub struct PathChanges {
    inotify: OwnedFd,
    paths: Vec<PathBuf>,
    watches: Vec<Watched>,
}

/// What a watch is there for.
struct Watched {
    number: i32,
    path: usize,
    /// Only this entry of the folder counts; nothing: every event does.
    name: Option<OsString>,
    /// The entry is the path itself, not a folder on the way to it.
    is_last: bool,
}

impl PathChanges {
    pub fn watch(paths: Vec<PathBuf>) -> io::Result<Self> {
        let inotify = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
        let mut changes = Self { inotify, paths, watches: Vec::new() };
        changes.arm();
        Ok(changes)
    }

    /// Returns the path that has changed, or nothing when `ended` is readable.
    pub fn wait(&mut self, ended: &impl std::os::fd::AsFd) -> io::Result<Option<PathBuf>> {
        loop {
            let ended = ended.as_fd();
            let mut fds = [PollFd::new(&self.inotify, PollFlags::IN), PollFd::new(&ended, PollFlags::IN)];
            match poll(&mut fds, None) {
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            if !fds[1].revents().is_empty() {
                return Ok(None);
            }
            if let Some(changed) = self.read() {
                return Ok(Some(changed));
            }
        }
    }

    fn arm(&mut self) {
        use inotify::WatchFlags as Flags;
        let content = Flags::MODIFY | Flags::CLOSE_WRITE;
        let entries = content | Flags::CREATE | Flags::DELETE | Flags::MOVED_FROM | Flags::MOVED_TO;
        self.watches.clear();
        for (index, path) in self.paths.iter().enumerate() {
            let mut add = |at: &Path, flags: Flags, name: Option<OsString>, is_last: bool| {
                let added = inotify::add_watch(&self.inotify, at, flags | Flags::MASK_ADD);
                let watched = |number| Watched { number, path: index, name, is_last };
                self.watches.extend(added.ok().map(watched));
            };
            if path.is_dir() {
                add(path, entries, None, true);
            } else if path.exists() {
                // Also through a link, whose folder sees nothing of it.
                add(path, content, None, true);
            }
            // The nearest folder that is there sees it come, go and be replaced.
            let mut steps = path.ancestors().zip(path.ancestors().skip(1));
            if let Some((step, folder)) = steps.find(|(_, folder)| folder.is_dir()) {
                let name = step.file_name().map(OsString::from);
                add(folder, entries, name, step == path);
            }
        }
    }

    /// Takes what has happened; the first path that has changed by it.
    fn read(&mut self) -> Option<PathBuf> {
        let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&self.inotify, &mut buffer);
        let (mut changed, mut on_the_way) = (None, false);
        while let Ok(event) = reader.next() {
            let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
            let meant = |watched: &&Watched| {
                let here = watched.name.is_none() || watched.name.as_deref() == name;
                watched.number == event.wd() && here
            };
            for watched in self.watches.iter().filter(meant) {
                match watched.is_last {
                    true => changed = changed.or(Some(watched.path)),
                    false => on_the_way = true,
                }
            }
            // More happened than fits: something may well have been meant.
            if event.events().contains(inotify::ReadFlags::QUEUE_OVERFLOW) {
                changed = changed.or(Some(0));
            }
        }
        if changed.is_none() && on_the_way {
            self.arm();
            changed = self.paths.iter().position(|path| path.exists());
        }
        changed.and_then(|path| self.paths.get(path).cloned())
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
        let value = match at.map(clock::of_system) {
            // Zero would switch it off; a past time goes off at once.
            Some(at) => timespec(Duration::from_millis(u64::try_from(at.as_millis()).unwrap_or(0).max(1))),
            None => Timespec { tv_sec: 0, tv_nsec: 0 },
        };
        let spec = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        let flags = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
        match timerfd_settime(&self.timer, flags, &spec) {
            // It is set, and the clock was, too.
            Ok(_) | Err(rustix::io::Errno::CANCELED) => {}
            Err(error) => return Err(error.into()),
        }
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::net::UnixStream;
    use std::sync::mpsc::channel;

    use super::*;

    /// What is seen of `path` while `change` happens. Nothing comes of waiting in vain: it would never end.
    fn seen(path: &Path, change: impl FnOnce()) -> PathBuf {
        let mut changes = PathChanges::watch(vec![path.to_owned()]).unwrap();
        let (_alive, ended) = UnixStream::pair().unwrap();
        let (tell, told) = channel();
        let thread = std::thread::spawn(move || tell.send(changes.wait(&ended).unwrap()).unwrap());
        assert_eq!(told.try_recv().ok(), None, "nothing has happened yet");
        change();
        let path = told.recv().unwrap().unwrap();
        thread.join().unwrap();
        path
    }

    #[test]
    fn a_file_is_seen_however_it_changes() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("inbox.md");
        fs::write(root.path().join("other"), "x").unwrap();
        let write = || fs::write(&file, "more").unwrap();
        assert_eq!(seen(&file, write), file, "made");
        assert_eq!(seen(&file, write), file, "written");
        let replace = || {
            fs::write(root.path().join("new"), "x").unwrap();
            fs::rename(root.path().join("new"), &file).unwrap();
        };
        assert_eq!(seen(&file, replace), file, "replaced");
        assert_eq!(seen(&file, || fs::remove_file(&file).unwrap()), file, "removed");
    }

    #[test]
    fn folders_on_the_way_and_links_are_followed() {
        let root = tempfile::tempdir().unwrap();
        let deep = root.path().join("a/b/inbox.md");
        let make = || {
            fs::create_dir_all(root.path().join("a/b")).unwrap();
            fs::write(&deep, "x").unwrap();
        };
        assert_eq!(seen(&deep, make), deep);
        let link = root.path().join("link");
        std::os::unix::fs::symlink(&deep, &link).unwrap();
        assert_eq!(seen(&link, || fs::write(&deep, "y").unwrap()), link);
        let folder = root.path().join("a/b");
        assert_eq!(seen(&folder, || fs::write(folder.join("any"), "y").unwrap()), folder);
    }

    #[test]
    fn an_end_is_heard() {
        let (alive, ended) = UnixStream::pair().unwrap();
        let mut changes = PathChanges::watch(vec!["/nowhere/at/all".into()]).unwrap();
        drop(alive);
        assert_eq!(changes.wait(&ended).unwrap(), None);
    }
}
