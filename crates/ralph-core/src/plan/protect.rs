//! What no iteration may change: `protect`, `protect_policy`; and what no proof can hold: `proof_ignore`.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize as DeriveDeserialize, Serialize};

use super::section::section;
use super::value::{PathPattern, Rule, leaf};

section! {
    pub struct ProtectLists, changed by ProtectListsChange {
        /// Patterns of paths, as in a `.gitignore`: files that no iteration may change.
        paths: Vec<PathPattern> = Vec::new(),
        /// Patterns of paths that an iteration may change although a gate runs them or `paths` names them.
        allow: Vec<PathPattern> = Vec::new(),
    }
}

/// `[tests/**, Makefile]`, or a mapping with `paths` and `allow`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Protect(pub ProtectLists);

leaf!(Protect, ProtectLists, |it| it.0, |it| Self(it.clone()));

impl<'de> Deserialize<'de> for Protect {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ProtectVisitor;
        impl<'de> Visitor<'de> for ProtectVisitor {
            type Value = Protect;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of patterns, or a mapping with `paths` and `allow`")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Protect, A::Error> {
                let paths: Vec<PathPattern> = Vec::deserialize(SeqAccessDeserializer::new(list))?;
                let paths = paths.into_iter().map(PathPattern::plain).collect();
                Ok(Protect(ProtectLists { paths, ..ProtectLists::default() }))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Protect, A::Error> {
                ProtectLists::deserialize(MapAccessDeserializer::new(map)).map(Protect)
            }
        }
        deserializer.deserialize_any(ProtectVisitor)
    }
}

impl JsonSchema for Protect {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Protect".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (list, mapping) =
            (Vec::<PathPattern>::json_schema(generator), ProtectLists::json_schema(generator));
        json_schema!({ "anyOf": [list, mapping] })
    }
}

/// What is done about a protected file that an iteration changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, DeriveDeserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProtectPolicy {
    /// Claims are refused until the file is as it was.
    #[default]
    Refuse,
    /// Only say so.
    Warn,
    /// Put the file back as it was, and say so.
    Restore,
}

leaf!(ProtectPolicy, ProtectPolicy, |it| it, |it| *it);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_short_for_the_paths() {
        let read = |text: &str| serde_json::from_str::<Protect>(text).map(|it| it.0);
        let list = read(r#"["tests/**"]"#).expect("a list");
        let mapping = read(r#"{"paths": ["tests/**"]}"#).expect("a mapping");
        assert_eq!(list, mapping);
        assert_eq!(read(r#"{"allow": ["Makefile"]}"#).expect("a mapping").allow, ["Makefile"]);
        assert!(read("\"tests\"").unwrap_err().to_string().contains("a list of patterns"));
        assert!(read(r#"["a["]"#).unwrap_err().to_string().contains("not a pattern of paths"));
        let again = serde_json::to_string(&Protect(list.clone())).expect("text");
        assert_eq!(read(&again).expect("as it was written"), list);
    }
}
