//! What a person changes about a run when it is resumed.

use ralph_core::plan::{EventLoop, Plan, SettingsChange};

use super::agent_plan::cost_is_known;
use super::diagnostic::{ConfigError, Diagnostic};
use super::gates::Auto;
use super::layers::{self, Flags};
use super::preflight::limits;
use super::reader::check_layer;
use super::source::{SourceMap, Span};
use super::validate::{self, Settings};
use super::yaml::Node;
use super::{de, loop_detection};

/// The sections of which a resume can change something: another task or agent would be another run.
const CHANGEABLE: [&str; 2] = ["event_loop", "loop_detection"];

/// The change that `--set` and flags ask for. It is checked together with the plan that it changes.
pub fn settings_change(plan: &Plan, sets: &[String], flags: &Flags) -> Result<SettingsChange, ConfigError> {
    let settings = read(sets, flags)?;
    let mut change: SettingsChange =
        de::from_node(&settings.root).map_err(|error| error.into_diagnostic(&settings.map))?;
    loop_detection::settle_change(&settings, &mut change);
    let mut changed = plan.clone();
    change.apply(&mut changed);
    let hats = plan.hats.iter().flat_map(|hats| &hats.hats).filter_map(|hat| hat.agent.as_ref());
    let mut agents = std::iter::once(&plan.agent).chain(&plan.fallback).chain(hats);
    let is_cost_known = agents.all(|agent| cost_is_known(agent, &plan.prices));
    let mut found = validate::bounds(&settings, &changed.event_loop, is_cost_known);
    found.extend(loop_detection::check(&settings, &changed.stuck));
    found.extend(limits::resumed(&settings, &changed));
    ConfigError::from_all(found).map_or(Ok(change), Err)
}

/// Everything that was given on the command line, as one tree.
fn read(sets: &[String], flags: &Flags) -> Result<Settings, ConfigError> {
    let mut map = SourceMap::default();
    let (mut found, mut trees) = (Vec::new(), Vec::new());
    for item in sets {
        match layers::read_set(&mut map, item) {
            Ok(tree) => trees.push(tree),
            Err(one) => found.push(one),
        }
    }
    trees.extend(flags.read(&mut map));
    let mut root = Node::map(Vec::new(), Span { source: 0, start: 0, end: 0 });
    for mut tree in trees {
        found.extend(check_layer(&map, &mut tree));
        found.extend(fixed(&map, &tree));
        layers::overlay(&mut root, tree);
    }
    match ConfigError::from_all(found) {
        Some(error) => Err(error),
        None => Ok(Settings { map, root, others: "the plan of this run", auto: Auto::default() }),
    }
}

/// Settings that a resume does not change.
fn fixed(map: &SourceMap, tree: &Node) -> Vec<Diagnostic> {
    let inner = EventLoop::FIXED.iter().filter_map(|key| {
        let path = format!("event_loop.{key}");
        tree.find(&path).map(|entry| (path, entry.key_span))
    });
    let outer = tree.entries().iter().filter(|entry| !CHANGEABLE.contains(&entry.key.as_str()));
    let outer = outer.map(|entry| (entry.key.clone(), entry.key_span));
    let refused = inner.chain(outer).map(|(path, span)| {
        let message = format!("`{path}` cannot be changed when a run is resumed");
        Diagnostic::new(message).at(map.place(span))
    });
    refused.collect()
}

/// Whether a change is about stuck detection and nothing else.
pub fn is_about_stuck(change: &SettingsChange) -> bool {
    let mut rest = change.event_loop.clone();
    rest.enable_similarity_detection = None;
    rest.is_empty()
}
