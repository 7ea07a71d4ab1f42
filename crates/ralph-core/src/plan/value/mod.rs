//! The types of single settings: each with its rule, its error texts and its schema in one place.
//!
//! A section of the plan ([`section!`](super::section)) names such a type for each of its fields, and holds the plain
//! value: `Limit<Count>` is read as a whole number of at least 1 or the word `none`, and held as an `Option<u32>`.

mod bytes;
mod command;
mod number;
mod text;
mod time;

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, DeserializeOwned, Deserializer, Visitor};
use serde::{Serialize, Serializer};

pub use bytes::Bytes;
pub use command::{CommandLine, shell_operator};
pub use number::{Amount, Count, Factor, Price, Ratio, Share, Size, Tokens, Usd};
pub use text::{PathPattern, PatternText, Regex, Text, TopicText};
pub use time::{Delay, Timeout};

/// How a setting is written, and what is held of it.
pub trait Rule: Serialize + DeserializeOwned + JsonSchema {
    /// What whoever follows the setting works with.
    type Plain;
    /// What a change of the setting consists of: the setting itself, or a part of a section.
    type Change: Serialize + DeserializeOwned + JsonSchema + Clone + fmt::Debug + PartialEq;

    fn plain(self) -> Self::Plain;
    fn of(plain: &Self::Plain) -> Self;
    fn apply(change: &Self::Change, to: &mut Self::Plain);
    /// The change that leads to this value, whatever was there before.
    fn change_to(plain: &Self::Plain) -> Self::Change;
    /// Whether there is nothing to write.
    fn is_unset(&self) -> bool {
        false
    }
}

/// Settings that change as a whole.
macro_rules! leaf {
    (@ [$($generics:tt)*], $name:ty, $plain:ty, |$from:ident| $into_plain:expr, |$value:ident| $of:expr) => {
        impl $($generics)* Rule for $name {
            type Plain = $plain;
            type Change = Self;

            fn plain(self) -> Self::Plain {
                let $from = self;
                $into_plain
            }
            fn of($value: &Self::Plain) -> Self {
                $of
            }
            fn apply(change: &Self, to: &mut Self::Plain) {
                *to = change.clone().plain();
            }
            fn change_to(plain: &Self::Plain) -> Self {
                Self::of(plain)
            }
        }
    };
    (any $of_what:ident, $name:ty, $plain:ty, |$from:ident| $into_plain:expr, |$value:ident| $of:expr) => {
        leaf!(@ [<$of_what: Rule + Clone + fmt::Debug + PartialEq>], $name, $plain, |$from| $into_plain, |$value| $of);
    };
    ($name:ty, $plain:ty, |$from:ident| $into_plain:expr, |$value:ident| $of:expr) => {
        leaf!(@ [], $name, $plain, |$from| $into_plain, |$value| $of);
    };
}
pub(crate) use leaf;

leaf!(bool, bool, |it| it, |it| *it);
leaf!(any T, Vec<T>, Vec<T::Plain>, |it| it.into_iter().map(T::plain).collect(), |it| it.iter().map(T::of).collect());

impl<T: Rule + Clone + fmt::Debug + PartialEq> Rule for Option<T> {
    type Plain = Option<T::Plain>;
    type Change = Self;

    fn plain(self) -> Self::Plain {
        self.map(T::plain)
    }
    fn of(plain: &Self::Plain) -> Self {
        plain.as_ref().map(T::of)
    }
    fn apply(change: &Self, to: &mut Self::Plain) {
        *to = change.clone().plain();
    }
    fn change_to(plain: &Self::Plain) -> Self {
        Self::of(plain)
    }
    fn is_unset(&self) -> bool {
        self.is_none()
    }
}

/// A setting that is written as a number or as a word.
pub trait Quantity: Sized {
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

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<T, E> {
        match i64::try_from(value) {
            Ok(value) => self.visit_i64(value),
            Err(_) => self.visit_f64(value as f64),
        }
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

/// Reads a quantity from whatever it was written as.
pub fn read<'de, T: Quantity, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_any(QuantityVisitor(PhantomData))
}

macro_rules! quantity {
    ($name:ident) => {
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                super::read(deserializer)
            }
        }

        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> std::borrow::Cow<'static, str> {
                <Self as super::Quantity>::SCHEMA_NAME.into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                <Self as super::Quantity>::schema()
            }
        }
    };
}
pub(crate) use quantity;

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

impl<T> Rule for Limit<T>
where
    T: Rule + Quantity + Copy + fmt::Debug + PartialEq,
{
    type Plain = Option<T::Plain>;
    type Change = Self;

    fn plain(self) -> Self::Plain {
        self.get().map(T::plain)
    }
    fn of(plain: &Self::Plain) -> Self {
        plain.as_ref().map_or(Self::Lifted, |value| Self::At(T::of(value)))
    }
    fn apply(change: &Self, to: &mut Self::Plain) {
        *to = change.plain();
    }
    fn change_to(plain: &Self::Plain) -> Self {
        Self::of(plain)
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
        read(deserializer)
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
