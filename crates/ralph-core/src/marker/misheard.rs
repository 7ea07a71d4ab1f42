//! What was perhaps meant as a signal, and was not heard as one: it is told, so that it can be said again.

use serde::{Deserialize, Serialize};

use super::speech::AgentState;
use super::{CLOSE, OPEN, PROMISE_OPEN, Rules, cut};

/// Bytes of a line that are told.
const MAX_TOLD: usize = 160;
/// A shorter promise stands in too many words.
const LEAST_PROMISE: usize = 4;

/// Why something was not heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unheard {
    /// It does not stand alone on its line, is misspelt, or stands in something that is shown.
    NotAlone,
    NoSuchState,
    NoDelay,
}

/// A line that was not heard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Misheard {
    pub text: String,
    pub why: Unheard,
}

impl Misheard {
    pub(super) fn new(line: &str, why: Unheard) -> Self {
        let told = cut(line, MAX_TOLD);
        let text = if told.len() < line.len() { format!("{told}…") } else { told.to_owned() };
        Self { text, why }
    }

    /// What would be heard.
    pub fn cure(&self) -> String {
        match self.why {
            Unheard::NotAlone => {
                "to be heard, write the marker alone on a line, outside of code blocks".to_owned()
            }
            Unheard::NoSuchState => {
                let names = AgentState::ALL.map(AgentState::name).join(", ");
                format!("there is no such state; to be heard, write one of: {names}")
            }
            Unheard::NoDelay => "that is no delay; to be heard, write one such as 30s, 5m or 1h".to_owned(),
        }
    }
}

/// Whether a line holds something like a signal.
pub(super) fn mentions(line: &str, rules: &Rules) -> bool {
    let lower = line.to_ascii_lowercase();
    let has = |what: &str| lower.contains(what);
    let promise = rules.promise.as_deref().filter(|promise| promise.len() >= LEAST_PROMISE);
    let tagged = rules.tagged.is_some() && has(PROMISE_OPEN);
    let escaped = has("&lt;ralph&gt;") || has("<ralph:complete") || has("[ralph]");
    has(OPEN)
        || has(CLOSE)
        || escaped
        || tagged
        || promise.is_some_and(|promise| line.contains(promise))
        || has("ralph:state")
        || has("ralph:delay")
}

/// A line of the last words in which complete or blocked was not heard.
pub(super) fn of_end(line: &str, rules: &Rules) -> Option<Misheard> {
    let is_state = line.contains("ralph:state") || line.contains("ralph:delay");
    (!is_state && mentions(line, rules) && !is_of_prompt(line, rules))
        .then(|| Misheard::new(line, Unheard::NotAlone))
}

/// Whether the prompt says the same: it was repeated.
pub(super) fn is_of_prompt(line: &str, rules: &Rules) -> bool {
    let line = line.trim_start_matches(['>', ' ', '-', '*']);
    rules.mentions.iter().any(|mention| mention.contains(line) || line.contains(mention.as_str()))
}
