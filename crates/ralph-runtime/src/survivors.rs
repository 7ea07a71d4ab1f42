//! Who of an earlier session may still be alive, by its journal. They are ended before anything new is started.

use std::io;
use std::path::Path;
use std::sync::mpsc::Sender;

use ralph_core::event::{Event, KeeperStarted, SurvivorsSwept};
use ralph_core::input::{Input, Report};
use ralph_store::{ALL, ReadError, RunDir, Store};

use crate::driver::Envelope;
use crate::process;

#[derive(Debug, Default)]
pub(crate) struct Survivors {
    /// What stands in the environment of everything that the run started.
    variable: String,
    keepers: Vec<KeeperStarted>,
}

impl Survivors {
    /// None yet: they are learnt from the run's records.
    pub(crate) fn of(run: &RunDir) -> Self {
        Self { variable: format!("RALPH_RUN_ID={}", run.id), keepers: Vec::new() }
    }

    /// Those of the last run in this workspace, if it was cut off.
    pub(crate) fn in_workspace(store: &Store, workspace: &Path) -> Self {
        let Some(run) = store.cut_off_run(workspace) else { return Self::default() };
        let mut survivors = Self::of(&run);
        // What cannot be read names nobody. Those who are named before it are enough to look for.
        let _ = run.each_record::<ReadError>(ALL, &mut |record| {
            survivors.apply(&record.event);
            Ok(())
        });
        survivors
    }

    pub(crate) fn apply(&mut self, event: &Event) {
        match event {
            Event::KeeperStarted(keeper) => self.keepers.push(keeper.clone()),
            // Whoever is older was ended before that session began.
            Event::RunResumed(_) => self.keepers.clear(),
            _ => {}
        }
    }

    pub(crate) fn sweep(&self, inbox: &Sender<Envelope>) -> io::Result<()> {
        let count = process::sweep_survivors(&self.keepers, &self.variable)?;
        if count > 0 {
            let _ = inbox.send(Input::Report(Report::SurvivorsSwept(SurvivorsSwept { count })).into());
        }
        Ok(())
    }
}
