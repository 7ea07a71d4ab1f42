//! The gates of a definition by themselves, and what `gates: auto` stands for.

use std::path::{Path, PathBuf};

use ralph_core::plan::Gate;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::json;

use super::definition::Definition;
use super::diagnostic::{ConfigError, Diagnostic};
use super::found::{Folder, FoundGate, find_gates};
use super::reader::read_layers;
use super::source::Span;
use super::sources::Sources;
use super::validate::Settings;
use super::yaml::{Meaning, Node, Value};
use super::{de, proof, target};

/// `gates: auto`, spelled out: the gates that were found in the workspace, in every layer that asks for them.
#[derive(Debug, Clone, Default)]
pub struct Auto {
    workspace: PathBuf,
    /// Looked for once, and only where it is asked for.
    found: Option<Vec<FoundGate>>,
    /// Where it was written.
    places: Vec<Span>,
}

impl Auto {
    pub fn of(workspace: &Path) -> Self {
        Self { workspace: workspace.to_owned(), ..Self::default() }
    }

    fn look(&mut self) -> &[FoundGate] {
        let workspace = &self.workspace;
        self.found.get_or_insert_with(|| find_gates(&Folder::look(&target::absolute(workspace))))
    }

    /// Puts the list in the place of the word.
    pub fn spell_out(&mut self, layer: &mut Node) {
        let Value::Map(entries) = &mut layer.value else { return };
        let Some(gates) = entries.iter_mut().find(|entry| entry.key == "gates") else { return };
        let is_auto =
            matches!(&gates.value.value, Value::Scalar(scalar) if scalar.meaning() == Meaning::Text("auto"));
        if is_auto {
            let span = gates.value.span;
            self.places.push(span);
            let list: Vec<serde_json::Value> = self.look().iter().map(written).collect();
            gates.value = Node::from_json(&list.into(), span);
        }
    }

    /// The gates that were found, if those are the ones that count.
    fn counting<'a>(&'a self, settings: &Settings) -> Option<&'a [FoundGate]> {
        let gates = settings.root.find("gates")?;
        self.places.contains(&gates.value.span).then(|| self.found.as_deref().unwrap_or_default())
    }
}

fn written(gate: &FoundGate) -> serde_json::Value {
    json!({ "name": gate.name, "run": shell_words::join(&gate.run), "kind": gate.kind.noun() })
}

/// A list of gates, or `auto`.
pub fn schema(generator: &mut SchemaGenerator) -> Schema {
    let list = generator.subschema_for::<Vec<Gate>>();
    json_schema!({ "anyOf": [list, { "const": "auto" }] })
}

/// Whoever asks for the project's own gates wants a proof: without any there would be none.
pub fn nothing_found(settings: &Settings) -> Option<Diagnostic> {
    let found = settings.auto.counting(settings)?;
    found.is_empty().then(|| {
        settings
            .at("gates", "`gates: auto` found no test, lint or typecheck in this project, so nothing could prove a completion")
            .note("looked for Cargo.toml, package.json with a test script, pytest, tox or unittest, go.mod, pom.xml, Gradle, \
                   rspec, rake, mix.exs, and a target `test` or `check` of a Makefile or a justfile")
            .help("say what proves it: --set 'gates=[{name: tests, run: ./check.sh, kind: test}]', or the same in the definition")
    })
}

/// Said at the start: gates that nobody has written.
pub fn note(settings: &Settings) -> Option<String> {
    let found = settings.auto.counting(settings).filter(|found| !found.is_empty())?;
    let shown =
        found.iter().map(|gate| format!("{} (`{}`, from {})", gate.name, gate.run.join(" "), gate.from));
    Some(format!("gates found in this project: {}", shown.collect::<Vec<_>>().join(", ")))
}

/// A gate, and where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    pub gate: Gate,
    /// `ralph.yml:4:3`, or `found: Cargo.toml`.
    pub from: String,
}

/// The gates of a definition.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Gates {
    pub gates: Vec<Listed>,
    /// There is a definition, and it has none: those that `gates: auto` would give.
    pub offered: Vec<FoundGate>,
}

/// Reads the gates alone: they can be run without an agent and without a task. Where there is no definition at all, they are
/// those of the project.
pub fn gates(sources: &Sources) -> Result<Gates, ConfigError> {
    let workspace = target::absolute(&sources.workspace);
    let home = sources.env.home.as_deref();
    let target = match target::resolve(sources.target.as_deref(), sources.preset.is_some(), &workspace, home)
    {
        Ok(target) => target,
        Err(_) if sources.target.is_none() => None,
        Err(error) => return Err(error),
    };
    let (mut settings, _) = read_layers(sources, target.as_ref())?;
    let definition: Definition =
        de::from_node(&settings.root).map_err(|error| error.into_diagnostic(&settings.map))?;
    let mut wrong = proof::check(&settings, &definition, true);
    wrong.extend(nothing_found(&settings));
    if let Some(error) = ConfigError::from_all(wrong) {
        return Err(error);
    }
    let is_written = settings.root.find("gates").is_some();
    if !is_written {
        let found = settings.auto.look().to_vec();
        let is_defined = target.is_some() || sources.preset.is_some();
        return Ok(match is_defined {
            true => Gates { gates: Vec::new(), offered: found },
            false => Gates { gates: found.iter().map(listed).collect(), offered: Vec::new() },
        });
    }
    let auto = settings.auto.counting(&settings);
    let from = |at: usize| match auto.and_then(|found| found.get(at)) {
        Some(found) => format!("found: {}", found.from),
        None => place(&settings, at),
    };
    let all = definition.gates.into_iter().enumerate();
    let gates = all.map(|(at, gate)| Listed { gate, from: from(at) }).collect();
    Ok(Gates { gates, offered: Vec::new() })
}

fn listed(found: &FoundGate) -> Listed {
    let words: Vec<&str> = found.run.iter().map(String::as_str).collect();
    let gate = Gate { kind: Some(found.kind), ..Gate::new(&found.name, &words) };
    Listed { gate, from: format!("found: {}", found.from) }
}

/// Where a gate of the list was written.
fn place(settings: &Settings, at: usize) -> String {
    let entry = settings.root.find("gates");
    let item = entry.and_then(|entry| entry.value.items().get(at));
    item.map_or_else(|| settings.origin("gates"), |item| settings.map.place(item.span).short())
}
