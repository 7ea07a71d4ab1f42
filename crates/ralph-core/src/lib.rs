//! The decisions of ralph, and nothing else: no clock, file, process, thread or randomness.
//!
//! Facts and time come in as arguments ([`input`]), work goes out as data ([`effect`]). What happened is told in one
//! vocabulary ([`event`]): the journal stores it, `--json` prints it, every screen renders it. The [`engine`] is the only
//! place that decides; its state is private and changes only by applying events. [`observe`] is what others may see of it.

pub mod check;
pub mod duration;
pub mod effect;
pub mod engine;
pub mod escalation;
pub mod event;
pub mod failure;
pub mod guard;
pub mod hat;
pub mod ids;
pub mod input;
pub mod marker;
pub mod memory;
pub mod moved;
pub mod observe;
pub mod plan;
pub mod prompt;
pub mod ralph_md;
pub mod record;
pub mod replay;
mod state;
pub mod stop;
pub mod tampering;
#[cfg(feature = "testing")]
pub mod testing;
pub mod time;
pub mod usage;
