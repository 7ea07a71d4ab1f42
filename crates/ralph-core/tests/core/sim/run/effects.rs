//! What the engine asks of the world: checked against what is on disk, then done.

use ralph_core::effect::Effect;

use super::Sim;
use crate::sim::model::{Check, ensure};

impl Sim<'_> {
    pub(super) fn start(&mut self, effect: Effect) -> Check {
        let model = self.model.as_ref().ok_or("an effect before anything is on disk")?;
        match effect {
            Effect::SpawnAgent(spawn) => {
                let on_disk = model.running.as_ref().map(|running| (running.iteration, running.attempt));
                let wanted = (spawn.iteration.0, spawn.attempt);
                ensure!(on_disk == Some(wanted), "{wanted:?} is started, on disk is {on_disk:?}");
                ensure!(
                    spawn.prompt.guidance == model.guidance,
                    "the prompt carries {:?}, not {:?}",
                    spawn.prompt.guidance,
                    model.guidance
                );
                ensure!(spawn.agent == model.patience.agent, "agent {} is started", spawn.agent);
                ensure!(
                    spawn.prompt.context_too_long == model.patience.too_long,
                    "the prompt says {} about the context",
                    spawn.prompt.context_too_long
                );
                model.proof.is_told(&spawn)?;
                model.hats.as_ref().map_or(Ok(()), |hats| hats.is_told(&spawn))?;
                let bound = model.time_left();
                let spawned = self.world.spawn(self.now, spawn, bound, &mut self.rng);
                self.totals.max_live += usize::from(spawned.is_err());
                spawned
            }
            Effect::KillAgent { grace } => {
                self.world.kill(self.now, grace, &mut self.rng);
                Ok(())
            }
            Effect::SaveMemory(_) => Ok(()),
            Effect::StartWake { epoch, .. } => {
                self.world.start_wake(self.now, epoch, &mut self.rng);
                Ok(())
            }
            Effect::ReadLedger => Ok(()),
            Effect::StopWake => {
                self.world.stop_wake(&mut self.rng);
                Ok(())
            }
            Effect::RunGates(work) => {
                model.proof.may_run(&work)?;
                let started = self.world.run_gates(self.now, work, model.work_left(), &mut self.rng);
                self.totals.max_live += usize::from(started.is_err());
                started
            }
            Effect::KillGates { grace } => {
                self.world.kill_gates(self.now, grace, &mut self.rng);
                Ok(())
            }
            Effect::StartTimer { timer, when } => {
                self.world.start_timer(self.now, timer, when, &mut self.rng);
                Ok(())
            }
        }
    }
}
