//! Runs on disk: find, list, read, follow, artefacts. No engine.
//!
//! Whoever watches a run reads it through this crate, alive or stopped, sound or damaged; only ralph-runtime writes. The two share the
//! names of the files, the mark and the form of a log, so those stand here; the form of a record stands in `ralph_core::record`.

mod artefacts;
mod changes;
mod client;
mod find;
mod follow;
mod index;
mod listings;
mod mark;
pub mod output;
pub mod plain;
mod read;
mod records;
mod run_dir;
mod seek;
mod spending;
mod store;
mod subscription;
#[cfg(test)]
mod tests;
mod trash;
mod trouble;

pub use artefacts::{Artefacts, AttemptFiles, GateFiles};
pub use client::{AskError, ask, ask_for_events, short_folder};
pub use find::workspace_of;
pub use follow::{Follower, follow};
pub use listings::Listings;
pub use mark::{JOURNAL, MARK, Mark, Position, read_mark};
pub use read::{Line, Lines, last_lines};
pub use records::{ALL, ReadError, decode};
pub use run_dir::{RunDir, Summary};
pub use seek::{iteration_of, seq_of};
pub use store::{Listed, Store, StoreError};
pub use subscription::Subscription;
