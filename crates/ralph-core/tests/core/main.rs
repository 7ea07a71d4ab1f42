//! The tests of the core as a whole.

mod journals;
mod overnight;
mod records;
mod sim;
mod simulation;
mod smoke_format;
mod smoke_runner;
