//! How claims and gates go with everything else that happens in a run.

use ralph_core::event::{
    Event, GatesFinished, GatesKilled, KillCause, StopHow, StopRequest, TimerId, TimerSlot,
};
use ralph_core::time::Timestamp;

use super::{Check, Due, Model, ensure};

impl Model {
    /// What has to be done about the last iteration before anything else.
    pub(super) fn due(&self) -> Due {
        match self.idle.reason(self.last.as_ref()) {
            Some(_) => Due::Nothing,
            None => self.proof.due(self.last.as_ref(), &self.terms()),
        }
    }

    pub(super) fn stop_requested(&mut self, request: &StopRequest) {
        self.stop_request = Some(request.by);
        if request.how != StopHow::AfterIteration {
            self.stop_now = true;
            if self.proof.checking.is_some() {
                self.must_follow = Some("gates.killed");
            }
        }
    }

    pub(super) fn timer_fired(&mut self, timer: &TimerId) {
        let TimerSlot::Guard(key) = &timer.slot else { return };
        match &self.proof.checking {
            Some(gates) if gates.killed.is_none() => self.must_follow = Some("gates.killed"),
            Some(_) => {}
            None if self.running.is_none() => self.must_stop = Some(key.to_string()),
            None => {}
        }
    }

    fn gates_killed(&mut self, at: Timestamp, kill: &GatesKilled) -> Check {
        let justified = match &kill.why {
            KillCause::Guard(key) => self.spent(at).contains(&key.as_str()),
            KillCause::Stop => self.stop_now,
            _ => false,
        };
        ensure!(justified, "gates are killed without cause: {:?}", kill.why);
        self.proof.killed(kill)
    }

    pub(super) fn gates_finished(&mut self, event: &Event, ran: &GatesFinished) -> Check {
        ensure!(
            ran.duration.subsec_nanos().is_multiple_of(1_000_000),
            "the journal cannot hold {:?}",
            ran.duration
        );
        let killed = self.proof.checking.as_ref().and_then(|gates| gates.killed.clone());
        self.runtime += self.proof.input(event, self.last.as_ref())?;
        if let Some(KillCause::Guard(key)) = killed {
            self.must_stop = Some(key.to_string());
        }
        Ok(())
    }

    /// What is decided about a claim.
    pub(super) fn proving(&mut self, at: Timestamp, event: &Event) -> Check {
        match event {
            Event::GatesStarted(started) => {
                let due = self.due();
                ensure!(
                    self.running.is_none() && self.waiting.is_none() && !self.paused,
                    "gates at a wrong time"
                );
                ensure!(self.must_stop.is_none() && !self.stop_now, "gates although it has to stop");
                let last = self.last.as_ref().map(|last| last.iteration);
                ensure!(last == Some(started.iteration), "gates of iteration {}", started.iteration);
                self.proof.started(at, started, &due)?;
            }
            Event::GatesKilled(kill) => self.gates_killed(at, kill)?,
            Event::CompletionAccepted(claim) => {
                let last = self.last.as_ref().ok_or("nothing is claimed")?;
                ensure!(last.claims_complete && last.iteration == claim.iteration, "believed, not claimed");
                let due = self.due();
                self.proof.accept(claim, &due)?;
                self.must_follow = Some("run.stopped");
            }
            Event::CompletionRejected(claim) => {
                let last = self.last.as_ref().ok_or("nothing is claimed")?;
                ensure!(last.claims_complete && last.iteration == claim.iteration, "refused, not claimed");
                let due = self.due();
                self.proof.reject(claim, &due)?;
            }
            other => return Err(format!("{} is not about a claim", other.name())),
        }
        Ok(())
    }
}
