//! The runs of a list, one line each.

use std::path::Path;

use ralph_core::observe::Folder;
use ralph_model::RunListing;

use crate::find::workspace_of;
use crate::index::CutOff;
use crate::records::{ALL, ReadError};
use crate::run_dir::{RunDir, Summary};
use crate::store::{Listed, Store};

const NO_START: &str = "its journal does not begin with a start";

impl Store {
    /// The runs of the workspace that `here` is or belongs to, or all runs: those that are alive, then those that something was
    /// last heard of. A run whose workspace cannot be told is shown only where all are.
    pub fn listings(&self, here: Option<&Path>) -> Vec<RunListing> {
        self.with_index(|runs, index| {
            let workspace = here.map(|here| workspace_of(&runs, here).unwrap_or_else(|| here.to_owned()));
            let wanted = |run: &Listed| workspace.as_ref().is_none_or(|workspace| run.is_of(workspace));
            let one = |found: Listed| {
                let known = index.entries.get_mut(&found.run.id).map(|entry| &mut entry.cut_off);
                let (listing, is_new) = listing(found, known);
                index.changed |= is_new;
                listing
            };
            runs.into_iter().filter(wanted).map(one).collect()
        })
    }
}

/// A run that has stopped says it all in its last record. Of any other all records are read, once: `known` keeps what they
/// say of a run that nobody works on. Answers also whether `known` is new.
fn listing(found: Listed, known: Option<&mut Option<CutOff>>) -> (RunListing, bool) {
    let damaged = |why: &str| (RunListing::damaged(found.run.id.clone(), why), false);
    let Some(summary) = &found.summary else {
        return damaged(&found.run.trouble().unwrap_or_else(|| NO_START.to_owned()));
    };
    if let Some(stopped) = &summary.stopped {
        let mut listing = described(summary);
        listing.stop(stopped);
        return (listing, false);
    }
    if let Some(counts) = known.as_deref().copied().flatten() {
        let CutOff { iterations, failures, cost_usd, last_at } = counts;
        let last_at = Some(last_at);
        return (RunListing { iterations, failures, cost_usd, last_at, ..described(summary) }, false);
    }
    let folder = match folded(&found.run) {
        Ok(folder) => folder,
        Err(error) => return damaged(&error.to_string()),
    };
    let Some(run) = folder.observe() else { return damaged(NO_START) };
    let is_new = known.is_some();
    if let Some(known) = known {
        let (iterations, failures) = (run.iterations(), run.failures());
        *known = Some(CutOff { iterations, failures, cost_usd: run.cost_usd(), last_at: run.last_at() });
    }
    (RunListing::of(run, found.live), is_new)
}

/// What both ends of a journal say.
fn described(summary: &Summary) -> RunListing {
    RunListing {
        started_at: Some(summary.started_at),
        last_at: Some(summary.last_at),
        name: summary.name.clone(),
        workspace: summary.workspace.to_string_lossy().into_owned(),
        ..RunListing::named(summary.id.clone())
    }
}

fn folded(run: &RunDir) -> Result<Folder, ReadError> {
    let mut folder = Folder::default();
    run.each_record::<ReadError>(ALL, &mut |record| {
        folder.push(&record);
        Ok(())
    })?;
    Ok(folder)
}
