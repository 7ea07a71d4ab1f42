//! The keyboard of a live screen. While the run is on the terminal every key is read here, so that none is left for the shell.

mod desk;
mod terminal;

use std::io::{self, IsTerminal, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use ralph_core::event::Event;
use ralph_core::input::Command;
use ralph_ui::Order;
use rustix::event::{PollFd, PollFlags, poll};
use signal_hook::consts::SIGCONT;
use signal_hook::low_level::{pipe, unregister};

use desk::{Act, KEYS};
pub use desk::{Desk, Seat};
use terminal::{SingleKeys, is_in_front};
pub use terminal::{may_draw, repair};

/// What keys reach.
pub struct Reach {
    pub ask: Box<dyn Fn(Command) -> Result<(), String> + Send>,
    pub screen: Box<dyn Fn(Order) + Send>,
    /// Ctrl-C and Ctrl-Z are keys too.
    pub all: bool,
    /// How the screen is left, where the run does not need it.
    pub leave: Option<Box<dyn Fn() + Send>>,
}

impl Reach {
    fn carry_out(&self, act: Act) {
        match act {
            Act::Ask(command) => {
                if let Err(why) = (self.ask)(command) {
                    (self.screen)(Order::Note(why));
                }
            }
            Act::Prompt(text) => (self.screen)(Order::Prompt(text)),
            Act::Note(text) => (self.screen)(Order::Note(text)),
            Act::Detail => (self.screen)(Order::Detail),
            Act::Leave => {
                if let Some(leave) = &self.leave {
                    leave();
                }
            }
        }
    }
}

struct SharedDesk {
    desk: Mutex<Desk>,
    /// The terminal hands over its keys.
    has_terminal: AtomicBool,
}

impl SharedDesk {
    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Listens until it is dropped.
pub struct Keyboard {
    shared: Arc<SharedDesk>,
    control: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Keyboard {
    /// Whether somebody sits at a terminal.
    pub fn is_there() -> bool {
        io::stdin().is_terminal()
    }

    pub fn start(desk: Desk, reach: Reach) -> io::Result<Self> {
        let shared = Arc::new(SharedDesk { desk: Mutex::new(desk), has_terminal: AtomicBool::new(false) });
        let (control, wakes) = UnixStream::pair()?;
        wakes.set_nonblocking(true)?;
        let listener = Listener { shared: Arc::clone(&shared), wakes, reach, greeted: false };
        let thread = thread::Builder::new().name("keyboard".into()).spawn(move || listener.listen())?;
        Ok(Self { shared, control: Some(control), thread: Some(thread) })
    }

    /// What the run does now.
    pub fn see(&self, event: &Event) {
        self.shared.desk().see(event);
        // A ralph that was in the background may be in front now.
        if !self.shared.has_terminal.load(Ordering::Relaxed) && is_milestone(event) {
            self.wake();
        }
    }

    fn wake(&self) {
        // A thread that has ended has nothing left to do.
        let _ = self.control.as_ref().map(|mut control| control.write_all(b"!"));
    }
}

fn is_milestone(event: &Event) -> bool {
    matches!(event, Event::IterationStarted(_) | Event::IterationFinished(_) | Event::DelayStarted(_))
}

impl Drop for Keyboard {
    /// The terminal is as it was when this returns.
    fn drop(&mut self) {
        self.control = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Listener {
    shared: Arc<SharedDesk>,
    wakes: UnixStream,
    reach: Reach,
    greeted: bool,
}

impl Listener {
    fn listen(mut self) {
        let Ok((continued, tell)) = UnixStream::pair() else { return };
        let _ = continued.set_nonblocking(true);
        let registered = pipe::register(SIGCONT, tell).ok();
        let all = self.reach.all;
        let mut keys = None;
        loop {
            if keys.is_none() && is_in_front() {
                keys = SingleKeys::on(all);
                self.greet(keys.is_some());
            }
            self.shared.has_terminal.store(keys.is_some(), Ordering::Relaxed);
            match self.wait(keys.is_some(), &continued) {
                Happened::End => break,
                Happened::Woken => {}
                // It is the shell's now, and as the shell wants it.
                Happened::Background => keys = None,
                // In the background (`bg`) who changes the terminal is stopped by the system.
                Happened::Continued if is_in_front() => keys.iter().for_each(SingleKeys::again),
                Happened::Continued => keys = None,
                Happened::Key => match read_keys() {
                    Some(typed) => self.press(&typed),
                    // The terminal is gone.
                    None => break,
                },
            }
        }
        drop(keys);
        registered.map(unregister);
    }

    fn greet(&mut self, listens: bool) {
        if listens && !self.greeted {
            self.greeted = true;
            self.reach.carry_out(Act::Note(KEYS.to_owned()));
        }
    }

    fn press(&self, typed: &[u8]) {
        let acts = self.shared.desk().press(typed);
        acts.into_iter().for_each(|act| self.reach.carry_out(act));
    }

    fn wait(&self, with_keys: bool, continued: &UnixStream) -> Happened {
        let stdin = io::stdin();
        loop {
            let mut fds =
                vec![PollFd::new(&self.wakes, PollFlags::IN), PollFd::new(continued, PollFlags::IN)];
            if with_keys {
                fds.push(PollFd::new(&stdin, PollFlags::IN));
            }
            match poll(&mut fds, None) {
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(_) => return Happened::End,
            }
            let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
            if ready[1] {
                drain(continued);
                return Happened::Continued;
            }
            if ready[0] {
                return if drain(&self.wakes) { Happened::Woken } else { Happened::End };
            }
            if ready.get(2) == Some(&true) {
                // A ralph in the background that reads is stopped by the system.
                return if is_in_front() { Happened::Key } else { Happened::Background };
            }
        }
    }
}

enum Happened {
    Key,
    /// Something else to look at.
    Woken,
    /// Somebody else has the terminal.
    Background,
    /// The process went on after it had been stopped.
    Continued,
    End,
}

/// Reads all that is there. Tells whether the other end is still open.
fn drain(stream: &UnixStream) -> bool {
    let mut bytes = [0; 256];
    loop {
        match rustix::io::read(stream, &mut bytes) {
            Ok(0) => return false,
            Ok(_) => {}
            Err(error) => return error == rustix::io::Errno::AGAIN,
        }
    }
}

fn read_keys() -> Option<Vec<u8>> {
    let mut typed = [0; 256];
    match rustix::io::read(io::stdin(), &mut typed) {
        Ok(n) if n > 0 => Some(typed[..n].to_vec()),
        _ => None,
    }
}
