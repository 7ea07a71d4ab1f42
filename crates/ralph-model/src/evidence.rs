//! The records a stop rests on.

use std::collections::VecDeque;

use ralph_core::event::Event;
use ralph_core::record::Record;

/// Failures of a streak that are kept: the newest.
const STREAK: usize = 10;

#[derive(Debug, Clone, Default)]
pub(crate) struct Evidence {
    /// The last input and what was decided about it.
    turn: Vec<Record>,
    /// The same for the turn that ordered the end of the agent.
    kill: Vec<Record>,
    /// The failures in a row.
    streak: VecDeque<Record>,
    settled: Vec<Record>,
}

impl Evidence {
    /// Oldest first; empty while the run goes on.
    pub fn records(&self) -> &[Record] {
        &self.settled
    }

    pub fn apply(&mut self, record: &Record) {
        if !record.event.is_decision() {
            self.turn.clear();
        }
        match &record.event {
            // What is said is no ground of a decision, and there is a lot of it.
            Event::AgentText(_) | Event::AgentSpawned(_) => return,
            Event::RunStarted(_) | Event::RunResumed(_) => self.begin(),
            // Between two turns: it neither belongs to the stop before nor to what comes after.
            Event::GuidanceAdded(_) if !self.settled.is_empty() => return,
            Event::IterationStarted(_) => self.kill.clear(),
            Event::IterationFinished(finished) if finished.outcome.is_failure() => {
                self.streak.push_back(record.clone());
                if self.streak.len() > STREAK {
                    self.streak.pop_front();
                }
            }
            Event::IterationFinished(_) => self.streak.clear(),
            _ => {}
        }
        self.turn.push(record.clone());
        match &record.event {
            Event::AgentKilled(_) => self.kill.extend(self.turn.iter().cloned()),
            Event::RunStopped(_) => self.settle(),
            _ => {}
        }
    }

    fn begin(&mut self) {
        self.turn.clear();
        self.kill.clear();
        self.settled.clear();
    }

    fn settle(&mut self) {
        let failed = |r: &Record| matches!(&r.event, Event::IterationFinished(f) if f.outcome.is_failure());
        let mut all = std::mem::take(&mut self.kill);
        // Earlier failures matter where the stop followed from one more.
        if self.turn.iter().any(failed) {
            all.extend(self.streak.iter().cloned());
        }
        all.append(&mut self.turn);
        all.sort_by_key(|record| record.seq);
        all.dedup_by_key(|record| record.seq);
        self.settled = all;
    }
}
