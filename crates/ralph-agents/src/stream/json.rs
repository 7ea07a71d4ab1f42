//! A JSON value that borrows from its line, for reading formats that change with every release: a missing or odd field
//! is a null, never an error.

use std::borrow::Cow;
use std::ops::Index;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

#[derive(Debug, Clone, PartialEq)]
pub enum Json<'a> {
    Null,
    Bool(bool),
    Number(f64),
    Text(Cow<'a, str>),
    List(Vec<Json<'a>>),
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

static NULL: Json<'static> = Json::Null;

impl<'a> Json<'a> {
    pub fn parse(text: &'a str) -> Option<Json<'a>> {
        serde_json::from_str(text).ok()
    }

    pub fn str(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The text, or nothing.
    pub fn text(&self) -> &str {
        self.str().unwrap_or("")
    }

    /// The text as a value of its own, absent when empty.
    pub fn string(&self) -> Option<String> {
        self.str().filter(|text| !text.is_empty()).map(str::to_string)
    }

    pub fn bool(&self) -> Option<bool> {
        match self {
            Json::Bool(bool) => Some(*bool),
            _ => None,
        }
    }

    pub fn f64(&self) -> Option<f64> {
        match self {
            Json::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// A count: fractions are cut, negative numbers are not counts.
    pub fn u64(&self) -> Option<u64> {
        self.f64().filter(|number| *number >= 0.0).map(|number| number as u64)
    }

    pub fn i64(&self) -> Option<i64> {
        self.f64().filter(|number| number.fract() == 0.0).map(|number| number as i64)
    }

    pub fn u16(&self) -> Option<u16> {
        self.u64().and_then(|number| u16::try_from(number).ok())
    }

    pub fn list(&self) -> &[Json<'a>] {
        match self {
            Json::List(list) => list,
            _ => &[],
        }
    }

    pub fn is_null(&self) -> bool {
        matches!(self, Json::Null)
    }
}

impl<'a> Index<&str> for Json<'a> {
    type Output = Json<'a>;

    fn index(&self, key: &str) -> &Json<'a> {
        let Json::Object(fields) = self else { return &NULL };
        fields.iter().find(|(name, _)| name == key).map_or(&NULL, |(_, value)| value)
    }
}

impl<'de> Deserialize<'de> for Json<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

/// Borrows a key where it has no escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.deserialize_str(JsonVisitor)? {
            Json::Text(text) => Ok(Key(text)),
            _ => Ok(Key(Cow::Borrowed(""))),
        }
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json<'de>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Json::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Json::Number(value as f64))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Json::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Json::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Json::Text(Cow::Owned(value.to_string())))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Self::Value, E> {
        Ok(Json::Text(Cow::Borrowed(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = seq.next_element()? {
            list.push(item);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(Key(key)) = map.next_key()? {
            fields.push((key, map.next_value()?));
        }
        Ok(Json::Object(fields))
    }
}

/// How often a JSON object is tried to be found in a line of prose.
const TRIES: usize = 16;

/// A JSON object at the end of a line that begins with something else: the prose, and the object.
///
/// A line that itself begins with `{"` is a damaged object; its inner objects mean nothing by themselves and are not
/// looked for.
pub fn find_glued(line: &str) -> Option<(&str, &str)> {
    if line.starts_with("{\"") {
        return None;
    }
    line.match_indices("{\"").take(TRIES).map(|(at, _)| line.split_at(at)).find(|(_, rest)| is_json(rest))
}

pub fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_and_odd_fields_are_null() {
        let json =
            Json::parse(r#"{"a":{"b":"x\ny","n":7,"f":1.5,"neg":-1},"list":[1,"two"],"z":null}"#).unwrap();
        assert_eq!(json["a"]["b"].str(), Some("x\ny"));
        assert_eq!(json["a"]["n"].u64(), Some(7));
        assert_eq!(json["a"]["f"].u64(), Some(1));
        assert_eq!(json["a"]["f"].i64(), None);
        assert_eq!(json["a"]["neg"].u64(), None);
        assert_eq!(json["a"]["neg"].i64(), Some(-1));
        assert_eq!(json["list"].list().len(), 2);
        assert!(json["z"].is_null() && json["q"]["w"]["e"].is_null() && json["a"]["b"]["c"].is_null());
        assert_eq!(json["list"].text(), "");
        assert_eq!(Json::parse("{\"a\":"), None);
    }

    #[test]
    fn strings_without_escapes_are_borrowed() {
        let json = Json::parse(r#"{"plain":"text"}"#).unwrap();
        let Json::Object(fields) = &json else { panic!() };
        assert!(matches!(&fields[0], (Cow::Borrowed(_), Json::Text(Cow::Borrowed(_)))));
    }

    #[test]
    fn finds_an_object_behind_prose_but_not_inside_a_damaged_one() {
        assert_eq!(
            find_glued(r#"Yes? {"x"} {"type":"complete"}"#),
            Some((r#"Yes? {"x"} "#, r#"{"type":"complete"}"#))
        );
        assert_eq!(find_glued(r#"{"type":"user","message":{"type":"result"}"#), None);
        assert_eq!(find_glued("no object here {}"), None);
        assert_eq!(find_glued(r#"echo {"a":1} and more"#), None);
    }
}
