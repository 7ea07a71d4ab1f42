//! Text: what must not be blank, regular expressions that compile, topics.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde::de::{self, Deserialize, Deserializer, Visitor};

use super::{Rule, leaf};
use crate::hat::{Pattern, Topic};

leaf!(Text, String, |it| it.0, |it| Self(it.clone()));
leaf!(Regex, String, |it| it.0, |it| Self(it.clone()));
leaf!(PathPattern, String, |it| it.0, |it| Self(it.clone()));
leaf!(TopicText, Topic, |it| it.0, |it| Self(it.clone()));
leaf!(PatternText, Pattern, |it| it.0, |it| Self(it.clone()));

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

/// A regular expression that compiles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Regex(pub String);

impl<'de> Deserialize<'de> for Regex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RegexVisitor;
        impl Visitor<'_> for RegexVisitor {
            type Value = Regex;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a regular expression")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Regex, E> {
                if text.trim().is_empty() {
                    return Err(E::custom("must not be blank"));
                }
                match crate::marker::pattern(text) {
                    Ok(_) => Ok(Regex(text.to_owned())),
                    Err(error) => {
                        // The last line says what is wrong; those before it repeat the expression.
                        let why = error.to_string();
                        let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ");
                        Err(E::custom(format!("not a regular expression: {why}")))
                    }
                }
            }
        }
        deserializer.deserialize_str(RegexVisitor)
    }
}

impl JsonSchema for Regex {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Regex".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "\\S" })
    }
}

/// A pattern of paths, as a `.gitignore` has them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct PathPattern(pub String);

impl<'de> Deserialize<'de> for PathPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Text(text) = Text::deserialize(deserializer)?;
        let glob = text.trim_start_matches('!').trim_matches('/');
        match globset::Glob::new(glob) {
            Ok(_) => Ok(Self(text)),
            Err(error) => Err(de::Error::custom(format!("not a pattern of paths: {}", error.kind()))),
        }
    }
}

impl JsonSchema for PathPattern {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "PathPattern".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Text::json_schema(generator)
    }
}

macro_rules! parsed {
    ($name:ident, $inner:ty, $expected:literal, $pattern:literal) => {
        #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct ParsedVisitor;
                impl Visitor<'_> for ParsedVisitor {
                    type Value = $name;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expected)
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map($name).map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(ParsedVisitor)
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "pattern": $pattern })
            }
        }
    };
}

parsed!(TopicText, Topic, "a topic", "^[^\\s.*]+(\\.[^\\s.*]+)*$");
parsed!(PatternText, Pattern, "a topic or a pattern", "^[^\\s.]+(\\.[^\\s.]+)*$");
