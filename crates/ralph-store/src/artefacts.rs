//! What an iteration left behind: the prompt as it was sent, what the agent and the gates printed, what changed.

use std::path::PathBuf;

use ralph_core::event::{Event, FilesChanged};
use ralph_core::ids::IterationNumber;

use crate::records::ReadError;
use crate::run_dir::RunDir;

#[derive(Debug, Clone, PartialEq)]
pub struct Artefacts {
    pub iteration: IterationNumber,
    pub attempts: Vec<AttemptFiles>,
    pub gates: Vec<GateFiles>,
    /// What the last attempt changed in the workspace, where somebody looked.
    pub changed: Option<FilesChanged>,
}

/// The files of one attempt. A file that is not there was never written, or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptFiles {
    pub attempt: u32,
    /// As it was sent to the agent.
    pub prompt: Option<PathBuf>,
    /// To be read with `output::print`: a long one has more parts.
    pub output: Option<PathBuf>,
    /// How much the agent printed, once it has ended.
    pub output_bytes: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateFiles {
    pub name: String,
    pub round: u32,
    /// Nothing while it runs, and if it was killed with the run.
    pub passed: Option<bool>,
    pub output: Option<PathBuf>,
}

impl RunDir {
    /// The artefacts of an iteration; nothing if it was never started.
    pub fn artefacts(&self, iteration: IterationNumber) -> Result<Option<Artefacts>, ReadError> {
        let mut found = Artefacts { iteration, attempts: Vec::new(), gates: Vec::new(), changed: None };
        let range = self.iteration_range(iteration)?;
        self.each_record::<ReadError>(range, &mut |record| {
            self.add(&mut found, record.event);
            Ok(())
        })?;
        Ok(Some(found).filter(|found| !found.attempts.is_empty()))
    }

    fn add(&self, to: &mut Artefacts, event: Event) {
        match event {
            Event::IterationStarted(started) if started.iteration == to.iteration => {
                let attempt = started.attempt;
                let there = |path: PathBuf| path.is_file().then_some(path);
                to.attempts.push(AttemptFiles {
                    attempt,
                    prompt: there(self.prompt(to.iteration, attempt)),
                    output: there(self.log(to.iteration, attempt)),
                    output_bytes: None,
                });
            }
            Event::AgentExited(exited) if exited.iteration == to.iteration => {
                if let Some(attempt) = to.attempts.iter_mut().find(|it| it.attempt == exited.attempt) {
                    attempt.output_bytes = Some(exited.output_bytes);
                }
                to.changed = exited.files.or(to.changed.take());
            }
            Event::GateStarted(started) if started.iteration == to.iteration => {
                let path = self.gate_log(to.iteration, started.round, &started.name);
                let output = path.is_file().then_some(path);
                to.gates.push(GateFiles { name: started.name, round: started.round, passed: None, output });
            }
            Event::GateFinished(finished) if finished.iteration == to.iteration => {
                let is_it =
                    |gate: &&mut GateFiles| gate.name == finished.name && gate.round == finished.round;
                if let Some(gate) = to.gates.iter_mut().find(is_it) {
                    gate.passed = Some(finished.passed);
                }
            }
            _ => {}
        }
    }
}
