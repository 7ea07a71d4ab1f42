//! Fields that are read if they are what we expect and otherwise count as absent. A new release of a CLI may change one
//! field; the rest of the line must still be understood.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// A value of this type, or none.
#[derive(Debug)]
pub struct Lax<T>(pub Option<T>);

impl<T> Default for Lax<T> {
    fn default() -> Self {
        Lax(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Lax<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&'de RawValue>::deserialize(deserializer)?;
        Ok(Lax(serde_json::from_str(raw.get()).ok()))
    }
}

/// A string that borrows from the line where it has no escapes. Anything else is empty.
#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Str<'a>(pub Cow<'a, str>);

impl Str<'_> {
    pub fn owned(&self) -> Option<String> {
        (!self.0.is_empty()).then(|| self.0.to_string())
    }
}

impl std::ops::Deref for Str<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Str<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrVisitor).map(Str)
    }
}

struct StrVisitor;

impl<'de> Visitor<'de> for StrVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(value.to_string()))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Cow::Borrowed(""))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Cow::Borrowed(""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize, Default)]
    #[serde(default, bound(deserialize = "'de: 'a"))]
    struct Line<'a> {
        text: Str<'a>,
        count: Lax<u64>,
        inner: Lax<Vec<Str<'a>>>,
    }

    #[test]
    fn an_odd_field_costs_only_itself() {
        for odd in ["7", "null", "true", "-1.5", r#"{"a":[{}]}"#, r#"[1,{"b":2}]"#] {
            let line = format!(r#"{{"text":{odd},"count":3,"inner":["x","y\n"]}}"#);
            let line: Line<'_> = serde_json::from_str(&line).unwrap();
            assert_eq!((&*line.text, line.count.0), ("", Some(3)), "{odd}");
            assert_eq!(line.inner.0.unwrap().len(), 2);
        }
        let line: Line<'_> = serde_json::from_str(r#"{"text":"a","count":"three","inner":{}}"#).unwrap();
        assert!(matches!(line.text.0, Cow::Borrowed("a")));
        assert!(line.count.0.is_none() && line.inner.0.is_none());
    }
}
