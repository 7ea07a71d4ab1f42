//! From text and changes to facts: detectors, sketches, recognised commands. No I/O.
//!
//! The engine folds and decides on facts only. What reads text stands here, so that tuning a constant changes what is found in
//! runs to come and never what an old journal says.

pub mod check;
