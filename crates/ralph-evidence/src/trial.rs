//! A recorded case through the detectors and the policy, as a run of plain iterations would have gone.

use ralph_core::escalation::{Escalation, Step};
use ralph_core::event::{AgentExited, Exit, FilesChanged, LoopAnswer, StuckEvidence};
use ralph_core::ids::IterationNumber;
use ralph_core::plan::StuckPlan;

use crate::detector::{CaseIteration, Ignore};
use crate::watch::Watch;

/// Takes the iterations of one case in turn.
#[derive(Debug)]
pub struct Trial {
    watch: Watch,
    plan: StuckPlan,
    escalation: Escalation,
    ignore: Ignore,
    count: u32,
    state: Option<String>,
    stopped: bool,
}

/// What was found in an iteration, and what would have been done about it.
#[derive(Debug, Clone)]
pub struct Tried {
    pub evidence: StuckEvidence,
    /// Nothing once the run would have stopped.
    pub answer: Option<Step>,
}

impl Trial {
    pub fn new(plan: &StuckPlan) -> Self {
        Self {
            watch: Watch::new(plan),
            plan: plan.clone(),
            escalation: Escalation::default(),
            ignore: Ignore::new(&plan.ignore),
            count: 0,
            state: None,
            stopped: false,
        }
    }

    pub fn next(&mut self, iteration: &CaseIteration) -> Tried {
        self.count = self.count.saturating_add(1);
        let number = IterationNumber(self.count);
        let mut exited = AgentExited::new(number, 1, Exit::Code(0));
        exited.tree.clone_from(&iteration.state);
        exited.files = iteration.state.clone().map(|state| {
            let count = u32::from(self.state.as_ref().is_some_and(|before| *before != state));
            // What changed is not known; a case that has a state stands for work.
            let paths = if count > 0 { vec!["work".to_owned()] } else { Vec::new() };
            FilesChanged { count, paths, digest: Some(state) }
        });
        self.state = iteration.state.clone().or(self.state.take());
        let sketch = Box::new(iteration.sketch(&self.ignore));
        let evidence = self.watch.look(&exited, Some(sketch)).unwrap_or_default();
        let counts = !self.stopped && !evidence.outage;
        let answer = counts.then(|| self.escalation.step(&self.plan, number, &evidence)).flatten();
        self.watch.remember(true);
        if let Some(step) = &answer {
            self.watch.answered(&step.finding.detector, step.action, !step.finding.alarm);
            self.stopped = step.action == LoopAnswer::Stop;
        }
        Tried { evidence, answer }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(output: &str) -> CaseIteration {
        CaseIteration { output: output.to_owned(), ..CaseIteration::default() }
    }

    #[test]
    fn a_loop_is_told_demanded_and_stopped_and_work_is_let_go_on() {
        let error =
            "$ make check\nsrc/orbit.c:14: error: 'tally_orbit' undeclared\nmake: *** [check] Error 1\n";
        let mut trial = Trial::new(&StuckPlan::default());
        let mut answers = vec![trial.next(&says("I moved load_ledger into src/ledger.rs.")).answer];
        answers.extend((0..8).map(|_| trial.next(&says(error)).answer));
        let answers: Vec<_> =
            answers.into_iter().flatten().map(|step| (step.iteration.0, step.action)).collect();
        let (first, last) = (answers.first().unwrap(), answers.last().unwrap());
        assert_eq!((first.1, last.1), (LoopAnswer::Redirect, LoopAnswer::Stop), "{answers:?}");
        assert!(first.0 < last.0);
        let mut trial = Trial::new(&StuckPlan::default());
        for (name, task) in [("ledger", "load"), ("quarry", "rank"), ("harbor", "sync"), ("orbit", "tally")] {
            let tried =
                trial.next(&says(&format!("Wrote {task}_{name} in src/{name}.rs, with tests/{name}.rs.")));
            assert!(tried.answer.is_none(), "{name}");
        }
    }
}
