//! ralph's side: start a program under a keeper, and tell it to end.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ralph_agents::Stream;
use ralph_core::event::{Containment, Exit, KeeperStarted};
use ralph_core::plan::Contain;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, kill_process, pidfd_send_signal};

use super::input::Input;
use super::pool::{Keeper, Pool};
use super::types::{Finished, Spec, Stdin};
use super::watch::{Watch, keeper_lost};
use super::wire::{self, Order};

/// Starts programs. Cheap to clone; clones share the keepers that were started ahead of time.
#[derive(Clone)]
pub struct Supervisor {
    pool: Arc<Pool>,
    told: Option<Tell>,
}

type Tell = Arc<dyn Fn(KeeperStarted) + Send + Sync>;

impl Supervisor {
    /// `keeper_exe` is a program whose `main` calls [`run_keeper_if_asked`](super::run_keeper_if_asked), normally
    /// [`keeper_exe()`](super::keeper_exe). `warm` keepers are kept ready: one is enough for programs that run one after
    /// the other. Nothing is started yet.
    pub fn new(keeper_exe: impl Into<PathBuf>, warm: usize, contain: Contain) -> Self {
        Self { pool: Arc::new(Pool::new(keeper_exe.into(), warm, contain)), told: None }
    }

    /// Each keeper that gets work is told of, so that a later session finds what is left of it.
    pub fn telling(self, tell: impl Fn(KeeperStarted) + Send + Sync + 'static) -> Self {
        Self { told: Some(Arc::new(tell)), ..self }
    }

    /// What keeps programs together here, found by trying.
    pub fn containment(&self) -> io::Result<Containment> {
        self.pool.containment()
    }

    /// Starts the keepers that are to be kept ready, in the background. After the first `spawn` this happens by itself.
    pub fn prewarm(&self) {
        self.pool.refill();
    }

    /// Starts a program and returns at once.
    ///
    /// `on_output` gets every byte of both streams, in chunks as they come and each stream in order. While it does
    /// not return nothing more is read, so a slow sink slows the program down instead of filling memory.
    /// `on_exit` is called exactly once, after the last chunk, whatever happens: a program that could not be started
    /// is [`Finished`] too. Both are called on a thread of their own, except that `on_exit` is called right here if
    /// that thread cannot be had.
    ///
    /// `lock` is kept by the keeper until everything below it is dead, and is never seen by the program.
    pub fn spawn(
        &self,
        spec: Spec,
        lock: Option<BorrowedFd<'_>>,
        mut on_output: impl FnMut(Stream, &[u8]) + Send + 'static,
        on_exit: impl FnOnce(Finished) + Send + 'static,
    ) -> Handle {
        let on_output = move |stream, bytes: &[u8], _: &mut Input| on_output(stream, bytes);
        self.spawn_answered(spec, lock, |_, _| {}, on_output, on_exit)
    }

    /// The same for a program that may be answered: what is written to the [`Input`] arrives on its standard input, if
    /// that is [`Stdin::Pipe`]. `on_start` is told the program's process id before any of its output.
    pub fn spawn_answered(
        &self,
        spec: Spec,
        lock: Option<BorrowedFd<'_>>,
        on_start: impl FnMut(u32, &mut Input) + Send + 'static,
        on_output: impl FnMut(Stream, &[u8], &mut Input) + Send + 'static,
        on_exit: impl FnOnce(Finished) + Send + 'static,
    ) -> Handle {
        let shared = Arc::new(SharedLink::default());
        let ending =
            Ending { shared: Arc::clone(&shared), on_exit: Some(Box::new(on_exit)), since: Instant::now() };
        let lock = match lock.map(|lock| lock.try_clone_to_owned()).transpose() {
            Ok(lock) => lock,
            Err(error) => {
                ending.not_started(&error);
                return Handle { shared };
            }
        };
        let (pool, told) = (Arc::clone(&self.pool), self.told.clone());
        // If this fails the closure is dropped, and `Ending` with it, which reports it.
        let _ = thread::Builder::new()
            .name("supervisor".into())
            .spawn(move || supervise((&pool, told.as_ref()), &spec, lock, on_start, on_output, ending));
        Handle { shared }
    }
}

fn supervise(
    (pool, told): (&Arc<Pool>, Option<&Tell>),
    spec: &Spec,
    lock: Option<OwnedFd>,
    mut on_start: impl FnMut(u32, &mut Input),
    mut on_output: impl FnMut(Stream, &[u8], &mut Input),
    ending: Ending,
) {
    let (keeper, input) = match put_to_work(pool, spec, lock) {
        Ok(started) => started,
        Err(error) => return ending.not_started(&error),
    };
    if let (Some(tell), Some(started)) = (told, keeper.started()) {
        tell(started);
    }
    ending.shared.connect(&keeper);
    pool.refill();
    let mut watch = Watch::new(keeper, pool, input, spec.drain);
    let mut started = |pid, input: &mut Input| {
        ending.shared.link().pid = Some(pid);
        on_start(pid, input);
    };
    let finished = watch.run(&mut on_output, &mut started);
    ending.call(finished);
    watch.collect_keeper();
}

/// A keeper that has got its work, and ralph's end of the program's standard input.
fn put_to_work(pool: &Pool, spec: &Spec, lock: Option<OwnedFd>) -> io::Result<(Keeper, Input)> {
    let lock = lock.as_ref().map(AsFd::as_fd);
    if spec.stdin != Stdin::Pipe {
        return Ok((pool.put_to_work(spec, lock, None)?, Input::default()));
    }
    let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC)?;
    let keeper = pool.put_to_work(spec, lock, Some(theirs.as_fd()))?;
    Ok((keeper, Input::new(ours)?))
}

/// Sees to it that the run hears of the end, even if a sink panics.
struct Ending {
    shared: Arc<SharedLink>,
    on_exit: Option<Box<dyn FnOnce(Finished) + Send>>,
    since: Instant,
}

impl Ending {
    fn not_started(self, error: &io::Error) {
        let message = format!("cannot start a keeper process: {error}");
        self.call(Finished {
            exit: Exit::NotStarted { message },
            duration: Duration::ZERO,
            was_told: false,
            killed_leftovers: 0,
            leftovers_alive: false,
            drained: true,
        });
    }

    fn call(mut self, finished: Finished) {
        self.shared.disconnect();
        if let Some(on_exit) = self.on_exit.take() {
            on_exit(finished);
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        let Some(on_exit) = self.on_exit.take() else { return };
        // Closes the last handle on the keeper's socket: it kills everything.
        self.shared.disconnect();
        on_exit(Finished {
            exit: keeper_lost(),
            duration: self.since.elapsed(),
            was_told: true,
            killed_leftovers: 0,
            leftovers_alive: false,
            drained: false,
        });
    }
}

/// A program that was started. Dropping it changes nothing; all calls are harmless after the exit.
#[derive(Clone)]
pub struct Handle {
    shared: Arc<SharedLink>,
}

impl Handle {
    /// The program's process id, once it runs. Known before the first output is handed out.
    pub fn pid(&self) -> Option<u32> {
        self.shared.link().pid
    }

    /// TERM to the program's process group; after `grace` KILL to everything below the keeper. Asking again can only
    /// bring the KILL forward.
    pub fn terminate(&self, grace: Duration) {
        // The far future if it overflows; a second `terminate` still brings it forward.
        let at = Instant::now().checked_add(grace);
        self.shared.order(Wish::Kill { at });
    }

    /// KILL to everything, now, whatever `terminate` has promised.
    pub fn kill(&self) {
        self.shared.order(Wish::KillNow);
    }
}

#[derive(Clone, Copy)]
enum Wish {
    Kill { at: Option<Instant> },
    KillNow,
}

impl Wish {
    fn beats(self, old: Option<Wish>) -> bool {
        match (old, self) {
            (None, _) => true,
            (Some(Wish::KillNow), _) => false,
            (Some(Wish::Kill { .. }), Wish::KillNow) => true,
            (Some(Wish::Kill { at: Some(old) }), Wish::Kill { at: Some(new) }) => new < old,
            (Some(Wish::Kill { at: old }), Wish::Kill { at: new }) => old.is_none() && new.is_some(),
        }
    }

    fn send(self, keeper: &Line) {
        let order = match self {
            Wish::KillNow => Order::Kill,
            Wish::Kill { at } => {
                let grace = at.map_or(Duration::MAX, |at| at.saturating_duration_since(Instant::now()));
                Order::Terminate { grace_ms: u64::try_from(grace.as_millis()).unwrap_or(u64::MAX) }
            }
        };
        // A keeper that is gone needs no orders.
        let _ = wire::send(&keeper.control, &order);
        // An agent, or a person with a broad pattern, may have stopped it. Not collected yet, so the number is its.
        let _ = keeper.pid.map(|pid| kill_process(pid, Signal::CONT));
        let _ = keeper.init.as_ref().map(|init| pidfd_send_signal(init, Signal::CONT));
    }
}

/// The way to a keeper that has its work.
struct Line {
    control: Arc<UnixStream>,
    pid: Option<Pid>,
    init: Option<OwnedFd>,
}

/// What a handle and the thread that watches the program share.
#[derive(Default)]
struct SharedLink {
    link: Mutex<Link>,
}

#[derive(Default)]
struct Link {
    keeper: Option<Line>,
    pid: Option<u32>,
    /// The strongest wish so far. Sent when the keeper has its work, if that is later.
    wish: Option<Wish>,
}

impl SharedLink {
    fn link(&self) -> MutexGuard<'_, Link> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn order(&self, wish: Wish) {
        let mut link = self.link();
        if wish.beats(link.wish) {
            link.wish = Some(wish);
            if let Some(keeper) = &link.keeper {
                wish.send(keeper);
            }
        }
    }

    fn connect(&self, keeper: &Keeper) {
        let pid = i32::try_from(keeper.child.id()).ok().and_then(Pid::from_raw);
        // Without it a stopped init is not set going, and is killed a little later.
        let init = keeper.init.as_ref().and_then(|init| init.pidfd.try_clone().ok());
        let line = Line { control: Arc::clone(&keeper.control), pid, init };
        let mut link = self.link();
        if let Some(wish) = link.wish {
            wish.send(&line);
        }
        link.keeper = Some(line);
    }

    fn disconnect(&self) {
        self.link().keeper = None;
    }
}
