//! From a tree to typed values with serde, such that every error knows its place.

use std::fmt;

use serde::de::{self, DeserializeSeed, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;

use super::diagnostic::{Diagnostic, quote};
use super::nearest::suggest;
use super::source::{SourceMap, Span};
use super::yaml::{Entry, Meaning, Node, Scalar, Value};

/// A newtype struct of this name gets a scalar's text as it was written, be it a number or a boolean.
pub const AS_WRITTEN: &str = "ralph::AsWritten";
/// The same where there may be a mapping as well.
pub const AS_WRITTEN_OR_MAPPING: &str = "ralph::AsWrittenOrMapping";

pub fn from_node<'de, T: de::Deserialize<'de>>(node: &'de Node) -> Result<T, Error> {
    T::deserialize(Reader { node })
}

#[derive(Debug)]
pub struct Error {
    message: String,
    help: Option<String>,
    span: Option<Span>,
    /// Innermost key first.
    path: Vec<String>,
    /// The type did not want the value: nothing knows its key.
    is_ignored: bool,
}

impl Error {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), help: None, span: None, path: Vec::new(), is_ignored: false }
    }

    fn or_at(mut self, span: Span) -> Self {
        self.span.get_or_insert(span);
        self
    }

    fn below(mut self, key: &str) -> Self {
        self.path.push(key.to_owned());
        self
    }

    pub fn into_diagnostic(self, map: &SourceMap) -> Diagnostic {
        let path: Vec<&str> = self.path.iter().rev().map(String::as_str).collect();
        let mut out = Diagnostic::new(match path.is_empty() {
            true => self.message,
            false => format!("`{}`: {}", path.join("."), self.message),
        });
        if let Some(span) = self.span {
            out = out.at(map.place(span));
        }
        match self.help {
            Some(help) => out.help(help),
            None => out,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl de::Error for Error {
    /// The first line is the message; the rest, if any, says what to do.
    fn custom<T: fmt::Display>(msg: T) -> Self {
        let text = msg.to_string();
        match text.split_once('\n') {
            Some((message, help)) => Self { help: Some(help.to_owned()), ..Self::new(message) },
            None => Self::new(text),
        }
    }

    /// What was found is added by the reader, which knows how it was written.
    fn invalid_type(_: Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::new(match expected.to_string().as_str() {
            // serde's words for these two.
            "a map" => "expected a mapping".to_owned(),
            "a sequence" => "expected a list".to_owned(),
            expected => format!("expected {expected}"),
        })
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::new(format!("expected {expected}"))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self {
            help: Some(suggest(variant, expected)),
            ..Self::new(format!("unknown value {}", quote(variant)))
        }
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let help = (!expected.is_empty()).then(|| suggest(field, expected));
        Self { help, ..Self::new(format!("unknown key {}", quote(field))) }
    }
}

#[derive(Clone, Copy)]
struct Reader<'de> {
    node: &'de Node,
}

impl<'de> Reader<'de> {
    fn scalar(self) -> Option<&'de Scalar> {
        match &self.node.value {
            Value::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    /// Adds the place, and what was found to a message that only says what was expected.
    fn explain(self, mut error: Error) -> Error {
        if error.span.is_none() && error.message.starts_with("expected ") {
            error.message = format!("{}, found {}", error.message, self.node.describe());
        }
        error.or_at(self.node.span)
    }

    fn any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.node.value {
            Value::List(items) => visitor.visit_seq(Items { items: items.iter(), index: 0 }),
            Value::Map(entries) => visitor.visit_map(Fields::new(entries)),
            Value::Scalar(scalar) => match scalar.meaning() {
                Meaning::Null => visitor.visit_unit(),
                Meaning::Bool(value) => visitor.visit_bool(value),
                Meaning::Int(value) => visitor.visit_i64(value),
                Meaning::Float(value) => visitor.visit_f64(value),
                Meaning::Text(text) => visitor.visit_borrowed_str(text),
            },
        }
    }
}

impl<'de> de::Deserializer<'de> for Reader<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.any(visitor).map_err(|error| self.explain(error))
    }

    /// `yes`, `no`, `on` and `off` are booleans where one is expected, as they were in YAML 1.1.
    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let old_style = self.scalar().filter(|scalar| scalar.plain).and_then(|scalar| {
            match scalar.text.to_ascii_lowercase().as_str() {
                "yes" | "on" => Some(true),
                "no" | "off" => Some(false),
                _ => None,
            }
        });
        let out = match (old_style, self.scalar().map(Scalar::meaning)) {
            (Some(value), _) | (None, Some(Meaning::Bool(value))) => visitor.visit_bool(value),
            _ => Err(Error::new("expected true or false")),
        };
        out.map_err(|error| self.explain(error))
    }

    /// A key that is there has a value: an empty one is for the type below to judge.
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        if name == AS_WRITTEN_OR_MAPPING && matches!(self.node.value, Value::Map(_)) {
            return self.deserialize_any(visitor);
        }
        if name != AS_WRITTEN && name != AS_WRITTEN_OR_MAPPING {
            return visitor.visit_newtype_struct(self);
        }
        let out = match self.scalar() {
            Some(scalar) if scalar.meaning() != Meaning::Null => visitor.visit_str(&scalar.text),
            _ => Err(Error::new("expected text")),
        };
        out.map_err(|error| self.explain(error))
    }

    /// An empty list is as if absent.
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.node.is_null() {
            true => visitor.visit_seq(Items { items: [].iter(), index: 0 }),
            false => self.deserialize_any(visitor),
        }
    }

    /// An empty section is as if absent. A list is none, even where serde would take it for one.
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.node.value {
            Value::List(_) => Err(self.explain(de::Error::invalid_type(Unexpected::Seq, &visitor))),
            _ if self.node.is_null() => visitor.visit_map(Fields::new(&[])),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match &self.node.value {
            Value::Map(entries) => {
                let out = visitor.visit_map(Fields { known, ..Fields::new(entries) });
                out.map_err(|error| self.explain(error))
            }
            _ => self.deserialize_map(visitor),
        }
    }

    /// The types of settings ignore what they do not know, as the journal of a newer ralph needs it. In a definition nothing is
    /// ignored.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Error> {
        Err(Error { is_ignored: true, ..Error::new("unknown key") })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let out = match self.scalar() {
            Some(scalar) if scalar.meaning() != Meaning::Null => {
                visitor.visit_enum(scalar.text.as_str().into_deserializer())
            }
            _ => Err(Error::new(format!("expected one of {}", variants.join(", ")))),
        };
        out.map_err(|error| self.explain(error))
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        tuple tuple_struct identifier
    }
}

struct Items<'de> {
    items: std::slice::Iter<'de, Node>,
    index: usize,
}

impl<'de> de::SeqAccess<'de> for Items<'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        let Some(node) = self.items.next() else { return Ok(None) };
        let index = self.index;
        self.index += 1;
        seed.deserialize(Reader { node }).map(Some).map_err(|error| error.below(&index.to_string()))
    }
}

struct Fields<'de> {
    entries: std::slice::Iter<'de, Entry>,
    value: Option<&'de Entry>,
    /// The keys that whoever reads them knows, where that was said.
    known: &'static [&'static str],
}

impl<'de> Fields<'de> {
    fn new(entries: &'de [Entry]) -> Self {
        Self { entries: entries.iter(), value: None, known: &[] }
    }
}

impl<'de> de::MapAccess<'de> for Fields<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some(entry) = self.entries.next() else { return Ok(None) };
        self.value = Some(entry);
        let key: de::value::StrDeserializer<'_, Error> = entry.key.as_str().into_deserializer();
        seed.deserialize(key).map(Some).map_err(|error| error.or_at(entry.key_span))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let Some(entry) = self.value.take() else { return Err(Error::new("a key without a value")) };
        seed.deserialize(Reader { node: &entry.value }).map_err(|error| match error.is_ignored {
            true => <Error as de::Error>::unknown_field(&entry.key, self.known).or_at(entry.key_span),
            false => error.below(&entry.key),
        })
    }
}
