//! What has to hold before "complete" is believed.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::check::{ExtraPattern, Kind as CheckKind};
use crate::time::millis;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// In the order of the definition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GatePlan>,
    /// How many gates run at the same time.
    pub gate_jobs: u32,
    pub require_passing_tests: bool,
    pub require_lint: bool,
    pub require_typecheck: bool,
    pub require_no_errors: NoErrors,
    /// Claims in a row that are refused for the same reason before the run ends as failed.
    pub max_rejected: u32,
    /// What else counts as a test, lint or typecheck command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<ExtraPattern>,
}

impl Default for Proof {
    fn default() -> Self {
        Self {
            gates: Vec::new(),
            gate_jobs: 2,
            require_passing_tests: false,
            require_lint: false,
            require_typecheck: false,
            require_no_errors: NoErrors::Checks,
            max_rejected: 5,
            checks: Vec::new(),
        }
    }
}

impl Proof {
    /// The kinds of check that the definition asks for by name.
    pub fn required(&self) -> impl Iterator<Item = CheckKind> {
        let asked = [
            (CheckKind::Test, self.require_passing_tests),
            (CheckKind::Lint, self.require_lint),
            (CheckKind::Typecheck, self.require_typecheck),
        ];
        asked.into_iter().filter(|(_, on)| *on).map(|(kind, _)| kind)
    }

    /// Whether anything can refuse a claim. `tools_told`: the agents tell how their commands ended.
    pub fn can_refuse(&self, tools_told: bool) -> bool {
        self.gates.iter().any(|gate| gate.required)
            || tools_told && self.require_no_errors != NoErrors::Off
            || self.required().next().is_some()
    }

    /// Whether a gate settles this kind of check: what ralph ran outranks what the agent reported.
    pub fn has_gate(&self, kind: CheckKind) -> bool {
        self.gates.iter().any(|gate| gate.checks(kind))
    }
}

/// A command that ralph itself runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatePlan {
    pub name: String,
    /// The program and its arguments. No shell runs.
    pub run: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<CheckKind>,
    #[serde(rename = "timeout_ms", with = "millis")]
    pub timeout: Duration,
    /// Whether a failure refuses a claim; else it is only reported.
    pub required: bool,
    pub when: GateWhen,
}

impl GatePlan {
    /// A required gate that runs when completion is claimed.
    pub fn new(name: impl Into<String>, run: &[&str]) -> Self {
        Self {
            name: name.into(),
            run: run.iter().map(|word| (*word).to_owned()).collect(),
            kind: None,
            timeout: GATE_TIMEOUT,
            required: true,
            when: GateWhen::Completion,
        }
    }

    /// Whether it settles this kind of check.
    pub fn checks(&self, kind: CheckKind) -> bool {
        self.required && self.kind == Some(kind)
    }
}

pub const GATE_TIMEOUT: Duration = Duration::from_secs(600);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateWhen {
    /// When the agent claims that the task is complete.
    Completion,
    /// After every iteration.
    Iteration,
}

/// What of the agent's tools has to have gone well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoErrors {
    Off,
    /// No test, lint or typecheck is left failing.
    Checks,
    /// No tool call failed.
    Strict,
}
