//! From records back to a run: its state, and the proof that its decisions follow from its inputs.

use std::collections::VecDeque;

use crate::engine::Engine;
use crate::event::Event;
use crate::ids::Seq;
pub use crate::observe::Folder;
use crate::record::Record;

/// A place where a fresh engine, fed with the recorded inputs, decides differently.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Difference {
    pub seq: Seq,
    pub recorded: Event,
    pub decided: Option<Event>,
}

/// Feeds the recorded inputs to a fresh engine, and compares what it decides with what is recorded. Stops at the first
/// difference, since everything after it stands on another state.
#[derive(Default)]
pub struct Verifier {
    engine: Option<Engine>,
    /// What the records themselves say the state is.
    folded: Folder,
    expected: VecDeque<Event>,
    pub inputs: u64,
    pub decisions: u64,
}

impl Verifier {
    pub fn push(&mut self, record: &Record) -> Result<(), Box<Difference>> {
        // A crash may have cut the decisions behind the last input. The run then went on from what was kept.
        if matches!(record.event, Event::RunResumed(_)) && !self.expected.is_empty() {
            self.expected.clear();
            self.engine = self.folded.state.clone().map(Engine::from_state);
        }
        if self.expected.is_empty() {
            self.feed(record);
        }
        let decided = self.expected.pop_front();
        if decided.as_ref() != Some(&record.event) {
            return Err(Box::new(Difference { seq: record.seq, recorded: record.event.clone(), decided }));
        }
        match record.event.is_decision() {
            true => self.decisions += 1,
            false => self.inputs += 1,
        }
        self.folded.push(record);
        Ok(())
    }

    fn feed(&mut self, record: &Record) {
        let step = match (&mut self.engine, &record.event) {
            (None, Event::RunStarted(started)) => {
                let (engine, step) = Engine::start(record.at, (**started).clone());
                self.engine = Some(engine);
                step
            }
            (Some(engine), event) => match event.input() {
                Some(input) => engine.handle(record.at, input),
                None => return,
            },
            (None, _) => return,
        };
        self.expected = step.events.into();
    }
}
