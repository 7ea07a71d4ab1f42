//! `limits`: what all processes of one program may use together.

use super::section::section;
use super::value::{Bytes, Count};

section! {
    /// A program that goes past one of them has failed. By cgroups where they are delegated; else by limits of single
    /// processes, which is said at the start.
    pub struct Limits, changed by LimitsChange {
        /// Memory, such as `4G`.
        memory: Option<Bytes> = None,
        /// Processor time: at most this many processors at once. Needs cgroups.
        cpus: Option<Count> = None,
        /// Processes and threads.
        processes: Option<Count> = None,
        /// The size of a file that is written, such as `2G`.
        disk: Option<Bytes> = None,
    }
}

impl Limits {
    pub fn is_any(&self) -> bool {
        *self != Self::default()
    }
}
