//! Hats: who is put on next, and what is published between iterations.

use std::time::Duration;

use super::Turn;
use super::between::Flow;
use crate::event::{
    Activation, AgentExited, CompletionDeferred, CompletionInferred, Event, HatActivated, HatReset,
    Inference, IterationFinished, Missing, TopicEmitted, TopicRejected,
};
use crate::hat::{self, COORDINATOR, HatPlan, HatsPlan, MAX_PAYLOAD, Next, Refusal, Staged, Topic};
use crate::ids::{HatKey, IterationNumber};
use crate::marker::AgentState;
use crate::prompt::HatDraft;
use crate::state::{Phase, Stage};

impl Turn<'_> {
    fn hats(&self) -> Option<&HatsPlan> {
        self.state().plan.hats.as_deref()
    }

    fn next_on_bus(&self) -> Option<Next> {
        Some(self.state().bus.as_ref()?.next(self.hats()?))
    }

    /// The agent asks to publish something. It is told at once if it may not.
    pub(super) fn topic_emitted(&mut self, emitted: TopicEmitted) {
        let size = emitted.payload.len();
        let (Some(plan), Some(hat)) = (self.hats(), self.wearing()) else { return };
        let mut verdict = plan.permit(&hat, &emitted.topic).map(drop);
        if size > 2 * MAX_PAYLOAD {
            let why = format!("a payload of {size} bytes is too long; put it into a file and name that");
            verdict = Err(Refusal { why, may_publish: plan.may_publish(&hat) });
        }
        let (iteration, topic) = (emitted.iteration, emitted.topic.clone());
        self.emit(Event::TopicEmitted(emitted));
        if let Err(Refusal { why, may_publish }) = verdict {
            self.emit(Event::TopicRejected(TopicRejected { iteration, hat, topic, why, may_publish }));
        }
    }

    /// The same for what it said in its own text, of which it is told in the next prompt.
    pub(super) fn check_said(&mut self, exited: &AgentExited) {
        let (Some(_), Some(hat)) = (self.hats(), self.wearing()) else { return };
        for published in &exited.published {
            let Some(Err(refusal)) = self.hats().map(|plan| plan.permit(&hat, &published.topic)) else {
                continue;
            };
            let (iteration, hat, topic) = (exited.iteration, hat.clone(), published.topic.clone());
            let Refusal { why, may_publish } = refusal;
            self.emit(Event::TopicRejected(TopicRejected { iteration, hat, topic, why, may_publish }));
        }
        if exited.unpublished > 0 {
            let why = format!("{} more events stood in the answer than are taken", exited.unpublished);
            let (iteration, topic, may_publish) = (exited.iteration, "(more)".to_owned(), Vec::new());
            self.emit(Event::TopicRejected(TopicRejected { iteration, hat, topic, why, may_publish }));
        }
    }

    /// What the hat of the iteration that is about to start is told.
    pub(super) fn hat_draft(&self) -> Option<HatDraft> {
        let bus = self.state().bus.as_ref()?;
        let hat = self.wearing().or_else(|| self.next_hat().map(|turn| turn.hat))?;
        let is_coordinator = hat == COORDINATOR;
        let silent = bus.silent();
        let mut draft = HatDraft {
            activation: Some(self.activation_of(&hat)),
            messages: bus.messages(&hat),
            again: silent.is_some_and(|silent| silent.hat == hat && !silent.claimed),
            rejected: bus.rejected().to_vec(),
            hat,
            ..HatDraft::default()
        };
        if is_coordinator {
            draft.silent = silent.map(|silent| silent.hat.clone());
            draft.recent = bus.recent().cloned().collect();
            let spent = bus.hats().iter().filter(|hat| hat.exhausted);
            draft.exhausted = spent.map(|hat| hat.id.clone()).collect();
            draft.refused = bus.was_refused();
            draft.required = self.hats().map(|plan| bus.still_required(plan)).unwrap_or_default();
        }
        Some(draft)
    }

    /// Why the hat's claim does not count. What follows from the topics that the definition requires is no hat's claim.
    pub(super) fn missing_by_hat(&self, last: &IterationFinished) -> Option<Missing> {
        let (bus, plan) = (self.state().bus.as_ref()?, self.hats()?);
        let of_run = self.state().proof.inferred == Some(Inference::RequiredEvents);
        let hat = if of_run { COORDINATOR } else { last.hat.as_deref()? };
        bus.refuses_completion(hat, plan)
    }

    /// A claim waits while other hats have something to do.
    pub(super) fn defer_claim(&mut self) {
        let state = self.state();
        let claim = state.unjudged.as_ref().filter(|_| state.claims_complete());
        let (Some(last), Some(bus), Stage::Open) = (claim, &state.bus, &state.proof.stage) else { return };
        let hats = bus.before_claim_of(last.hat.as_deref().unwrap_or_default());
        if !hats.is_empty() {
            let iteration = last.iteration;
            self.emit(Event::CompletionDeferred(CompletionDeferred { iteration, hats }));
        }
    }

    /// Where nobody has anything left to do, that may be a claim too.
    pub(super) fn infer_claim(&mut self) {
        let state = self.state();
        let claimed = state.claims_complete();
        // Who needs a person has not finished.
        let held_up = matches!(state.idle.state, Some(AgentState::Blocked | AgentState::WaitingForReview));
        if state.phase != Phase::Ready || state.iterations_finished == 0 || claimed || held_up {
            return;
        }
        let (Some(bus), Some(plan)) = (&state.bus, self.hats()) else { return };
        if let Some((from, hat)) = bus.inferred_claim(plan) {
            let iteration = IterationNumber(state.iterations_finished);
            self.emit(Event::CompletionInferred(CompletionInferred { iteration, from, hat }));
        }
    }

    /// The hat that an iteration wore, where the plan has it.
    pub(super) fn hat_plan(&self, id: Option<&str>) -> Option<&HatPlan> {
        self.hats()?.hat(id?)
    }

    /// How long the agent that is running may work.
    pub(super) fn iteration_timeout(&self) -> Duration {
        let hat = self.wearing();
        let own = self.hat_plan(hat.as_deref()).and_then(|hat| hat.iteration_timeout);
        own.unwrap_or(self.state().plan.event_loop.iteration_timeout)
    }

    pub(super) fn wearing(&self) -> Option<HatKey> {
        self.state().bus.as_ref()?.wearing().map(HatKey::from)
    }

    /// What the iteration that ends now publishes.
    pub(super) fn staged_topics(&self, ok: bool) -> Vec<Topic> {
        let staged = self.state().bus.iter().filter(|_| ok).flat_map(|bus| bus.staged());
        staged.map(|staged| staged.topic.clone()).collect()
    }

    /// Whether the iteration that ends now has published the completion promise.
    pub(super) fn promised(&self) -> bool {
        self.state().bus.as_ref().is_some_and(|bus| bus.promised())
    }

    pub(super) fn reset_hat(&mut self, reset: HatReset) {
        if self.state().bus.as_ref().is_some_and(|bus| bus.hat(&reset.hat).is_some()) {
            self.emit(Event::HatReset(reset));
            // A person who speaks is not kept waiting.
            self.end_wait_for_work();
        }
    }

    /// What the last iteration published becomes real before anything else is decided.
    pub(super) fn publish_due(&mut self) -> Flow {
        while let Some(staged) = self.state().bus.as_ref().and_then(|bus| bus.due().cloned()) {
            self.publish(staged);
        }
        Flow::Next
    }

    fn publish(&mut self, staged: Staged) {
        let state = self.state();
        let last = Some(state.iterations_finished).filter(|n| *n > 0).map(IterationNumber);
        let (Some(bus), Some(plan)) = (&state.bus, self.hats()) else { return };
        let event = bus.publish(staged.of(last), plan, &self.engine.routes);
        self.emit(Event::TopicPublished(event));
    }

    /// Goes on until the bus has found somebody to put on, or a reason to stop.
    pub(super) fn hear_bus(&mut self) -> Flow {
        match self.next_on_bus() {
            None | Some(Next::Wear(_)) => return Flow::Next,
            Some(Next::Publish(staged)) => self.publish(staged),
            Some(Next::Exhaust(exhausted)) => self.emit(Event::HatExhausted(exhausted)),
            Some(Next::Stop(reason)) => return self.stop_if(Some(reason)),
        }
        Flow::Again
    }

    /// The hat of the iteration that is about to start.
    pub(super) fn next_hat(&self) -> Option<hat::Turn> {
        match self.next_on_bus()? {
            Next::Wear(turn) => Some(turn),
            Next::Publish(_) | Next::Exhaust(_) | Next::Stop(_) => None,
        }
    }

    /// Which activation of this hat the one that is running, or about to start, is.
    fn activation_of(&self, id: &str) -> Activation {
        let bus = self.state().bus.as_ref();
        let before = match id {
            COORDINATOR => bus.map_or(0, |bus| bus.coordinator_turns()),
            id => bus.and_then(|bus| bus.hat(id)).map_or(0, |hat| hat.activations),
        };
        let of = self.hats().and_then(|plan| plan.hat(id)).and_then(|hat| hat.max_activations);
        Activation { number: before.saturating_add(1), of }
    }

    /// The same for the iteration that ends now. A failed one does not count.
    pub(super) fn activation(&self, ok: bool) -> Option<Activation> {
        self.wearing().filter(|_| ok).map(|hat| self.activation_of(&hat))
    }

    pub(super) fn tell_activation(&mut self, turn: hat::Turn) {
        let Phase::Running(running) = &self.state().phase else { return };
        let iteration = running.iteration;
        let Some(bus) = &self.state().bus else { return };
        let Activation { number, of } = self.activation_of(&turn.hat);
        let event = HatActivated {
            iteration,
            activation: number,
            of,
            events: bus.messages(&turn.hat).iter().map(|message| message.id).collect(),
            again: turn.again,
            hat: turn.hat,
        };
        self.emit(Event::HatActivated(event));
    }
}
