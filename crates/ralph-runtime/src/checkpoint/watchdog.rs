//! Ends a git that does not come on: an agent can write settings into a repository on which every git hangs, and a run has to end
//! all the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// Without a sign of life for this long nothing more is to be hoped for.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

/// Watches a child until it is dropped.
pub(super) struct Watchdog {
    signs: Arc<AtomicU64>,
    _over: Sender<()>,
}

impl Watchdog {
    pub(super) fn over(pid: u32) -> Self {
        Self::patient(pid, PATIENCE)
    }

    pub(super) fn patient(pid: u32, patience: Duration) -> Self {
        let (over, is_over) = mpsc::channel();
        let signs = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&signs);
        let watch = move || {
            let mut before = 0;
            while is_over.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                let now = seen.load(Ordering::Relaxed);
                if now == before {
                    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
                    pid.map(|pid| kill_process(pid, Signal::KILL));
                    return;
                }
                before = now;
            }
        };
        // With no thread to be had it is not watched, and works all the same.
        let _ = std::thread::Builder::new().name("watchdog".into()).spawn(watch);
        Self { signs, _over: over }
    }

    /// Something went on.
    pub(super) fn sign(&self) {
        self.signs.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn who_does_not_come_on_is_ended_and_who_does_is_not() {
        let mut child = Command::new("sleep").arg("60").spawn().expect("a child");
        let dog = Watchdog::patient(child.id(), Duration::from_millis(20));
        assert!(!child.wait().expect("it ends").success());
        drop(dog);
        let mut child = Command::new("sh")
            .args(["-c", "read line"])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .expect("a child");
        let dog = Watchdog::patient(child.id(), Duration::from_secs(600));
        dog.sign();
        drop(dog);
        drop(child.stdin.take());
        assert_eq!(child.wait().expect("it ends").code(), Some(1), "by itself");
    }
}
