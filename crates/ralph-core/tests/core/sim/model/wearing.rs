//! How hats and topics go with everything else that happens in a run.

use std::time::Duration;

use ralph_core::event::{DelayReason, Event, IterationFinished};
use ralph_core::time::Timestamp;

use super::{Check, Model, ensure};
use crate::sim::hats::Terms;

impl Model {
    /// What a finished iteration published is on record before anything else is.
    pub(super) fn nothing_overtakes_topics(&self, event: &Event) -> Check {
        let due = self.hats.as_ref().is_some_and(|hats| hats.is_due());
        let right = matches!(event, Event::TopicPublished(_) | Event::RunResumed(_));
        ensure!(!due || right, "{} comes before what is due to be published", event.name());
        Ok(())
    }

    pub(super) fn is_not_kept_waiting(&mut self) {
        if self.waiting.is_some_and(|(reason, _)| reason != DelayReason::Limit) {
            self.must_follow = Some("delay.ended");
        }
    }

    pub(super) fn hat_input(&mut self, event: &Event) -> Check {
        match event {
            Event::TopicEmitted(e) => {
                self.attempt(e.iteration.0, e.attempt)?;
                let hats = self.hats.as_mut().ok_or("a topic without hats")?;
                if !hats.emitted(e)? {
                    self.must_follow = Some("topic.rejected");
                }
            }
            Event::HatReset(e) => {
                self.hats.as_mut().ok_or("a reset without hats")?.reset(&e.hat)?;
                self.is_not_kept_waiting();
            }
            other => return Err(format!("{} is no input about hats", other.name())),
        }
        Ok(())
    }

    pub(super) fn hat_decision(&mut self, at: Timestamp, event: &Event) -> Check {
        let of_itself = match event {
            Event::TopicPublished(e) => e.by_default,
            Event::HatExhausted(_) => true,
            _ => false,
        };
        if of_itself {
            // Only where a hat could be put on.
            self.may_go_on(at)?;
            ensure!(self.running.is_none() && self.waiting.is_none(), "{} meanwhile", event.name());
            ensure!(!self.paused && !self.pause_requested, "{} in a pause", event.name());
        }
        let finished = self.finished;
        let hats = self.hats.as_mut().ok_or_else(|| format!("{} without hats", event.name()))?;
        match event {
            Event::TopicPublished(e) => hats.published(e, finished),
            Event::TopicRejected(e) => hats.rejected(e),
            Event::HatExhausted(e) => hats.exhausted(e),
            Event::HatActivated(e) => hats.activated(e),
            other => Err(format!("{} is no decision about hats", other.name())),
        }
    }

    pub(super) fn hat_is_put_on(&mut self, hat: Option<&str>) -> Check {
        match &mut self.hats {
            Some(hats) => {
                hats.started(hat)?;
                self.must_follow = Some("hat.activated");
            }
            None => ensure!(hat.is_none(), "a hat where there are none"),
        }
        Ok(())
    }

    pub(super) fn hats_go_on(&self) -> Check {
        self.hats.as_ref().map_or(Ok(()), |hats| hats.goes_on())
    }

    /// The reason for which no hat can go on. A pause comes before it.
    pub(super) fn nobody_left(&self) -> Option<String> {
        let hats = self.hats.as_ref().filter(|_| !self.paused && !self.pause_requested)?;
        hats.stop().map(str::to_owned)
    }

    pub(super) fn iteration_timeout(&self) -> Duration {
        let own = self.hats.as_ref().and_then(|hats| hats.timeout());
        own.unwrap_or(self.limits.iteration_timeout)
    }

    pub(super) fn terms(&self) -> Terms<'_> {
        let nothing = Terms { missing: None, gates: None };
        self.last.as_ref().zip(self.hats.as_ref()).map_or(nothing, |(last, hats)| hats.terms(last))
    }

    /// The wait that the agent's words ask for. Another hat is not kept waiting.
    pub(super) fn idle_wait(&self, last: &IterationFinished) -> Option<(DelayReason, Duration)> {
        let another = self.hats.as_ref().is_some_and(|hats| hats.another_waits(last));
        if another { None } else { self.idle.wait_due(last, &self.limits) }
    }
}
