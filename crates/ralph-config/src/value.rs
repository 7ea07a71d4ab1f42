//! The types of single settings: each with its rule, its error texts and its schema in one place.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use ralph_core::duration;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};

/// A setting that is written as a number or as a word.
trait Quantity: Sized {
    const SCHEMA_NAME: &'static str;
    /// Completes "expected …".
    fn expected() -> String;
    fn from_float(value: f64) -> Result<Self, String>;
    fn from_int(value: i64) -> Result<Self, String> {
        Self::from_float(value as f64)
    }
    fn from_text(_text: &str) -> Option<Result<Self, String>> {
        None
    }
    fn schema() -> Schema;
}

struct QuantityVisitor<T>(PhantomData<T>);

impl<T: Quantity> Visitor<'_> for QuantityVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&T::expected())
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<T, E> {
        T::from_int(value).map_err(E::custom)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<T, E> {
        T::from_float(value).map_err(E::custom)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        match T::from_text(text) {
            Some(out) => out.map_err(E::custom),
            None if text == "none" => Err(E::custom("cannot be `none`")),
            // Only quotes make a number text.
            None if text.parse::<f64>().is_ok() => {
                Err(E::custom(format!("expected {}\nremove the quotes", T::expected())))
            }
            None => Err(E::invalid_type(de::Unexpected::Str(text), &self)),
        }
    }
}

macro_rules! quantity {
    ($name:ident) => {
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(QuantityVisitor(PhantomData))
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> Cow<'static, str> {
                <Self as Quantity>::SCHEMA_NAME.into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                <Self as Quantity>::schema()
            }
        }
    };
}

/// A limit that can be lifted with `none`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit<T> {
    At(T),
    Lifted,
}

impl<T: Copy> Limit<T> {
    pub fn get(&self) -> Option<T> {
        match self {
            Self::At(value) => Some(*value),
            Self::Lifted => None,
        }
    }
}

impl<T: Quantity> Quantity for Limit<T> {
    const SCHEMA_NAME: &'static str = T::SCHEMA_NAME;

    fn expected() -> String {
        format!("{}, or `none`", T::expected())
    }

    fn from_float(value: f64) -> Result<Self, String> {
        T::from_float(value).map(Self::At).map_err(with_none)
    }

    fn from_int(value: i64) -> Result<Self, String> {
        T::from_int(value).map(Self::At).map_err(with_none)
    }

    fn from_text(text: &str) -> Option<Result<Self, String>> {
        match text {
            "none" => Some(Ok(Self::Lifted)),
            _ => Some(match T::from_text(text)? {
                Ok(value) => Ok(Self::At(value)),
                Err(message) => Err(with_none(message)),
            }),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "anyOf": [T::schema(), { "const": "none" }] })
    }
}

/// A value out of range may be meant as "no limit".
fn with_none(message: String) -> String {
    match message.starts_with("must ") {
        true => format!("{message}\nwrite `none` to lift this limit"),
        false => message,
    }
}

impl<'de, T: Quantity> Deserialize<'de> for Limit<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(QuantityVisitor(PhantomData))
    }
}

impl<T: Serialize> Serialize for Limit<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::At(value) => value.serialize(serializer),
            Self::Lifted => serializer.serialize_str("none"),
        }
    }
}

impl<T: Quantity> JsonSchema for Limit<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("{}OrNone", T::SCHEMA_NAME).into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        <Self as Quantity>::schema()
    }
}

/// A whole number of at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Count(pub u32);

quantity!(Count);

impl Quantity for Count {
    const SCHEMA_NAME: &'static str = "Count";

    fn expected() -> String {
        "a whole number of at least 1".to_owned()
    }

    fn from_float(_: f64) -> Result<Self, String> {
        Err(format!("expected {}", Self::expected()))
    }

    fn from_int(value: i64) -> Result<Self, String> {
        match u32::try_from(value) {
            Ok(0) | Err(_) if value <= 0 => Err("must be at least 1".to_owned()),
            Ok(value) => Ok(Self(value)),
            Err(_) => Err(format!("must be at most {}", u32::MAX)),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "integer", "minimum": 1, "maximum": u32::MAX })
    }
}

/// An amount of money in US dollars, more than nothing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Usd(pub f64);

quantity!(Usd);

impl Quantity for Usd {
    const SCHEMA_NAME: &'static str = "Usd";

    fn expected() -> String {
        "an amount of US dollars".to_owned()
    }

    fn from_float(value: f64) -> Result<Self, String> {
        match value.is_finite() && value > 0.0 {
            true => Ok(Self(value)),
            false => Err("must be more than 0 and finite".to_owned()),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "number", "exclusiveMinimum": 0 })
    }
}

/// A whole number, zero included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Amount(pub u32);

quantity!(Amount);

impl Quantity for Amount {
    const SCHEMA_NAME: &'static str = "Amount";

    fn expected() -> String {
        "a whole number".to_owned()
    }

    fn from_int(value: i64) -> Result<Self, String> {
        u32::try_from(value).map(Self).map_err(|_| "must be a whole number of at least 0".to_owned())
    }

    fn from_float(_: f64) -> Result<Self, String> {
        Err("must be a whole number of at least 0".to_owned())
    }

    fn schema() -> Schema {
        json_schema!({ "type": "integer", "minimum": 0 })
    }
}

/// A price in US dollars; nothing is a price too.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Price(pub f64);

quantity!(Price);

impl Quantity for Price {
    const SCHEMA_NAME: &'static str = "Price";

    fn expected() -> String {
        "a price in US dollars".to_owned()
    }

    fn from_float(value: f64) -> Result<Self, String> {
        match value.is_finite() && value >= 0.0 {
            true => Ok(Self(value)),
            false => Err("must be at least 0 and finite".to_owned()),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "number", "minimum": 0 })
    }
}

/// A share: more than 0, at most 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Ratio(pub f64);

quantity!(Ratio);

impl Quantity for Ratio {
    const SCHEMA_NAME: &'static str = "Ratio";

    fn expected() -> String {
        "a number above 0 and up to 1".to_owned()
    }

    fn from_float(value: f64) -> Result<Self, String> {
        match value > 0.0 && value <= 1.0 {
            true => Ok(Self(value)),
            false => Err("must be above 0 and at most 1".to_owned()),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "number", "exclusiveMinimum": 0, "maximum": 1 })
    }
}

/// A factor of at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Factor(pub f64);

quantity!(Factor);

impl Quantity for Factor {
    const SCHEMA_NAME: &'static str = "Factor";

    fn expected() -> String {
        "a number of at least 1".to_owned()
    }

    fn from_float(value: f64) -> Result<Self, String> {
        match value.is_finite() && value >= 1.0 {
            true => Ok(Self(value)),
            false => Err("must be at least 1 and finite".to_owned()),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "number", "minimum": 1 })
    }
}

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

/// Text that is not blank.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Text(pub String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor)
    }
}

struct TextVisitor;

impl Visitor<'_> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Text, E> {
        match text.trim().is_empty() {
            true => Err(E::custom("must not be blank")),
            false => Ok(Text(text.to_owned())),
        }
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<Text, E> {
        Err(E::custom("expected text\nput it in quotes to make it text"))
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<Text, E> {
        self.visit_bool(false)
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<Text, E> {
        self.visit_bool(false)
    }
}

impl JsonSchema for Text {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Text".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "\\S" })
    }
}
