//! Every record that reaches the disk is held against the model, the replay and the state of the engine.

use ralph_core::event::{DelayReason, Event, InterruptCause, Outcome};
use ralph_core::failure::FailureClass;
use ralph_core::record::Record;

use super::Sim;
use crate::sim::model::{Check, Model, ensure};

impl Sim<'_> {
    pub(super) fn sync(&mut self) -> Check {
        for record in self.disk.sync()? {
            self.synced(&record).map_err(|why| {
                format!("record {}: {why}", record.to_json().unwrap_or_else(|error| error.to_string()))
            })?;
        }
        let (Some(folded), Some(engine)) = (self.folder.state(), &self.engine) else {
            return Err("the journal does not begin with run.started".into());
        };
        ensure!(
            folded == engine.state(),
            "the journal folds to another state:\n{folded:?}\nthe engine:\n{:?}",
            engine.state()
        );
        let model = self.model.as_ref().ok_or("no run.started")?;
        model.agrees(folded)
    }

    fn synced(&mut self, record: &Record) -> Check {
        if let (Event::IterationFinished(f), Some(model)) = (&record.event, &self.model) {
            self.totals.iterations += 1;
            self.totals.duplicated += u64::from(f.iteration.0 <= model.finished);
        }
        let met = match &record.event {
            Event::LimitHit(hit) if hit.known => Some("limits with a known end"),
            Event::LimitHit(_) => Some("limits with an unknown end"),
            Event::IterationInterrupted(i) if i.why == InterruptCause::Outage => Some("outages"),
            Event::IterationFinished(f) if f.class == Some(FailureClass::Outage) => Some("outages too many"),
            Event::IterationFinished(f) if f.outcome == Outcome::Hung => Some("hung agents"),
            Event::DelayStarted(delay) if delay.reason.is_idle() => Some("idle waits"),
            Event::DelayStarted(delay) if delay.reason == DelayReason::Question => Some("questions"),
            Event::DelayStarted(delay) if delay.reason == DelayReason::Agent => Some("waits the agent chose"),
            Event::WakeTriggered(_) => Some("wakes"),
            Event::AgentSwitched(switched) if switched.to == 0 => Some("returns to the first agent"),
            Event::AgentSwitched(_) => Some("switches to a fallback"),
            _ => None,
        };
        if let Some(met) = met {
            *self.totals.patience.entry(met).or_default() += 1;
        }
        if let Some(met) = self.model.as_ref().and_then(|model| model.proof.met(&record.event)) {
            *self.totals.proof.entry(met).or_default() += 1;
        }
        let hats = self.model.as_ref().and_then(|model| model.hats.as_ref());
        if let Some(met) = hats.and_then(|hats| hats.met(&record.event)) {
            *self.totals.hats.entry(met).or_default() += 1;
        }
        match (&mut self.model, &record.event) {
            (Some(model), event) => model.apply(record.at, event)?,
            (none, Event::RunStarted(started)) => *none = Some(Model::new(record.at, started)),
            (None, _) => return Err("does not begin the journal".into()),
        }
        self.verifier.push(record).map_err(|d| format!("replay decides {:?}", d.decided))?;
        self.folder.push(record);
        Ok(())
    }
}
