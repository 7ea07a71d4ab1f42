//! All I/O of ralph that is not a screen: driver, executor, journal, processes.

pub mod process;
