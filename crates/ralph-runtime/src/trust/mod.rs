//! What of a run must stay what it is, whatever its agent does: the programs it starts, the folder that offers `ralph`, and the
//! files that decide what its gates do.

mod baseline;
mod bin;
mod pins;
mod plain_file;
mod protected;
mod touched;

pub(crate) use baseline::Baseline;
pub(crate) use bin::keep_clean;
pub(crate) use pins::Pins;
pub(crate) use protected::Protection;
pub(crate) use touched::Touched;
