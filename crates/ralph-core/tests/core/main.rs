//! The tests of the core as a whole.

mod sim;
mod simulation;
mod smoke_runner;
