//! Keeper processes, some started ahead of time: starting one costs an exec of the whole binary, which the program
//! that is to run should not wait for.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use ralph_core::event::{ContainedBy, Containment, KeeperStarted, KeeperStopped};
use ralph_core::plan::Contain;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::children::Children;
use super::keeper::{KEEPER_ARG, NAMESPACE_ARG};
use super::platform;
use super::stillness::Stillness;
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
    /// The first process of the namespace that it made.
    pub(super) init: Option<Init>,
    kind: Kind,
    ready: bool,
}

/// The init of a namespace: when it is gone, so is everything in there.
pub(super) struct Init {
    pub(super) pid: i32,
    pub(super) pidfd: OwnedFd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Namespace,
}

/// What is told of keepers.
pub enum KeeperNews {
    Started(KeeperStarted),
    Stopped(KeeperStopped),
}

pub(super) type Tell = Box<dyn Fn(KeeperNews) + Send + Sync>;

/// Why a keeper got no work.
enum NoWork {
    /// It can make no namespace.
    Refused(String),
    Io(io::Error),
}

impl From<io::Error> for NoWork {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Keeper {
    fn start(pool: &Pool, kind: Kind) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_read_timeout(Some(PATIENCE))?;
        ours.set_write_timeout(Some(PATIENCE))?;
        let mut command = Command::new(&pool.exe);
        command.arg0("agent-keeper").arg(KEEPER_ARG);
        if kind == Kind::Namespace {
            command.arg(NAMESPACE_ARG);
        }
        for name in lock(&pool.without).iter() {
            command.env_remove(name);
        }
        command.stdin(OwnedFd::from(theirs)).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = pool.children.add(|| command.spawn())?;
        let stdout = child.stdout.take().map(OwnedFd::from);
        let stderr = child.stderr.take().map(OwnedFd::from);
        let (control, lines) = (Arc::new(ours), Lines::default());
        Ok(Self { child, control, lines, stdout, stderr, init: None, kind, ready: false })
    }

    /// Waits until it can be given work.
    fn await_ready(&mut self) -> Result<(), NoWork> {
        while !self.ready {
            match self.lines.next() {
                Some(message) => self.take(message?)?,
                None if self.lines.fill(&self.control)? => {}
                None => return Err(NoWork::Io(io::ErrorKind::UnexpectedEof.into())),
            }
        }
        Ok(())
    }

    fn take(&mut self, message: Message) -> Result<(), NoWork> {
        match message {
            Message::Ready { init } => {
                self.init = init.map(Init::open).transpose()?;
                self.ready = true;
                Ok(())
            }
            Message::Refused { why } => Err(NoWork::Refused(why)),
            other => Err(NoWork::Io(io::Error::other(format!("the keeper is not ready but {other:?}")))),
        }
    }

    /// Which processes these are. Nothing where that cannot be known.
    pub(super) fn started(&self) -> Option<KeeperStarted> {
        let init = self.init.as_ref().and_then(|init| platform::mark(init.pid.unsigned_abs()));
        Some(KeeperStarted { keeper: platform::mark(self.child.id())?, init })
    }

    fn hand_over(
        &mut self,
        spec: &Spec,
        lock: Option<BorrowedFd<'_>>,
        stdin: Option<BorrowedFd<'_>>,
    ) -> Result<(), NoWork> {
        self.await_ready()?;
        Ok(wire::send_spec(&self.control, spec, lock, stdin)?)
    }

    /// Ends an unused keeper and collects it.
    fn dismiss(mut self, children: &Children) {
        drop(self.control);
        // A keeper that does not listen to its socket must not hold ralph up. An unused keeper has started nothing.
        let _ = self.child.kill();
        children.collect(&mut self.child);
    }
}

impl Init {
    fn open(pid: i32) -> io::Result<Self> {
        let number = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self { pid, pidfd: pidfd_open(number, PidfdFlags::empty())? })
    }
}

pub(super) struct Pool {
    exe: PathBuf,
    /// How many keepers to keep ready.
    size: usize,
    contain: Contain,
    /// Why there are no namespaces here, once that is known.
    refused: Mutex<Option<String>>,
    warm: Mutex<Vec<Keeper>>,
    /// Variables that no keeper has.
    without: Mutex<Vec<String>>,
    /// Held while keepers are made ready ahead of time.
    starting: Mutex<()>,
    pub(super) children: Children,
    pub(super) stillness: Stillness,
    told: OnceLock<Tell>,
}

impl Pool {
    pub(super) fn new(exe: PathBuf, size: usize, contain: Contain) -> Self {
        let (refused, warm, starting) = (Mutex::default(), Mutex::default(), Mutex::default());
        Self {
            without: Mutex::default(),
            exe,
            size,
            contain,
            refused,
            warm,
            starting,
            children: Children::default(),
            stillness: Stillness::default(),
            told: OnceLock::new(),
        }
    }

    pub(super) fn telling(&self, tell: Tell) {
        let _ = self.told.set(tell);
    }

    pub(super) fn tell(&self, news: KeeperNews) {
        if let Some(tell) = self.told.get() {
            tell(news);
        }
    }

    pub(super) fn without(&self, variables: Vec<String>) {
        *lock(&self.without) = variables;
    }

    fn warm(&self) -> MutexGuard<'_, Vec<Keeper>> {
        lock(&self.warm)
    }

    /// The keeper that a program gets. One that may leave something behind cannot be in a namespace.
    fn kind(&self, kill_leftovers: bool) -> Kind {
        let refused = lock(&self.refused).is_some();
        match self.contain {
            Contain::Namespace if kill_leftovers => Kind::Namespace,
            Contain::Auto if kill_leftovers && !refused => Kind::Namespace,
            _ => Kind::Plain,
        }
    }

    /// What keeps programs together here, found by trying. The keeper it was tried with is kept.
    pub(super) fn containment(&self) -> io::Result<Containment> {
        let keeper = |why| Containment {
            by: ContainedBy::Keeper,
            why,
            sandbox: None,
            kept_awake_by: None,
            missing: Vec::new(),
        };
        if self.contain == Contain::Keeper {
            return Ok(keeper(None));
        }
        let _starting = lock(&self.starting);
        for _ in 0..ATTEMPTS {
            if let Some(why) = lock(&self.refused).clone() {
                return Ok(keeper(Some(why)));
            }
            let warm = self.warm().pop();
            let mut trial = warm.map_or_else(|| Keeper::start(self, self.kind(true)), Ok)?;
            match trial.await_ready() {
                Ok(()) => {
                    self.warm().push(trial);
                    return Ok(Containment { by: ContainedBy::Namespace, ..keeper(None) });
                }
                Err(NoWork::Refused(why)) => {
                    trial.dismiss(&self.children);
                    *lock(&self.refused) = Some(why);
                }
                Err(why) => self.disappointed(trial, why, 0)?,
            }
        }
        Err(io::Error::other("no keeper process starts"))
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
            let kind = self.kind(spec.kill_leftovers);
            let mut keeper = match self.take_warm(kind) {
                Some(keeper) => keeper,
                None => Keeper::start(self, kind)?,
            };
            match keeper.hand_over(spec, lock, stdin) {
                Ok(()) => return Ok(keeper),
                Err(error) => self.disappointed(keeper, error, attempt)?,
            }
            attempt += 1;
        }
    }

    fn take_warm(&self, kind: Kind) -> Option<Keeper> {
        let mut warm = self.warm();
        let found = warm.iter().rposition(|keeper| keeper.kind == kind)?;
        Some(warm.remove(found))
    }

    /// What comes of a keeper that got no work: the next attempt, or the error.
    fn disappointed(&self, keeper: Keeper, why: NoWork, attempt: usize) -> io::Result<()> {
        keeper.dismiss(&self.children);
        match why {
            NoWork::Refused(why) if self.contain == Contain::Auto => {
                *lock(&self.refused) = Some(why);
                Ok(())
            }
            NoWork::Refused(why) => Err(io::Error::other(format!("there is no namespace for it: {why}"))),
            NoWork::Io(error) if attempt >= ATTEMPTS => Err(error),
            NoWork::Io(_) => Ok(()),
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
            let _starting = lock(&pool.starting);
            while pool.warm().len() < pool.size {
                let Ok(keeper) = Keeper::start(&pool, pool.kind(true)) else { return };
                pool.warm().push(keeper);
            }
        });
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Pool {
    fn drop(&mut self) {
        let warm: Vec<Keeper> = self.warm().drain(..).collect();
        for keeper in warm {
            keeper.dismiss(&self.children);
        }
    }
}
