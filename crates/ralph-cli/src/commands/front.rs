//! A run on a terminal that it can leave.
//!
//! The shell waits for one process, and the run is another one below it, in the same group and on the same terminal. When a person
//! detaches the run it goes into a session of its own, as one that was started with `--detach`; then the first process ends, and the
//! shell has its prompt back. It does nothing else but pass on the signals that it is sent.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};

use rustix::process::{Pid, Signal, getppid, kill_process, setsid};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;

use super::{background, keyboard, screen};
use crate::args::ScreenArgs;
use crate::error::CliError;

/// Tells the second process whom it works for. A `ralph` further down that inherits it has another parent.
const PARENT: &str = "RALPH_IN_FRONT";

/// Whether the run of this process is to have a process in front of it.
pub fn is_wanted(args: &ScreenArgs) -> bool {
    screen::has_keys(args) && !is_behind() && !background::is_detached()
}

/// Whether this process has another one in front of it.
pub fn is_behind() -> bool {
    let parent = getppid().map(|parent| parent.as_raw_pid().to_string());
    parent.is_some_and(|parent| std::env::var(PARENT).is_ok_and(|asked| asked == parent))
}

/// Starts this very command below, and returns when that has ended or has left the terminal.
pub fn stand() -> Result<u8, CliError> {
    let mut signals = Signals::new([SIGCHLD, SIGUSR1, SIGINT, SIGTERM])?;
    if !ralph_runtime::ignores(SIGHUP) {
        signals.add_signal(SIGHUP)?;
    }
    let mut command = Command::new(std::env::current_exe()?);
    command.args(std::env::args_os().skip(1)).env(PARENT, std::process::id().to_string());
    let mut child = command.spawn()?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let tell = |signal| {
        // One that has just ended hears nothing; its end is told next.
        let _ = pid.map(|pid| kill_process(pid, signal));
    };
    for signal in signals.forever() {
        match signal {
            SIGUSR1 => return Ok(0),
            // A terminal sends it to both, and a second Ctrl-C means more than the first: it is passed on by another name.
            SIGINT => tell(Signal::USR1),
            SIGTERM => tell(Signal::TERM),
            SIGHUP => tell(Signal::HUP),
            _ => {
                if let Some(status) = child.try_wait()? {
                    return Ok(code_of(status));
                }
            }
        }
    }
    Ok(code_of(child.wait()?))
}

fn code_of(status: ExitStatus) -> u8 {
    let Some(signal) = status.signal() else {
        return status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    };
    // It could not put the terminal right by itself.
    keyboard::repair();
    u8::try_from(signal).map_or(1, |signal| signal.saturating_add(128))
}

/// The run ends as by a hangup if whoever is in front is killed.
pub fn depend() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(Signal::HUP))?;
    Ok(())
}

/// Goes into a session of its own, and lets the process in front end. Nothing of this process is on the terminal any more.
pub fn leave() -> io::Result<()> {
    let parent = getppid();
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(None)?;
    setsid()?;
    background::to_nowhere();
    if let Some(parent) = parent {
        kill_process(parent, Signal::USR1)?;
    }
    Ok(())
}
