//! The keeper above a namespace: it starts init, and sees to it that init is not left behind.
//!
//! ```text
//! ralph ◄── control socket ──► init ──► program          init hears ralph itself; nothing goes through the keeper
//!       ◄── its end only ────  keeper ── parent of init
//! ```
//!
//! Whoever of the three is killed or stopped, nothing goes on for long:
//!
//! - ralph dies: init reads the end of the socket and ends everything. Should init be stopped, the keeper sets it going, and
//!   kills it if that does not help. Should the keeper be stopped too, the kernel sets it going at ralph's death.
//! - the keeper dies: the kernel kills init at its death, and everything in the namespace at init's.
//! - init dies: so does everything in the namespace. The keeper collects it.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, set_parent_process_death_signal, waitpid};

use super::keeper::{INIT_ARG, KEEPER_ARG, let_go_of_output, listen_to_signals, timespec};
use super::platform;
use super::vigil::MOST;
use super::wire::{self, Message};

/// How long init may take to end everything after ralph is gone.
const PATIENCE: Duration = Duration::from_secs(2);

pub(super) fn run() -> io::Result<()> {
    platform::become_keeper()?;
    let child_died = listen_to_signals()?;
    close_fds::set_fds_cloexec(3, &[]);
    let control = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let init = platform::enter().and_then(|()| start_init().map_err(|error| format!("no init: {error}")));
    match init {
        Ok(init) => stand_above(&control, &child_died, Pid::from_child(&init)),
        Err(why) => wire::send(&control, &Message::Refused { why })?,
    }
    Ok(())
}

fn start_init() -> io::Result<Child> {
    let init =
        Command::new(platform::keeper_exe()?).arg0("agent-keeper").arg(KEEPER_ARG).arg(INIT_ARG).spawn()?;
    let_go_of_output();
    // Its end is looked at, and nothing is read: what ralph says is for init.
    let_go_of_input();
    Ok(init)
}

fn let_go_of_input() {
    if let Ok(null) = std::fs::File::open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(&null);
    }
}

fn stand_above(control: &UnixStream, mut child_died: &UnixStream, init: Pid) {
    // A keeper that was stopped goes on when ralph dies. It may be set too late: then the socket has ended already.
    let _ = set_parent_process_death_signal(Some(Signal::CONT));
    let (mut kill_at, mut stops) = (None, 0);
    loop {
        match waitpid(Some(init), WaitOptions::NOHANG | WaitOptions::UNTRACED) {
            Ok(None) | Err(Errno::INTR) => {}
            Ok(Some((_, status))) if status.stopped() => {
                stops += 1;
                let ended = stops >= MOST;
                let _ = wire::send(control, &Message::InitStopped { ended });
                let _ = kill_process(init, if ended { Signal::KILL } else { Signal::CONT });
                continue;
            }
            Ok(Some(_)) | Err(_) => return,
        }
        let timeout = kill_at.map(|at: Instant| timespec(at.saturating_duration_since(Instant::now())));
        let died = PollFd::new(&child_died, PollFlags::IN);
        // Without a flag only its end is told, which is told again and again.
        let mut fds = [died, PollFd::new(control, PollFlags::empty())];
        let watched = if kill_at.is_some() { &mut fds[..1] } else { &mut fds[..] };
        let polled = poll(watched, timeout.as_ref());
        let ralph_is_gone = fds[1].revents().intersects(PollFlags::HUP | PollFlags::ERR);
        let mut chunk = [0; 64];
        while matches!(child_died.read(&mut chunk), Ok(1..)) {}
        if kill_at.is_some_and(|at| Instant::now() >= at) || !matches!(polled, Ok(_) | Err(Errno::INTR)) {
            let _ = kill_process(init, Signal::KILL);
            kill_at = Some(Instant::now() + PATIENCE);
        } else if ralph_is_gone {
            // It may be stopped, and could not hear that.
            let _ = kill_process(init, Signal::CONT);
            kill_at = Some(Instant::now() + PATIENCE);
        }
    }
}
