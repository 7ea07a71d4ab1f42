//! `gates`: checks that ralph itself runs.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::section::section;
use super::value::{CommandLine, Rule, Text, Timeout, leaf};
use crate::check::Kind as CheckKind;

section! {
    /// A check that ralph itself runs.
    pub struct Gate, in a list {
        /// What it is called in the output.
        name: Text,
        /// The command, split into words; no shell runs. It passes with exit code 0.
        run: CommandLine,
        /// What it checks; then it settles `stop.require_…` of that kind by itself.
        kind: Option<CheckKind> = None,
        /// Ended after this long, and then not passed.
        timeout: Timeout = GATE_TIMEOUT,
        /// Whether a failure refuses the claim. `false` only reports it.
        required: bool = true,
        /// When it runs: when completion is claimed, or after every iteration.
        when: GateWhen = GateWhen::Completion,
        /// A held-out check: the agent learns only that an acceptance check failed, not which, how or why. It runs in a copy of the
        /// workspace.
        hidden: bool = false,
        /// A folder outside of the workspace whose files are laid into that copy, relative to the file that names it. For hidden gates.
        files: Option<Text> = None,
    }
}

/// All that an agent learns of a hidden gate.
pub const ACCEPTANCE_CHECK: &str = "acceptance check";

pub const GATE_TIMEOUT: Duration = Duration::from_secs(600);

leaf!(CheckKind, CheckKind, |it| it, |it| *it);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateWhen {
    Completion,
    Iteration,
}

leaf!(GateWhen, GateWhen, |it| it, |it| *it);

impl Gate {
    /// A required gate that runs when completion is claimed.
    pub fn new(name: impl Into<String>, run: &[&str]) -> Self {
        Self {
            name: name.into(),
            run: run.iter().map(|word| (*word).to_owned()).collect(),
            kind: None,
            timeout: GATE_TIMEOUT,
            required: true,
            when: GateWhen::Completion,
            hidden: false,
            files: None,
        }
    }

    /// Whether it settles this kind of check: what ralph ran outranks what the agent reported.
    pub fn checks(&self, kind: CheckKind) -> bool {
        self.required && self.kind == Some(kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_needs_a_name_and_a_command_and_has_defaults_for_the_rest() {
        let read: Gate =
            serde_json::from_str(r#"{"name":"tests","run":"make 'all of it'"}"#).expect("a gate");
        assert_eq!(read, Gate::new("tests", &["make", "all of it"]));
        let again = serde_json::to_string(&read).expect("text");
        let expected = r#"{"name":"tests","run":"make 'all of it'","timeout":"10m","required":true,"when":"completion","hidden":false}"#;
        assert_eq!(again, expected);
        for (text, missing) in
            [(r#"{"run":"make"}"#, "`name`"), (r#"{"name":"tests","kind":"lint"}"#, "`run`")]
        {
            let error = serde_json::from_str::<Gate>(text).expect_err("incomplete").to_string();
            assert!(error.contains(missing), "{error}");
        }
    }
}
