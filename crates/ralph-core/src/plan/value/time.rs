//! Durations: `30s`, `1h30m`, or a number of seconds. Written back as the shortest text that reads the same.

use std::time::Duration;

use schemars::{Schema, json_schema};
use serde::{Serialize, Serializer};

use super::{Quantity, Rule, leaf, quantity};
use crate::duration;

const DURATION_EXPECTED: &str = "a duration such as 30s, 1h30m or a number of seconds";

fn duration_schema(least: &str) -> Schema {
    json_schema!({
        "anyOf": [
            { "type": "number", least: 0 },
            { "type": "string", "pattern": "^ *[0-9.]+ *$|^ *([0-9.]+d *)?([0-9.]+h *)?([0-9.]+m *)?([0-9.]+s *)?([0-9.]+ms *)?$" },
        ],
        "examples": ["30s", "5m", "1h30m"],
    })
}

/// A duration of more than zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeout(pub Duration);

quantity!(Timeout);
leaf!(Timeout, Duration, |it| it.0, |it| Self(*it));

impl Timeout {
    fn check(value: Result<Duration, duration::DurationError>) -> Result<Self, String> {
        match value {
            Ok(Duration::ZERO) => Err("must be more than 0".to_owned()),
            Ok(value) => Ok(Self(value)),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl Quantity for Timeout {
    const SCHEMA_NAME: &'static str = "Timeout";

    fn expected() -> String {
        DURATION_EXPECTED.to_owned()
    }

    fn from_float(value: f64) -> Result<Self, String> {
        Self::check(duration::from_seconds(value))
    }

    fn from_text(text: &str) -> Option<Result<Self, String>> {
        (text != "none").then(|| Self::check(duration::parse(text)))
    }

    fn schema() -> Schema {
        duration_schema("exclusiveMinimum")
    }
}

/// A duration that may be zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delay(pub Duration);

quantity!(Delay);
leaf!(Delay, Duration, |it| it.0, |it| Self(*it));

impl Quantity for Delay {
    const SCHEMA_NAME: &'static str = "Delay";

    fn expected() -> String {
        DURATION_EXPECTED.to_owned()
    }

    fn from_float(value: f64) -> Result<Self, String> {
        duration::from_seconds(value).map(Self).map_err(|error| error.to_string())
    }

    fn from_text(text: &str) -> Option<Result<Self, String>> {
        (text != "none").then(|| duration::parse(text).map(Self).map_err(|error| error.to_string()))
    }

    fn schema() -> Schema {
        duration_schema("minimum")
    }
}

impl Serialize for Timeout {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&duration::format(self.0))
    }
}

impl Serialize for Delay {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&duration::format(self.0))
    }
}
