//! Rules about `loop_detection` that no single setting can check by itself.

use ralph_core::plan::{EventLoop, SettingsChange, StuckPlan, Use};

use super::definition::Definition;
use super::diagnostic::Diagnostic;
use super::validate::Settings;

/// Circles longer than this are not remembered.
const LONGEST_WINDOW: usize = 40;
/// Outputs that one can be compared with at most.
const MOST_OUTPUTS: usize = 100;

/// Fills in what an alarm of similarity is good for, where that follows from other settings.
pub fn settle(settings: &Settings, definition: &mut Definition) {
    let is_set = |key: &str| settings.root.find(&format!("loop_detection.{key}")).is_some();
    let tuned = is_set("similarity_window") || is_set("similarity_threshold");
    let meant = meant(&definition.event_loop, is_set("similarity"), tuned);
    definition.loop_detection.similarity = meant.unwrap_or(definition.loop_detection.similarity);
}

/// The same for the settings of a resumed run.
pub fn settle_change(settings: &Settings, change: &mut SettingsChange) {
    let is_set = |key: &str| settings.root.find(&format!("loop_detection.{key}")).is_some();
    let tuned = is_set("similarity_window") || is_set("similarity_threshold");
    let mut changed = EventLoop::default();
    change.event_loop.apply(&mut changed);
    if let Some(meant) = meant(&changed, is_set("similarity"), tuned) {
        change.loop_detection.similarity = Some(<_ as ralph_core::plan::value::Rule>::of(&meant));
    }
}

/// Whoever sets the keys of that detector expects of it what it does elsewhere: a match ends the run.
fn meant(event_loop: &EventLoop, is_set: bool, is_tuned: bool) -> Option<Use> {
    match event_loop.enable_similarity_detection {
        Some(false) => Some(Use::Off),
        _ if is_set => None,
        Some(true) => Some(Use::Stop),
        None => is_tuned.then_some(Use::Stop),
    }
}

/// Numbers that make no sense.
pub fn check(settings: &Settings, from: &StuckPlan) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut at_most = |path: &str, value: usize, most: usize| {
        if value > most {
            found.push(settings.at(path, format!("`{path}` must be at most {most}")));
        }
    };
    at_most("loop_detection.window", from.window, LONGEST_WINDOW);
    at_most("loop_detection.patience", usize::try_from(from.patience).unwrap_or(usize::MAX), 1000);
    at_most("loop_detection.similarity_window", from.similarity_window, MOST_OUTPUTS);
    if !(2..=5).contains(&from.signature_threshold) {
        let message = "`loop_detection.signature_threshold` must be from 2 to 5";
        found.push(settings.at("loop_detection.signature_threshold", message));
    }
    found
}
