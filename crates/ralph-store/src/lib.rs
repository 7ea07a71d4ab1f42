//! Runs on disk: find, list, read, follow, artefacts. No engine.
//!
//! Whoever watches a run reads it through this crate, alive or stopped, sound or damaged; only ralph-runtime writes. The two share the
//! names of the files, the mark and the form of a log, so those stand here; the form of a record stands in `ralph_core::record`.

mod changes;
mod follow;
mod mark;
pub mod output;
mod read;
mod run_dir;
mod store;

pub use follow::follow;
pub use mark::{JOURNAL, MARK, Mark, Position, read_mark};
pub use read::{Line, Lines, last_lines};
pub use run_dir::{RunDir, Summary};
pub use store::{Store, StoreError};
