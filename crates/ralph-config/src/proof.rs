//! Rules about `stop` and `gates` that no single setting can check by itself.

use ralph_core::check::Kind;
use ralph_core::plan::Gate;
use ralph_core::plan::value::shell_operator;

use super::definition::Definition;
use super::diagnostic::{Diagnostic, quote};
use super::validate::Settings;

/// `tools_told`: the agent tells how its commands ended.
pub fn check(settings: &Settings, definition: &Definition, tools_told: bool) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (at, gate) in definition.gates.iter().enumerate() {
        let place = |message: String| settings.at_item("gates", at, message);
        if definition.gates[..at].iter().any(|other| other.name == gate.name) {
            found.push(place(format!("there are two gates called {}", quote(&gate.name))));
        }
        if let Some(word) = shell_operator(&gate.run) {
            let one = place(format!(
                "gate {}: no shell runs, so {} is only a word",
                quote(&gate.name),
                quote(word)
            ));
            found.push(one.help(
                "write two gates, or a script, or `sh -c '…'`; a pipe gives the exit code of its last command",
            ));
        }
    }
    let has_gate = |kind: Kind| definition.gates.iter().any(|gate| gate.checks(kind));
    for kind in definition.stop.required().filter(|kind| !tools_told && !has_gate(*kind)) {
        let (key, name) = match kind {
            Kind::Test => ("require_passing_tests", "tests"),
            Kind::Lint => ("require_lint", "lint"),
            Kind::Typecheck => ("require_typecheck", "typecheck"),
            // Nobody can ask for it by name.
            Kind::Build => continue,
        };
        let one = settings.at(
            &format!("stop.{key}"),
            format!("`stop.{key}` can never be met: this agent does not tell how its commands ended"),
        );
        let kind = kind.noun();
        found.push(one.help(format!("add a gate: gates: [{{name: {name}, run: …, kind: {kind}}}]")));
    }
    if definition.stop.require_proof && !definition.gates.iter().any(|gate| gate.required) {
        let message = "`stop.require_proof` can never be met: there is no required gate";
        let one = settings.at("stop.require_proof", message);
        found.push(one.help("add a gate: gates: [{name: tests, run: …}]"));
    }
    if !tools_told {
        found.extend(check_hats(settings, definition));
    }
    found
}

/// A hat that picks its gates has to keep those that are the only proof.
fn check_hats(settings: &Settings, definition: &Definition) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (id, hat) in definition.hats.0.iter().filter(|(_, hat)| hat.completes != Some(false)) {
        let Some(own) = &hat.gates else { continue };
        for kind in definition.stop.required() {
            let gates: Vec<&Gate> = definition.gates.iter().filter(|gate| gate.checks(kind)).collect();
            let keeps = |gate: &&Gate| own.iter().any(|name| name.0 == gate.name);
            if !gates.is_empty() && !gates.iter().any(keeps) {
                let at = format!("hats.{id}.gates");
                let message = format!("`{at}`: without a {} gate no claim of `{id}` can count", kind.noun());
                let help = format!("add {}, or set `completes: false`", quote(&gates[0].name));
                found.push(settings.at(&at, message).help(help));
            }
        }
    }
    found
}
