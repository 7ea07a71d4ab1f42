//! From text and changes to facts: detectors, sketches, recognised commands, tampering with tests. No I/O.
//!
//! The engine folds and decides on facts only. What reads text stands here, so that tuning a constant changes what is found in
//! runs to come and never what an old journal says.

pub mod cheat;
pub mod check;
mod circle;
pub mod detector;
pub mod gate_files;
pub mod git_index;
pub mod gitignore;
pub mod redact;
mod rehearsal;
pub mod tamper;
mod trial;
mod watch;

pub use rehearsal::{Looked, Rehearsal};
pub use trial::{Trial, Tried};
pub use watch::Watch;

/// Of the detectors and of their sketches; it is recorded with what they find. A sketch of another version is not read again.
/// Raise it with every change of what is found in the same outputs, and record a journal of the new version for the tests of
/// `ralph replay --verify`.
pub const DETECTORS_VERSION: u32 = 3;
