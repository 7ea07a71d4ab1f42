//! Evidence that a run is stuck. One file per detector.

mod cases;
mod hash;
mod lexicon;
mod lines;
pub mod no_progress;
mod sample;
mod signature;
mod similarity;
mod sketch;
mod text;

pub use cases::{Case, CaseIteration, Prediction};
pub use lines::{Lines, Measure};
pub use no_progress::NoProgress;
pub use signature::{SignatureDetector, signature};
pub use similarity::{Match, OutputSimilarityDetector};
pub use sketch::{Sketch, Sketcher, ToolUse};
