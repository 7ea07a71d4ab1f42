//! Hats: several roles on one task, which hand work to each other by publishing topics.
//!
//! A [`plan`] says who there is. [`routes`] says who gets an event, the [`bus`] what is still to be heard, and [`next`] what
//! follows from that. [`analysis`] finds what cannot work before anything runs, and [`graph`] is how it all hangs together.

mod analysis;
mod bus;
mod graph;
mod next;
mod payload;
mod plan;
mod routes;
#[cfg(test)]
mod tests;
mod topic;

pub use analysis::{Finding, FindingKind, FindingPlace, analyse};
pub use bus::{Bus, Hat, Silent, Staged, TopicMessage};
pub use graph::{Edge, Graph, Kind, Node, Source, Target};
pub use next::{Next, Turn};
pub use payload::{MAX_PAYLOAD, Payload};
pub use plan::{COORDINATOR, HatPlan, HatsPlan, Instructions, Refusal, default_start};
pub use routes::Routes;
pub use topic::{Pattern, Specificity, Topic, TopicError};
