//! What to do while the agent says that it has nothing to do, or that somebody else has to act.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use ralph_core::plan::value::{Factor, Text, Timeout};
use ralph_core::plan::{Backoff, CommandPlan, IdlePlan, Reaction, WaitPlan, WakePlan};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde::{Deserialize as DeriveDeserialize, Serialize};

use super::definition::Definition;
use super::diagnostic::Diagnostic;
use super::target;
use super::validate::Settings;
use super::words::split_words;

/// How often a `wake` command is asked, unless the definition says otherwise.
const EVERY: Duration = Duration::from_secs(10);

/// `idle`: a mapping says how to wait, nothing or `true` stands for the defaults, `false` switches it off.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Idle {
    Waits(Option<IdleDef>),
    Switch(bool),
}

impl Default for Idle {
    fn default() -> Self {
        Self::Waits(None)
    }
}

/// How long to wait before the next look while the agent is idle.
#[derive(Debug, Clone, Default, PartialEq, DeriveDeserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a mapping")]
pub struct IdleDef {
    /// The wait after the first idle iteration. Not set: 30s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Timeout>,
    /// Each further idle iteration in a row waits this many times longer. Not set: 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff: Option<Factor>,
    /// No wait is longer than this, also if the agent asks for it. Not set: 5m, or `delay` if that is longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_delay: Option<Timeout>,
    /// Stop before a wait that would bring the idle time past this. Not set: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<Timeout>,
}

impl<'de> Deserialize<'de> for Idle {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct IdleVisitor;
        impl<'de> Visitor<'de> for IdleVisitor {
            type Value = Idle;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping, or `false`")
            }
            fn visit_unit<E: de::Error>(self) -> Result<Idle, E> {
                Ok(Idle::default())
            }
            fn visit_bool<E: de::Error>(self, on: bool) -> Result<Idle, E> {
                Ok(Idle::Switch(on))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Idle, A::Error> {
                IdleDef::deserialize(MapAccessDeserializer::new(map)).map(|def| Idle::Waits(Some(def)))
            }
        }
        deserializer.deserialize_any(IdleVisitor)
    }
}

impl JsonSchema for Idle {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Idle".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        // The keys are those of the mapping; a switch has none.
        let mut schema = IdleDef::json_schema(generator);
        schema.insert("type".to_owned(), serde_json::json!(["object", "boolean"]));
        schema
    }
}

/// What to do about the states in which somebody else has to act.
#[derive(Debug, Clone, Default, PartialEq, DeriveDeserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a mapping")]
pub struct OnState {
    /// The agent cannot go on: `stop`, `ask` or `wait`, or a mapping with `do`, `delay`, `backoff`, `max_delay` and `max`.
    /// Not set: stop.
    pub blocked: Option<ReactionDef>,
    /// Somebody has to look at the agent's work: `stop`, `ask` or `wait`, or such a mapping. Not set: wait, 1m at first and
    /// 30m at most.
    pub waiting_for_review: Option<ReactionDef>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, DeriveDeserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Act {
    Stop,
    /// Wait for `ralph say`, at most `event_loop.max_wait`.
    Ask,
    /// Look again after a while.
    Wait,
}

/// A word, or a mapping that also says how to wait.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ReactionDef {
    Word(Act),
    Waits(Box<WaitDef>),
}

#[derive(Debug, Clone, PartialEq, DeriveDeserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "`stop`, `ask`, `wait` or a mapping")]
pub struct WaitDef {
    /// What to do. Not set: wait.
    #[serde(rename = "do", default = "Act::wait")]
    pub act: Act,
    /// The first wait. Not set: 1m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Timeout>,
    /// Each further one in a row is this many times longer. Not set: 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff: Option<Factor>,
    /// No wait is longer than this. Not set: 30m, or `delay` if that is longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_delay: Option<Timeout>,
    /// Stop before a wait that would bring the time past this. Not set: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<Timeout>,
}

impl Act {
    fn wait() -> Self {
        Self::Wait
    }
}

impl<'de> Deserialize<'de> for ReactionDef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ReactionVisitor;
        impl<'de> Visitor<'de> for ReactionVisitor {
            type Value = ReactionDef;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`stop`, `ask`, `wait` or a mapping")
            }
            fn visit_str<E: de::Error>(self, word: &str) -> Result<ReactionDef, E> {
                Act::deserialize(de::value::StrDeserializer::new(word)).map(ReactionDef::Word)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ReactionDef, A::Error> {
                let def = WaitDef::deserialize(MapAccessDeserializer::new(map))?;
                Ok(ReactionDef::Waits(Box::new(def)))
            }
        }
        deserializer.deserialize_any(ReactionVisitor)
    }
}

impl JsonSchema for ReactionDef {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Reaction".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (word, mapping) = (Act::json_schema(generator), WaitDef::json_schema(generator));
        json_schema!({ "anyOf": [word, mapping] })
    }
}

/// What ends such a wait as soon as there is work.
#[derive(Debug, Clone, Default, PartialEq, DeriveDeserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a mapping")]
pub struct WakeDef {
    /// Files and folders, relative to the workspace. A change of one ends the wait, of a folder also one directly in it. It
    /// need not be there yet.
    pub files: Vec<Text>,
    /// A command line, run as `commands` are. Exit code 0 means that there is work.
    pub run: Option<Text>,
    /// How often the command is asked. Not set: 10s.
    pub every: Option<Timeout>,
}

/// The parts of a wait as they were written, and what stands for those that were not.
struct Waits {
    delay: Option<Timeout>,
    backoff: Option<Factor>,
    max_delay: Option<Timeout>,
    max: Option<Timeout>,
    defaults: (Duration, Duration),
}

impl Waits {
    fn plan(&self, settings: &Settings, path: &str) -> Result<WaitPlan, Diagnostic> {
        let initial = self.delay.map_or(self.defaults.0, |delay| delay.0);
        let max = self.max_delay.map_or(self.defaults.1.max(initial), |max| max.0);
        if initial > max {
            let which = if self.delay.is_some() { "delay" } else { "max_delay" };
            let message = format!("`{path}`: `delay` is longer than `max_delay`");
            return Err(settings.at(&format!("{path}.{which}"), message));
        }
        let factor = self.backoff.map_or(2.0, |factor| factor.0);
        Ok(WaitPlan { backoff: Backoff { initial, factor, max }, max: self.max.map(|max| max.0) })
    }
}

fn reaction(settings: &Settings, path: &str, def: &ReactionDef) -> Result<Reaction, Diagnostic> {
    let def = match def {
        ReactionDef::Word(Act::Wait) => return Ok(Reaction::patient()),
        ReactionDef::Word(Act::Stop) => return Ok(Reaction::Stop),
        ReactionDef::Word(Act::Ask) => return Ok(Reaction::Ask),
        ReactionDef::Waits(def) => def,
    };
    let WaitDef { act, delay, backoff, max_delay, max } = **def;
    let usual = WaitPlan::patient().backoff;
    let waits = Waits { delay, backoff, max_delay, max, defaults: (usual.initial, usual.max) };
    let is_set = delay.is_some() || backoff.is_some() || max_delay.is_some() || max.is_some();
    match act {
        Act::Wait => waits.plan(settings, path).map(Reaction::Wait),
        _ if is_set => {
            let message = format!("`{path}`: only `do: wait` has `delay`, `backoff`, `max_delay` and `max`");
            Err(settings.at(path, message))
        }
        Act::Stop => Ok(Reaction::Stop),
        Act::Ask => Ok(Reaction::Ask),
    }
}

/// All of it. `folder` is where the definition stands.
pub fn plan(
    settings: &Settings,
    definition: &Definition,
    workspace: &Path,
    folder: Option<&Path>,
) -> Result<IdlePlan, Diagnostic> {
    let OnState { blocked, waiting_for_review } = &definition.on_state;
    let react = |def: &Option<ReactionDef>, name: &str, default: Reaction| match def {
        Some(def) => reaction(settings, &format!("on_state.{name}"), def),
        None => Ok(default),
    };
    let wait = match &definition.idle {
        Idle::Switch(false) => None,
        Idle::Switch(true) | Idle::Waits(None) => Some(WaitPlan::idle()),
        Idle::Waits(Some(IdleDef { delay, backoff, max_delay, max })) => {
            let usual = WaitPlan::idle().backoff;
            let (delay, backoff, max_delay, max) = (*delay, *backoff, *max_delay, *max);
            let waits = Waits { delay, backoff, max_delay, max, defaults: (usual.initial, usual.max) };
            Some(waits.plan(settings, "idle")?)
        }
    };
    let default = IdlePlan::default();
    Ok(IdlePlan {
        wait,
        by_default: settings.root.find("idle").is_none(),
        on_blocked: react(blocked, "blocked", default.on_blocked)?,
        on_review: react(waiting_for_review, "waiting_for_review", default.on_review)?,
        wake: wake(settings, definition, workspace, folder)?,
    })
}

/// A `wake` that has little to end.
pub fn findings(settings: &Settings, plan: &IdlePlan) -> Vec<Diagnostic> {
    if plan.wake.is_none() || plan.wait.is_some() {
        return Vec::new();
    }
    let message =
        "`wake` ends waits, and with `idle: false` an agent that has nothing to do is not waited for";
    let found = settings.at("wake", message).help("remove `idle: false`");
    vec![Diagnostic { is_warning: true, ..found }]
}

fn wake(
    settings: &Settings,
    definition: &Definition,
    workspace: &Path,
    folder: Option<&Path>,
) -> Result<Option<WakePlan>, Diagnostic> {
    let WakeDef { files, run, every } = &definition.wake;
    if files.is_empty() && run.is_none() {
        return match every {
            Some(_) => Err(settings.at("wake.every", "`wake.every` is for `wake.run`, which is not set")),
            None => Ok(None),
        };
    }
    if let Some(n) = files.iter().position(|file| file.0.contains(['*', '?'])) {
        let found = settings.at(&format!("wake.files.{n}"), "`wake.files` are paths, not patterns");
        return Err(found.help("name the folder: a change of anything directly in it ends the wait"));
    }
    let command = run.as_ref().map(|line| {
        let words = split_words(&line.0);
        let words = words.map_err(|error| settings.at("wake.run", format!("`wake.run`: {error}")))?;
        let cwd = folder.filter(|_| line.0.trim_start().starts_with("./")).unwrap_or(workspace).to_owned();
        let (name, timeout) = ("wake".to_owned(), CommandPlan::TIMEOUT);
        Ok(CommandPlan { name, words, cwd, timeout, parallel: false })
    });
    Ok(Some(WakePlan {
        files: files.iter().map(|file| target::absolute(&workspace.join(&file.0))).collect(),
        command: command.transpose()?,
        every: every.map_or(EVERY, |every| every.0),
    }))
}
