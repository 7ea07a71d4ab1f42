//! A terminal for ralph to run on, and a person who sits at it.

use std::ffi::CString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::harness::*;

pub struct Pty {
    pub master: File,
    name: CString,
}

impl Pty {
    pub fn new() -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&master).and_then(|()| unlockpt(&master)).expect("a terminal");
        let name = ptsname(&master, Vec::new()).expect("its name");
        Self { master: File::from(master), name }
    }

    /// The side that a program sees.
    pub fn open(&self) -> OwnedFd {
        let flags = OFlags::RDWR | OFlags::NOCTTY;
        rustix::fs::open(self.name.as_c_str(), flags, Mode::empty()).expect("a terminal")
    }
}

/// A ralph in a session of its own, with a terminal at which keys are pressed.
pub struct Seated {
    pub terminal: OwnedFd,
    child: Child,
    keys: File,
    screen: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Seated {
    /// Reads what is written until `last` is on the screen.
    pub fn start(world: &World, pty: Pty, args: &[&str], last: &'static str) -> Self {
        let mut command = world.command("setsid");
        command.args(["--ctty", "--wait", RALPH]).args(args).env("TERM", "xterm-256color");
        command.stdin(pty.open()).stdout(pty.open()).stderr(pty.open());
        let (child, terminal) = (command.spawn().expect("start"), pty.open());
        let keys = pty.master.try_clone().expect("a copy");
        let mut reader = pty.master;
        let screen = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&screen);
        let reader = std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(n @ 1..) = reader.read(&mut chunk) {
                let mut seen = seen.lock().expect("what was seen");
                seen.extend_from_slice(&chunk[..n]);
                if String::from_utf8_lossy(&seen).contains(last) {
                    break;
                }
            }
        });
        Self { terminal, child, keys, screen, reader: Some(reader) }
    }

    fn seen(&self) -> String {
        String::from_utf8_lossy(&self.screen.lock().expect("what was seen")).into_owned()
    }

    /// Returns once this has been on the screen.
    pub fn await_screen(&self, text: &str) {
        wait_until(text, || self.seen().contains(text));
    }

    /// Returns once `text` has been on the screen behind `first`.
    pub fn await_screen_after(&self, first: &str, text: &str) {
        wait_until(text, || self.seen().rsplit_once(first).is_some_and(|(_, after)| after.contains(text)));
    }

    /// Returns once this has been on the screen so often.
    pub fn await_screen_times(&self, text: &str, times: usize) {
        wait_until(text, || self.seen().matches(text).count() >= times);
    }

    pub fn press(&mut self, key: u8) {
        self.keys.write_all(&[key]).expect("a key");
    }

    /// What was written, once it has ended with this code.
    pub fn ends(&mut self, code: i32) -> String {
        assert_eq!(self.child.wait().expect("wait").code(), Some(code));
        self.reader.take().and_then(|reader| reader.join().ok()).expect("what was written");
        self.seen()
    }
}
