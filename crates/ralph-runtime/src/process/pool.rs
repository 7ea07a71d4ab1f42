//! Keeper processes, some started ahead of time: starting one costs an exec of the whole binary, which the program
//! that is to run should not wait for.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::keeper::KEEPER_ARG;
use super::types::Spec;
use super::wire::{self, Lines, Message};

/// A keeper that says nothing for this long is no keeper.
const PATIENCE: Duration = Duration::from_secs(30);
/// A Ctrl-C can hit a keeper before it has left ralph's session, and a person can kill an idle one. Neither
/// happens three times in a row by accident.
const ATTEMPTS: usize = 3;

/// A keeper process without work. Dropping it closes its socket, so it goes away.
pub(super) struct Keeper {
    pub(super) child: Child,
    pub(super) control: Arc<UnixStream>,
    pub(super) lines: Lines,
    pub(super) stdout: Option<OwnedFd>,
    pub(super) stderr: Option<OwnedFd>,
}

impl Keeper {
    fn start(pool: &Pool) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_read_timeout(Some(PATIENCE))?;
        ours.set_write_timeout(Some(PATIENCE))?;
        let mut child = Command::new(&pool.exe)
            .arg0("agent-keeper")
            .arg(KEEPER_ARG)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let stdout = child.stdout.take().map(OwnedFd::from);
        let stderr = child.stderr.take().map(OwnedFd::from);
        Ok(Self { child, control: Arc::new(ours), lines: Lines::default(), stdout, stderr })
    }

    fn hand_over(
        &mut self,
        spec: &Spec,
        lock: Option<BorrowedFd<'_>>,
        stdin: Option<BorrowedFd<'_>>,
    ) -> io::Result<()> {
        loop {
            if let Some(message) = self.lines.next() {
                return match message? {
                    Message::Ready => wire::send_spec(&self.control, spec, lock, stdin),
                    other => Err(io::Error::other(format!("the keeper is not ready but {other:?}"))),
                };
            }
            if !self.lines.fill(&self.control)? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Ends an unused keeper and collects it.
    fn dismiss(mut self) {
        drop(self.control);
        // A keeper that does not listen to its socket must not hold ralph up. An unused keeper has started nothing.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) struct Pool {
    exe: PathBuf,
    /// How many keepers to keep ready.
    size: usize,
    warm: Mutex<Vec<Keeper>>,
}

impl Pool {
    pub(super) fn new(exe: PathBuf, size: usize) -> Self {
        Self { exe, size, warm: Mutex::default() }
    }

    fn warm(&self) -> MutexGuard<'_, Vec<Keeper>> {
        self.warm.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A keeper that has got its work. If a keeper died before it could have acted on it, another one is tried.
    pub(super) fn put_to_work(
        &self,
        spec: &Spec,
        lock: Option<BorrowedFd<'_>>,
        stdin: Option<BorrowedFd<'_>>,
    ) -> io::Result<Keeper> {
        let mut attempt = 1;
        loop {
            let warm = self.warm().pop();
            let mut keeper = match warm {
                Some(keeper) => keeper,
                None => Keeper::start(self)?,
            };
            match keeper.hand_over(spec, lock, stdin) {
                Ok(()) => return Ok(keeper),
                Err(error) => {
                    keeper.dismiss();
                    if attempt == ATTEMPTS {
                        return Err(error);
                    }
                    attempt += 1;
                }
            }
        }
    }

    /// Starts what is missing, on a thread of its own: the caller has an agent to watch.
    pub(super) fn refill(self: &Arc<Self>) {
        if self.warm().len() >= self.size {
            return;
        }
        let pool = Arc::clone(self);
        // Without a thread, or without a keeper, the next spawn starts its own and has the error to report.
        let _ = thread::Builder::new().name("keeper-pool".into()).spawn(move || {
            while pool.warm().len() < pool.size {
                let Ok(keeper) = Keeper::start(&pool) else { return };
                pool.warm().push(keeper);
            }
        });
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        for keeper in self.warm().drain(..) {
            keeper.dismiss();
        }
    }
}
