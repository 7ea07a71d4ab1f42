//! The reason for which a run might have stopped after an iteration, or did.

use super::MOST_TEXT;
use super::quote::cut_start;
use crate::event::{IterationFinished, Outcome};
use crate::marker::AgentState;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopNote {
    /// `complete`, `blocked`, `error`; of a run that has stopped, its reason.
    pub key: String,
    pub message: Option<String>,
}

impl StopNote {
    pub fn new(key: &str, message: Option<&str>) -> Self {
        Self { key: key.to_owned(), message: message.map(str::to_owned) }
    }

    /// What the iteration itself brings up; nothing where the run simply goes on.
    pub fn of(finished: &IterationFinished) -> Option<Self> {
        let (blocked, error) = (finished.blocked.as_deref(), finished.error.as_deref());
        match (finished.outcome, finished.waits_as()) {
            (Outcome::Ok, _) if finished.claims_complete => Some(Self::new("complete", None)),
            (Outcome::Ok, Some(AgentState::Blocked)) => Some(Self::new("blocked", blocked)),
            (Outcome::Ok, Some(AgentState::WaitingForReview)) => {
                Some(Self::new("waiting_for_review", blocked))
            }
            (Outcome::Ok, _) => None,
            _ => Some(Self::new("error", error)),
        }
    }

    pub(super) fn bounded(self) -> Self {
        let message = self.message.map(|text| cut_start(&text, MOST_TEXT).into_owned());
        Self { message, ..self }
    }
}
