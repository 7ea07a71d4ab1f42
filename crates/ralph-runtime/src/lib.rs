//! All I/O of ralph that is not a screen: driver, executor, journal, processes, control socket.

mod attempt;
mod awake;
mod both_ends;
pub mod checkpoint;
pub mod clock;
pub mod control;
mod drawing;
mod driver;
mod echo;
mod executor;
mod footprints;
mod gate;
pub mod gate_audit;
pub mod gate_runner;
mod group;
mod job;
pub mod journal;
mod ledger;
pub mod log;
mod output_tail;
mod platform;
pub mod process;
pub mod proxy;
mod redacted;
mod sandbox;
pub mod scratch;
pub mod secrets;
pub mod session;
mod signals;
pub mod sketches;
pub mod spool;
mod standing;
mod survivors;
mod timer;
mod token;
pub mod trial;
mod trust;
mod wake;
mod watchdog;
pub mod workspace;

pub use attempt::MakeDialogue;
pub use attempt::prepare::task;
pub use echo::Noted;
pub use platform::ignores;
pub use sandbox::Unenforceable;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A thread that panicked while it held a lock has left nothing half done that matters here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
