//! Runs gates: the checks that decide whether "complete" is true. All of a round see one state of the tree, or it is
//! said which paths moved.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use ralph_core::effect::RunGates;
use ralph_core::event::{GateFinished, GateStarted, GatesFinished, TreeSeen};
use ralph_core::input::Report;
use ralph_core::plan::GatePlan;

use crate::executor::{Shared, report};
use crate::group::Busy;
use crate::job::{Job, JobEnd};
use crate::lock;
use crate::output_tail::OutputTail;
use crate::process::{Exit, Finished};
use crate::spool::Spool;

/// One round of gates. Its end is reported whatever becomes of its thread: a gate without a result has not passed.
pub(crate) struct Round {
    shared: Arc<Shared>,
    work: RunGates,
    started: Instant,
    tree: Option<TreeSeen>,
    moved: Vec<String>,
    unseen: Option<String>,
    /// The gates' group is at work as long as this is.
    busy: Option<Busy>,
}

impl Drop for Round {
    fn drop(&mut self) {
        drop(self.busy.take());
        let RunGates { iteration, round, .. } = self.work;
        let (duration, tree) = (self.started.elapsed(), self.tree.take());
        let (moved, unseen) = (std::mem::take(&mut self.moved), self.unseen.take());
        let finished = GatesFinished { iteration, round, duration, tree, moved, unseen };
        report(&self.shared.inbox, Report::GatesFinished(finished));
    }
}

impl Round {
    pub(crate) fn new(shared: &Arc<Shared>, work: RunGates) -> Self {
        let (shared, busy) = (Arc::clone(shared), Some(shared.gates.begin()));
        // Nothing was seen until the end: a round that is lost on its way proves nothing.
        let unseen = Some("the gates did not come to their end".to_owned());
        Self { shared, work, started: Instant::now(), tree: None, moved: Vec::new(), unseen, busy }
    }

    pub(crate) fn run(mut self) {
        let before = lock(&self.shared.trees).look();
        let jobs = usize::try_from(self.shared.plan.proof.gate_jobs).unwrap_or(1).max(1);
        let queue: Mutex<VecDeque<&GatePlan>> = Mutex::new(self.work.gates.iter().collect());
        thread::scope(|scope| {
            let worker = || {
                while let Some(gate) = { lock(&queue).pop_front() } {
                    self.gate(gate);
                }
            };
            for _ in 1..jobs.min(self.work.gates.len()) {
                // With no thread to be had the others do its share.
                let _ = thread::Builder::new().name("gate".into()).spawn_scoped(scope, worker);
            }
            worker();
        });
        let after = lock(&self.shared.trees).look();
        match (before, after) {
            (Ok(before), Ok(after)) => {
                self.moved = before.moved(&after).paths;
                self.tree = Some(TreeSeen { hash: after.hash, commit: after.commit });
                self.unseen = None;
            }
            (Err(error), _) | (_, Err(error)) => self.unseen = Some(error.to_string()),
        }
    }

    fn gate(&self, gate: &GatePlan) {
        let RunGates { iteration, round, .. } = self.work;
        let (name, inbox) = (gate.name.clone(), &self.shared.inbox);
        report(inbox, Report::GateStarted(GateStarted { iteration, round, name: name.clone() }));
        let (ended, tail) = self.execute(gate);
        let mut result = GateFinished {
            iteration,
            round,
            name,
            passed: false,
            exit_code: None,
            timed_out: false,
            error: None,
            duration: Duration::ZERO,
            tail,
        };
        match ended {
            JobEnd::NotStarted { message } => result.error = Some(format!("cannot be started: {message}")),
            JobEnd::Cancelled => result.error = Some("ended by ralph".to_owned()),
            JobEnd::Ran { finished, timed_out } => judge(&mut result, &finished, timed_out, gate.timeout),
        }
        report(inbox, Report::GateFinished(result));
    }

    fn execute(&self, gate: &GatePlan) -> (JobEnd, String) {
        let Shared { plan, run, gates, .. } = &*self.shared;
        let RunGates { iteration, round, .. } = self.work;
        let spool = Spool::create(&run.gate_log(iteration, round, &gate.name)).ok();
        let heard = Arc::new(Mutex::new((spool, OutputTail::default())));
        let sink = Arc::clone(&heard);
        let env = vec![("RALPH_ITERATION".into(), Some(iteration.to_string().into()))];
        let job = Job { words: &gate.run, cwd: &plan.workspace, env, timeout: gate.timeout };
        let ended = job.run(&self.shared, gates, move |_, bytes| {
            let (spool, end) = &mut *lock(&sink);
            if let Some(spool) = spool {
                spool.write(bytes);
            }
            end.push(bytes);
        });
        let tail = lock(&heard).1.text();
        (ended, tail)
    }
}

fn judge(result: &mut GateFinished, finished: &Finished, timed_out: bool, timeout: Duration) {
    (result.duration, result.timed_out) = (finished.duration, timed_out);
    match &finished.exit {
        _ if timed_out => {
            result.error = Some(format!("out of time after {}", ralph_core::duration::format(timeout)));
        }
        Exit::Code(code) => (result.exit_code, result.passed) = (Some(*code), *code == 0),
        Exit::Signal(signal) => result.error = Some(format!("killed by signal {signal}")),
        Exit::Missing { message } | Exit::NotStarted { message } | Exit::Lost { message } => {
            result.error = Some(message.clone());
        }
    }
}
