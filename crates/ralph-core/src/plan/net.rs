//! The net under the code: `checkpoints`, `worktree`.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize};

use super::section::section;
use super::value::{Rule, Text, leaf};

/// `on` or `off`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Switch {
    #[default]
    On,
    Off,
}

leaf!(Switch, Switch, |it| it, |it| *it);

impl Switch {
    pub fn is_on(self) -> bool {
        self == Switch::On
    }
}

impl<'de> Deserialize<'de> for Switch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SwitchVisitor;
        impl Visitor<'_> for SwitchVisitor {
            type Value = Switch;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`on` or `off`")
            }
            // YAML has two minds about these words.
            fn visit_bool<E: de::Error>(self, on: bool) -> Result<Switch, E> {
                Ok(if on { Switch::On } else { Switch::Off })
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Switch, E> {
                match text {
                    "on" | "true" => Ok(Switch::On),
                    "off" | "false" => Ok(Switch::Off),
                    other => Err(E::invalid_value(de::Unexpected::Str(other), &self)),
                }
            }
        }
        deserializer.deserialize_any(SwitchVisitor)
    }
}

impl JsonSchema for Switch {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Switch".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "enum": ["on", "off", true, false] })
    }
}

section! {
    pub struct WorktreeLists, changed by WorktreeListsChange {
        /// Ignored files and folders that a build needs, relative to the workspace: copied into the worktree.
        copy: Vec<Text> = Vec::new(),
        /// The same, as links into the workspace: for what is large and only read.
        link: Vec<Text> = Vec::new(),
    }
}

/// A run that works in a git worktree of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorktreePlan {
    pub name: String,
    pub branch: String,
    /// The checkout it was made from: the workspace as the person knows it.
    pub main: PathBuf,
    /// The top of the worktree.
    pub path: PathBuf,
    /// The commit that the branch began at.
    pub base: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_is_written_as_people_write_it() {
        let read = |text: &str| serde_json::from_str::<Switch>(text);
        for (text, on) in [("\"on\"", true), ("true", true), ("\"off\"", false), ("false", false)] {
            assert_eq!(read(text).expect("a switch").is_on(), on, "{text}");
        }
        assert!(read("\"maybe\"").unwrap_err().to_string().contains("`on` or `off`"));
        assert_eq!(serde_json::to_string(&Switch::Off).expect("text"), "\"off\"");
    }
}
