//! The decisions of ralph, and nothing else: no clock, file, process, thread or randomness.

pub mod duration;
pub mod usage;
