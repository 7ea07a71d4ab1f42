//! The rules of one attempt: when it may start, be killed, be finished or be interrupted.

use ralph_core::event::{
    AgentExited, AgentKilled, InterruptCause, IterationFinished, IterationInterrupted, IterationStarted,
    KillCause, Outcome,
};
use ralph_core::time::Timestamp;
use ralph_core::usage::Usage;

use super::{Attempt, Check, Cure, Hats, Model, ensure};

impl Model {
    pub(super) fn attempt(&mut self, iteration: u32, attempt: u32) -> Result<&mut Attempt, String> {
        let found = self.running.as_mut().filter(|r| r.iteration == iteration && r.attempt == attempt);
        found.ok_or_else(|| {
            format!("a report about {iteration}.{attempt}, which is not running, was recorded")
        })
    }

    pub(super) fn started(&mut self, at: Timestamp, started: &IterationStarted) -> Check {
        let IterationStarted { iteration, attempt, agent, .. } = *started;
        ensure!(iteration.0 > self.finished, "iteration {iteration} is run again though it is finished");
        ensure!(iteration.0 == self.finished + 1, "iteration {iteration} after {} finished", self.finished);
        ensure!(attempt == self.attempts + 1, "attempt {attempt} after {}", self.attempts);
        ensure!(self.running.is_none(), "two iterations at once");
        ensure!(self.proof.checking.is_none(), "an agent starts while gates are at work");
        ensure!(self.waiting.is_none() && !self.paused, "started while waiting or paused");
        ensure!(self.crashes < self.limits.max_attempts, "started again after {} crashes", self.crashes);
        ensure!(self.wait_due(at).is_none(), "started without the wait that was due");
        ensure!(agent == self.patience.agent, "agent {agent} instead of {}", self.patience.agent);
        let due = self.patience.switch_due(at, &self.pace);
        ensure!(self.previous == "agent.switched" || due.is_none(), "agent {due:?} had to take over");
        ensure!(!self.pause_requested, "started though a pause was asked for");
        self.may_go_on(at)?;
        self.hat_is_put_on(started.hat.as_deref())?;
        self.attempts = attempt;
        self.last = None;
        self.proof.attempt_started();
        self.patience.forget();
        self.idle.unanswered = false;
        self.running = Some(Attempt {
            iteration: iteration.0,
            attempt,
            started: at,
            last_seen: at,
            carried: self.guidance.len(),
            killed: None,
            silent: None,
            stranded: false,
            killed_at_once: false,
            cost: None,
            usage: Usage::default(),
            exited: None,
        });
        Ok(())
    }

    pub(super) fn killed(&mut self, at: Timestamp, kill: &AgentKilled) -> Check {
        let running = self.running.as_ref().ok_or("a kill without an agent")?;
        let worked = at.since(running.started);
        let justified = match &kill.why {
            KillCause::Timeout => worked >= self.iteration_timeout(),
            KillCause::Silence => running.silent == Some(false),
            KillCause::Hung => running.silent == Some(true),
            KillCause::Stranded => running.stranded && running.killed.is_none(),
            KillCause::Guard(key) => self.spent(at).contains(&key.as_str()),
            KillCause::Person => self.previous == "iteration.end_requested" && running.killed.is_none(),
            KillCause::Stop => self.stop_request.is_some() && running.killed.is_none(),
            KillCause::Escalated => self.stop_request.is_some() && running.killed.is_some(),
        };
        ensure!(justified, "killed without cause: {:?}", kill.why);
        if let Some(running) = &mut self.running {
            running.killed.get_or_insert(kill.why.clone());
            running.killed_at_once |= kill.grace.is_zero();
        }
        Ok(())
    }

    pub(super) fn iteration_finished(&mut self, at: Timestamp, f: &IterationFinished) -> Check {
        ensure!(f.iteration.0 > self.finished, "iteration {} is finished twice", f.iteration);
        ensure!(f.iteration.0 == self.finished + 1, "iteration {} is skipped", self.finished + 1);
        ensure!(f.attempt == self.attempts, "attempt {} finished, not {}", self.attempts, f.attempt);
        let running = self.running.take();
        let exited = running.as_ref().and_then(|running| running.exited.clone());
        self.idle.finished(f, exited.as_ref(), self.previous)?;
        self.stuck.finished(f, exited.as_ref())?;
        match running {
            None => {
                ensure!(self.crashes >= self.limits.max_attempts, "finished without an agent");
                ensure!(f.outcome == Outcome::Failed, "given up is a failure");
            }
            Some(running) => {
                let exited = running.exited.as_ref().ok_or("finished before the agent was gone")?;
                let cure = self.cure(at, &running, exited);
                ensure!(cure == Cure::Finish(f.outcome), "{:?} for {:?}: {cure:?}", f.outcome, exited.exit);
                let ok = f.outcome == Outcome::Ok;
                let class = exited.failure.as_ref().filter(|_| !ok).map(|failure| failure.class);
                ensure!(f.class == class, "the class changed");
                let promised = self.hats.as_ref().is_some_and(Hats::has_promised);
                let complete = ok && (exited.claims_complete || promised) && exited.blocked.is_none();
                ensure!(f.claims_complete == complete, "a wrong claim is believed, or a right one is not");
                ensure!(f.blocked == exited.blocked.clone().filter(|_| ok), "blocked is not as said");
                ensure!(f.duration == exited.duration, "the duration changed");
                ensure!(f.cost_usd == exited.cost_usd.or(running.cost), "the cost changed");
                ensure!(f.usage == running.used(exited), "the usage changed");
                self.guidance.drain(..running.carried);
            }
        }
        self.finished += 1;
        (self.attempts, self.crashes) = (0, 0);
        self.streak = if f.outcome.is_failure() { self.streak + 1 } else { 0 };
        self.failures += u32::from(f.outcome.is_failure());
        self.spend(f.duration, f.cost_usd, &f.usage);
        self.patience.finished(f.class);
        self.proof.iteration_finished();
        self.hats.as_mut().map_or(Ok(()), |hats| hats.finished(f))?;
        self.last = Some(f.clone());
        Ok(())
    }

    pub(super) fn interrupted(&mut self, at: Timestamp, i: &IterationInterrupted) -> Check {
        let running = self.running.take().ok_or("an interruption of nothing")?;
        ensure!(
            (i.iteration.0, i.attempt) == (running.iteration, running.attempt),
            "another was interrupted"
        );
        if self.previous == "run.resumed" {
            self.found_cut_short(&running, i)?;
        } else {
            match &running.exited {
                Some(exited) => self.cut_short(at, &running, exited, i)?,
                None => {
                    let by_journal = i.why == InterruptCause::Stop && self.must_stop.is_some();
                    ensure!(by_journal, "interrupted by {:?} before the agent was gone", i.why);
                }
            }
        }
        self.spend(i.duration, i.cost_usd, &i.usage);
        self.hats.iter_mut().for_each(Hats::interrupted);
        self.patience.interrupted(i);
        Ok(())
    }

    /// ralph died before it could say what the end of the attempt meant, if it had ended at all.
    fn found_cut_short(&mut self, running: &Attempt, i: &IterationInterrupted) -> Check {
        // A limit that is on disk is no crash of this iteration.
        let why = if self.patience.limit.is_some() { InterruptCause::Limit } else { InterruptCause::Crash };
        ensure!(i.why == why, "found cut short by {:?} instead of {why:?}", i.why);
        self.crashes += u32::from(why == InterruptCause::Crash);
        let worked = running.last_seen.since(running.started);
        ensure!(i.duration == worked, "a crash after {worked:?} counts as {:?}", i.duration);
        ensure!(i.cost_usd == running.cost, "the cost of a crashed attempt changed");
        ensure!(i.usage == running.usage, "the usage of a crashed attempt changed");
        Ok(())
    }

    fn cut_short(
        &mut self,
        at: Timestamp,
        running: &Attempt,
        exited: &AgentExited,
        i: &IterationInterrupted,
    ) -> Check {
        // The hit itself has moved the counters that the cure stands on.
        let right = if self.previous == "limit.hit" {
            i.why == InterruptCause::Limit
        } else {
            match self.cure(at, running, exited) {
                Cure::Stop(why, reason) => {
                    self.must_stop = reason;
                    why == i.why
                }
                Cure::Outage => i.why == InterruptCause::Outage,
                Cure::Finish(_) | Cure::Limit { .. } => false,
            }
        };
        ensure!(right, "interrupted by {:?}, but {:?}, {:?}", i.why, running.killed, exited.failure);
        ensure!(i.duration == exited.duration, "the duration changed");
        ensure!(i.cost_usd == exited.cost_usd.or(running.cost), "the cost changed");
        ensure!(i.usage == running.used(exited), "the usage changed");
        Ok(())
    }
}
