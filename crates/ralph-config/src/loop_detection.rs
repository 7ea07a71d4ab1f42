//! What counts as being stuck, and what is done about it: `loop_detection`, and the similarity keys of `event_loop`.

use ralph_core::plan::{StuckAction, StuckPlan, Use};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::definition::{Definition, EventLoop};
use super::diagnostic::Diagnostic;
use super::proof::Regex;
use super::validate::Settings;
use super::value::{Amount, Count};

/// Circles longer than this are not remembered.
const LONGEST_WINDOW: u32 = 40;
/// Outputs that one can be compared with at most.
const MOST_OUTPUTS: u32 = 100;

#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a mapping")]
pub struct LoopDetectionDef {
    /// Whether to look for iterations that bring nothing new.
    pub enabled: bool,
    /// What to do about them. `redirect`: tell the next iteration what was seen and to take a different approach, and stop
    /// if that does not help. `stop`: stop at once. `ask`: pause and let a person choose. `warn`: only say so.
    pub action: ActionDef,
    /// How many alarms in a row are answered by a redirect before the run stops.
    pub redirects: Amount,
    /// The longest circle that is looked for, in iterations.
    pub window: Count,
    /// How many repeats more than usual an alarm takes.
    pub patience: Amount,
    /// How often in a row the same signature has to come.
    pub signature_threshold: Count,
    /// What outputs that are alike line by line are good for. `evidence`: they are told, and support what is decided. `stop`: a match
    /// ends the run by itself. `off`: nobody looks. Not set: evidence, or stop if `event_loop` sets one of the similarity keys.
    pub similarity: Option<UseDef>,
    /// The same for signatures: the main error, failing tests, edit or search of an iteration. Not set: evidence.
    pub signature: Option<UseDef>,
    /// Regular expressions: what they match in an output is not looked at.
    pub ignore: Vec<Regex>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ActionDef {
    Redirect,
    Stop,
    Ask,
    Warn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UseDef {
    Evidence,
    Stop,
    Off,
}

impl Default for LoopDetectionDef {
    fn default() -> Self {
        let mut usual = Self::of(&StuckPlan::default());
        // What is not set may follow from other keys.
        (usual.similarity, usual.signature) = (None, None);
        usual
    }
}

impl LoopDetectionDef {
    /// The settings that lead to this plan.
    pub fn of(plan: &StuckPlan) -> Self {
        let count = |n: usize| Count(u32::try_from(n).unwrap_or(u32::MAX));
        Self {
            enabled: plan.enabled,
            action: match plan.action {
                StuckAction::Redirect => ActionDef::Redirect,
                StuckAction::Stop => ActionDef::Stop,
                StuckAction::Ask => ActionDef::Ask,
                StuckAction::Warn => ActionDef::Warn,
            },
            redirects: Amount(plan.redirects),
            window: count(plan.window),
            patience: Amount(plan.patience),
            signature_threshold: count(plan.signature_threshold),
            similarity: UseDef::of(plan.similarity),
            signature: UseDef::of(plan.signature),
            ignore: plan.ignore.iter().cloned().map(Regex).collect(),
        }
    }
}

impl UseDef {
    fn of(it: Use) -> Option<Self> {
        match it {
            Use::Evidence => Some(Self::Evidence),
            Use::Stop => Some(Self::Stop),
            Use::Off => Some(Self::Off),
            Use::Decide => None,
        }
    }

    fn plan(self) -> Use {
        match self {
            Self::Evidence => Use::Evidence,
            Self::Stop => Use::Stop,
            Self::Off => Use::Off,
        }
    }
}

pub fn plan(definition: &Definition) -> StuckPlan {
    let from = &definition.loop_detection;
    let size = |count: Count| usize::try_from(count.0).unwrap_or(usize::MAX);
    let usual = StuckPlan::default();
    let keys = &definition.event_loop;
    StuckPlan {
        enabled: from.enabled,
        action: match from.action {
            ActionDef::Redirect => StuckAction::Redirect,
            ActionDef::Stop => StuckAction::Stop,
            ActionDef::Ask => StuckAction::Ask,
            ActionDef::Warn => StuckAction::Warn,
        },
        redirects: from.redirects.0,
        window: size(from.window),
        patience: from.patience.0,
        similarity: similarity(from.similarity, keys),
        similarity_window: keys.similarity_window_size.map_or(usual.similarity_window, size),
        similarity_threshold: keys.similarity_threshold.map_or(usual.similarity_threshold, |it| it.0),
        signature: from.signature.map_or(usual.signature, UseDef::plan),
        signature_threshold: size(from.signature_threshold),
        ignore: from.ignore.iter().map(|regex| regex.0.clone()).collect(),
    }
}

/// Who sets the keys of that detector expects what it does elsewhere: a match ends the run.
fn similarity(set: Option<UseDef>, keys: &EventLoop) -> Use {
    let tuned = keys.similarity_threshold.is_some() || keys.similarity_window_size.is_some();
    match (keys.enable_similarity_detection, set) {
        (Some(false), _) => Use::Off,
        (_, Some(set)) => set.plan(),
        (Some(true), None) => Use::Stop,
        (None, None) if tuned => Use::Stop,
        (None, None) => Use::Evidence,
    }
}

/// Numbers that make no sense.
pub fn check(settings: &Settings, definition: &Definition) -> Vec<Diagnostic> {
    let from = &definition.loop_detection;
    let mut found = Vec::new();
    let mut at_most = |path: &str, value: u32, most: u32| {
        if value > most {
            found.push(settings.at(path, format!("`{path}` must be at most {most}")));
        }
    };
    at_most("loop_detection.window", from.window.0, LONGEST_WINDOW);
    at_most("loop_detection.patience", from.patience.0, 1000);
    let outputs = definition.event_loop.similarity_window_size.map_or(1, |count| count.0);
    at_most("event_loop.similarity_window_size", outputs, MOST_OUTPUTS);
    if !(2..=5).contains(&from.signature_threshold.0) {
        let message = "`loop_detection.signature_threshold` must be from 2 to 5";
        found.push(settings.at("loop_detection.signature_threshold", message));
    }
    found
}
