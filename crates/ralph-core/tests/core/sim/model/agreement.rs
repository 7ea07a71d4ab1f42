//! Whether the state that the engine keeps is the state that the model has counted.

use ralph_core::testing::{Phase, RunState};

use super::{Check, Model, ensure};

impl Model {
    /// Whether a state that was folded from the same records says the same.
    pub fn agrees(&self, state: &RunState) -> Check {
        let mine = (self.finished, self.attempts, self.streak, self.failures, self.crashes);
        let s = state;
        let theirs = (s.iterations_finished, s.attempts, s.consecutive_failures, s.total_failures, s.crashes);
        ensure!(mine == theirs, "counters {theirs:?} instead of {mine:?}");
        ensure!(s.runtime == self.runtime, "runtime {:?} instead of {:?}", s.runtime, self.runtime);
        ensure!(s.usage == self.usage, "usage {:?} instead of {:?}", s.usage, self.usage);
        self.patience.agrees(s)?;
        self.idle.agrees(s)?;
        self.proof.agrees(s)?;
        self.stuck.agrees(s)?;
        self.hats.as_ref().map_or(Ok(()), |hats| hats.agrees(s))?;
        ensure!(s.cost_usd == self.cost, "cost {:?} instead of {:?}", s.cost_usd, self.cost);
        ensure!(s.guidance == self.guidance, "guidance {:?} instead of {:?}", s.guidance, self.guidance);
        ensure!(
            s.wall_time(self.last_at) == self.wall_before + self.last_at.since(self.session),
            "wall time"
        );
        let phase = match &s.phase {
            Phase::Running(r) => self.running.as_ref().is_some_and(|mine| mine.attempt == r.attempt),
            Phase::Checking(c) => {
                let mine = self.proof.checking.as_ref();
                mine.is_some_and(|mine| (mine.iteration, mine.round) == (c.iteration.0, c.round))
            }
            Phase::Waiting(w) => self.waiting == Some((w.reason, w.until)),
            Phase::Paused => self.paused,
            Phase::Stopped => self.stopped.is_some(),
            Phase::Ready => {
                self.running.is_none()
                    && self.proof.checking.is_none()
                    && self.waiting.is_none()
                    && !self.paused
            }
        };
        ensure!(phase, "phase {:?}", s.phase);
        Ok(())
    }
}
