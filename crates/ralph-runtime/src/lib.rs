//! All I/O of ralph that is not a screen: driver, executor, journal, processes, control socket.

mod attempt;
pub mod clock;
pub mod control;
mod drawing;
mod driver;
mod end;
mod executor;
mod gate;
mod group;
mod hat;
mod job;
pub mod journal;
mod kept;
mod listen;
mod memory;
mod output;
mod platform;
pub mod process;
pub mod session;
mod signals;
mod silence;
pub mod spool;
pub mod store;
pub mod task;
mod timer;
mod token;
mod wake;
pub mod workspace;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A thread that panicked while it held a lock has left nothing half done that matters here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
