//! `idle`, `on_state` and `wake`: what the loop does while its agent says that there is nothing to do, or that somebody else
//! has to act.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use serde::{Deserialize as DeriveDeserialize, Serialize as DeriveSerialize};

use super::section::section;
use super::value::{CommandLine, Factor, Rule, Text, Timeout, leaf};
use super::{Backoff, CommandPlan, Plan};
use crate::marker::AgentState;

section! {
    /// How long to wait before the next look while the agent is idle.
    pub struct IdleWait, changed by IdleWaitChange {
        /// The wait after the first idle iteration.
        delay: Timeout = Duration::from_secs(30),
        /// Each further idle iteration in a row waits this many times longer.
        backoff: Factor = 2.0,
        /// No wait is longer than this, also if the agent asks for it. Not set: 5m, or `delay` if that is longer.
        max_delay: Option<Timeout> = None,
        /// Stop before a wait that would bring the idle time past this. Not set: no limit.
        max: Option<Timeout> = None,
    }
}

section! {
    /// What to do about an agent that needs somebody else. People take longer than machines.
    pub struct Reaction, changed by ReactionChange {
        /// `stop`, `ask` or `wait`.
        r#do: Act = Act::Wait,
        /// The first such wait.
        delay: Timeout = Duration::from_secs(60),
        /// Each further one in a row is this many times longer.
        backoff: Factor = 2.0,
        /// No wait is longer than this. Not set: 30m, or `delay` if that is longer.
        max_delay: Option<Timeout> = None,
        /// Stop before a wait that would bring the time past this. Not set: no limit.
        max: Option<Timeout> = None,
    }
}

section! {
    /// What to do about the states in which somebody else has to act.
    pub struct OnState, changed by OnStateChange {
        /// The agent cannot go on: `stop`, `ask` or `wait`, or a mapping with `do`, `delay`, `backoff`, `max_delay` and `max`.
        blocked: WordOrReaction = Reaction::stop(),
        /// Somebody has to look at the agent's work: `stop`, `ask` or `wait`, or such a mapping. A wait is 1m at
        /// first and 30m at most.
        waiting_for_review: WordOrReaction = Reaction::default(),
    }
}

section! {
    /// What ends such a wait as soon as there is work.
    pub struct Wake, changed by WakeChange {
        /// Files and folders, relative to the workspace. A change of one ends the wait, of a folder also one directly in it. It
        /// need not be there yet.
        files: Vec<Text> = Vec::new(),
        /// A command line, run as `commands` are. Exit code 0 means that there is work.
        run: Option<CommandLine> = None,
        /// How often the command is asked.
        every: Timeout = Duration::from_secs(10),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, DeriveDeserialize, DeriveSerialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Act {
    Stop,
    /// Wait for `ralph say`, at most `event_loop.max_wait`.
    Ask,
    /// Look again after a while.
    Wait,
}

leaf!(Act, Act, |it| it, |it| *it);

/// `idle`: a mapping says how to wait, nothing or `true` stands for the defaults, `false` switches it off.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Idle {
    /// Nobody said anything. Idle agents are waited for by the defaults.
    #[default]
    Unset,
    Off,
    Waits(IdleWait),
}

leaf!(Idle, Idle, |it| it, |it| it.clone());

/// A word, or a mapping that also says how to wait.
#[derive(Debug, Clone, PartialEq)]
pub struct WordOrReaction(Reaction);

leaf!(WordOrReaction, Reaction, |it| it.0, |it| Self(it.clone()));

/// A wait that grows while nothing changes, and the time after which the run gives up.
#[derive(Debug, Clone, PartialEq)]
pub struct Wait {
    pub backoff: Backoff,
    pub max: Option<Duration>,
}

impl IdleWait {
    /// The longest wait an agent may choose for itself, unless the settings say otherwise.
    pub const MAX_DELAY: Duration = Duration::from_secs(300);

    pub fn wait(&self) -> Wait {
        let max = self.max_delay.unwrap_or_else(|| Self::MAX_DELAY.max(self.delay));
        Wait { backoff: Backoff { initial: self.delay, factor: self.backoff, max }, max: self.max }
    }
}

impl Reaction {
    const MAX_DELAY: Duration = Duration::from_secs(1800);

    pub fn stop() -> Self {
        Self { r#do: Act::Stop, ..Self::default() }
    }

    pub fn ask() -> Self {
        Self { r#do: Act::Ask, ..Self::default() }
    }

    /// How to wait, where that is what is to be done.
    pub fn wait(&self) -> Option<Wait> {
        let max = self.max_delay.unwrap_or_else(|| Self::MAX_DELAY.max(self.delay));
        let backoff = Backoff { initial: self.delay, factor: self.backoff, max };
        (self.r#do == Act::Wait).then_some(Wait { backoff, max: self.max })
    }

    /// The word alone says it all.
    pub fn is_word(&self) -> bool {
        *self == Self { r#do: self.r#do, ..Self::default() }
    }
}

impl Idle {
    /// How to wait while the agent is idle. Nothing: it is only recorded.
    pub fn wait(&self) -> Option<Wait> {
        match self {
            Self::Unset => Some(IdleWait::default().wait()),
            Self::Off => None,
            Self::Waits(idle) => Some(idle.wait()),
        }
    }
}

impl Wake {
    /// Whether anything can end a wait.
    pub fn is_set(&self) -> bool {
        !self.files.is_empty() || self.run.is_some()
    }
}

impl Plan {
    /// How to wait in this state, if that is what is to be done.
    pub fn wait_in(&self, state: AgentState) -> Option<Wait> {
        match state {
            AgentState::Idle => self.idle.wait(),
            AgentState::Blocked | AgentState::WaitingForReview => self.reaction(state)?.wait(),
            AgentState::Working => None,
        }
    }

    pub fn reaction(&self, state: AgentState) -> Option<&Reaction> {
        match state {
            AgentState::Blocked => Some(&self.on_state.blocked),
            AgentState::WaitingForReview => Some(&self.on_state.waiting_for_review),
            AgentState::Idle | AgentState::Working => None,
        }
    }

    /// The files whose change ends a wait.
    pub fn wake_files(&self) -> Vec<PathBuf> {
        self.wake.files.iter().map(|file| self.workspace.join(file)).collect()
    }

    /// The command that tells whether there is work.
    pub fn wake_command(&self) -> Option<CommandPlan> {
        let words = self.wake.run.clone()?;
        // As with `commands`: what is called `./` stands beside the definition.
        let beside = words.first().is_some_and(|program| program.starts_with("./"));
        let folder = self.source.as_deref().and_then(Path::parent).filter(|_| beside);
        let cwd = folder.unwrap_or(&self.workspace).to_owned();
        Some(CommandPlan {
            name: "wake".to_owned(),
            words,
            cwd,
            timeout: CommandPlan::TIMEOUT,
            parallel: false,
        })
    }

    /// The longest wait an agent in this state may choose.
    pub fn max_delay(&self, state: AgentState) -> Duration {
        let wait = self.wait_in(state).or_else(|| self.idle.wait());
        wait.map_or(IdleWait::MAX_DELAY, |wait| wait.backoff.max)
    }
}

impl Serialize for Idle {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            // Where nothing was said nothing is written; this is for whoever asks all the same.
            Self::Unset => serializer.serialize_unit(),
            Self::Off => serializer.serialize_bool(false),
            Self::Waits(idle) => idle.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Idle {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct IdleVisitor;
        impl<'de> Visitor<'de> for IdleVisitor {
            type Value = Idle;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping, or `false`")
            }
            // A key without a value was meant to say something.
            fn visit_unit<E: de::Error>(self) -> Result<Idle, E> {
                Ok(Idle::Waits(IdleWait::default()))
            }
            fn visit_bool<E: de::Error>(self, on: bool) -> Result<Idle, E> {
                Ok(if on { Idle::Waits(IdleWait::default()) } else { Idle::Off })
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Idle, A::Error> {
                IdleWait::deserialize(MapAccessDeserializer::new(map)).map(Idle::Waits)
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
        let mut schema = IdleWait::json_schema(generator);
        schema.insert("type".to_owned(), serde_json::json!(["object", "boolean"]));
        schema
    }
}

impl Serialize for WordOrReaction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.is_word() {
            true => self.0.r#do.serialize(serializer),
            false => self.0.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for WordOrReaction {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ReactionVisitor;
        impl<'de> Visitor<'de> for ReactionVisitor {
            type Value = WordOrReaction;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`stop`, `ask`, `wait` or a mapping")
            }
            fn visit_str<E: de::Error>(self, word: &str) -> Result<WordOrReaction, E> {
                let act = Act::deserialize(StrDeserializer::new(word))?;
                Ok(WordOrReaction(Reaction { r#do: act, ..Reaction::default() }))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<WordOrReaction, A::Error> {
                Reaction::deserialize(MapAccessDeserializer::new(map)).map(WordOrReaction)
            }
        }
        deserializer.deserialize_any(ReactionVisitor)
    }
}

impl JsonSchema for WordOrReaction {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Reaction".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (word, mapping) = (Act::json_schema(generator), Reaction::json_schema(generator));
        json_schema!({ "anyOf": [word, mapping] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: de::DeserializeOwned>(text: &str) -> T {
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn what_is_written_is_read_again() {
        let waits = IdleWait { delay: Duration::from_secs(400), ..IdleWait::default() };
        for idle in [Idle::Off, Idle::Waits(waits), Idle::Waits(IdleWait::default())] {
            let text = serde_json::to_string(&idle).expect("text");
            assert_eq!(read::<Idle>(&text), idle, "{text}");
        }
        let ask = OnState { blocked: Reaction::ask(), ..OnState::default() };
        let slow = Reaction { delay: Duration::from_secs(5), ..Reaction::default() };
        for on_state in [OnState::default(), ask, OnState { waiting_for_review: slow, ..OnState::default() }]
        {
            let text = serde_json::to_string(&on_state).expect("text");
            assert_eq!(read::<OnState>(&text), on_state, "{text}");
        }
    }

    #[test]
    fn a_longest_wait_is_never_below_the_first() {
        let long: Idle = read(r#"{"delay": "400s"}"#);
        assert_eq!(long.wait().expect("a wait").backoff.max, Duration::from_secs(400));
        assert_eq!(Idle::Unset.wait().expect("a wait").backoff.max, IdleWait::MAX_DELAY);
        let review: OnState = read(r#"{"waiting_for_review": {"delay": "1h"}}"#);
        let wait = review.waiting_for_review.wait().expect("a wait");
        assert_eq!(wait.backoff.max, Duration::from_secs(3600));
        assert_eq!((Idle::Off.wait(), review.blocked.wait()), (None, None));
    }
}
