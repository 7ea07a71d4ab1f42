//! Fields that are read if they are what we expect and otherwise count as absent. A new release of a CLI may change one
//! field; the rest of the line must still be understood. Everything is read in one pass and borrows where it can.

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// What a field does with each kind of value. Whatever it does not expect leaves it empty.
trait Take<'de>: Default {
    fn borrowed(_text: &'de str) -> Self {
        Self::default()
    }

    fn owned(_text: &str) -> Self {
        Self::default()
    }

    fn bool(_value: bool) -> Self {
        Self::default()
    }

    fn number(_value: f64) -> Self {
        Self::default()
    }

    fn seq<A: SeqAccess<'de>>(mut seq: A) -> Result<Self, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }

    fn map<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
}

struct Taker<T>(PhantomData<T>);

impl<'de, T: Take<'de>> Visitor<'de> for Taker<T> {
    type Value = T;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_bool<E>(self, value: bool) -> Result<T, E> {
        Ok(T::bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<T, E> {
        Ok(T::number(value as f64))
    }

    fn visit_u64<E>(self, value: u64) -> Result<T, E> {
        Ok(T::number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<T, E> {
        Ok(T::number(value))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<T, E> {
        Ok(T::borrowed(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<T, E> {
        Ok(T::owned(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<T, A::Error> {
        T::seq(seq)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::map(map)
    }
}

macro_rules! deserialize_by_take {
    ($([$($generics:tt)*] $type:ty),* $(,)?) => {$(
        impl<'de $($generics)*> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(Taker(PhantomData))
            }
        }
    )*};
}

deserialize_by_take! {
    [: 'a, 'a] Str<'a>,
    [] Num,
    [] Flag,
    [, T: Deserialize<'de>] Obj<T>,
    [, T: Deserialize<'de>] List<T>,
    [, T: Deserialize<'de>] Values<T>,
}

/// A string that borrows from the line where it has no escapes.
#[derive(Debug, Default)]
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

impl<'de: 'a, 'a> Take<'de> for Str<'a> {
    fn borrowed(text: &'de str) -> Self {
        Str(Cow::Borrowed(text))
    }

    fn owned(text: &str) -> Self {
        Str(Cow::Owned(text.to_string()))
    }
}

/// A number.
#[derive(Debug, Default, Clone, Copy)]
pub struct Num(pub Option<f64>);

impl Num {
    /// A count, or a duration in whole units.
    pub fn u64(self) -> Option<u64> {
        self.0.filter(|number| *number >= 0.0).map(|number| number as u64)
    }

    pub fn count(self) -> u64 {
        self.u64().unwrap_or(0)
    }

    pub fn i64(self) -> Option<i64> {
        self.0.map(|number| number as i64)
    }

    pub fn u16(self) -> Option<u16> {
        self.u64().and_then(|number| u16::try_from(number).ok())
    }
}

impl<'de> Take<'de> for Num {
    fn number(value: f64) -> Self {
        Num(Some(value))
    }
}

/// True, false or absent.
#[derive(Debug, Default, Clone, Copy)]
pub struct Flag(pub Option<bool>);

impl<'de> Take<'de> for Flag {
    fn bool(value: bool) -> Self {
        Flag(Some(value))
    }
}

/// An object. Its own fields must all be lax.
#[derive(Debug)]
pub struct Obj<T>(pub Option<T>);

impl<T> Default for Obj<T> {
    fn default() -> Self {
        Obj(None)
    }
}

impl<'de, T: Deserialize<'de>> Take<'de> for Obj<T> {
    fn map<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|object| Obj(Some(object)))
    }
}

/// A list.
#[derive(Debug)]
pub struct List<T>(pub Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        List(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Take<'de> for List<T> {
    fn seq<A: SeqAccess<'de>>(mut seq: A) -> Result<Self, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = seq.next_element()? {
            list.push(item);
        }
        Ok(List(list))
    }
}

/// The values of an object, whatever their keys.
#[derive(Debug)]
pub struct Values<T>(pub Vec<T>);

impl<T> Default for Values<T> {
    fn default() -> Self {
        Values(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Take<'de> for Values<T> {
    fn map<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        let mut list = Vec::new();
        while let Some((_, value)) = map.next_entry::<IgnoredAny, T>()? {
            list.push(value);
        }
        Ok(Values(list))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize, Default)]
    #[serde(default, bound(deserialize = "'de: 'a"))]
    struct Line<'a> {
        text: Str<'a>,
        count: Num,
        flag: Flag,
        object: Obj<Inner<'a>>,
        list: List<Obj<Inner<'a>>>,
        values: Values<Num>,
    }

    #[derive(Deserialize, Default)]
    #[serde(default, bound(deserialize = "'de: 'a"))]
    struct Inner<'a> {
        name: Str<'a>,
    }

    #[test]
    fn an_odd_field_costs_only_itself() {
        let good = r#"{"text":"a","count":3,"flag":true,"object":{"name":"x"},"list":[{"name":"y"},7],"values":{"k":1,"l":2}}"#;
        let line: Line<'_> = serde_json::from_str(good).unwrap();
        assert!(matches!(line.text.0, Cow::Borrowed("a")));
        assert_eq!((line.count.u64(), line.flag.0), (Some(3), Some(true)));
        assert_eq!(&*line.object.0.unwrap().name, "x");
        assert_eq!(line.list.0.len(), 2);
        assert!(line.list.0[1].0.is_none());
        assert_eq!(line.values.0.iter().map(|value| value.count()).sum::<u64>(), 3);
        let odd = [r#""s""#, r#""s\n""#, "7", "null", "true", "-1.5", r#"{"a":[{}]}"#, r#"[1,{"b":2}]"#];
        for field in ["text", "count", "flag", "object", "list", "values"] {
            for odd in odd {
                // The field in question first, then one that must still be read.
                let line = format!(r#"{{"{field}":{odd},"other":[],"last":{{"name":"z"}}}}"#);
                let line = line.replace("last", if field == "object" { "unknown" } else { "object" });
                let line: Line<'_> =
                    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{field} {odd}: {error}"));
                assert!(field == "object" || &*line.object.0.unwrap().name == "z", "{field} {odd}");
            }
        }
    }

    #[test]
    fn numbers_keep_their_sense() {
        assert_eq!(Num(Some(-1.0)).u64(), None);
        assert_eq!(Num(Some(70000.0)).u16(), None);
        assert_eq!(Num(Some(1.9)).u64(), Some(1));
        assert_eq!(Num(None).count(), 0);
    }
}
