//! Whether state, prompts and fates are what the records say.

use ralph_core::effect::SpawnAgent;
use ralph_core::testing::RunState;

use super::{Hats, Said};
use crate::sim::model::{Check, ensure};

impl Hats {
    /// Whether the agent that starts is given what is on disk.
    pub fn is_told(&self, spawn: &SpawnAgent) -> Check {
        let worn = self.worn.as_ref().ok_or("nobody is put on")?;
        let draft = spawn.prompt.hat.as_ref().ok_or("the prompt has no hat")?;
        ensure!(draft.hat == worn.hat, "the prompt is for {}, not {}", draft.hat, worn.hat);
        let ids: Vec<u64> = draft.messages.iter().map(|message| message.id).collect();
        ensure!(ids == Self::messages(worn), "the prompt has {ids:?}");
        for message in &draft.messages {
            let said = &self.events[message.id as usize - 1];
            let right = message.topic.as_str() == said.topic && message.payload == said.payload;
            ensure!(right && message.from == said.from, "{message:?} instead of {said:?}");
        }
        let refused: Vec<&String> = draft.rejected.iter().map(|one| &one.topic).collect();
        ensure!(refused.iter().copied().eq(&self.refused), "told {refused:?}, not {:?}", self.refused);
        Ok(())
    }

    pub fn agrees(&self, state: &RunState) -> Check {
        let Some(bus) = &state.bus else { return Err("there is no bus".into()) };
        for theirs in bus.hats() {
            let mine = &self.hats[&theirs.id];
            let pending: Vec<u64> = theirs.pending.iter().map(|message| message.id).collect();
            ensure!(pending == mine.pending, "{}: {pending:?}, not {:?}", theirs.id, mine.pending);
            let (a, b) = ((theirs.activations, theirs.exhausted), (mine.activations, mine.exhausted));
            ensure!(a == b, "{}: {a:?} instead of {b:?}", theirs.id);
        }
        let silent = bus.silent().map(|one| (&one.hat, one.times, one.messages.len()));
        let mine = self.silent.as_ref().map(|one| (&one.hat, one.times, one.messages.len()));
        ensure!(silent == mine, "silent {silent:?} instead of {mine:?}");
        ensure!(bus.coordinator_turns() == self.coordinated, "turns {}", bus.coordinator_turns());
        ensure!(
            bus.wearing() == self.worn.as_ref().map(|worn| worn.hat.as_str()),
            "worn {:?}",
            bus.wearing()
        );
        ensure!(bus.due().is_some() == self.is_due(), "due {:?}", bus.due());
        ensure!(bus.staged().len() == self.staged.len(), "staged {:?}", bus.staged());
        Ok(())
    }

    /// Every event has come to one end with every hat it was meant for.
    pub fn ends_well(&self) -> Check {
        for (id, hat) in &self.hats {
            let is_meant = |said: &Said| self.rightful(&said.topic).contains(&id.as_str());
            let meant: Vec<u64> =
                (1..).zip(&self.events).filter(|(_, e)| is_meant(e)).map(|(n, _)| n).collect();
            let mut fates: Vec<u64> = hat.given.iter().copied().collect();
            fates.extend(hat.pending.iter().chain(&hat.withheld));
            fates.sort_unstable();
            ensure!(fates == meant, "{id} was meant to get {meant:?}, and had {fates:?}");
        }
        Ok(())
    }
}
