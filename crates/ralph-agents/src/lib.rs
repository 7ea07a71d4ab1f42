//! What ralph knows of each agent CLI: its command line and its output. No I/O, no clock, no processes.
//!
//! ```text
//! agent::by_name ─► AgentDef ─► command(turn) ─► CommandSpec          the caller starts it
//!                      └──────► parser() ─► push(bytes) ─► AgentSignal… ─► RunSummary
//!                                                                            ├─► verdict()   did it go well?
//!                                                                            └─► failure()   if not, what cures it?
//! ```

pub mod agent;
pub mod failure;
pub mod price;
pub mod signal;
pub mod stream;
pub mod summary;
pub mod totals;
pub mod verdict;

pub use agent::{AGENTS, AgentDef, CommandSpec, Turn};
pub use signal::AgentSignal;
pub use stream::{Parser, Stream};
pub use summary::RunSummary;
pub use totals::Totals;
pub use verdict::{Exit, Outcome, verdict};
