//! The binary `ralph` as a library, so that its parts can be tested.

pub mod config;
