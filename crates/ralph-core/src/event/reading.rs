//! Reading events and records without a detour.
//!
//! The keys of a stored line are always in one order: number, time, type, then what the event carries. So the event is read
//! as it stands behind its type. Keys in another order, as JSON allows, and events inside of other things are put aside and
//! written in that order first: that is rare, and so there is one way only in which the fields of all events are read.

use std::fmt::{self, Write as _};

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, MapAccess, VariantAccess, Visitor,
};
use serde::{Deserialize, forward_to_deserialize_any};
use serde_json::{Map, Value};

use super::Event;
use super::vocabulary::EventForm;
use crate::ids::Seq;
use crate::record::Record;
use crate::time::Timestamp;

impl Record {
    /// Reads a record as `--json` prints it. The quick way for stored lines.
    pub fn from_json(json: &[u8]) -> Result<Record, serde_json::Error> {
        read(json, RecordVisitor)
    }
}

impl<'de> Deserialize<'de> for Record {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut all = Map::deserialize(deserializer)?;
        let (seq, at) = (take(&mut all, "seq")?, take(&mut all, "at")?);
        Ok(Record { seq, at, event: event_aside(all)? })
    }
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        event_aside(Map::deserialize(deserializer)?)
    }
}

impl Event {
    /// Reads an event from a value, such as one whose texts were changed. One copy of this serves all crates.
    pub fn from_value(value: Value) -> Result<Event, serde_json::Error> {
        event_aside(Map::deserialize(value)?)
    }

    /// The event as a value. One copy of this serves all crates.
    pub fn to_value(&self) -> Result<Value, serde_json::Error> {
        serde_json::to_value(self)
    }
}

fn read<'de, V: Visitor<'de>>(json: &'de [u8], visitor: V) -> Result<V::Value, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let value = deserializer.deserialize_map(visitor)?;
    deserializer.end().map(|()| value)
}

struct EventVisitor;

impl<'de> Visitor<'de> for EventVisitor {
    type Value = Event;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Event, A::Error> {
        // Written by `event_aside`, so the type is first.
        let (_, name) =
            map.next_entry::<IgnoredAny, String>()?.ok_or_else(|| Error::missing_field("type"))?;
        event(&name, map)
    }
}

struct RecordVisitor;

impl<'de> Visitor<'de> for RecordVisitor {
    type Value = Record;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a record")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Record, A::Error> {
        let (mut seq, mut at) = (None::<Seq>, None::<Timestamp>);
        let mut all = loop {
            match map.next_key_seed(Key)? {
                Some(Head::Seq) if seq.is_none() => seq = Some(map.next_value()?),
                Some(Head::At) if at.is_none() => at = Some(map.next_value()?),
                Some(Head::Type) => {
                    let name = map.next_value::<String>()?;
                    if let (Some(seq), Some(at)) = (seq, at) {
                        return Ok(Record { seq, at, event: event(&name, map)? });
                    }
                    let mut all = rest(None, map)?;
                    all.insert("type".to_owned(), name.into());
                    break all;
                }
                Some(Head::Seq) => return Err(A::Error::duplicate_field("seq")),
                Some(Head::At) => return Err(A::Error::duplicate_field("at")),
                Some(Head::Other(key)) => break rest(Some(key), map)?,
                None => break Map::new(),
            }
        };
        let seq = seq.map_or_else(|| take(&mut all, "seq"), Ok)?;
        let at = at.map_or_else(|| take(&mut all, "at"), Ok)?;
        Ok(Record { seq, at, event: event_aside(all)? })
    }
}

/// The keys before the event.
enum Head {
    Seq,
    At,
    Type,
    Other(String),
}

struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Head;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Head, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for Key {
    type Value = Head;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Head, E> {
        Ok(match key {
            "seq" => Head::Seq,
            "at" => Head::At,
            "type" => Head::Type,
            other => Head::Other(other.to_owned()),
        })
    }
}

/// The event of this name, of the entries that follow.
fn event<'de, A: MapAccess<'de>>(name: &str, map: A) -> Result<Event, A::Error> {
    EventForm::deserialize(Named { name, map })
}

/// An event whose entries were put aside.
fn event_aside<E: Error>(mut all: Map<String, Value>) -> Result<Event, E> {
    let name: String = take(&mut all, "type")?;
    let mut json = format!("{{\"type\":{}", Value::from(name));
    for (key, value) in all {
        // Writing to a string cannot fail.
        let _ = write!(json, ",{}:{value}", Value::from(key));
    }
    json.push('}');
    event_in_order(json.as_bytes()).map_err(E::custom)
}

/// Not generic, so that the fields of all events are read by one piece of code in the whole program.
fn event_in_order(json: &[u8]) -> Result<Event, serde_json::Error> {
    read(json, EventVisitor)
}

/// Everything that follows, put aside. `first`: a key whose value comes next.
fn rest<'de, A: MapAccess<'de>>(first: Option<String>, mut map: A) -> Result<Map<String, Value>, A::Error> {
    let mut all = Map::new();
    if let Some(key) = first {
        all.insert(key, map.next_value()?);
    }
    while let Some((key, value)) = map.next_entry()? {
        all.insert(key, value);
    }
    Ok(all)
}

fn take<T: for<'a> Deserialize<'a>, E: Error>(
    all: &mut Map<String, Value>,
    key: &'static str,
) -> Result<T, E> {
    let value = all.remove(key).ok_or_else(|| E::missing_field(key))?;
    serde_json::from_value(value).map_err(E::custom)
}

/// A name and entries, to be read as the variant of that name.
struct Named<'a, A> {
    name: &'a str,
    map: A,
}

impl<'de, A: MapAccess<'de>> Deserializer<'de> for Named<'_, A> {
    type Error = A::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, A::Error> {
        visitor.visit_enum(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de, A: MapAccess<'de>> EnumAccess<'de> for Named<'_, A> {
    type Error = A::Error;
    type Variant = Entries<A>;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Entries<A>), A::Error> {
        Ok((seed.deserialize(StrDeserializer::new(self.name))?, Entries(self.map)))
    }
}

/// What the variant carries.
struct Entries<A>(A);

impl<'de, A: MapAccess<'de>> VariantAccess<'de> for Entries<A> {
    type Error = A::Error;

    fn unit_variant(mut self) -> Result<(), A::Error> {
        while self.0.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, A::Error> {
        seed.deserialize(MapAccessDeserializer::new(self.0))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, A::Error> {
        visitor.visit_map(self.0)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        visitor.visit_map(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{AgentText, DelayReason};
    use crate::ids::IterationNumber;

    fn read(json: &str) -> Result<Record, String> {
        Record::from_json(json.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn keys_are_read_in_any_order() {
        let at = "2026-01-18T10:00:00.123Z";
        let text =
            AgentText { iteration: IterationNumber(3), attempt: 1, text: "a\n".into(), truncated: false };
        let stored =
            format!(r#"{{"seq":7,"at":"{at}","type":"agent.text","iteration":3,"attempt":1,"text":"a\n"}}"#);
        let record = read(&stored).expect("a record");
        assert_eq!((record.seq, &record.event), (Seq(7), &Event::AgentText(text)));
        for other in [
            format!(r#"{{"type":"agent.text","seq":7,"iteration":3,"at":"{at}","attempt":1,"text":"a\n"}}"#),
            format!(r#"{{"text":"a\n","attempt":1,"iteration":3,"at":"{at}","seq":7,"type":"agent.text"}}"#),
            format!(
                r#"{{"at":"{at}","x":[{{}}],"seq":7,"type":"agent.text","iteration":3,"attempt":1,"text":"a\n"}}"#
            ),
        ] {
            assert_eq!(read(&other).as_ref(), Ok(&record), "{other}");
            assert_eq!(serde_json::from_str::<Record>(&other).ok().as_ref(), Some(&record), "{other}");
        }
        let event: Event =
            serde_json::from_str(r#"{"early":true,"x":1,"type":"delay.ended"}"#).expect("an event");
        assert_eq!(event, Event::DelayEnded { early: true });
        let event: Event =
            serde_json::from_str(r#"{"type":"run.paused","later":{"a":[1]}}"#).expect("an event");
        assert_eq!(event, Event::RunPaused {});
        let waits = r#"{"type":"delay.started","reason":"delay","until":"2026-01-18T10:00:00Z","wait_ms":5}"#;
        let event: Event = serde_json::from_str(waits).expect("an event");
        assert!(matches!(event, Event::DelayStarted(started) if started.reason == DelayReason::Delay));
    }

    #[test]
    fn what_is_missing_or_twice_there_or_of_another_kind_is_told() {
        let at = r#""at":"2026-01-18T10:00:00Z""#;
        for (json, told) in [
            (format!(r#"{{{at},"type":"run.paused"}}"#), "missing field `seq`"),
            (r#"{"seq":1,"type":"run.paused"}"#.to_owned(), "missing field `at`"),
            (format!(r#"{{"seq":1,{at}}}"#), "missing field `type`"),
            (format!(r#"{{"seq":1,"seq":1,{at},"type":"run.paused"}}"#), "duplicate field `seq`"),
            (format!(r#"{{"seq":1,{at},{at},"type":"run.paused"}}"#), "duplicate field `at`"),
            (format!(r#"{{"seq":1,{at},"type":"no.such"}}"#), "unknown variant `no.such`"),
            (format!(r#"{{"seq":1,{at},"type":"delay.ended"}}"#), "missing field `early`"),
            (format!(r#"{{"type":"delay.ended",{at},"seq":1}}"#), "missing field `early`"),
            ("[1]".to_owned(), "expected a record"),
            (format!(r#"{{"seq":1,{at},"type":"run.paused"}} x"#), "trailing characters"),
            (format!(r#"{{"seq":1,{at},"type":"run.paused""#), "EOF"),
        ] {
            let error = read(&json).expect_err("no record");
            assert!(error.contains(told), "{json}: {error}");
        }
    }
}
