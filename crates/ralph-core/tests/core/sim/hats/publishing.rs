//! What becomes of an event: staged, refused, or published to the hats it is meant for.

use ralph_core::event::{AgentExited, HatExhausted, TopicEmitted, TopicPublished, TopicRejected};
use ralph_core::hat::Payload;
use ralph_core::ids::HatKey;

use super::{Hats, Next, RALPH, REFUSALS, Said};
use crate::sim::model::{Check, ensure};

impl Hats {
    pub(super) fn is_promise(&self, topic: &str) -> bool {
        self.plan.completion_promise.as_ref().is_some_and(|promise| promise.as_str() == topic)
    }

    /// Whether the hat may publish this. Else that has to be the next thing said.
    pub fn emitted(&mut self, e: &TopicEmitted) -> Result<bool, String> {
        let hat = self.worn.as_ref().ok_or("a topic of nobody")?.hat.clone();
        let permitted = self.is_permitted(&hat, &e.topic);
        match permitted {
            true => self.stage(e.iteration.0, &hat, &e.topic, e.payload.clone()),
            false => self.forbidden.push_back(e.topic.clone()),
        }
        Ok(permitted)
    }

    pub(super) fn stage(&mut self, iteration: u32, hat: &str, topic: &str, payload: Payload) {
        if self.is_promise(topic) {
            self.promised = true;
            return;
        }
        let (topic, from, iteration) = (topic.to_owned(), HatKey::from(hat), Some(iteration));
        self.staged.push(Said { topic, payload, from, iteration, by_default: false });
    }

    pub fn exited(&mut self, e: &AgentExited) -> Check {
        self.tree_told = e.tree.clone();
        let hat = self.worn.as_ref().ok_or("the end of nobody")?.hat.clone();
        for one in &e.published {
            let cut = if one.truncated { "\n(cut here; `ralph emit TOPIC -` takes more)" } else { "" };
            match self.is_permitted(&hat, &one.topic) {
                true => {
                    let payload = Payload::Text(format!("{}{cut}", one.payload));
                    self.stage(e.iteration.0, &hat, &one.topic, payload);
                }
                false => self.forbidden.push_back(one.topic.clone()),
            }
        }
        Ok(())
    }

    pub fn rejected(&mut self, e: &TopicRejected) -> Check {
        let worn = self.worn.as_mut().ok_or("nobody is refused anything")?;
        ensure!(e.hat == worn.hat, "{} is refused what {} said", e.hat, worn.hat);
        let wanted = self.forbidden.pop_front();
        ensure!(wanted.as_ref() == Some(&e.topic), "{} is refused instead of {wanted:?}", e.topic);
        self.refused.push(e.topic.clone());
        if self.refused.len() > REFUSALS {
            self.refused.remove(0);
            worn.told = worn.told.saturating_sub(1);
        }
        let lists = self.of(&e.hat).map(|hat| hat.publishes.iter().map(|one| one.as_str()));
        let told = |one: &str| e.may_publish.iter().any(|listed| listed == one);
        ensure!(lists.is_none_or(|mut all| all.all(told)), "not told what it may publish: {e:?}");
        Ok(())
    }

    pub fn published(&mut self, e: &TopicPublished, finished: u32) -> Check {
        let Next::Publish(mut said) = self.next() else { return Err(format!("{} is not due", e.topic)) };
        match said.by_default {
            true => {
                self.spoke(std::slice::from_ref(&said.topic));
                self.silent = None;
            }
            false => drop(self.due.pop_front()),
        }
        said.iteration = said.iteration.or((finished > 0).then_some(finished));
        let theirs = Said {
            topic: e.topic.to_string(),
            payload: e.payload.clone(),
            from: e.from.clone(),
            iteration: e.iteration.map(|n| n.0),
            by_default: e.by_default,
        };
        if said.from == RALPH && said.topic.ends_with(".exhausted") {
            let json = |payload: &Payload| serde_json::from_str::<serde_json::Value>(payload.as_str()).ok();
            ensure!(json(&e.payload) == json(&said.payload), "told {:?}, not {:?}", e.payload, said.payload);
            said.payload = e.payload.clone();
        }
        ensure!(theirs == said, "published {theirs:?} instead of {said:?}");
        let id = self.events.len() as u64 + 1;
        ensure!(e.id == id, "event {} instead of {id}", e.id);
        let rightful: Vec<HatKey> = self.rightful(&said.topic).into_iter().map(HatKey::from).collect();
        let (dropped, to): (Vec<HatKey>, Vec<HatKey>) =
            rightful.into_iter().partition(|hat| self.hats[hat].exhausted);
        ensure!(e.to == to, "{} goes to {:?} instead of {to:?}", e.topic, e.to);
        ensure!(e.dropped == dropped, "{} is kept from {:?} instead of {dropped:?}", e.topic, e.dropped);
        for hat in &to {
            self.hat(hat)?.pending.push(id);
        }
        for hat in &dropped {
            self.hat(hat)?.withheld.push(id);
        }
        if to.is_empty() {
            let exhausted = said.topic.strip_suffix(".exhausted").filter(|_| said.from == RALPH);
            let exhausted = exhausted.filter(|hat| self.hats.get(*hat).is_some_and(|hat| hat.exhausted));
            self.stuck = self.stuck.take().or(exhausted.map(HatKey::from));
            self.note_unheard(&said.topic, dropped);
        }
        if let Some(hat) = self.hats.get_mut(&said.from) {
            hat.says(&said);
        }
        self.since_change.insert(said.topic.clone());
        self.events.push(said);
        Ok(())
    }

    pub fn exhausted(&mut self, e: &HatExhausted) -> Check {
        let next = self.next();
        ensure!(next == Next::Exhaust(e.hat.clone()), "{} is exhausted, but {next:?}", e.hat);
        let silent = self.silent.take_if(|silent| silent.hat == e.hat);
        let hat = self.hat(&e.hat)?;
        ensure!(!hat.exhausted, "{} is exhausted twice", e.hat);
        ensure!(e.activations == hat.activations, "{} activations, not {}", e.activations, hat.activations);
        ensure!(e.undelivered == hat.pending, "not delivered: {:?}, not {:?}", e.undelivered, hat.pending);
        hat.exhausted = true;
        hat.withheld.append(&mut hat.pending);
        hat.unanswered = silent.map(|silent| silent.messages).unwrap_or_default();
        let payload = self.told_of(&e.hat);
        let (topic, from) = (format!("{}.exhausted", e.hat), HatKey::from(RALPH));
        self.due.push_back(Said { topic, payload, from, iteration: None, by_default: false });
        Ok(())
    }

    /// The hat, the count, and the events that it was not given, by id.
    fn told_of(&self, id: &str) -> Payload {
        let hat = &self.hats[id];
        let list = |ids: &[u64]| -> serde_json::Value {
            ids.iter()
                .map(|id| {
                    let said = &self.events[*id as usize - 1];
                    let payload: String = said.payload.as_str().chars().take(2000).collect();
                    let (topic, from) = (&said.topic, &said.from);
                    serde_json::json!({ "id": id, "topic": topic, "from": from, "payload": payload })
                })
                .collect()
        };
        let mut told = serde_json::json!({
            "hat": id,
            "activations": hat.activations,
            "undelivered": list(&hat.withheld),
        });
        if !hat.unanswered.is_empty() {
            told["unanswered"] = list(&hat.unanswered);
        }
        Payload::Text(told.to_string())
    }
}
