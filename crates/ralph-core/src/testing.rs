//! The engine's state, for the simulation, which holds every field of it against a model of its own.
//!
//! Only this crate's own tests and examples switch the feature `testing` on. Everyone else asks [`observe`](crate::observe).

pub use crate::state::{Phase, RunState};
