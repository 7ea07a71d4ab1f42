//! How claims and gates go with everything else that happens in a run.

use ralph_core::event::{
    Event, GatesFinished, GatesKilled, IterationFinished, KillCause, Outcome, StopHow, StopRequest, TimerId,
    TimerSlot,
};
use ralph_core::time::Timestamp;

use super::{Check, Due, Hats, Model, ensure};

impl Model {
    /// What has to be done about the last iteration before anything else.
    pub(super) fn due(&self) -> Due {
        if self.idle.reason(self.last.as_ref()).is_some() {
            return Due::Nothing;
        }
        let of_hats = self.hats.as_ref().and_then(|hats| self.due_of_hats(hats));
        of_hats.unwrap_or_else(|| self.proof.due(self.last.as_ref(), &self.terms()))
    }

    /// A claim waits for other hats; where no hat has anything left to do, that may be a claim.
    fn due_of_hats(&self, hats: &Hats) -> Option<Due> {
        if let Some(last) = self.last.as_ref().filter(|last| self.proof.claims(last)) {
            let first = hats.before_claim(last.hat.as_deref().unwrap_or_default());
            return Some(Due::Defer(first)).filter(|due| {
                self.proof.is_untouched() && !matches!(due, Due::Defer(first) if first.is_empty())
            });
        }
        let busy = self.running.is_some() || self.waiting.is_some() || self.proof.checking.is_some();
        if busy || self.paused || self.finished == 0 || self.idle.needs_person() {
            return None;
        }
        hats.inferred().map(|(from, hat)| Due::Infer(from, hat))
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
            Event::CompletionDeferred(claim) => {
                let due = self.due();
                ensure!(due == Due::Defer(claim.hats.clone()), "{:?} wait, but due is {due:?}", claim.hats);
                ensure!(claim.iteration.0 == self.finished, "another claim waits");
                self.proof.deferred = true;
                self.hats.as_mut().ok_or("a claim waits without hats")?.deferred();
            }
            Event::CompletionInferred(claim) => {
                let due = self.due();
                let mine = Due::Infer(claim.from, claim.hat.clone());
                ensure!(due == mine, "{mine:?}, but due is {due:?}");
                ensure!(claim.iteration.0 == self.finished, "of iteration {}", claim.iteration);
                let last = self.last.take();
                let last = last.unwrap_or_else(|| IterationFinished::new(claim.iteration, 1, Outcome::Ok));
                self.last = Some(IterationFinished { claims_complete: true, hat: claim.hat.clone(), ..last });
                self.proof.iteration_finished();
                self.hats.as_mut().ok_or("a claim without hats")?.is_inferred(claim.from);
            }
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
                self.hats.iter_mut().for_each(Hats::refuse);
            }
            other => return Err(format!("{} is not about a claim", other.name())),
        }
        Ok(())
    }
}
