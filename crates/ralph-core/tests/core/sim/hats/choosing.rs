//! Which hat is put on next, and when none can be.

use ralph_core::hat::{HatPlan, Payload};
use ralph_core::ids::HatKey;

use super::{ASKED, CLAIMS, Hat, Hats, Next, RALPH, Said, Silent, TURNS};
use crate::sim::model::{Check, ensure};

impl Hats {
    /// Whether a hat is to be put on now; else the run must not go on.
    pub fn goes_on(&self) -> Check {
        let next = self.next();
        ensure!(matches!(next, Next::Wear(..)), "goes on although {next:?}");
        Ok(())
    }

    /// The reason for which nobody can go on.
    pub fn stop(&self) -> Option<&'static str> {
        match self.next() {
            Next::Stop(reason) => Some(reason),
            _ => None,
        }
    }

    pub(super) fn next(&self) -> Next {
        if let Some(said) = self.due.front() {
            return Next::Publish(said.clone());
        }
        let too_often = |hat: &Hat| {
            hat.blocked.as_ref().is_some_and(|(_, times)| *times >= self.plan.max_consecutive_blocked)
        };
        if self.hats.values().any(too_often) {
            return Next::Stop("loop_thrashing");
        }
        if self.stuck.is_some() {
            return Next::Stop("hat_exhausted");
        }
        if self.coordinated >= TURNS {
            return Next::Stop("no_handoff");
        }
        if let Some(silent) = &self.silent {
            return self.after_silence(silent);
        }
        let waits = |hat: &HatPlan| Some((*self.hats[&hat.id].pending.first()?, hat.id.clone()));
        let mut waiting: Vec<_> = self.plan.hats.iter().filter_map(waits).collect();
        waiting.sort_by_key(|(id, _)| *id);
        if let Some((_, hat)) = waiting.into_iter().next() {
            return self.wear(hat, false);
        }
        match (&self.ends, self.unheard.last()) {
            (Some((reason, _)), _) => Next::Stop(reason),
            (None, Some((_, dropped))) if !self.refused_claim => {
                Next::Stop(if dropped.is_empty() { "no_subscriber" } else { "hat_exhausted" })
            }
            (None, _) => Next::Wear(RALPH.into(), false),
        }
    }

    fn wear(&self, hat: HatKey, again: bool) -> Next {
        let most = self.of(&hat).and_then(|hat| hat.max_activations);
        match most.is_some_and(|most| self.hats[&hat].activations >= most) {
            true => Next::Exhaust(hat),
            false => Next::Wear(hat, again),
        }
    }

    fn after_silence(&self, silent: &Silent) -> Next {
        let asked = if silent.claimed { CLAIMS } else { ASKED };
        let default = self.of(&silent.hat).and_then(|hat| hat.default_publishes.as_ref());
        match default {
            _ if self.coordinated > 0 => Next::Wear(RALPH.into(), false),
            Some(topic) if !silent.claimed || silent.times >= asked => Next::Publish(Said {
                topic: topic.to_string(),
                payload: Payload::Text(String::new()),
                from: silent.hat.clone(),
                iteration: None,
                by_default: true,
            }),
            _ if silent.times < asked => self.wear(silent.hat.clone(), true),
            _ => Next::Wear(RALPH.into(), false),
        }
    }
}
