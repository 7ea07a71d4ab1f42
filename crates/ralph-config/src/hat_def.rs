//! Hats as a definition writes them: who there is, what each hears and may publish.

use std::borrow::Cow;
use std::fmt;

use ralph_core::hat::COORDINATOR;
use ralph_core::plan::SandboxLevel;
use ralph_core::plan::value::{CommandLine, Count, PatternText, Text, Timeout, TopicText};
use ralph_core::ralph_md::is_name;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde::{Deserialize as DeriveDeserialize, Serialize as DeriveSerialize};

use super::agent::{AgentDef, Word};

/// A role that the agent plays for one iteration.
#[derive(Debug, Clone, Default, PartialEq, DeriveDeserialize, DeriveSerialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a mapping")]
pub struct HatDef {
    /// What the hat is called in its prompt. Not set: its key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Text>,
    /// What it is for, in a sentence: the coordinator and the other hats read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<Text>,
    /// The topics that put it on. `*` is one segment, `**` or a lone `*` any number; the closest trigger wins.
    pub triggers: Vec<PatternText>,
    /// The topics that it may publish.
    pub publishes: Vec<PatternText>,
    /// Published when an iteration ends without publishing anything. Not set: it is asked once more, then the coordinator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_publishes: Option<TopicText>,
    /// How often it is put on. Instead of once more, `HAT.exhausted` is published, once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_activations: Option<Count>,
    /// Whether it may say that the task is complete. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completes: Option<bool>,
    /// What it is told to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<Text>,
    /// A file with what it is told to do, relative to this one. Read before every iteration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions_file: Option<Text>,
    /// Further instructions, below the others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extra_instructions: Vec<Text>,
    /// Another agent than the run's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::agent::agent_schema")]
    pub agent: Option<AgentDef>,
    /// The same as `agent`, as ralph-orchestrator writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<CommandLine>,
    /// Another model for this hat.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Text>,
    /// Further arguments of its agent, each one word.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<Word>,
    /// The same as `args`, as ralph-orchestrator writes it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub backend_args: Vec<Word>,
    /// Kill its agent after this long instead of `event_loop.iteration_timeout`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iteration_timeout: Option<Timeout>,
    /// The gates that its claims of completion have to pass, by name. Not set: all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gates: Option<Vec<Text>>,
    /// Its own scratchpad instead of `core.scratchpad`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scratchpad: Option<Text>,
    /// Its own sandbox instead of the run's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxLevel>,
}

/// All hats, in the order they are written: it decides who comes first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hats(pub Vec<(String, HatDef)>);

impl<'de> Deserialize<'de> for Hats {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct HatsVisitor;
        impl<'de> Visitor<'de> for HatsVisitor {
            type Value = Hats;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping of hats")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Hats, A::Error> {
                let mut hats = Vec::new();
                while let Some(HatName(id)) = map.next_key()? {
                    hats.push((id, map.next_value()?));
                }
                Ok(Hats(hats))
            }
        }
        deserializer.deserialize_map(HatsVisitor)
    }
}

impl Serialize for Hats {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (id, hat) in &self.0 {
            map.serialize_entry(id, hat)?;
        }
        map.end()
    }
}

impl JsonSchema for Hats {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Hats".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let hat = generator.subschema_for::<HatDef>();
        json_schema!({
            "type": "object",
            "propertyNames": { "pattern": "^[A-Za-z0-9_-]+$" },
            "additionalProperties": hat,
        })
    }
}

/// The key of a hat: also the first segment of its `.exhausted` topic.
struct HatName(String);

impl<'de> Deserialize<'de> for HatName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text == COORDINATOR {
            return Err(de::Error::custom(
                "`ralph` is the built-in coordinator\ncall the hat something else",
            ));
        }
        match is_name(&text) {
            true => Ok(Self(text)),
            false => Err(de::Error::custom(
                "this is no name for a hat\na name is made of letters, digits, `-` and `_`: code_reviewer",
            )),
        }
    }
}
