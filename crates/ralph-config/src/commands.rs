//! Commands whose output is part of the prompt, and the arguments that a ralph takes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use ralph_core::plan::CommandPlan;
use ralph_core::plan::value::{Text, Timeout};
use ralph_core::ralph_md::{args_of, command_words, is_name};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Deserialize as DeriveDeserialize, Serialize};

use super::definition::Definition;
use super::diagnostic::Diagnostic;
use super::validate::Settings;
use super::words::split_words;

/// A command that is run before every iteration.
#[derive(Debug, Clone, PartialEq, DeriveDeserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a mapping with `name` and `run`")]
pub struct CommandDef {
    /// The name for `{{ commands.NAME }}`: letters, digits, `-` and `_`.
    pub name: Name,
    /// The command line, split into words as a shell would, but no shell runs. `{{ args.NAME }}` is one word of it. It runs
    /// in the workspace, or in the folder of this file if it starts with `./`.
    pub run: Text,
    /// Kill it after this long; the prompt then shows what it has printed so far. Not set: 60s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Timeout>,
    /// It may run together with the commands beside it that may as well. Not set: as `parallel` of the definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel: Option<bool>,
}

/// The name of a command or of an argument.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Name(pub String);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;
        impl Visitor<'_> for NameVisitor {
            type Value = Name;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Name, E> {
                match is_name(text) {
                    true => Ok(Name(text.to_owned())),
                    false => Err(E::custom(
                        "this is no name\na name is made of letters, digits, `-` and `_`: my-name_2",
                    )),
                }
            }
        }
        deserializer.deserialize_str(NameVisitor)
    }
}

impl JsonSchema for Name {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Name".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[A-Za-z0-9_-]+$" })
    }
}

/// Names that stand twice, and commands that cannot be split into words.
pub fn check(settings: &Settings, definition: &Definition) -> Vec<Diagnostic> {
    let commands = definition.commands.iter().map(|command| &command.name);
    let mut found = twice(settings, "commands", "name", commands.collect());
    found.extend(twice(settings, "args", "", definition.args.iter().collect()));
    for (i, command) in definition.commands.iter().enumerate() {
        // With nothing given: quotes must match, whatever is.
        if let Err(error) = command_words(&command.run.0, |_| None, split_line) {
            let message = format!("the command `{}`: {error}", command.name.0);
            found.push(settings.at(&format!("commands.{i}.run"), message));
        }
    }
    found
}

fn twice(settings: &Settings, list: &str, key: &str, names: Vec<&Name>) -> Vec<Diagnostic> {
    let path = |i: usize| format!("{list}.{i}.{key}").trim_end_matches('.').to_owned();
    let mut found = Vec::new();
    for (i, name) in names.iter().enumerate() {
        if names[..i].contains(name) {
            found.push(settings.at(&path(i), format!("`{list}`: the name `{}` is there twice", name.0)));
        }
    }
    found
}

/// An empty line is judged when the arguments are known.
fn split_line(line: &str) -> Result<Vec<String>, String> {
    match line.trim().is_empty() {
        true => Ok(Vec::new()),
        false => split_words(line).map_err(|error| error.to_string()),
    }
}

/// The commands with the user's arguments in them; where these are not known, placeholders stay. `folder` is where the
/// definition stands.
pub fn plan(
    settings: &Settings,
    definition: &Definition,
    args: Option<&BTreeMap<String, String>>,
    workspace: &Path,
    folder: Option<&Path>,
) -> Vec<Result<CommandPlan, Diagnostic>> {
    let arg = |name: &str| match args {
        Some(args) => args.get(name).cloned(),
        None => Some(format!("{{{{ args.{name} }}}}")),
    };
    let all = definition.commands.iter().enumerate();
    all.map(|(i, command)| {
        let words = command_words(&command.run.0, arg, |line| split_words(line).map_err(|e| e.to_string()));
        let words = words.map_err(|error| {
            let message = format!("the command `{}`: {error}", command.name.0);
            settings.at(&format!("commands.{i}.run"), message)
        })?;
        let beside = command.run.0.trim_start().starts_with("./");
        let cwd: PathBuf = folder.filter(|_| beside).unwrap_or(workspace).to_owned();
        Ok(CommandPlan {
            name: command.name.0.clone(),
            words,
            cwd,
            timeout: command.timeout.map_or(CommandPlan::TIMEOUT, |timeout| timeout.0),
            parallel: command.parallel.unwrap_or(definition.parallel),
        })
    })
    .collect()
}

/// Whether it cannot be told what would run before the arguments are known.
pub fn depends_on_args(command: &CommandDef) -> bool {
    !args_of(&command.run.0).is_empty()
}
