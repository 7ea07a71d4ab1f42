//! What the bus wants next: a function of its state and the plan, and of nothing else.

use super::bus::{Bus, Ending, Hat, MAX_ASKED, Silent, Staged, Unheard};
use super::payload::Payload;
use super::plan::{COORDINATOR, HatPlan, HatsPlan};
use super::routes::Routes;
use super::topic::Pattern;
use crate::event::{HatExhausted, Missing, TopicPublished};
use crate::ids::{HatKey, IterationNumber};
use crate::stop::{self, StopReason};

/// Turns of the coordinator in a row without a publish.
const MAX_COORDINATOR_TURNS: u32 = 3;
/// The same for one that said the task is complete and was not believed: it may well be able to do something about it.
const MAX_CLAIMS: u32 = 4;

#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    Publish(Staged),
    /// The hat would be put on once more than it may.
    Exhaust(HatExhausted),
    Wear(Turn),
    Stop(StopReason),
}

/// Who is to be put on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    pub hat: HatKey,
    /// It published nothing the last time.
    pub again: bool,
}

impl Bus {
    pub fn next(&self, plan: &HatsPlan) -> Next {
        if let Some(staged) = self.due.front() {
            return Next::Publish(staged.clone());
        }
        if let Some(reason) = self.thrashing(plan).or_else(|| self.is_stuck()) {
            return Next::Stop(reason);
        }
        if self.coordinator_turns >= MAX_COORDINATOR_TURNS {
            let message = format!(
                "nothing was published in {MAX_COORDINATOR_TURNS} turns of the coordinator: nobody knows how to go on"
            );
            return Next::Stop(stop::NO_HANDOFF.because(message));
        }
        if let Some(next) = self.silent.as_ref().and_then(|silent| self.after_silence(silent, plan)) {
            return next;
        }
        // Who wants to deal with a run that goes in circles comes before those who go in them.
        let called = self.hats.iter().find(|hat| !hat.exhausted && hat.is_called_out());
        if let Some(hat) = called {
            return self.wear(hat, plan, false);
        }
        // First in, first out; among those who got the same event, the order of the file.
        let oldest = self.hats.iter().filter_map(|hat| Some((hat.pending.front()?.id, hat)));
        match oldest.min_by_key(|(id, _)| *id) {
            Some((_, hat)) => self.wear(hat, plan, false),
            None => self.nothing_pending(),
        }
    }

    fn wear(&self, hat: &Hat, plan: &HatsPlan, again: bool) -> Next {
        let max = plan.hat(&hat.id).and_then(|hat| hat.max_activations);
        match max.is_some_and(|max| hat.activations >= max) {
            false => Next::Wear(Turn { hat: hat.id.clone(), again }),
            true => Next::Exhaust(HatExhausted {
                hat: hat.id.clone(),
                activations: hat.activations,
                undelivered: hat.pending.iter().map(|message| message.id).collect(),
            }),
        }
    }

    /// The default, once more, then the coordinator.
    fn after_silence(&self, silent: &Silent, plan: &HatsPlan) -> Option<Next> {
        let hat = plan.hat(&silent.hat)?;
        if self.coordinator_turns > 0 {
            return Some(coordinate());
        }
        let most = if silent.claimed { MAX_CLAIMS } else { MAX_ASKED };
        if let Some(next) = by_default(hat).filter(|_| !silent.claimed || silent.times >= most) {
            return Some(next);
        }
        match silent.times < most {
            true => self.hat(&silent.hat).map(|hat| self.wear(hat, plan, true)),
            false => Some(coordinate()),
        }
    }

    /// The end that a topic has told; the coordinator, if a claim was refused; else what nobody hears.
    fn nothing_pending(&self) -> Next {
        if let Some(ending) = &self.ending {
            return Next::Stop(ended(ending));
        }
        let unheard = self.unheard.last().filter(|_| !self.refused);
        let Some(Unheard { topic, dropped }) = unheard else { return coordinate() };
        Next::Stop(match dropped.first() {
            Some(hat) => exhausted(hat, &format!("`{topic}` was for it, and nothing else is pending")),
            None => {
                let message = format!(
                    "no hat handles `{topic}`, and nothing else is pending; if it says that the task is done, name it in \
                     `event_loop.required_events`"
                );
                stop::NO_SUBSCRIBER.because(message)
            }
        })
    }

    fn thrashing(&self, plan: &HatsPlan) -> Option<StopReason> {
        let most = plan.max_consecutive_blocked.max(1);
        let (hat, streak) = self.hats.iter().find_map(|hat| {
            let streak = hat.streak.as_ref().filter(|streak| streak.count >= most)?;
            Some((&hat.id, streak))
        })?;
        let message = format!(
            "`{hat}` was blocked {} times in a row by the same task: {}",
            streak.count, streak.subject
        );
        Some(stop::LOOP_THRASHING.because(message))
    }

    fn is_stuck(&self) -> Option<StopReason> {
        let hat = self.hat(self.stuck.as_ref()?)?;
        Some(exhausted(&hat.id, &format!("no hat handles `{}.exhausted`", hat.id)))
    }

    /// The event that publishes something.
    pub fn publish(&self, staged: Staged, plan: &HatsPlan, routes: &Routes) -> TopicPublished {
        let hats = routes.subscribers(&staged.topic).into_iter().filter_map(|n| plan.hats.get(n));
        let is_exhausted = |id: &str| self.hat(id).is_some_and(|hat| hat.exhausted);
        let (dropped, to) = hats.map(|hat| hat.id.clone()).partition(|id| is_exhausted(id));
        TopicPublished {
            iteration: staged.iteration,
            id: self.published.saturating_add(1),
            topic: staged.topic,
            payload: staged.payload,
            from: staged.from,
            to,
            dropped,
            by_default: staged.by_default,
        }
    }

    /// Why a claim of completion under this hat does not count, if it does not.
    pub fn refuses_completion(&self, hat: &str, plan: &HatsPlan) -> Option<Missing> {
        if !plan.may_complete(hat) {
            let why = format!("the hat `{hat}` may not complete the run; publish a topic instead");
            return Some(Missing { name: "completes".to_owned(), why });
        }
        let missing = self.still_required(plan);
        (!missing.is_empty()).then(|| {
            let missing: Vec<String> = missing.iter().map(|one| format!("`{one}`")).collect();
            let why =
                format!("not published since the last iteration that changed files: {}", missing.join(", "));
            Missing { name: "required_events".to_owned(), why }
        })
    }

    /// What has to be published before the run can be complete.
    pub fn still_required(&self, plan: &HatsPlan) -> Vec<Pattern> {
        let required = plan.required_events.iter();
        required.filter(|wanted| !self.heard_since_change(wanted)).cloned().collect()
    }
}

fn coordinate() -> Next {
    Next::Wear(Turn { hat: COORDINATOR.into(), again: false })
}

fn by_default(hat: &HatPlan) -> Option<Next> {
    let topic = hat.default_publishes.clone()?;
    Some(Next::Publish(Staged {
        topic,
        payload: Payload::default(),
        from: hat.id.clone(),
        by_default: true,
        iteration: None,
    }))
}

fn exhausted(hat: &str, why: &str) -> StopReason {
    let message =
        format!("the hat `{hat}` has used up its activations, and {why}; `--reset-hat {hat}` gives it more");
    stop::HAT_EXHAUSTED.because(message)
}

/// As the topic says that a hat dealt with and had nothing to add to.
fn ended(ending: &Ending) -> StopReason {
    match ending {
        Ending::Exhausted { hat, by } => {
            exhausted(hat, &format!("`{by}` has dealt with that and published nothing"))
        }
        Ending::Blocked { topic, subject, by } => {
            let about = if subject.is_empty() { String::new() } else { format!(": {subject}") };
            stop::BLOCKED
                .because(format!("`{topic}`{about}; `{by}` has dealt with that and published nothing"))
        }
    }
}

impl Staged {
    /// The same, said to come from this iteration where it does not say.
    pub fn of(self, iteration: Option<IterationNumber>) -> Self {
        Self { iteration: self.iteration.or(iteration), ..self }
    }
}
