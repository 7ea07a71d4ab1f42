//! The modes of the terminal: while ralph listens to keys it hands them over one by one and shows none of them.

use std::io;

use rustix::process::getpgrp;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};

/// Whether the terminal is this process's to read from.
pub fn is_in_front() -> bool {
    tcgetpgrp(io::stdin()).is_ok_and(|group| group == getpgrp())
}

/// Whether the last line of the terminal is this process's to draw: in the background it is the shell's.
pub fn may_draw() -> bool {
    // A terminal that controls nothing has no background.
    tcgetpgrp(io::stdin()).map_or(true, |group| group == getpgrp())
}

/// Single keys, unseen, while this lives. Then the terminal is as it was, and what was typed since is not left for the shell.
pub struct SingleKeys {
    before: Termios,
    /// Ctrl-C and Ctrl-Z are keys too.
    all: bool,
}

impl SingleKeys {
    pub fn on(all: bool) -> Option<Self> {
        let mut before = tcgetattr(io::stdin()).ok()?;
        // A ralph that was killed has left it so; that is no state to come back to.
        if is_left_behind(&before) {
            before.local_modes.insert(COOKED);
        }
        let keys = Self { before, all };
        keys.again();
        Some(keys)
    }

    /// Once more: a shell that continues a stopped program gives it the terminal as the shell has it.
    pub fn again(&self) {
        let mut modes = self.before.clone();
        modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        if self.all {
            modes.local_modes.remove(LocalModes::ISIG);
        }
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &modes);
    }
}

impl Drop for SingleKeys {
    fn drop(&mut self) {
        if is_in_front() {
            let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.before);
        }
    }
}

const COOKED: LocalModes = LocalModes::ICANON.union(LocalModes::ECHO).union(LocalModes::ISIG);

fn is_left_behind(modes: &Termios) -> bool {
    !modes.local_modes.intersects(LocalModes::ICANON | LocalModes::ECHO)
}

/// Puts a terminal right that a killed ralph has left without echo.
pub fn repair() {
    if let Ok(mut modes) = tcgetattr(io::stdin())
        && is_left_behind(&modes)
        && is_in_front()
    {
        modes.local_modes.insert(COOKED);
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &modes);
    }
}
