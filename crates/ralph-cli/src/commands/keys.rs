//! Keys at the terminal: `r` ends a wait; `c`, `v` and `q` answer what to do about a run that goes in circles.
//!
//! The terminal hands over single keys only while the run waits for one. A ralph that is killed in between leaves it that way, so
//! nothing else about it is changed: what is typed is still echoed, and Ctrl-C is still Ctrl-C.

use std::io::{self, IsTerminal, Read, Write};
use std::os::unix::net::UnixStream;
use std::thread::{self, JoinHandle};

use ralph_core::event::{Event, LoopAnswer, StopHow, StopRequest};
use ralph_core::input::Command;
use ralph_core::record::Record;
use ralph_core::stop::Interrupt;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::getpgrp;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};

const WAITS: u8 = b'w';
const ASKS: u8 = b'a';
const GOES_ON: u8 = b'g';

/// What a key means while the run waits, and while it asks.
fn meaning(order: u8, key: u8) -> Option<Command> {
    Some(match (order, key.to_ascii_lowercase()) {
        (WAITS, b'r') => Command::SkipWait,
        (ASKS, b'c') => Command::UnpauseRun { now: false },
        (ASKS, b'v') => Command::ReviewLoop,
        (ASKS, b'q') => Command::StopRun(StopRequest { how: StopHow::AfterIteration, by: Interrupt::Int }),
        _ => return None,
    })
}

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
        let run = move || listen(orders, &send);
        let thread = thread::Builder::new().name("keys".into()).spawn(run).ok()?;
        let keys = Self { control: Some(control), thread: Some(thread) };
        if waiting {
            keys.tell(WAITS);
        }
        Some(keys)
    }

    pub fn record(&self, record: &Record) {
        match &record.event {
            Event::DelayStarted(_) => self.tell(WAITS),
            Event::LoopDetected(detected) if detected.action == LoopAnswer::Ask => self.tell(ASKS),
            Event::DelayEnded { .. } | Event::RunUnpaused {} => self.tell(GOES_ON),
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

fn listen(mut orders: UnixStream, send: &dyn Fn(Command)) {
    let mut order = [0];
    while orders.read_exact(&mut order).is_ok() {
        if order[0] != GOES_ON && is_in_front() {
            let _terminal = SingleKeys::on();
            wait_for_key(order[0], &orders, send);
        }
    }
}

/// Until the next order is there, which is left for the caller.
fn wait_for_key(order: u8, orders: &UnixStream, send: &dyn Fn(Command)) {
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
                typed[..n].iter().filter_map(|key| meaning(order, *key)).for_each(send);
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
