//! The only loop: take what has come in, let the engine decide, put it on disk, show it, start the work.

use ralph_core::event::JournalFailed;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use ralph_core::effect::Step;
use ralph_core::engine::Engine;
use ralph_core::event::Event;
use ralph_core::input::{Input, Report};
use ralph_core::record::Record;
use ralph_core::time::Timestamp;

use crate::clock;
use crate::executor::Executor;
use crate::journal::{Journal, JournalError};
use crate::log;
use crate::secrets::Secrets;

/// An input, and who wants to know what came of it.
pub struct Envelope {
    pub input: Input,
    pub reply: Option<Sender<Vec<Event>>>,
}

impl From<Input> for Envelope {
    fn from(input: Input) -> Self {
        Self { input, reply: None }
    }
}

/// Inputs handled before the journal is written once for all of them.
const BATCH: usize = 256;

pub(crate) struct Driver<'a> {
    pub engine: Engine,
    pub journal: Journal,
    pub executor: Executor,
    pub inbox: Receiver<Envelope>,
    pub secrets: Arc<Secrets>,
    pub publish: &'a mut dyn FnMut(&Record),
}

/// What one turn of the loop has to store, tell and do.
#[derive(Default)]
struct Batch {
    events: Vec<(Timestamp, Event)>,
    effects: Vec<ralph_core::effect::Effect>,
    replies: Vec<(Sender<Vec<Event>>, Vec<Event>)>,
}

impl Batch {
    fn add(&mut self, now: Timestamp, step: Step, reply: Option<Sender<Vec<Event>>>) {
        if let Some(reply) = reply {
            self.replies.push((reply, step.events.clone()));
        }
        self.events.extend(step.events.into_iter().map(|event| (now, event)));
        self.effects.extend(step.effects);
    }
}

impl Driver<'_> {
    /// Runs until the engine has stopped. `first` is what came of the start or the resume.
    pub(crate) fn run(mut self, now: Timestamp, first: Step) -> Result<Engine, JournalError> {
        let mut batch = Batch::default();
        batch.add(now, first, None);
        loop {
            if let Err(error) = self.carry_out(batch) {
                return self.journal_failed(error);
            }
            if self.engine.is_stopped() {
                return Ok(self.engine);
            }
            batch = self.next_batch();
        }
    }

    fn next_batch(&mut self) -> Batch {
        let mut batch = Batch::default();
        // The executor holds a sender, so this only ends when something has come.
        let Ok(first) = self.inbox.recv() else { return batch };
        let rest: Vec<Envelope> = self.inbox.try_iter().take(BATCH).collect();
        for Envelope { input, reply } in std::iter::once(first).chain(rest) {
            let now = clock::now();
            let step = self.engine.handle(now, self.secrets.cleaned(input));
            batch.add(now, step, reply);
        }
        batch
    }

    /// On disk first; only then is it shown, and only then is anything done about it.
    fn carry_out(&mut self, batch: Batch) -> Result<(), (JournalError, Batch)> {
        match self.journal.append(&batch.events) {
            Ok(records) => {
                self.executor.follow(&records);
                records.iter().for_each(log::tell);
                records.iter().for_each(&mut *self.publish);
            }
            Err(error) => return Err((error, batch)),
        }
        for (reply, events) in batch.replies {
            let _ = reply.send(events);
        }
        for effect in batch.effects {
            self.executor.start(effect);
        }
        Ok(())
    }

    /// Nothing may go on that is not recorded. The agent is ended; the reserve has room for what was decided last and for
    /// the record of the stop.
    fn journal_failed(mut self, (error, batch): (JournalError, Batch)) -> Result<Engine, JournalError> {
        self.executor.shut_down();
        self.journal.make_room();
        let message = error.to_string();
        let kept = Batch { effects: Vec::new(), ..batch };
        if self.carry_out(kept).is_err() {
            return Err(error);
        }
        let now = clock::now();
        let step = self.engine.handle(now, Report::JournalFailed(JournalFailed { message }).into());
        let mut last = Batch::default();
        last.add(now, Step { effects: Vec::new(), ..step }, None);
        match self.carry_out(last) {
            Ok(()) => Ok(self.engine),
            Err(_) => Err(error),
        }
    }
}
