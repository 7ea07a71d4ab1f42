//! The bus: what is published and not yet heard. Part of the state of a run, so it changes only by applying events.
//!
//! What an iteration publishes is staged. When the iteration has finished well it is *due*, and everything due is published
//! before anything else is decided. So a crash at any moment, with or without the records behind the last synced one, leaves
//! each event either staged and gone with its iteration, or due, or published: never two of them.

mod contents;
mod ends;
mod exhausted;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::payload::Payload;
use super::plan::{COORDINATOR, HatsPlan};
use super::topic::{Pattern, Topic};
use crate::event::{
    Event, HatExhausted, IterationFinished, IterationStarted, LoopAnswer, LoopDetected, TopicPublished,
    TopicRejected,
};
use crate::ids::{HatKey, IterationNumber};
pub(super) use contents::Unheard;
pub use contents::{Hat, Silent, Staged, TopicMessage};
use contents::{Streak, Wearing};
pub(super) use ends::Ending;
use exhausted::exhausted_payload;

/// What an event in an agent's text says that was too long.
const CUT: &str = "\n(cut here; `ralph emit TOPIC -` takes more)";
/// Refusals that are told, at most.
const MAX_REJECTED: usize = 20;
/// Events that the coordinator is shown.
const RECENT: usize = 12;
/// How often a hat that published nothing is asked in all.
pub(super) const MAX_ASKED: u32 = 2;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bus {
    /// In the order of the plan.
    pub(super) hats: Vec<Hat>,
    index: BTreeMap<HatKey, usize>,
    /// Events published so far; also the id of the last one.
    pub(super) published: u64,
    staged: Vec<Staged>,
    /// Who publishes this says that the task is complete, and nobody hears of it.
    promise: Option<Topic>,
    /// The iteration that is running has said so.
    promised: bool,
    /// Topics that are for ralph itself: once all of them were published the task may be complete.
    required: Vec<Pattern>,
    /// The hat of the last iteration that ended well.
    last: Option<HatKey>,
    /// Who has said that the task is complete while others had something to do, and nobody has published anything since.
    waiting_claim: Option<HatKey>,
    /// The last claim was refused, and nobody has published anything since.
    pub(super) refused: bool,
    /// How the run ends when nobody has anything left to do, by the topic that a hat had nothing to add to.
    pub(super) ending: Option<Ending>,
    pub(super) due: VecDeque<Staged>,
    wearing: Option<Wearing>,
    pub(super) silent: Option<Silent>,
    /// Turns of the coordinator in a row after which nothing was published.
    pub(super) coordinator_turns: u32,
    /// Published since a hat was last put on, and nobody gets it.
    pub(super) unheard: Vec<Unheard>,
    /// A hat that is exhausted and whose exhaustion nobody hears.
    pub(super) stuck: Option<HatKey>,
    rejected: Vec<TopicRejected>,
    /// The state of the tree after the last iteration, where somebody looked; and after the one that ends now.
    tree: Option<String>,
    tree_now: Option<String>,
    /// Published since the workspace last changed.
    since_change: BTreeSet<Topic>,
    recent: VecDeque<Arc<TopicMessage>>,
}

impl Bus {
    pub fn new(plan: &HatsPlan, task: &str) -> Self {
        let hats: Vec<Hat> = plan
            .hats
            .iter()
            .map(|hat| {
                let (id, mute, completes) = (hat.id.clone(), hat.publishes.is_empty(), hat.completes);
                Hat { id, mute, completes, ..Hat::default() }
            })
            .collect();
        let index = hats.iter().enumerate().map(|(n, hat)| (hat.id.clone(), n)).collect();
        let start = Staged {
            topic: plan.starting_event.clone(),
            payload: Payload::Text(task.to_owned()),
            from: COORDINATOR.into(),
            by_default: false,
            iteration: None,
        };
        let promise = plan.completion_promise.clone();
        let required = plan.required_events.clone();
        Self { hats, index, promise, required, due: VecDeque::from([start]), ..Self::default() }
    }

    pub fn hat(&self, id: &str) -> Option<&Hat> {
        self.index.get(id).map(|n| &self.hats[*n])
    }

    pub fn hats(&self) -> &[Hat] {
        &self.hats
    }

    /// The hat of the iteration that is running.
    pub fn wearing(&self) -> Option<&str> {
        self.wearing.as_ref().map(|wearing| wearing.hat.as_str())
    }

    pub fn silent(&self) -> Option<&Silent> {
        self.silent.as_ref()
    }

    /// What the next prompt has to say about refused topics.
    pub fn rejected(&self) -> &[TopicRejected] {
        &self.rejected
    }

    /// The last events, oldest first.
    pub fn recent(&self) -> impl Iterator<Item = &Arc<TopicMessage>> {
        self.recent.iter()
    }

    /// What has to be published now.
    pub fn due(&self) -> Option<&Staged> {
        self.due.front()
    }

    pub fn coordinator_turns(&self) -> u32 {
        self.coordinator_turns
    }

    /// What is staged by the iteration that is running.
    pub fn staged(&self) -> &[Staged] {
        &self.staged
    }

    /// Whether the iteration that is running has published the completion promise.
    pub fn promised(&self) -> bool {
        self.promised
    }

    /// Whether a topic was published since the workspace last changed.
    pub fn heard_since_change(&self, wanted: &Pattern) -> bool {
        self.since_change.iter().any(|topic| wanted.matches(topic))
    }

    /// What a hat is given when it is put on now.
    pub fn messages(&self, hat: &str) -> Vec<Arc<TopicMessage>> {
        let silent = self.silent.iter().filter(|silent| silent.hat == hat || hat == COORDINATOR);
        let before = silent.flat_map(|silent| silent.messages.iter());
        let pending = self.hat(hat).into_iter().flat_map(|hat| hat.pending.iter());
        before.chain(pending).cloned().collect()
    }

    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::IterationStarted(IterationStarted { hat: Some(hat), .. }) => self.started(hat),
            Event::TopicEmitted(e) => self.stage(e.iteration, &e.topic, e.payload.clone()),
            Event::TopicRejected(e) => self.refused(e),
            Event::AgentExited(e) => {
                self.tree_now = e.tree.clone();
                // What the agent said in its own text comes behind what it emitted.
                for one in &e.published {
                    let cut = if one.truncated { CUT } else { "" };
                    let payload = Payload::Text(format!("{}{cut}", one.payload));
                    self.stage(e.iteration, &one.topic, payload);
                }
            }
            Event::IterationFinished(finished) => self.finished(finished),
            Event::IterationInterrupted(_) => self.interrupted(),
            Event::TopicPublished(e) => self.published(e),
            Event::HatExhausted(e) => self.exhausted(e),
            Event::HatReset(e) => self.reset(&e.hat),
            Event::CompletionDeferred(_) => self.deferred(),
            Event::CompletionInferred(_) => self.waiting_claim = None,
            Event::CompletionRejected(_) => self.refused_claim(),
            Event::LoopDetected(e) if e.action == LoopAnswer::HandOff => self.hand_off(e),
            _ => {}
        }
    }

    fn started(&mut self, hat: &str) {
        let taken = self.hat(hat).map_or(0, |hat| hat.pending.len());
        self.forget_staged();
        self.unheard.clear();
        self.wearing = Some(Wearing { hat: hat.into(), taken, told: self.rejected.len() });
    }

    fn stage(&mut self, iteration: IterationNumber, topic: &str, payload: Payload) {
        let (Some(wearing), Ok(topic)) = (&self.wearing, topic.parse()) else { return };
        if self.promise.as_ref() == Some(&topic) {
            self.promised = true;
            return;
        }
        let (from, iteration) = (wearing.hat.clone(), Some(iteration));
        self.staged.push(Staged { topic, payload, from, by_default: false, iteration });
    }

    /// Refusals follow at once what they refuse, and every event of such a topic is refused.
    fn refused(&mut self, rejected: &TopicRejected) {
        let refused = |staged: &Staged| staged.topic.as_str() == rejected.topic;
        if let Some(at) = self.staged.iter().rposition(refused) {
            self.staged.remove(at);
        }
        if self.promise.as_ref().is_some_and(|promise| promise.as_str() == rejected.topic) {
            self.promised = false;
        }
        self.rejected.push(rejected.clone());
        if self.rejected.len() > MAX_REJECTED {
            self.rejected.remove(0);
            if let Some(wearing) = &mut self.wearing {
                wearing.told = wearing.told.saturating_sub(1);
            }
        }
    }

    /// The attempt says nothing about the task: what it published is gone, what it was given is still there.
    fn interrupted(&mut self) {
        self.forget_staged();
        self.wearing = None;
    }

    fn forget_staged(&mut self) {
        self.staged.clear();
        self.promised = false;
    }

    fn finished(&mut self, finished: &IterationFinished) {
        let (ok, claimed) = (!finished.outcome.is_failure(), finished.claims_complete);
        // Where nobody could look, everything may have changed.
        let now = self.tree_now.take();
        let changed = if now.is_some() { now != self.tree } else { finished.files_changed != Some(0) };
        self.tree = now.or(self.tree.take());
        if changed {
            self.since_change.clear();
        }
        let Some(wearing) = self.wearing.take().filter(|_| ok) else { return self.interrupted() };
        self.rejected.drain(..wearing.told.min(self.rejected.len()));
        self.promised = false;
        self.last = Some(wearing.hat.clone());
        let messages = self.take(&wearing);
        if !self.staged.is_empty() {
            let staged = std::mem::take(&mut self.staged);
            self.spoken(staged.iter().map(|one| &one.topic));
            self.silent = None;
            self.coordinator_turns = 0;
            self.due.extend(staged);
        } else if wearing.hat == COORDINATOR {
            self.coordinator_turns = self.coordinator_turns.saturating_add(1);
        } else {
            self.said_nothing(wearing.hat, messages, claimed);
        }
    }

    /// A hat is asked once more, unless there is nothing it may publish. What a topic says of the end then stands.
    fn said_nothing(&mut self, hat: HatKey, messages: Vec<Arc<TopicMessage>>, claimed: bool) {
        let asked_again = self.was_silent(&hat);
        let before = self.silent.take_if(|silent| silent.hat == hat);
        let times = before.as_ref().map_or(0, |silent| silent.times).saturating_add(1);
        let messages: Vec<_> =
            before.into_iter().flat_map(|silent| silent.messages).chain(messages).collect();
        let ending = self.ending_of(&messages, &hat).filter(|_| !claimed);
        let (mute, enough) = (self.is_mute(&hat), ending.is_some() && times >= MAX_ASKED);
        if claimed || asked_again && !enough || !mute && !enough {
            self.silent = Some(Silent { hat, messages, times, claimed });
        } else if ending.is_some() {
            // Who needs a person has completed nothing.
            (self.ending, self.waiting_claim) = (ending, None);
        }
    }

    /// Whether it has been asked once more already. That is counted whatever it says.
    fn was_silent(&self, id: &str) -> bool {
        self.silent.as_ref().is_some_and(|silent| silent.hat == id)
    }

    fn is_mute(&self, id: &str) -> bool {
        self.hat(id).is_some_and(|hat| hat.mute)
    }

    fn take(&mut self, wearing: &Wearing) -> Vec<Arc<TopicMessage>> {
        let Some(n) = self.index.get(&wearing.hat) else { return Vec::new() };
        let hat = &mut self.hats[*n];
        hat.activations = hat.activations.saturating_add(1);
        hat.pending.drain(..wearing.taken.min(hat.pending.len())).collect()
    }

    fn published(&mut self, event: &TopicPublished) {
        match event.by_default {
            // It takes the place of what the hat did not say.
            true => {
                self.spoken(std::iter::once(&event.topic));
                self.silent = None;
            }
            false => drop(self.due.pop_front()),
        }
        self.published = event.id;
        self.since_change.insert(event.topic.clone());
        let message = Arc::new(TopicMessage {
            id: event.id,
            topic: event.topic.clone(),
            payload: event.payload.clone(),
            from: event.from.clone(),
            iteration: event.iteration,
        });
        for hat in &event.to {
            if let Some(n) = self.index.get(hat) {
                self.hats[*n].pending.push_back(Arc::clone(&message));
            }
        }
        for hat in &event.dropped {
            if let Some(n) = self.index.get(hat) {
                self.hats[*n].missed.push(Arc::clone(&message));
            }
        }
        if event.to.is_empty() {
            self.stuck = self.stuck.take().or_else(|| self.exhausted_by(event));
            // What is required is for ralph itself, so it has been heard.
            let required = self.required.iter().any(|one| one.matches(&event.topic));
            if !required || !event.dropped.is_empty() {
                self.unheard.push(Unheard { topic: event.topic.clone(), dropped: event.dropped.clone() });
            }
        }
        self.count_blocked(&message);
        self.recent.push_back(message);
        if self.recent.len() > RECENT {
            self.recent.pop_front();
        }
    }

    /// The hat whose exhaustion this event tells.
    fn exhausted_by(&self, event: &TopicPublished) -> Option<HatKey> {
        let hat = event.topic.as_str().strip_suffix(".exhausted").filter(|_| event.from == COORDINATOR)?;
        self.hat(hat).filter(|hat| hat.exhausted).map(|hat| hat.id.clone())
    }

    fn count_blocked(&mut self, message: &TopicMessage) {
        let Some(n) = self.index.get(&message.from) else { return };
        let hat = &mut self.hats[*n];
        if !message.topic.is_blocked() {
            hat.streak = None;
            return;
        }
        let subject = Some(message.payload.subject()).filter(|subject| !subject.is_empty());
        let subject = subject.unwrap_or_else(|| message.topic.to_string());
        let before = hat.streak.take().filter(|streak| streak.subject == subject);
        let count = before.map_or(0, |streak| streak.count).saturating_add(1);
        hat.streak = Some(Streak { subject, count });
    }

    fn exhausted(&mut self, event: &HatExhausted) {
        let Some(n) = self.index.get(&event.hat) else { return };
        let hat = &mut self.hats[*n];
        hat.exhausted = true;
        hat.missed.extend(hat.pending.drain(..));
        if let Some(silent) = self.silent.take_if(|silent| silent.hat == event.hat) {
            hat.unanswered = silent.messages;
        }
        let payload = exhausted_payload(event, hat);
        self.due.push_back(Staged {
            topic: Topic::exhausted(&event.hat),
            payload,
            from: COORDINATOR.into(),
            by_default: false,
            iteration: None,
        });
    }

    /// A hat wants to deal with a run that goes in circles: it gets the report.
    fn hand_off(&mut self, detected: &LoopDetected) {
        self.due.push_back(Staged {
            topic: Topic::loop_detected(),
            payload: Payload::Text(
                serde_json::to_string(detected).unwrap_or_else(|error| format!("cannot be told: {error}")),
            ),
            from: COORDINATOR.into(),
            by_default: false,
            iteration: None,
        });
    }

    fn reset(&mut self, id: &str) {
        let Some(n) = self.index.get(id) else { return };
        let hat = &mut self.hats[*n];
        (hat.activations, hat.exhausted, hat.streak) = (0, false, None);
        // It gets everything that it was not given, or said nothing about, in the order it was published.
        hat.pending.extend(hat.missed.drain(..).chain(hat.unanswered.drain(..)));
        hat.pending.make_contiguous().sort_by_key(|message| message.id);
        self.stuck.take_if(|stuck| stuck == id);
        self.ending.take_if(|ending| matches!(ending, Ending::Exhausted { hat, .. } if hat == id));
        self.unheard.retain(|unheard| !unheard.dropped.iter().any(|hat| hat == id));
    }

    /// A person wants a stopped run to go on: what it stopped for has been dealt with, but for a hat that is exhausted.
    pub(crate) fn resumed_after_stop(&mut self) {
        self.coordinator_turns = 0;
        self.unheard.retain(|unheard| !unheard.dropped.is_empty());
        self.forget_blocked_end();
        self.hats.iter_mut().for_each(|hat| hat.streak = None);
    }
}
