//! ralph's side: start a program under a keeper, and tell it to end.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use ralph_agents::Stream;
use ralph_core::event::{Containment, Exit};
use ralph_core::plan::Contain;
use rustix::pipe::{PipeFlags, pipe_with};

use super::input::Input;
use super::link::{SharedLink, Wish};
use super::pool::{Keeper, KeeperNews, Pool};
use super::types::{Finished, Spec, Stdin};
use super::vigil;
use super::watch::{Watch, keeper_lost};
use crate::standing;

/// Starts programs. Cheap to clone; clones share the keepers that were started ahead of time.
#[derive(Clone)]
pub struct Supervisor {
    pool: Arc<Pool>,
}

impl Supervisor {
    /// `keeper_exe` is a program whose `main` calls [`run_keeper_if_asked`](super::run_keeper_if_asked), normally
    /// [`keeper_exe()`](super::keeper_exe). `warm` keepers are kept ready: one is enough for programs that run one after
    /// the other. Nothing is started yet.
    pub fn new(keeper_exe: impl Into<PathBuf>, warm: usize, contain: Contain) -> Self {
        Self { pool: Arc::new(Pool::new(keeper_exe.into(), warm, contain)) }
    }

    /// Each keeper that gets work is told of, so that a later session finds what is left of it; and each that is stopped.
    pub fn telling(self, tell: impl Fn(KeeperNews) + Send + Sync + 'static) -> Self {
        self.pool.telling(Box::new(tell));
        self
    }

    /// Keepers are started without these variables, and so are programs.
    pub fn without(self, variables: Vec<String>) -> Self {
        self.pool.without(variables);
        self
    }

    /// What keeps programs together here, found by trying.
    pub fn containment(&self) -> io::Result<Containment> {
        self.pool.containment()
    }

    /// Starts the keepers that are to be kept ready, in the background. After the first `spawn` this happens by itself.
    pub fn prewarm(&self) {
        self.pool.refill();
    }

    /// Lets everything that was started stand still, and starts nothing more. Returns when it stands, or after a while.
    pub fn stand(&self) {
        self.pool.stillness.stand();
    }

    /// Lets what stands still go on.
    pub fn go_on(&self) {
        self.pool.stillness.go_on();
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
            Ending { shared: Arc::clone(&shared), on_exit: Some(Box::new(on_exit)), since: standing::now() };
        let lock = match lock.map(|lock| lock.try_clone_to_owned()).transpose() {
            Ok(lock) => lock,
            Err(error) => {
                ending.not_started(&error);
                return Handle { shared };
            }
        };
        let pool = Arc::clone(&self.pool);
        // If this fails the closure is dropped, and `Ending` with it, which reports it.
        let _ = thread::Builder::new()
            .name("supervisor".into())
            .spawn(move || supervise(&pool, &spec, lock, on_start, on_output, ending));
        Handle { shared }
    }
}

fn supervise(
    pool: &Arc<Pool>,
    spec: &Spec,
    lock: Option<OwnedFd>,
    mut on_start: impl FnMut(u32, &mut Input),
    mut on_output: impl FnMut(Stream, &[u8], &mut Input),
    ending: Ending,
) {
    let start = pool.stillness.start(&ending.shared);
    let (keeper, input) = match put_to_work(pool, spec, lock) {
        Ok(started) => started,
        Err(error) => return ending.not_started(&error),
    };
    if let Some(started) = keeper.started() {
        pool.tell(KeeperNews::Started(started));
    }
    ending.shared.connect(&keeper);
    drop(start);
    vigil::keep(&keeper, pool, &ending.shared);
    pool.refill();
    let mut watch = Watch::new(keeper, pool, input, spec.drain, &ending.shared);
    let mut started = |pid, input: &mut Input| {
        ending.shared.link().pid = Some(pid);
        on_start(pid, input);
    };
    let finished = watch.run(&mut on_output, &mut started);
    ending.call(finished);
    pool.stillness.changed();
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
            breach: None,
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
            duration: standing::since(self.since),
            was_told: true,
            breach: None,
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
        let at = standing::now().checked_add(grace);
        self.shared.order(Wish::Kill { at });
    }

    /// KILL to everything, now, whatever `terminate` has promised.
    pub fn kill(&self) {
        self.shared.order(Wish::KillNow);
    }
}
