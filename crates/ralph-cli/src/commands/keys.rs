//! A key at the terminal: `r` ends a wait.
//!
//! The terminal hands over single keys only while the run waits. A ralph that is killed in between leaves it that way, so
//! nothing else about it is changed: what is typed is still echoed, and Ctrl-C is still Ctrl-C.

use std::io::{self, IsTerminal, Read, Write};
use std::os::unix::net::UnixStream;
use std::thread::{self, JoinHandle};

use ralph_core::event::Event;
use ralph_core::input::Command;
use ralph_core::record::Record;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::getpgrp;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};

const WAITS: u8 = b'w';
const GOES_ON: u8 = b'g';

/// Listens until it is dropped.
pub struct Keys {
    control: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Keys {
    /// Nothing if nobody sits at a terminal. `waiting`: the run is in the middle of a wait.
    pub fn start(waiting: bool, send: impl Fn(Command) + Send + 'static) -> Option<Self> {
        if !io::stdin().is_terminal() {
            return None;
        }
        let (control, orders) = UnixStream::pair().ok()?;
        let run = move || listen(orders, &|| send(Command::SkipWait));
        let thread = thread::Builder::new().name("keys".into()).spawn(run).ok()?;
        let keys = Self { control: Some(control), thread: Some(thread) };
        if waiting {
            keys.tell(WAITS);
        }
        Some(keys)
    }

    pub fn record(&self, record: &Record) {
        match record.event {
            Event::DelayStarted(_) => self.tell(WAITS),
            Event::DelayEnded { .. } => self.tell(GOES_ON),
            _ => {}
        }
    }

    fn tell(&self, what: u8) {
        // A thread that has ended has nothing left to do.
        let _ = self.control.as_ref().map(|mut control| control.write_all(&[what]));
    }
}

impl Drop for Keys {
    /// The terminal is as it was when this returns.
    fn drop(&mut self) {
        self.control = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn listen(mut orders: UnixStream, go_on: &dyn Fn()) {
    let mut order = [0];
    while orders.read_exact(&mut order).is_ok() {
        if order[0] == WAITS && is_in_front() {
            let _terminal = SingleKeys::on();
            wait_for_key(&orders, go_on);
        }
    }
}

/// Until the next order is there, which is left for the caller.
fn wait_for_key(orders: &UnixStream, go_on: &dyn Fn()) {
    let stdin = io::stdin();
    loop {
        let mut fds = [PollFd::new(orders, PollFlags::IN), PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut fds, None) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return,
        }
        if !fds[0].revents().is_empty() {
            return;
        }
        let mut typed = [0; 64];
        // A ralph in the background that reads is stopped by the system.
        match is_in_front().then(|| rustix::io::read(&stdin, &mut typed)) {
            Some(Ok(n)) if n > 0 => {
                if typed[..n].iter().any(|key| matches!(key, b'r' | b'R')) {
                    go_on();
                }
            }
            _ => return,
        }
    }
}

fn is_in_front() -> bool {
    tcgetpgrp(io::stdin()).is_ok_and(|group| group == getpgrp())
}

/// Keys come one by one, without Enter, while this lives.
struct SingleKeys(Option<Termios>);

impl SingleKeys {
    fn on() -> Self {
        let Ok(before) = tcgetattr(io::stdin()) else { return Self(None) };
        let mut modes = before.clone();
        modes.local_modes.remove(LocalModes::ICANON);
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &modes);
        Self(Some(before))
    }
}

impl Drop for SingleKeys {
    fn drop(&mut self) {
        if let Some(before) = self.0.take().filter(|_| is_in_front()) {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
        }
    }
}
