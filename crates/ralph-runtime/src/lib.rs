//! All I/O of ralph that is not a screen: driver, executor, journal, processes, control socket.

mod attempt;
pub mod clock;
pub mod control;
mod driver;
mod executor;
pub mod journal;
mod listen;
mod output;
mod platform;
pub mod process;
pub mod session;
mod signals;
mod silence;
pub mod spool;
pub mod store;
mod timer;
pub mod workspace;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A thread that panicked while it held a lock has left nothing half done that matters here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
