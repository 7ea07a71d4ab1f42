//! The agent: which command is run, and how the prompt gets to it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use ralph_core::plan;
use ralph_core::plan::value::{CommandLine, Text};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Deserialize as DeriveDeserialize, Serialize};

use super::de::{AS_WRITTEN, AS_WRITTEN_OR_MAPPING};
use super::diagnostic::quote;

/// The command that does one iteration of work. A command line as text, or a mapping.
#[derive(Debug, Clone, Default, PartialEq, Eq, DeriveDeserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a command line or a mapping")]
pub struct AgentDef {
    /// The name of an agent that ralph knows, such as `claude`: ralph completes its command line and reads its output.
    /// A command whose program is one of them is recognised as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Text>,
    /// The model to ask for, where the agent has a choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Text>,
    /// Let a known agent work without asking for permissions. Default: true; nobody is there to be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autonomous: Option<bool>,
    /// The format of a plain command's output, if it prints that of a known agent, such as `claude-stream-json`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Text>,
    /// The command line, split into words as a shell would, but no shell runs. A program name is looked up on
    /// PATH, a path from the workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandLine>,
    /// Further arguments, each one word, taken as they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<Word>,
    /// How the agent gets the prompt: on its standard input, as the last argument, or as the path of a file that
    /// is the last argument. Not set: the way the agent is known to like it, standard input for a plain command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<PromptVia>,
    /// Environment variables to set for the agent: a value, or `{env: NAME}`, `{file: PATH}` or `{command: LINE}`, where ralph finds
    /// it before every start. Then the plan records where it comes from, and never what it is.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<EnvName, EnvDef>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, DeriveDeserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PromptVia {
    Stdin,
    Arg,
    File,
}

/// The agent as ralph-orchestrator writes it. `agent` says the same in fewer words.
#[derive(Debug, Clone, Default, PartialEq, Eq, DeriveDeserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a mapping")]
pub struct CliDef {
    /// The agent's name, or `custom` for a command of your own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<Text>,
    /// The command line to run; needed for `backend: custom`, else it replaces the agent's usual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandLine>,
    /// Further arguments, each one word.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<Word>,
    /// How a custom command gets the prompt: as an argument (the default) or on standard input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_mode: Option<PromptMode>,
    /// An option to write before the prompt when it is an argument, such as `-p`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_flag: Option<Word>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, DeriveDeserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PromptMode {
    Arg,
    Stdin,
}

/// What `agent` or `cli` come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSpec {
    /// The name of the agent, where it is not that of the program: `agent.name`, or `cli.backend` with `cli.command`.
    pub name: Option<String>,
    pub model: Option<String>,
    pub autonomous: bool,
    pub output: Option<String>,
    pub program: String,
    pub args: Vec<String>,
    /// `None`: as the agent likes it.
    pub prompt: Option<plan::PromptVia>,
    pub env: BTreeMap<String, plan::EnvValue>,
}

impl Default for AgentSpec {
    fn default() -> Self {
        Self {
            name: None,
            model: None,
            autonomous: true,
            output: None,
            program: String::new(),
            args: Vec::new(),
            prompt: None,
            env: BTreeMap::new(),
        }
    }
}

impl AgentDef {
    pub fn resolve(&self) -> Option<AgentSpec> {
        let (program, rest) = match (&self.command, &self.name) {
            (Some(command), _) => split(command)?,
            (None, Some(name)) => (name.0.clone(), &[][..]),
            (None, None) => return None,
        };
        let args = rest.iter().cloned().chain(self.args.iter().map(|word| word.0.clone())).collect();
        let env = self.env.iter().map(|(name, value)| (name.0.clone(), value.0.clone())).collect();
        let prompt = self.prompt.map(|via| match via {
            PromptVia::Stdin => plan::PromptVia::Stdin,
            PromptVia::Arg => plan::PromptVia::Arg { flag: None },
            PromptVia::File => plan::PromptVia::File { flag: None },
        });
        let text = |value: &Option<Text>| value.as_ref().map(|text| text.0.clone());
        Some(AgentSpec {
            name: text(&self.name),
            model: text(&self.model),
            autonomous: self.autonomous.unwrap_or(true),
            output: text(&self.output),
            program,
            args,
            prompt,
            env,
        })
    }
}

impl CliDef {
    pub fn is_custom(&self) -> bool {
        self.backend.as_ref().is_some_and(|name| name.0 == "custom")
    }

    pub fn resolve(&self) -> Option<AgentSpec> {
        let backend = self.backend.as_ref().map(|name| name.0.clone()).filter(|_| !self.is_custom());
        let (program, rest) = match (&self.command, &backend) {
            (Some(command), _) => split(command)?,
            (None, Some(name)) => (name.clone(), &[][..]),
            (None, None) => return None,
        };
        let mut args: Vec<String> = rest.to_vec();
        args.extend(self.args.iter().map(|word| word.0.clone()));
        let flag = self.prompt_flag.as_ref().map(|word| word.0.clone());
        let prompt = match self.prompt_mode {
            // A named agent gets the prompt the way it likes, whatever that tool did.
            _ if backend.is_some() => None,
            Some(PromptMode::Stdin) => Some(plan::PromptVia::Stdin),
            // That tool passes prompts as arguments unless told otherwise.
            Some(PromptMode::Arg) | None => Some(plan::PromptVia::Arg { flag }),
        };
        let name = backend.filter(|name| *name != program);
        Some(AgentSpec { name, program, args, prompt, ..AgentSpec::default() })
    }
}

/// The program and what follows it.
fn split(line: &CommandLine) -> Option<(String, &[String])> {
    let (program, rest) = line.words().split_first()?;
    Some((program.clone(), rest))
}

/// One argument or value, as it was written: `5` is the text "5".
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Word(pub String);

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WordVisitor;
        impl Visitor<'_> for WordVisitor {
            type Value = Word;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Word, E> {
                match text.contains('\0') {
                    true => Err(E::custom("cannot hold a NUL byte")),
                    false => Ok(Word(text.to_owned())),
                }
            }
        }
        deserializer.deserialize_newtype_struct(AS_WRITTEN, WordVisitor)
    }
}

impl JsonSchema for Word {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Word".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "number", "boolean"] })
    }
}

/// What a variable is set to: one value as it was written, or a mapping that says where it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct EnvDef(pub plan::EnvValue);

impl<'de> Deserialize<'de> for EnvDef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EnvVisitor;
        impl<'de> Visitor<'de> for EnvVisitor {
            type Value = EnvDef;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text, or a mapping with `env`, `file` or `command`")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<EnvDef, E> {
                match text.contains('\0') {
                    true => Err(E::custom("cannot hold a NUL byte")),
                    false => Ok(EnvDef(plan::EnvValue::Text(text.to_owned()))),
                }
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<EnvDef, A::Error> {
                let source = SourceDef::deserialize(de::value::MapAccessDeserializer::new(map))?;
                let all = [
                    source.env.map(|name| plan::EnvSource::Env(name.0)),
                    source.file.map(|path| plan::EnvSource::File(path.0)),
                    source.command.map(plan::EnvSource::Command),
                ];
                let mut given = all.into_iter().flatten();
                match (given.next(), given.next()) {
                    (Some(one), None) => Ok(EnvDef(plan::EnvValue::Found(one))),
                    _ => Err(de::Error::custom("needs one of `env`, `file` and `command`")),
                }
            }
        }
        deserializer.deserialize_newtype_struct(AS_WRITTEN_OR_MAPPING, EnvVisitor)
    }
}

#[derive(Default, DeriveDeserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct SourceDef {
    /// A variable of ralph's own environment.
    env: Option<EnvName>,
    /// A file, from the workspace.
    file: Option<Text>,
    /// A command that prints the value.
    command: Option<CommandLine>,
}

impl JsonSchema for EnvDef {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "EnvDef".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mapping = SourceDef::json_schema(generator);
        json_schema!({ "anyOf": [{ "type": ["string", "number", "boolean"] }, mapping] })
    }
}

/// The name of an environment variable.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct EnvName(pub String);

impl<'de> Deserialize<'de> for EnvName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        match name.is_empty() || name.contains(['=', '\0']) {
            true => Err(de::Error::custom(format!("{} cannot name a variable", quote(&name)))),
            false => Ok(Self(name)),
        }
    }
}

impl JsonSchema for EnvName {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "EnvName".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[^=]+$" })
    }
}

/// The short form of `agent`, for editors: a command line alone.
pub(super) fn agent_schema(generator: &mut SchemaGenerator) -> Schema {
    let mapping = AgentDef::json_schema(generator);
    let line = CommandLine::json_schema(generator);
    json_schema!({ "anyOf": [line, mapping] })
}
