//! Checkpoints and undo on real repositories, with the real git.

mod agents;
mod cases;
mod support;
