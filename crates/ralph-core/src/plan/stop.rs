//! `stop`: what the agent says to claim completion, and what has to hold before it is believed.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer};
use serde::{Deserialize as DeriveDeserialize, Serialize, Serializer};

use super::section::section;
use super::value::{Count, Regex, Rule, Text, leaf};
use crate::check::{ExtraPattern, Kind as CheckKind};

/// The built-in markers, with the rule that they stand on a line of their own.
const SUCCESS: &str = "<ralph>COMPLETE</ralph>";
const BLOCKED: &str = "<ralph>BLOCKED:(.*?)</ralph>";

section! {
    pub struct Stop, changed by StopChange {
        /// What the agent says to claim completion. The default stands on a line of its own; a regular expression of your own
        /// is applied as written, in any letter case, to the agent's final text.
        success_regex: Regex = SUCCESS.to_owned(),
        /// What the agent says when it needs a person; group 1 is the reason, which may span lines.
        blocked_regex: Regex = BLOCKED.to_owned(),
        /// A claim needs passing tests: those the agent ran, or a gate of kind `test`.
        require_passing_tests: bool = false,
        /// A claim needs a clean lint: the agent's, or a gate of kind `lint`.
        require_lint: bool = false,
        /// A claim needs a clean typecheck: the agent's, or a gate of kind `typecheck`. Also written `require_tsc`.
        require_typecheck: bool = false,
        /// `true`: no test, lint or typecheck of the agent is left failing. `strict`: no tool call of the agent failed at all.
        /// `false`: its tools do not matter.
        require_no_errors: NoErrors = NoErrors::Checks,
        /// An end that no gate proved is a failure. Then there has to be a required gate.
        require_proof: bool = false,
        /// What is done about tampering with tests: tests that were removed, skipped or made to pass whatever the program does.
        /// `warn`: it is told, at the end as well. `refuse`: claims are refused. `off`: nobody looks.
        tampering: TamperingPolicy = TamperingPolicy::Warn,
        /// Stop as failed after this many claims in a row that were refused for the same reason.
        max_rejected_completions: Count = 5,
        /// Further commands of the agent that count as tests: their first words, where `*` stands for anything.
        test_commands: Vec<Text> = Vec::new(),
        /// Further commands of the agent that count as lint: their first words, where `*` stands for anything.
        lint_commands: Vec<Text> = Vec::new(),
        /// Further commands of the agent that count as typecheck: their first words, where `*` stands for anything.
        typecheck_commands: Vec<Text> = Vec::new(),
    }
}

impl Stop {
    /// The kinds of check that the definition asks for by name.
    pub fn required(&self) -> impl Iterator<Item = CheckKind> {
        let asked = [
            (CheckKind::Test, self.require_passing_tests),
            (CheckKind::Lint, self.require_lint),
            (CheckKind::Typecheck, self.require_typecheck),
        ];
        asked.into_iter().filter(|(_, on)| *on).map(|(kind, _)| kind)
    }

    /// What else counts as a test, lint or typecheck command.
    pub fn extra_checks(&self) -> Vec<ExtraPattern> {
        let lists = [
            (CheckKind::Test, &self.test_commands),
            (CheckKind::Lint, &self.lint_commands),
            (CheckKind::Typecheck, &self.typecheck_commands),
        ];
        let each = lists.into_iter().flat_map(|(kind, list)| list.iter().map(move |command| (kind, command)));
        each.map(|(kind, command)| ExtraPattern { kind, command: command.clone() }).collect()
    }

    /// The user's own rule for a claim; the built-in marker has a better one than a regular expression.
    pub fn own_success(&self) -> Option<&str> {
        Some(self.success_regex.as_str()).filter(|text| *text != SUCCESS)
    }

    /// The user's own rule for blocked.
    pub fn own_blocked(&self) -> Option<&str> {
        Some(self.blocked_regex.as_str()).filter(|text| *text != BLOCKED)
    }
}

/// What is done about tampering with tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, DeriveDeserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TamperingPolicy {
    Warn,
    Refuse,
    Off,
}

leaf!(TamperingPolicy, TamperingPolicy, |it| it, |it| *it);

/// What of the agent's tools has to have gone well: `true`, `false` or `strict`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoErrors {
    Off,
    /// No test, lint or typecheck is left failing.
    Checks,
    /// No tool call failed.
    Strict,
}

leaf!(NoErrors, NoErrors, |it| it, |it| *it);

impl<'de> Deserialize<'de> for NoErrors {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = NoErrors;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false or `strict`")
            }
            fn visit_bool<E: de::Error>(self, on: bool) -> Result<NoErrors, E> {
                Ok(if on { NoErrors::Checks } else { NoErrors::Off })
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<NoErrors, E> {
                match text {
                    "strict" => Ok(NoErrors::Strict),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl Serialize for NoErrors {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            NoErrors::Off => serializer.serialize_bool(false),
            NoErrors::Checks => serializer.serialize_bool(true),
            NoErrors::Strict => serializer.serialize_str("strict"),
        }
    }
}

impl JsonSchema for NoErrors {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "NoErrors".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "boolean" }, { "const": "strict" }] })
    }
}
