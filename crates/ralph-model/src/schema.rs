//! The JSON Schemas of what ralph prints for programs.

use ralph_core::record::Record;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

use crate::detect::Judged;
use crate::snapshot::RunSnapshot;

/// A record, as every `--json` prints it: one object a line.
pub fn events() -> Schema {
    of::<Record>()
}

/// A snapshot, with the rows in it.
pub fn snapshot() -> Schema {
    of::<RunSnapshot>()
}

/// What `ralph detect --json` says of a case, and last of a run.
pub fn detect() -> Schema {
    of::<Judged>()
}

/// Of what is written, not of what could be read.
fn of<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}
