//! What happened. One vocabulary: the journal stores these, `--json` prints them, every screen renders them.
//!
//! An event is either the record of an *input* (a person asked, the shell saw) or a *decision* of the engine that followed
//! from one. [`Event::input`] tells which; replaying the inputs through a fresh engine must give the decisions again.

mod agent;
mod checkpoint;
mod claim;
mod command;
mod contain;
mod gate;
mod iteration;
mod reading;
mod run;
mod stuck;
mod tool;
mod topic;
mod trust;
mod vocabulary;
mod wait;

pub use agent::*;
pub use checkpoint::*;
pub use claim::*;
pub use command::*;
pub use contain::*;
pub use gate::*;
pub use iteration::*;
pub use run::*;
pub use stuck::*;
pub use tool::*;
pub use topic::*;
pub use trust::*;
pub use vocabulary::{About, Event, Report};
pub use wait::*;

/// The version of the journal's format. Fields and types are only ever added; a breaking change raises it.
pub const FORMAT: u32 = 1;
