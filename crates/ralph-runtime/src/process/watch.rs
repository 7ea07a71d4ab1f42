//! One loop per program: reads its output and its keeper, and knows when it is over.
//!
//! One thread with `poll` rather than a thread per pipe: chunks of both streams reach the sink without a lock, and a
//! pipe that a survivor holds open can be given up, which a blocked `read` cannot.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ralph_agents::Stream;
use ralph_core::event::{Exit, KeeperStopped};
use ralph_core::failure::Breach;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

use super::input::Input;
use super::keeper::timespec;
use super::link::SharedLink;
use super::platform;
use super::pool::{Keeper, KeeperNews, Pool};
use super::types::Finished;
use super::wire::Message;
use crate::standing;

/// How long a keeper may take to kill everything before ralph goes on without it.
const SWEEP_BOUND: Duration = Duration::from_secs(5);
const BUFFER: usize = 512 * 1024;

pub(super) struct Watch {
    keeper: Keeper,
    pool: Arc<Pool>,
    input: Input,
    link: Arc<SharedLink>,
    drain: Duration,
    since: Instant,
    phase: Phase,
    exit: Option<Exit>,
    duration: Option<Duration>,
    was_told: bool,
    breach: Option<Breach>,
    killed_leftovers: u32,
    leftovers_alive: bool,
    /// What the two pipes can hold. Whatever the program itself wrote is out after so many more bytes.
    capacity: usize,
    /// A survivor holds a pipe, and its time is over.
    given_up: bool,
}

enum Phase {
    /// Output waits until the keeper has told the process id: a sink may rely on it being known.
    Starting,
    Running,
    /// The program exited or is being killed; its keeper sees to the rest.
    Sweeping {
        until: Instant,
    },
    /// The keeper is done, or given up. What is left in the pipes is read. `looked`: the pipes were polled since.
    Draining {
        until: Instant,
        read: usize,
        looked: bool,
    },
}

struct Ready {
    control: bool,
    /// The init of the namespace is gone, and all that was in there.
    gone: bool,
    stdout: bool,
    stderr: bool,
    input: bool,
}

impl Watch {
    pub(super) fn new(
        keeper: Keeper,
        pool: &Arc<Pool>,
        input: Input,
        drain: Duration,
        link: &Arc<SharedLink>,
    ) -> Self {
        let capacity = [&keeper.stdout, &keeper.stderr].into_iter().flatten().map(platform::grow_pipe).sum();
        Self {
            keeper,
            pool: Arc::clone(pool),
            input,
            link: Arc::clone(link),
            drain,
            since: standing::now(),
            phase: Phase::Starting,
            exit: None,
            duration: None,
            was_told: false,
            breach: None,
            killed_leftovers: 0,
            leftovers_alive: false,
            capacity,
            given_up: false,
        }
    }

    pub(super) fn run(
        &mut self,
        sink: &mut dyn FnMut(Stream, &[u8], &mut Input),
        on_pid: &mut dyn FnMut(u32, &mut Input),
    ) -> Finished {
        let mut buffer = vec![0; BUFFER];
        while !self.is_over() {
            let ready = self.wait();
            if ready.control {
                self.listen(on_pid);
            }
            // After its last word was heard: a keeper that is stopped holds the socket open.
            if ready.gone && !ready.control && !matches!(self.phase, Phase::Draining { .. }) {
                self.lost();
            }
            let mut got = 0;
            if ready.stdout {
                let Self { keeper, input, .. } = self;
                got += read(&mut keeper.stdout, &mut buffer, |chunk| sink(Stream::Stdout, chunk, input));
            }
            if ready.stderr {
                let Self { keeper, input, .. } = self;
                got += read(&mut keeper.stderr, &mut buffer, |chunk| sink(Stream::Stderr, chunk, input));
            }
            if ready.input {
                self.input.flush();
            }
            self.advance(got);
        }
        Finished {
            exit: self.exit.take().unwrap_or_else(|| self.lost_exit()),
            duration: self.duration.unwrap_or_else(|| standing::since(self.since)),
            // Where nobody heard of its end it was not its own.
            was_told: self.was_told || self.duration.is_none(),
            breach: self.breach,
            killed_leftovers: self.killed_leftovers,
            leftovers_alive: self.leftovers_alive,
            drained: self.is_drained(),
        }
    }

    /// Waits for the keeper process itself, so that it is no zombie. It exits right after its last message, unless
    /// something below it cannot be killed.
    pub(super) fn collect_keeper(self) {
        let Self { keeper: Keeper { mut child, control, .. }, pool, .. } = self;
        drop(control);
        // An agent without a namespace, or a person with a broad pattern, may have stopped it.
        let _ = kill_process(Pid::from_child(&child), Signal::CONT);
        pool.children.collect(&mut child);
    }

    fn is_drained(&self) -> bool {
        self.keeper.stdout.is_none() && self.keeper.stderr.is_none()
    }

    fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Draining { .. }) && (self.given_up || self.is_drained())
    }

    fn wait(&self) -> Ready {
        let timeout = match self.phase {
            Phase::Starting | Phase::Running => None,
            Phase::Sweeping { until } | Phase::Draining { until, .. } => {
                Some(timespec(standing::until(until)))
            }
        };
        // After the keeper's last word only the pipes matter. Its hang-up would wake us for ever.
        let control = (!matches!(self.phase, Phase::Draining { .. })).then_some(&*self.keeper.control);
        let started = !matches!(self.phase, Phase::Starting);
        let [stdout, stderr] =
            [&self.keeper.stdout, &self.keeper.stderr].map(|fd| fd.as_ref().filter(|_| started));
        let input = self.input.busy_pipe().filter(|_| started);
        let init = self.keeper.init.as_ref().map(|init| &init.pidfd).filter(|_| control.is_some());
        let mut fds = Vec::with_capacity(5);
        fds.extend(control.map(|fd| PollFd::new(fd, PollFlags::IN)));
        fds.extend(init.map(|fd| PollFd::new(fd, PollFlags::IN)));
        fds.extend(stdout.map(|fd| PollFd::new(fd, PollFlags::IN)));
        fds.extend(stderr.map(|fd| PollFd::new(fd, PollFlags::IN)));
        fds.extend(input.map(|fd| PollFd::new(fd, PollFlags::OUT)));
        // The arguments are valid, so what can fail is memory or a signal: try again.
        let _ = poll(&mut fds, timeout.as_ref());
        let mut ready = fds.iter().map(|fd| !fd.revents().is_empty());
        let mut next = |polled: bool| polled && ready.next().unwrap_or(false);
        Ready {
            control: next(control.is_some()),
            gone: next(init.is_some()),
            stdout: next(stdout.is_some()),
            stderr: next(stderr.is_some()),
            input: next(input.is_some()),
        }
    }

    fn listen(&mut self, on_pid: &mut dyn FnMut(u32, &mut Input)) {
        let open = matches!(self.keeper.lines.fill(&self.keeper.control), Ok(true));
        while let Some(message) = self.keeper.lines.next() {
            match message {
                Ok(message) => self.heard(message, on_pid),
                // Nothing but a keeper writes here, so this one is broken. It has to be stopped like a lost one.
                Err(_) => return self.lost(),
            }
        }
        if !open && !matches!(self.phase, Phase::Draining { .. }) {
            self.lost();
        }
    }

    fn heard(&mut self, message: Message, on_pid: &mut dyn FnMut(u32, &mut Input)) {
        match message {
            // Heard before it got its work.
            Message::Ready { .. } | Message::Refused { .. } => {}
            Message::Started { pid } => {
                self.since = standing::now();
                self.phase = Phase::Running;
                on_pid(pid.unsigned_abs(), &mut self.input);
            }
            Message::SpawnFailed { exit } => {
                self.exit = Some(exit);
                self.duration = Some(Duration::ZERO);
                self.start_draining();
            }
            Message::Killing => self.start_sweeping(),
            Message::InitStopped { ended } => self.init_stopped(ended),
            Message::Stands => {
                self.link.stands();
                self.pool.stillness.changed();
            }
            Message::Exited { exit, micros, told, breach } => {
                self.breach = breach;
                self.was_told = told;
                self.exit = Some(exit);
                self.duration = Some(Duration::from_micros(micros));
                self.start_sweeping();
            }
            Message::Swept { killed } => {
                self.killed_leftovers = killed;
                self.start_draining();
            }
        }
    }

    fn init_stopped(&mut self, ended: bool) {
        let Some(init) = &self.keeper.init else { return };
        if ended {
            self.link.hunted();
        }
        let pid = init.pid.unsigned_abs();
        self.pool.tell(KeeperNews::Stopped(KeeperStopped { pid, ended }));
    }

    fn lost(&mut self) {
        let _ = self.keeper.child.kill();
        let until = after(SWEEP_BOUND);
        match &self.keeper.init {
            Some(init) => {
                let _ = pidfd_send_signal(&init.pidfd, Signal::KILL);
                self.leftovers_alive = !platform::is_gone_by(&init.pidfd, until);
            }
            None => self.killed_leftovers = platform::kill_session(self.keeper.child.id()),
        }
        // Only when the keeper is dead does what it left behind come to us.
        if let Ok(keeper) = pidfd_open(Pid::from_child(&self.keeper.child), PidfdFlags::empty()) {
            platform::is_gone_by(&keeper, until);
        }
        self.killed_leftovers += self.pool.children.sweep_orphans();
        let exit = self.lost_exit();
        self.exit.get_or_insert(exit);
        self.start_draining();
    }

    fn lost_exit(&self) -> Exit {
        match self.link.was_hunted() {
            true => Exit::Lost {
                message: "its keeper process was stopped again and again, so everything was ended".to_owned(),
            },
            false => keeper_lost(),
        }
    }

    fn start_sweeping(&mut self) {
        self.input.drop_pipe();
        if matches!(self.phase, Phase::Starting | Phase::Running) {
            self.phase = Phase::Sweeping { until: after(SWEEP_BOUND) };
        }
    }

    fn start_draining(&mut self) {
        self.input.drop_pipe();
        if !matches!(self.phase, Phase::Draining { .. }) {
            self.phase = Phase::Draining { until: after(self.drain), read: 0, looked: false };
        }
    }

    fn advance(&mut self, got: usize) {
        let now = standing::now();
        match &mut self.phase {
            Phase::Starting | Phase::Running => {}
            Phase::Sweeping { until } => {
                if now >= *until {
                    self.leftovers_alive = true;
                    // No word of the program itself: it is stuck in the kernel with a KILL pending.
                    self.exit.get_or_insert(Exit::Signal(Signal::KILL.as_raw()));
                    self.start_draining();
                }
            }
            Phase::Draining { until, read, looked } => {
                *read = read.saturating_add(got);
                // The program's own output is in the pipe by now, so it is read even when the time is over: until
                // a look finds nothing, or so much came that the rest is a survivor's.
                let all_read = (*looked && got == 0) || *read >= self.capacity;
                *looked = true;
                if now >= *until && all_read {
                    self.given_up = true;
                }
            }
        }
    }
}

/// Reads once, and closes the pipe at its end. Returns how much there was.
fn read(pipe: &mut Option<OwnedFd>, buffer: &mut [u8], mut sink: impl FnMut(&[u8])) -> usize {
    let Some(fd) = pipe else { return 0 };
    match rustix::io::read(fd, &mut *buffer) {
        Ok(got) if got > 0 => {
            sink(buffer.get(..got).unwrap_or_default());
            got
        }
        Err(Errno::INTR | Errno::AGAIN) => 0,
        Ok(_) | Err(_) => {
            *pipe = None;
            0
        }
    }
}

/// The keeper died under the program: somebody killed it. What could be found of the program was killed too.
pub(super) fn keeper_lost() -> Exit {
    Exit::Lost { message: "its keeper process was killed".to_owned() }
}

/// A day is for ever here, and cannot overflow.
fn after(duration: Duration) -> Instant {
    standing::now() + duration.min(Duration::from_secs(24 * 60 * 60))
}
