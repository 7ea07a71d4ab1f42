//! What counts as being stuck, and what is done about it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::section::section;
use super::value::{Amount, Ratio, Regex, Rule, Size, leaf};

section! {
    pub struct StuckPlan, changed by StuckChange {
        /// Whether to look for iterations that bring nothing new.
        enabled: bool = true,
        /// What to do about them. `redirect`: tell the next iteration what was seen and to take a different approach, demand it, and stop
        /// if that does not help. `stop`: stop at once. `ask`: pause and let a person choose. `warn`: only say so.
        action: StuckAction = StuckAction::Redirect,
        /// How many alarms are answered by telling the agent before one ends the run. Those over files that are new each time count half.
        redirects: Amount = 1,
        /// How sure an alarm has to be. `low`: seldom wrong, and later; `high`: misses the least. docs/stuck-detection.md says what each costs.
        sensitivity: Sensitivity = Sensitivity::Normal,
        /// The longest circle that is looked for, in iterations.
        window: Size = 6,
        /// How many repeats more than usual an alarm takes.
        patience: Amount = 0,
        /// What outputs that are alike line by line are good for. `evidence`: they are told, and support what is decided. `stop`: a match
        /// ends the run by itself, or asks a person with `action: ask`. `ask`: a match asks a person. `off`: nobody looks. Not set: evidence, or stop if a window or a threshold of similarity is set.
        similarity: UseOfAlarm = Use::Evidence,
        /// How many of the last outputs each one is compared with. Setting it means `similarity: stop`.
        similarity_window: Size = 5,
        /// How much alike two outputs have to be, from 0 to 1. Setting it means `similarity: stop`.
        similarity_threshold: Ratio = 0.9,
        /// What signatures are good for, as with `similarity`: the main error, failing tests, edit or search of an iteration.
        signature: UseOfAlarm = Use::Evidence,
        /// How often in a row the same signature has to come.
        signature_threshold: Size = 3,
        /// Regular expressions: what they match in an output is not looked at.
        ignore: Vec<Regex> = Vec::new(),
    }
}

/// What is done about an alarm.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

/// How sure an alarm has to be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sensitivity {
    Low,
    #[default]
    Normal,
    High,
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
    /// It pauses the run by itself, at once, and a person chooses.
    Ask,
    Off,
}

impl Use {
    /// Whether something is done about an alarm, and not only told.
    pub fn decides(self) -> bool {
        matches!(self, Use::Decide | Use::Stop | Use::Ask)
    }
}

/// Signatures that are remembered.
pub const SIGNATURE_WINDOW: usize = 5;

leaf!(StuckAction, StuckAction, |it| it, |it| *it);
leaf!(Sensitivity, Sensitivity, |it| it, |it| *it);

/// The [`Use`]s that a definition can give to a detector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UseOfAlarm {
    Evidence,
    Stop,
    Ask,
    Off,
}

leaf!(
    UseOfAlarm,
    Use,
    |it| match it {
        Self::Evidence => Use::Evidence,
        Self::Stop => Use::Stop,
        Self::Ask => Use::Ask,
        Self::Off => Use::Off,
    },
    |it| match it {
        // To decide is not for a definition to give away.
        Use::Evidence | Use::Decide => Self::Evidence,
        Use::Stop => Self::Stop,
        Use::Ask => Self::Ask,
        Use::Off => Self::Off,
    }
);

impl StuckPlan {
    /// Nobody looks.
    pub fn off() -> Self {
        Self { enabled: false, ..Self::default() }
    }
}
