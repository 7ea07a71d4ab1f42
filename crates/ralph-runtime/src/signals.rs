//! Signals to ralph itself, as commands to the engine.

use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Weak};
use std::time::Duration;

use ralph_core::event::{StopHow, StopRequest};
use ralph_core::input::Command;
use ralph_core::stop::Interrupt;
use signal_hook::consts::{SIGHUP, SIGINT, SIGSTOP, SIGTERM, SIGTSTP, SIGUSR1, SIGXFSZ};
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
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGUSR1])?;
    for signal in [SIGHUP, SIGTSTP] {
        if !platform::ignores(signal) {
            signals.add_signal(signal)?;
        }
    }
    let handle = signals.handle();
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        let mut ends = Ends::default();
        for signal in signals.forever() {
            if signal == SIGTSTP {
                stand_still(&supervisor, &tell);
                continue;
            }
            let Some((how, by)) = ends.hear(signal) else { continue };
            if how != StopHow::AfterIteration {
                watchdog::expect_end(&at_work, watchdog::PATIENCE, watchdog::give_up);
            }
            tell(Heard::Asked(Command::StopRun(StopRequest { how, by })));
        }
    })?;
    Ok(Watch(handle))
}

/// The signals to end so far. Where another process stands in front of this one a terminal sends them to both, and that one passes
/// its own on: an interrupt as `SIGUSR1`, the others as they are.
#[derive(Debug, Default)]
struct Ends {
    interrupts: u32,
    passed_on: u32,
    others: Vec<i32>,
}

impl Ends {
    /// What is to be done about it, if it says something new.
    fn hear(&mut self, signal: i32) -> Option<(StopHow, Interrupt)> {
        let by = match signal {
            SIGTERM => Interrupt::Term,
            SIGHUP => Interrupt::Hup,
            _ => return self.interrupt(signal == SIGUSR1),
        };
        if self.others.contains(&signal) {
            return None;
        }
        self.others.push(signal);
        Some((StopHow::Terminate, by))
    }

    fn interrupt(&mut self, is_passed_on: bool) -> Option<(StopHow, Interrupt)> {
        let before = self.interrupts.max(self.passed_on);
        let count = if is_passed_on { &mut self.passed_on } else { &mut self.interrupts };
        *count = count.saturating_add(1);
        let is_first = before == 0 && self.others.is_empty();
        let how = if is_first { StopHow::AfterIteration } else { StopHow::Kill };
        (self.interrupts.max(self.passed_on) > before).then_some((how, Interrupt::Int))
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_comes_both_ways_counts_once() {
        let first = Some((StopHow::AfterIteration, Interrupt::Int));
        let second = Some((StopHow::Kill, Interrupt::Int));
        let all = |signals: &[i32]| {
            let mut ends = Ends::default();
            signals.iter().map(|signal| ends.hear(*signal)).collect::<Vec<_>>()
        };
        assert_eq!(all(&[SIGINT, SIGUSR1, SIGUSR1, SIGINT]), [first, None, second, None]);
        assert_eq!(all(&[SIGINT, SIGINT, SIGUSR1, SIGUSR1]), [first, second, None, None]);
        assert_eq!(all(&[SIGUSR1, SIGUSR1]), [first, second], "sent to the one in front alone");
        let (term, hup) = [Interrupt::Term, Interrupt::Hup].map(|by| Some((StopHow::Terminate, by))).into();
        assert_eq!(all(&[SIGHUP, SIGHUP, SIGTERM, SIGINT, SIGUSR1]), [hup, None, term, second, None]);
    }
}
