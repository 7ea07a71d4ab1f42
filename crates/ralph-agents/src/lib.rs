//! What ralph knows of each agent CLI: its command line and its output. No I/O, no clock, no processes.
//!
//! ```text
//! agent::by_name ─► AgentDef ─► command(turn) ─► CommandSpec             the caller starts it
//!                      └──────► dialogue() ─► take(bytes) ─► AgentSignal… ─► RunSummary
//!                                  └► answer() ─► bytes for the agent          ├─► verdict()   did it go well?
//!                                                                              └─► failure()   if not, what cures it?
//! ```

pub mod agent;
pub mod dialogue;
pub mod failure;
pub mod price;
pub mod signal;
pub mod stream;
pub mod summary;
pub mod tool;
pub mod totals;
pub mod verdict;

pub use agent::{AGENTS, AgentDef, CommandSpec, Turn};
pub use dialogue::{Dialogue, Opening, Reply, Stream};
pub use signal::AgentSignal;
pub use summary::{QuotaTold, RunSummary};
pub use totals::Totals;
pub use verdict::{Outcome, verdict};
