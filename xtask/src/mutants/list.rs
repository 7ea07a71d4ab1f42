//! The deliberate bugs.

use super::Mutant;

pub const MUTANTS: &[Mutant] = &[];
