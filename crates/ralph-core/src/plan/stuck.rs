//! What counts as being stuck, and what is done about it.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StuckPlan {
    pub enabled: bool,
    pub action: StuckAction,
    /// How many alarms in a row are answered by a redirect before the run stops.
    pub redirects: u32,
    /// The longest circle that is looked for, in iterations.
    pub window: usize,
    /// How many repeats more than usual an alarm takes.
    pub patience: u32,
    pub similarity: Use,
    /// Outputs that each one is compared with.
    pub similarity_window: usize,
    /// From 0 to 1.
    pub similarity_threshold: f64,
    pub signature: Use,
    /// How often in a row the same signature has to come.
    pub signature_threshold: usize,
    /// What these match in an output is not looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
}

/// What is done about an alarm.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StuckAction {
    /// Tell the next iteration what was seen and to take another way; stop if that does not help.
    #[default]
    Redirect,
    Stop,
    /// Pause, and let a person choose.
    Ask,
    /// Only say so.
    Warn,
}

/// What an alarm of a detector is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Use {
    /// It decides: something is done about it.
    Decide,
    /// It is told, and supports what another one decides.
    Evidence,
    /// It ends the run by itself, at once.
    Stop,
    Off,
}

impl Use {
    /// Whether something is done about an alarm, and not only told.
    pub fn decides(self) -> bool {
        matches!(self, Use::Decide | Use::Stop)
    }
}

/// Signatures that are remembered.
pub const SIGNATURE_WINDOW: usize = 5;

impl Default for StuckPlan {
    fn default() -> Self {
        Self {
            enabled: true,
            action: StuckAction::Redirect,
            redirects: 1,
            window: 6,
            patience: 0,
            similarity: Use::Evidence,
            similarity_window: 5,
            similarity_threshold: 0.9,
            signature: Use::Evidence,
            signature_threshold: 3,
            ignore: Vec::new(),
        }
    }
}

impl StuckPlan {
    /// As in journals of a time when nobody looked.
    pub fn off() -> Self {
        Self { enabled: false, ..Self::default() }
    }
}
