//! When hats have finished: claims that wait, claims that nobody makes, and ends that a topic has told.

use ralph_core::event::Inference;
use ralph_core::ids::HatKey;

use super::meant::fits;
use super::{Hats, RALPH};

/// Those that can be met here.
const APPROVALS: [&str; 2] = ["ok", "approved"];

impl Hats {
    /// Who has to be heard before a claim of this hat: in the order of the file.
    pub fn before_claim(&self, claimant: &str) -> Vec<HatKey> {
        let mut first = Vec::new();
        for plan in self.plan.hats.iter().filter(|plan| plan.id != claimant) {
            let withheld_now =
                self.unheard.iter().flat_map(|(_, dropped)| dropped).any(|hat| *hat == plan.id);
            if withheld_now || !self.hats[&plan.id].pending.is_empty() {
                first.push(plan.id.clone());
            }
        }
        first
    }

    fn is_required(&self, topic: &str) -> bool {
        self.plan.required_events.iter().any(|wanted| fits(wanted.as_str(), topic))
    }

    pub(super) fn lacks_required(&self) -> bool {
        let said = |wanted: &str| self.since_change.iter().any(|topic| fits(wanted, topic));
        self.plan.required_events.iter().any(|wanted| !said(wanted.as_str()))
    }

    /// The claim that follows from nobody having anything left to do.
    pub fn inferred(&self) -> Option<(Inference, Option<HatKey>)> {
        let nobody_left = self.hats.values().all(|hat| hat.pending.is_empty() && hat.withheld.is_empty());
        let quiet = self.due.is_empty() && self.silent.is_none() && self.coordinated == 0;
        let says_no = self.refused_claim || self.ends.is_some() || self.stuck.is_some();
        let blocked = self.unheard.iter().any(|(topic, _)| topic.ends_with("blocked"));
        if !nobody_left || !quiet || says_no || blocked {
            return None;
        }
        match &self.waiting_claim {
            Some(hat) => Some((Inference::WaitingClaim, Some(hat.clone()))),
            _ if self.plan.required_events.is_empty() || self.lacks_required() => None,
            _ => Some((Inference::RequiredEvents, self.last.clone())),
        }
    }

    pub fn deferred(&mut self) {
        let may = |hat: &HatKey| self.of(hat).is_none_or(|plan| plan.completes);
        self.waiting_claim = self.last.clone().filter(may);
        (self.silent, self.coordinated) = (None, 0);
    }

    pub fn is_inferred(&mut self, from: Inference) {
        (self.waiting_claim, self.by_topics) = (None, from == Inference::RequiredEvents);
    }

    pub fn refuse(&mut self) {
        (self.refused_claim, self.waiting_claim) = (true, None);
    }

    /// Somebody has published these. Whoever only approves of the work does not object to the claim that has waited.
    pub(super) fn spoke(&mut self, topics: &[String]) {
        let approves = |topic: &String| APPROVALS.contains(&topic.rsplit('.').next().unwrap_or_default());
        (self.refused_claim, self.ends) = (false, None);
        self.waiting_claim.take_if(|_| topics.iter().any(|topic| !approves(topic)));
    }

    /// The reason for which the run ends if the hat that was given these has nothing to add, and the hat it is about.
    pub(super) fn told_end(&self, messages: &[u64]) -> Option<(&'static str, Option<HatKey>)> {
        let said = || messages.iter().map(|id| &self.events[*id as usize - 1]);
        let exhausted = said().filter(|said| said.from == RALPH).find_map(|said| {
            let hat = said.topic.strip_suffix(".exhausted")?;
            self.hats.get(hat).filter(|hat| hat.exhausted).map(|_| HatKey::from(hat))
        });
        match exhausted {
            Some(hat) => Some(("hat_exhausted", Some(hat))),
            None if said().any(|said| said.topic.ends_with("blocked")) => Some(("blocked", None)),
            None => None,
        }
    }

    /// Nobody got it, and it is not for ralph either.
    pub(super) fn note_unheard(&mut self, topic: &str, dropped: Vec<HatKey>) {
        if !dropped.is_empty() || !self.is_required(topic) {
            self.unheard.push((topic.to_owned(), dropped));
        }
    }
}
