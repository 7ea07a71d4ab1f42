//! Signals to ralph itself, as commands to the engine.

use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Weak};
use std::time::Duration;

use ralph_core::event::{StopHow, StopRequest};
use ralph_core::input::Command;
use ralph_core::stop::Interrupt;
use signal_hook::consts::{SIGHUP, SIGINT, SIGSTOP, SIGTERM, SIGTSTP, SIGXFSZ};
use signal_hook::iterator::{Handle, Signals};

use crate::process::Supervisor;
use crate::{platform, standing, watchdog};

/// What signals to ralph come to.
pub enum Heard {
    Asked(Command),
    /// Ctrl-Z, and later `fg`: everything stood still for so long, and goes on now.
    Continued(Duration),
}

/// First Ctrl-C: let the iteration finish. Second: end it now. TERM and HUP: end it, politely but soon. A HUP that was ignored
/// when ralph was started, as `nohup` does, stays ignored; so does a TSTP.
pub fn watch(
    at_work: Weak<()>,
    supervisor: &Supervisor,
    tell: impl Fn(Heard) + Send + 'static,
) -> io::Result<Watch> {
    let supervisor = supervisor.clone();
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    for signal in [SIGHUP, SIGTSTP] {
        if !platform::ignores(signal) {
            signals.add_signal(signal)?;
        }
    }
    let handle = signals.handle();
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        let mut asked = false;
        for signal in signals.forever() {
            let (how, by) = match signal {
                SIGTSTP => {
                    stand_still(&supervisor, &tell);
                    continue;
                }
                SIGTERM => (StopHow::Terminate, Interrupt::Term),
                SIGHUP => (StopHow::Terminate, Interrupt::Hup),
                _ if asked => (StopHow::Kill, Interrupt::Int),
                _ => (StopHow::AfterIteration, Interrupt::Int),
            };
            asked = true;
            if how != StopHow::AfterIteration {
                watchdog::expect_end(&at_work, watchdog::PATIENCE, watchdog::give_up);
            }
            tell(Heard::Asked(Command::StopRun(StopRequest { how, by })));
        }
    })?;
    Ok(Watch(handle))
}

/// Stops with all that was started, and returns when somebody has set this process going again.
fn stand_still(supervisor: &Supervisor, tell: &impl Fn(Heard)) {
    supervisor.stand();
    standing::stand();
    // To this very thread: to the process it would come a little later.
    let _ = signal_hook::low_level::raise(SIGSTOP);
    // On its way before any limit whose time has come meanwhile.
    tell(Heard::Continued(standing::stood()));
    standing::go_on();
    supervisor.go_on();
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
