//! The keeper process: starts one program, watches it and ralph, and leaves nothing alive. In a namespace it is the init of
//! that namespace, below another keeper (`above.rs`).

use std::env;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use ralph_core::event::Exit;
use ralph_core::failure::Breach;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process_group, wait};
use signal_hook::consts::signal::{
    SIGALRM, SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXFSZ,
};

use super::cgroup::Group;
use super::types::{Spec, Stdin};
use super::wire::{self, Lines, Message, Order, WorkDescriptors};
use super::{above, leash, platform};
use crate::standing;

/// The first argument of a keeper.
pub const KEEPER_ARG: &str = "__keeper";
/// And the second, of one that makes a namespace, and of the first process in there.
pub(super) const NAMESPACE_ARG: &str = "apart";
pub(super) const INIT_ARG: &str = "first";

/// What of a keeper this process is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Watches a program by itself.
    Plain,
    /// Makes a namespace, and stands above its init.
    Above,
    /// Watches a program from inside a namespace, as its init.
    Init,
}

impl Role {
    fn of(mut args: impl Iterator<Item = OsString>) -> Option<Self> {
        args.next().filter(|arg| arg == KEEPER_ARG)?;
        let role = match args.next() {
            None => Self::Plain,
            Some(arg) if arg == NAMESPACE_ARG => Self::Above,
            Some(arg) if arg == INIT_ARG => Self::Init,
            Some(_) => return None,
        };
        args.next().is_none().then_some(role)
    }
}

/// The first line of `main`: becomes the keeper, and does not return, if that is what this process was started
/// for. Costs nothing otherwise.
pub fn run_keeper_if_asked() {
    leash::become_if_asked();
    if let Some(role) = Role::of(env::args_os().skip(1)) {
        keeper_main(role);
    }
}

/// Standard input is the control socket, standard output and error are the program's.
fn keeper_main(role: Role) -> ! {
    let ended = match role {
        Role::Plain => platform::become_keeper().and_then(|()| work(None)),
        Role::Above => above::run(),
        Role::Init => init(),
    };
    std::process::exit(match ended {
        Ok(()) => 0,
        Err(_) => 1,
    })
}

fn init() -> io::Result<()> {
    match platform::become_init() {
        Ok((pid, outside)) => work(Some((pid, outside))),
        Err(why) => {
            let control = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
            wire::send(&control, &Message::Refused { why })
        }
    }
}

/// `inside`: this process is the init of a namespace, and what the world outside calls it and its children.
fn work(inside: Option<(i32, platform::Outside)>) -> io::Result<()> {
    let child_died = listen_to_signals()?;
    close_fds::set_fds_cloexec(3, &[]);
    let control = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    wire::send(&control, &Message::Ready { init: inside.as_ref().map(|(pid, _)| *pid) })?;

    let mut lines = Lines::default();
    let Some((spec, WorkDescriptors { lock, stdin, door })) = wire::receive_spec(&control, &mut lines)?
    else {
        return Ok(());
    };
    let since = standing::now();
    let number = inside.as_ref().map_or_else(std::process::id, |(pid, _)| pid.unsigned_abs());
    let started = grouped(&spec, number, |spec| start(spec, stdin, door, inside.is_some()));
    let (agent, group) = match started {
        Ok(started) => started,
        Err(exit) => return wire::send(&control, &Message::SpawnFailed { exit }),
    };
    // From here on nothing returns early: there is something to kill.
    let_go_of_output();
    let mut watch = Watch {
        control,
        child_died,
        lines,
        agent,
        group,
        holds_files: spec.confine.usage.disk.is_some(),
        since,
        kill_at: None,
        told: false,
        halted: Vec::new(),
    };
    // One that has died meanwhile is still there: it is collected below.
    let outside = inside.and_then(|(_, outside)| outside.number_of(agent));
    watch.tell(&Message::Started { pid: outside.unwrap_or(agent.as_raw_pid()) });
    watch.run(spec.kill_leftovers, lock);
    Ok(())
}

/// Starts a program in the group that it is held to, if it is to one. `number` is nobody else's.
fn grouped(
    spec: &Spec,
    number: u32,
    start: impl FnOnce(&Spec) -> Result<Pid, Exit>,
) -> Result<(Pid, Option<Group>), Exit> {
    let refused = |why| Exit::NotStarted { message: format!("cannot be held to its limits: {why}") };
    match spec.confine.usage.group(number).map_err(refused)? {
        None => Ok((start(spec)?, None)),
        Some(group) => {
            let agent = group.start(|| start(spec)).map_err(refused)??;
            Ok((agent, Some(group)))
        }
    }
}

/// Handlers that do nothing. Unlike `SIG_IGN` they do not pass to the program that is started. Returns a socket
/// that becomes readable when a child died.
pub(super) fn listen_to_signals() -> io::Result<UnixStream> {
    for signal in [SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    let (read, write) = UnixStream::pair()?;
    read.set_nonblocking(true)?;
    signal_hook::low_level::pipe::register(SIGCHLD, write)?;
    Ok(read)
}

/// The keeper keeps no end of `stdin`: when the program closes its own, ralph is to know.
fn start(spec: &Spec, stdin: Option<OwnedFd>, door: Option<OwnedFd>, inside: bool) -> Result<Pid, Exit> {
    if !spec.cwd.is_dir() {
        let message = format!("the working directory {} is not there", spec.cwd.display());
        return Err(Exit::NotStarted { message });
    }
    let mut command = Command::new(&spec.program);
    command.args(&spec.args).current_dir(&spec.cwd).process_group(0);
    for (key, value) in &spec.env {
        match value {
            Some(value) => command.env(key, value),
            None => command.env_remove(key),
        };
    }
    match &spec.stdin {
        Stdin::Null => command.stdin(Stdio::null()),
        Stdin::Pipe => command.stdin(stdin.map_or_else(Stdio::null, Stdio::from)),
        Stdin::File(path) => command.stdin(File::open(path).map_err(|error| {
            let message = format!("cannot open {} as standard input: {error}", path.display());
            Exit::NotStarted { message }
        })?),
    };
    let started = spec.confine.clone().start(inside, door, move || command.spawn());
    let started =
        started.map_err(|why| Exit::NotStarted { message: format!("cannot be confined: {why}") })?;
    let child = started.map_err(|error| explain(spec, &error))?;
    i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(|| Exit::NotStarted { message: "the program has no process id".to_owned() })
}

/// A program that is not there, or may not be executed, is missing; anything else is another trouble.
fn explain(spec: &Spec, error: &io::Error) -> Exit {
    let program = spec.program.display();
    match error.kind() {
        io::ErrorKind::NotFound if spec.cwd.join(&spec.program).is_file() => Exit::Missing {
            message: format!("{program} is there, but the interpreter its first line names is not"),
        },
        io::ErrorKind::NotFound => Exit::Missing { message: format!("{program} was not found") },
        io::ErrorKind::PermissionDenied => {
            Exit::Missing { message: format!("{program} may not be executed: {error}") }
        }
        _ if error.raw_os_error() == Some(Errno::NOEXEC.raw_os_error()) && !is_binary(spec) => {
            let message =
                format!("{program} has no first line that names its interpreter, such as #!/bin/sh");
            Exit::NotStarted { message }
        }
        // The error that this becomes part of says that a start failed.
        _ => Exit::NotStarted { message: format!("{program}: {error}") },
    }
}

/// Whether the file is a program, only not for this machine.
fn is_binary(spec: &Spec) -> bool {
    let mut head = [0; 4];
    let read = File::open(spec.cwd.join(&spec.program)).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && head == *b"\x7fELF"
}

/// The pipes belong to the program now: their end must be its end.
pub(super) fn let_go_of_output() {
    if let Ok(null) = OpenOptions::new().read(true).write(true).open("/dev/null") {
        // If this failed ralph would still stop reading, a drain bound later.
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }
}

enum News {
    None,
    /// An order to kill, the end of ralph, or the end of the grace.
    Kill,
}

struct Watch {
    control: UnixStream,
    child_died: UnixStream,
    lines: Lines,
    agent: Pid,
    group: Option<Group>,
    /// Files may grow to a limit only.
    holds_files: bool,
    since: Instant,
    /// Set by the first `terminate`; a later one can only bring it forward.
    kill_at: Option<Instant>,
    /// It was told to end.
    told: bool,
    /// What was stopped and is to go on. Who had been stopped by somebody else is not among them.
    halted: Vec<Pid>,
}

impl Watch {
    fn run(&mut self, kill_leftovers: bool, lock: Option<OwnedFd>) {
        // An order that came on the heels of the spec is here already: the socket will not announce it again.
        let mut news = self.obey();
        let (reaped, sweep) = loop {
            if let News::Kill = news {
                self.told = true;
                self.tell(&Message::Killing);
                break (false, true);
            }
            if let Some(status) = self.reap() {
                self.report(status);
                break (true, kill_leftovers || self.kill_at.is_some());
            }
            news = self.wait();
        };
        let killed = if sweep {
            let agent = self.agent;
            // Nothing outruns that. What is no group, or has left it, is found below.
            self.group.iter().for_each(Group::kill);
            platform::sweep(agent, reaped, &mut |pid, status| {
                if pid == agent && !reaped {
                    self.report(status);
                }
            })
        } else {
            0
        };
        // First the lock: who hears `swept` may start the next run at once.
        drop(lock);
        self.tell(&Message::Swept { killed });
    }

    /// If ralph is gone there is nobody to tell, and the socket says so at the next look.
    fn tell(&self, message: &Message) {
        let _ = wire::send(&self.control, message);
    }

    fn report(&self, status: WaitStatus) {
        let exit = match status.exit_status() {
            Some(code) => Exit::Code(code),
            None => Exit::Signal(status.terminating_signal().unwrap_or_default()),
        };
        let micros = u64::try_from(standing::since(self.since).as_micros()).unwrap_or(u64::MAX);
        let breach = self.breach(&exit);
        self.tell(&Message::Exited { exit, micros, told: self.told, breach });
    }

    fn breach(&self, exit: &Exit) -> Option<Breach> {
        let too_large = self.holds_files && *exit == Exit::Signal(SIGXFSZ);
        self.group.as_ref().and_then(Group::breach).or(too_large.then_some(Breach::Disk))
    }

    /// Collects everything that died, orphans too, so that a long run leaves no zombies.
    fn reap(&self) -> Option<WaitStatus> {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.agent => return Some(status),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) | Err(_) => return None,
            }
        }
    }

    fn wait(&mut self) -> News {
        // What stands still gets no nearer to its end.
        let kill_at = self.kill_at.filter(|_| !standing::stands());
        let timeout = kill_at.map(|at| timespec(standing::until(at)));
        let mut fds =
            [PollFd::new(&self.control, PollFlags::IN), PollFd::new(&self.child_died, PollFlags::IN)];
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return News::Kill,
        }
        let [control, child_died] = fds.map(|fd| !fd.revents().is_empty());
        if child_died {
            let mut chunk = [0; 64];
            while matches!((&self.child_died).read(&mut chunk), Ok(1..)) {}
        }
        if control && matches!(self.listen(), News::Kill) {
            return News::Kill;
        }
        match self.kill_at {
            Some(at) if standing::now() >= at => News::Kill,
            _ => News::None,
        }
    }

    fn listen(&mut self) -> News {
        if !matches!(self.lines.fill(&self.control), Ok(true)) {
            return News::Kill;
        }
        self.obey()
    }

    fn obey(&mut self) -> News {
        while let Some(order) = self.lines.next() {
            match order {
                Ok(Order::Terminate { grace_ms }) => self.terminate(Duration::from_millis(grace_ms)),
                Ok(Order::Stand) => self.stand(),
                Ok(Order::GoOn) => self.go_on(),
                Ok(Order::Kill) | Err(_) => return News::Kill,
            }
        }
        News::None
    }

    fn stand(&mut self) {
        standing::stand();
        self.halted.extend(platform::halt());
        self.tell(&Message::Stands);
    }

    fn go_on(&mut self) {
        platform::set_going(&std::mem::take(&mut self.halted));
        standing::go_on();
    }

    fn terminate(&mut self, grace: Duration) {
        self.told = true;
        // A program may take a second TERM for "at once": it gets one.
        if self.kill_at.is_none() {
            let _ = kill_process_group(self.agent, Signal::TERM);
            // A stopped process hears TERM only when it goes on.
            let _ = kill_process_group(self.agent, Signal::CONT);
        }
        let at = standing::now().checked_add(grace);
        self.kill_at = match (self.kill_at, at) {
            (Some(old), Some(new)) => Some(old.min(new)),
            (old, new) => new.or(old),
        };
    }
}

pub(super) fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    }
}
