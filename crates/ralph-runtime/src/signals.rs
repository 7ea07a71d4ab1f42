//! Signals to ralph itself, as commands to the engine.

use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Weak};

use ralph_core::event::{StopHow, StopRequest};
use ralph_core::input::Command;
use ralph_core::stop::Interrupt;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::{Handle, Signals};

use crate::{platform, watchdog};

/// First Ctrl-C: let the iteration finish. Second: end it now. TERM and HUP: end it, politely but soon. A HUP that was ignored
/// when ralph was started, as `nohup` does, stays ignored.
pub fn watch(at_work: Weak<()>, send: impl Fn(Command) + Send + 'static) -> io::Result<Watch> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    if !platform::ignores_hangup() {
        signals.add_signal(SIGHUP)?;
    }
    let handle = signals.handle();
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        let mut asked = false;
        for signal in signals.forever() {
            let (how, by) = match signal {
                SIGTERM => (StopHow::Terminate, Interrupt::Term),
                SIGHUP => (StopHow::Terminate, Interrupt::Hup),
                _ if asked => (StopHow::Kill, Interrupt::Int),
                _ => (StopHow::AfterIteration, Interrupt::Int),
            };
            asked = true;
            if how != StopHow::AfterIteration {
                watchdog::expect_end(&at_work, watchdog::PATIENCE, watchdog::give_up);
            }
            send(Command::StopRun(StopRequest { how, by }));
        }
    })?;
    Ok(Watch(handle))
}

/// Ends the watch when dropped.
pub struct Watch(Handle);

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// A file that may not grow any more is an error of the write, as a full disk is, and not the end of ralph. A handler, not
/// SIG_IGN: the agent must not inherit it.
pub fn survive_file_limit() -> io::Result<()> {
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))).map(drop)
}
