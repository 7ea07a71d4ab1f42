//! Waits because of what the agent says about itself, and what ends a wait.

use super::Turn;
use super::between::Flow;
use crate::effect::Effect;
use crate::event::{DelayReason, Event, WakeTriggered};
use crate::marker::AgentState;
use crate::plan::Act;
use crate::state::{Phase, Waiting};
use crate::stop;

impl Turn<'_> {
    /// An agent that needs a person, and one whose question nobody has answered.
    pub(super) fn heed_state(&mut self) -> Flow {
        let state = self.state();
        let said = state.unjudged.as_ref().and_then(|last| last.waits_as());
        let stops =
            said.filter(|said| state.plan.reaction(*said).is_some_and(|answer| answer.r#do == Act::Stop));
        let unanswered = state.idle.state.filter(|_| state.idle.unanswered);
        let Some(found) = stops.or(unanswered) else { return Flow::Next };
        let (reason, by_default) = match found {
            AgentState::WaitingForReview => (stop::WAITING_FOR_REVIEW, "the agent waits for a review"),
            _ => (stop::BLOCKED, "the agent says that it is blocked"),
        };
        let why = state.idle.why.clone().unwrap_or_else(|| by_default.to_owned());
        let message = match stops {
            Some(_) => why,
            None => {
                let time = crate::duration::format(state.plan.event_loop.max_wait);
                format!("{why}; nobody has answered within {time}")
            }
        };
        self.stop_if(Some(reason.because(message)))
    }

    /// Begins to look for work while the run waits.
    pub(super) fn watch_for_work(&mut self) {
        let Phase::Waiting(Waiting { epoch, reason, since, .. }) = self.state().phase else { return };
        if reason.can_wake() && self.state().plan.wake.is_set() {
            self.effect(Effect::StartWake { epoch, since });
        }
    }

    pub(super) fn end_wait(&mut self, early: bool) {
        let Phase::Waiting(Waiting { reason, .. }) = self.state().phase else { return };
        self.emit(Event::DelayEnded { early });
        if reason.can_wake() && self.state().plan.wake.is_set() {
            self.effect(Effect::StopWake);
        }
    }

    /// A limit ends when it ends, whoever speaks.
    pub(super) fn can_end_wait(&self) -> bool {
        let lasts = |reason| matches!(reason, DelayReason::Limit | DelayReason::Budget | DelayReason::Quota);
        matches!(&self.state().phase, Phase::Waiting(wait) if !lasts(wait.reason))
    }

    /// A person who speaks is not kept waiting.
    pub(super) fn end_wait_for_work(&mut self) {
        if self.can_end_wait() {
            self.end_wait(true);
            self.decide();
        }
    }

    pub(super) fn woken(&mut self, woken: WakeTriggered) {
        let meant = matches!(&self.state().phase,
            Phase::Waiting(wait) if wait.epoch == woken.epoch && wait.reason.can_wake());
        if meant {
            self.emit(Event::WakeTriggered(woken));
            self.end_wait(true);
            self.decide();
        }
    }
}
