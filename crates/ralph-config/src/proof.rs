//! What has to hold before "complete" is believed: `stop` and `gates`.

use std::borrow::Cow;
use std::time::Duration;

use ralph_core::check::{ExtraPattern, Kind};
use ralph_core::plan::value::{Count, Regex, Text, Timeout};
use ralph_core::plan::{GATE_TIMEOUT, GatePlan, GateWhen, NoErrors, Proof, SignalPlan};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize, Serializer};

use super::agent::CommandLine;
use super::definition::Definition;
use super::diagnostic::{Diagnostic, quote};
use super::validate::Settings;

/// The built-in markers, with the rule that they stand on a line of their own.
const SUCCESS: &str = "<ralph>COMPLETE</ralph>";
const BLOCKED: &str = "<ralph>BLOCKED:(.*?)</ralph>";

#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a mapping")]
pub struct StopDef {
    /// What the agent says to claim completion. The default stands on a line of its own; a regular expression of your own
    /// is applied as written, in any letter case, to the agent's final text.
    pub success_regex: Regex,
    /// What the agent says when it needs a person; group 1 is the reason, which may span lines.
    pub blocked_regex: Regex,
    /// A claim needs passing tests: those the agent ran, or a gate of kind `test`.
    pub require_passing_tests: bool,
    /// A claim needs a clean lint: the agent's, or a gate of kind `lint`.
    pub require_lint: bool,
    /// A claim needs a clean typecheck: the agent's, or a gate of kind `typecheck`. Also written `require_tsc`.
    pub require_typecheck: bool,
    /// `true`: no test, lint or typecheck of the agent is left failing. `strict`: no tool call of the agent failed at all.
    /// `false`: its tools do not matter.
    pub require_no_errors: NoErrorsDef,
    /// Stop as failed after this many claims in a row that were refused for the same reason.
    pub max_rejected_completions: Count,
    /// Further commands of the agent that count as tests: their first words, where `*` stands for anything.
    pub test_commands: Vec<Text>,
    /// Further commands of the agent that count as lint: their first words, where `*` stands for anything.
    pub lint_commands: Vec<Text>,
    /// Further commands of the agent that count as typecheck: their first words, where `*` stands for anything.
    pub typecheck_commands: Vec<Text>,
}

impl Default for StopDef {
    fn default() -> Self {
        Self {
            success_regex: Regex(SUCCESS.to_owned()),
            blocked_regex: Regex(BLOCKED.to_owned()),
            require_passing_tests: false,
            require_lint: false,
            require_typecheck: false,
            require_no_errors: NoErrorsDef(NoErrors::Checks),
            max_rejected_completions: Count(Proof::default().max_rejected),
            test_commands: Vec::new(),
            lint_commands: Vec::new(),
            typecheck_commands: Vec::new(),
        }
    }
}

/// A check that ralph itself runs.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a mapping")]
pub struct GateDef {
    /// What it is called in the output.
    pub name: Text,
    /// The command, split into words; no shell runs. It passes with exit code 0.
    pub run: CommandLine,
    /// What it checks; then it settles `stop.require_…` of that kind by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<GateKind>,
    /// Ended after this long, and then not passed.
    #[serde(default = "gate_timeout")]
    pub timeout: Timeout,
    /// Whether a failure refuses the claim. `false` only reports it.
    #[serde(default = "yes")]
    pub required: bool,
    /// When it runs: when completion is claimed, or after every iteration.
    #[serde(default)]
    pub when: GateWhenDef,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GateKind {
    Test,
    Lint,
    Typecheck,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GateWhenDef {
    #[default]
    Completion,
    Iteration,
}

fn gate_timeout() -> Timeout {
    Timeout(GATE_TIMEOUT)
}

fn yes() -> bool {
    true
}

/// `true`, `false` or `strict`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoErrorsDef(pub NoErrors);

impl<'de> Deserialize<'de> for NoErrorsDef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = NoErrorsDef;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("true, false or `strict`")
            }
            fn visit_bool<E: de::Error>(self, on: bool) -> Result<NoErrorsDef, E> {
                Ok(NoErrorsDef(if on { NoErrors::Checks } else { NoErrors::Off }))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<NoErrorsDef, E> {
                match text {
                    "strict" => Ok(NoErrorsDef(NoErrors::Strict)),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl Serialize for NoErrorsDef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            NoErrors::Off => serializer.serialize_bool(false),
            NoErrors::Checks => serializer.serialize_bool(true),
            NoErrors::Strict => serializer.serialize_str("strict"),
        }
    }
}

impl JsonSchema for NoErrorsDef {
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

/// The plan's proof.
pub fn proof(definition: &Definition) -> Proof {
    let stop = &definition.stop;
    let checks = |kind: Kind, from: &[Text]| -> Vec<ExtraPattern> {
        from.iter().map(|text| ExtraPattern { kind, command: text.0.clone() }).collect()
    };
    let lists = [
        checks(Kind::Test, &stop.test_commands),
        checks(Kind::Lint, &stop.lint_commands),
        checks(Kind::Typecheck, &stop.typecheck_commands),
    ];
    Proof {
        gates: definition.gates.iter().map(gate).collect(),
        gate_jobs: definition.gate_jobs.map_or_else(cores, |count| count.0),
        require_passing_tests: stop.require_passing_tests,
        require_lint: stop.require_lint,
        require_typecheck: stop.require_typecheck,
        require_no_errors: stop.require_no_errors.0,
        max_rejected: stop.max_rejected_completions.0,
        checks: lists.concat(),
    }
}

fn gate(def: &GateDef) -> GatePlan {
    GatePlan {
        name: def.name.0.clone(),
        run: def.run.words().to_vec(),
        kind: def.kind.map(|kind| match kind {
            GateKind::Test => Kind::Test,
            GateKind::Lint => Kind::Lint,
            GateKind::Typecheck => Kind::Typecheck,
        }),
        timeout: Duration::from_millis(u64::try_from(def.timeout.0.as_millis()).unwrap_or(u64::MAX)),
        required: def.required,
        when: match def.when {
            GateWhenDef::Completion => GateWhen::Completion,
            GateWhenDef::Iteration => GateWhen::Iteration,
        },
    }
}

fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(u32::MAX))
}

/// Regular expressions of the user's own; the built-in markers have a better rule than one.
pub fn add_regexes(signals: &mut SignalPlan, stop: &StopDef) {
    let own = |regex: &Regex, usual: &str| Some(regex.0.clone()).filter(|text| text != usual);
    signals.success_regex = own(&stop.success_regex, SUCCESS);
    signals.blocked_regex = own(&stop.blocked_regex, BLOCKED);
}

/// Rules that one setting cannot check by itself.
pub fn check(settings: &Settings, definition: &Definition, tools_told: bool) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (at, gate) in definition.gates.iter().enumerate() {
        let place = |message: String| settings.at_item("gates", at, message);
        if definition.gates[..at].iter().any(|other| other.name == gate.name) {
            found.push(place(format!("there are two gates called {}", quote(&gate.name.0))));
        }
        if let Some(word) = gate.run.operator() {
            let one = place(format!(
                "gate {}: no shell runs, so {} is only a word",
                quote(&gate.name.0),
                quote(word)
            ));
            found.push(one.help(
                "write two gates, or a script, or `sh -c '…'`; a pipe gives the exit code of its last command",
            ));
        }
    }
    let proof = proof(definition);
    for kind in proof.required().filter(|kind| !tools_told && !proof.has_gate(*kind)) {
        let (key, name) = match kind {
            Kind::Test => ("require_passing_tests", "tests"),
            Kind::Lint => ("require_lint", "lint"),
            Kind::Typecheck => ("require_typecheck", "typecheck"),
        };
        let one = settings.at(
            &format!("stop.{key}"),
            format!("`stop.{key}` can never be met: this agent does not tell how its commands ended"),
        );
        let kind = kind.noun();
        found.push(one.help(format!("add a gate: gates: [{{name: {name}, run: …, kind: {kind}}}]")));
    }
    if !tools_told {
        found.extend(check_hats(settings, definition, &proof));
    }
    found
}

/// A hat that picks its gates has to keep those that are the only proof.
fn check_hats(settings: &Settings, definition: &Definition, proof: &Proof) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (id, hat) in definition.hats.0.iter().filter(|(_, hat)| hat.completes != Some(false)) {
        let Some(own) = &hat.gates else { continue };
        for kind in proof.required().filter(|kind| proof.has_gate(*kind)) {
            let gates: Vec<&GatePlan> = proof.gates.iter().filter(|gate| gate.checks(kind)).collect();
            let keeps = |gate: &&GatePlan| own.iter().any(|name| name.0 == gate.name);
            if !gates.iter().any(keeps) {
                let at = format!("hats.{id}.gates");
                let message = format!("`{at}`: without a {} gate no claim of `{id}` can count", kind.noun());
                let help = format!("add {}, or set `completes: false`", quote(&gates[0].name));
                found.push(settings.at(&at, message).help(help));
            }
        }
    }
    found
}
