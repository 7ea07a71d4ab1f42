//! A run at work, in front of a person or in the background.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::{self, JoinHandle};

use ralph_core::event::RunStopped;
use ralph_core::ids::RunId;
use ralph_core::input::Command;
use ralph_core::plan::SettingsChange;
use ralph_core::record::Record;
use ralph_model::Fold;
use ralph_runtime::session::OpenRun;

use super::background::{self, Detached, is_detached};
use super::front;
use super::keyboard::Seat;
use super::screen::{self, Person, RunScreen};
use crate::args::ScreenArgs;
use crate::error::CliError;

/// Works until the run stops. `fold` is what its screen knows already.
pub fn work(
    session: OpenRun,
    fold: Fold,
    change: SettingsChange,
    args: &ScreenArgs,
) -> Result<RunStopped, CliError> {
    ralph_runtime::process::become_reaper()?;
    if is_detached() {
        let mut detached = Detached::leave_terminal()?;
        let run = session.run_dir().id.clone();
        return Ok(session.work(crate::VERSION, change, &mut |record| detached.see(&run, record))?);
    }
    let run = session.run_dir().id.clone();
    let ask = session.commander();
    let ask = move |command: Command| {
        ask(command);
        Ok(())
    };
    let shown = Arc::new(Shown::default());
    let (seat, leave) = match front::is_behind() {
        true => (Seat::InFront, Some(shown.way_out(run)?)),
        false => (Seat::Bound, None),
    };
    shown.open(screen::open(args, fold, Person { ask: Box::new(ask), seat, leave })?);
    let stopped = session.work(crate::VERSION, change, &mut |record| shown.send(record));
    let ended = shown.finish();
    let stopped = stopped?;
    ended.map(|()| stopped)
}

/// The screen of a run, until a person sends the run into the background.
#[derive(Default)]
struct Shown {
    screen: Mutex<Option<RunScreen>>,
    leaver: Mutex<Option<JoinHandle<()>>>,
}

impl Shown {
    fn open(&self, screen: RunScreen) {
        *lock(&self.screen) = Some(screen);
    }

    fn send(&self, record: &Record) {
        if let Some(screen) = &*lock(&self.screen) {
            screen.send(record);
        }
    }

    /// What the keyboard calls. The work is done elsewhere: the screen ends only when the keyboard has.
    fn way_out(self: &Arc<Self>, run: RunId) -> io::Result<Box<dyn Fn() + Send>> {
        let (ask, asked) = mpsc::channel::<()>();
        let shown = Arc::clone(self);
        let leaver = thread::Builder::new().name("leaver".into()).spawn(move || {
            // By this thread, which also takes it back: the kernel keeps it for each thread.
            let _ = front::depend();
            if asked.recv().is_ok() {
                shown.leave(&run);
            }
        })?;
        *lock(&self.leaver) = Some(leaver);
        Ok(Box::new(move || {
            let _ = ask.send(());
        }))
    }

    /// The terminal is as it was, and the shell's, when this returns. The run notices nothing.
    fn leave(&self, run: &RunId) {
        // One that has ended meanwhile has told so.
        let Some(screen) = lock(&self.screen).take() else { return };
        screen.drop_quietly();
        let _ = crate::io::print(&background::farewell(&run.0));
        let _ = front::leave();
    }

    fn finish(&self) -> Result<(), CliError> {
        let screen = lock(&self.screen).take();
        if let Some(screen) = screen {
            // With its keyboard the way out goes, and the thread that waits for it.
            screen.finish()?;
        }
        let leaver = lock(&self.leaver).take();
        if let Some(leaver) = leaver {
            let _ = leaver.join();
        }
        Ok(())
    }
}

/// A thread that panicked while it held a lock has left nothing half done that matters here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
