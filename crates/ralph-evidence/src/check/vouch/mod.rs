//! Whether a pass can be believed: a status proves a check only where nothing on the command line could have made it up.
//!
//! The view is that of a list of what is known to be harmless. What is not on it takes the runner's own count of tests
//! that ran, or is not believed at all.

mod options;
mod places;
mod shell_state;
mod variables;
mod wrapping;

pub(super) use options::options;
pub(super) use places::{is_outside, program};
pub(super) use shell_state::{leaves, may_print_counts, twists};
pub(super) use variables::{assignments, word_of_make};
pub(super) use wrapping::wrapping;

/// What it takes to believe that a check passed, from little to more than there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Vouched {
    /// Its status says it.
    #[default]
    ByStatus,
    /// Perhaps nothing was run: its output has to count at least one test that was.
    ByCount,
    /// Whatever it says, something else may have said it.
    Never,
}
