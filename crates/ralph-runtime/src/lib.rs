//! All I/O of ralph that is not a screen: driver, executor, journal, processes, control socket.

pub mod clock;
pub mod control;
mod driver;
mod executor;
pub mod journal;
mod output;
mod platform;
pub mod process;
pub mod session;
mod signals;
pub mod spool;
pub mod store;
mod timer;
pub mod workspace;
