//! When nobody has anything left to do: whether that is a claim of completion, or an end that a topic has told.
//!
//! Apart from the bus, which delivers: these are the rules by which hats finish.

use std::sync::Arc;

use super::{Bus, TopicMessage};
use crate::event::Inference;
use crate::hat::plan::{COORDINATOR, HatsPlan};
use crate::hat::topic::Topic;
use crate::ids::HatKey;

/// What a topic says of the end of the run, once the hat that it went to has ended without a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::hat) enum Ending {
    /// A hat is exhausted, and `by` has dealt with that.
    Exhausted { hat: HatKey, by: HatKey },
    /// Somebody is blocked, and `by` has dealt with that.
    Blocked { topic: Topic, subject: String, by: HatKey },
}

impl Bus {
    /// The hats that have to be heard before a claim of this one is judged: those with something to do, and the exhausted
    /// ones for which something was published just now.
    pub fn before_claim_of(&self, claimant: &str) -> Vec<HatKey> {
        let withheld = |id: &HatKey| self.unheard.iter().any(|unheard| unheard.dropped.contains(id));
        let waits = self.hats.iter().filter(|hat| hat.id != claimant);
        let waits = waits.filter(|hat| !hat.pending.is_empty() || withheld(&hat.id));
        waits.map(|hat| hat.id.clone()).collect()
    }

    /// The claim that follows from nobody having anything left to do, and whose it is.
    pub fn inferred_claim(&self, plan: &HatsPlan) -> Option<(Inference, Option<HatKey>)> {
        let at_work = self.wearing.is_some() || !self.due.is_empty() || self.silent.is_some();
        let ends_otherwise = self.ending.is_some() || self.stuck.is_some() || self.coordinator_turns > 0;
        let left = self.hats.iter().any(|hat| !hat.pending.is_empty() || !hat.missed.is_empty());
        let blocked = self.unheard.iter().any(|unheard| unheard.topic.is_blocked());
        if at_work || ends_otherwise || left || blocked || self.refused {
            return None;
        }
        if let Some(claimant) = &self.waiting_claim {
            return Some((Inference::WaitingClaim, Some(claimant.clone())));
        }
        let required = &plan.required_events;
        let heard = !required.is_empty() && required.iter().all(|wanted| self.heard_since_change(wanted));
        heard.then(|| (Inference::RequiredEvents, self.last.clone()))
    }

    /// Whether the last claim was refused, and nothing was published since.
    pub fn was_refused(&self) -> bool {
        self.refused
    }

    /// Other hats come before the claim of the one that was put on last.
    pub(super) fn deferred(&mut self) {
        let last = self.last.as_deref().unwrap_or_default();
        let may_claim = last == COORDINATOR || self.hat(last).is_some_and(|hat| hat.completes);
        self.waiting_claim = self.last.clone().filter(|_| may_claim);
        // It has said what it has to say.
        (self.silent, self.coordinator_turns) = (None, 0);
    }

    pub(super) fn refused_claim(&mut self) {
        (self.refused, self.waiting_claim) = (true, None);
    }

    /// A hat has published something: what held before may hold no more. Who says nothing but that all is well does not
    /// object to the claim that has waited for it.
    pub(super) fn spoken<'a>(&mut self, mut topics: impl Iterator<Item = &'a Topic>) {
        (self.refused, self.ending) = (false, None);
        if !topics.all(Topic::approves) {
            self.waiting_claim = None;
        }
    }

    /// What these topics say of the end of the run, if the hat that was given them has nothing to add.
    pub(super) fn ending_of(&self, messages: &[Arc<TopicMessage>], by: &str) -> Option<Ending> {
        let exhausted = messages.iter().find_map(|message| {
            let hat = message.topic.as_str().strip_suffix(".exhausted");
            let hat = hat.filter(|_| message.from == COORDINATOR)?;
            self.hat(hat).filter(|hat| hat.exhausted).map(|hat| hat.id.clone())
        });
        if let Some(hat) = exhausted {
            return Some(Ending::Exhausted { hat, by: by.into() });
        }
        let blocked = messages.iter().rev().find(|message| message.topic.is_blocked())?;
        let (topic, subject) = (blocked.topic.clone(), blocked.payload.subject());
        Some(Ending::Blocked { topic, subject, by: by.into() })
    }

    /// A person wants a stopped run to go on: a hat that is exhausted still is.
    pub(super) fn forget_blocked_end(&mut self) {
        self.ending.take_if(|ending| matches!(ending, Ending::Blocked { .. }));
    }
}
