//! What others may know of a run, and ask of it.
//!
//! A run is told by its records. A [`Fold`] takes them one by one and gives a [`RunSnapshot`]: the run at one moment, as
//! screens, pages, scripts and protocols see it. An [`IterationRow`] is one iteration; a [`RowFolder`] makes rows of any
//! range of records. The engine's state is no part of this.
//!
//! Everything here is serialisable, versioned, bounded and described by a JSON Schema ([`schema`]). Fields are only ever
//! added. Text that comes from an agent, a gate or a definition is as it came, but for its length: whoever shows it makes it
//! fit to be shown with [`text::clean`]. `said`, `activity` and `opening` are clean already.

mod checkpoints;
pub mod cost;
pub mod detect;
mod evidence;
mod fold;
mod forecast;
mod gates;
mod listing;
mod net;
mod next;
mod request;
mod row;
mod rows;
pub mod schema;
#[cfg(any(test, feature = "script"))]
pub mod script;
mod snapshot;
mod speech;
pub mod text;
mod transcript;

pub use checkpoints::{ChangedPath, HowChanged, TreeDiff, TreeUndone};
pub use fold::{Fold, ROWS};
pub use forecast::{Forecast, Left};
pub use gates::{
    AuditTree, AuditedCheat, AuditedGate, Bisection, BisectionStep, GateAudit, GateListing, GateTrial,
};
pub use listing::RunListing;
pub use net::{BestSoFar, NetNow, WorktreeNow};
pub use request::{Asked, Complaint, Hello, PROTOCOL_VERSION, Reply, Request, Right};
pub use row::{IterationRow, RowClaim, RowFiles, RowGate, RowOutcome, RowTools, RowTopic, Spent};
pub use rows::RowFolder;
pub use snapshot::*;
pub use transcript::{ToolEnd, ToolEntry, TranscriptEntry};

/// The stop of a run that has waited for work long enough.
pub use ralph_core::guard::MAX_IDLE;

/// The one vocabulary: events and what they are made of, as the journal stores them and `--json` prints them.
pub use ralph_core::{event, ids, record, stop, time, usage};

/// What hats say to each other, and the picture of it.
pub mod hat {
    pub use ralph_core::hat::{Edge, Graph, Kind, Node, Payload, Source, Topic};
}

/// Settings that are shown, and what counts as being stuck, for one who tries other settings on a recorded run.
pub mod plan {
    pub use ralph_core::plan::{SandboxLevel, StuckAction, StuckPlan, Use};
}

/// What agents say about themselves.
pub mod marker {
    pub use ralph_core::marker::{AgentState, Misheard, without_escapes};
}

#[cfg(test)]
mod tests;
