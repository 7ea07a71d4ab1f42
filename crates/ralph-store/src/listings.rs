//! The runs of a list, one line each.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use ralph_core::stop::StopKind;
use ralph_core::time::Timestamp;
use ralph_model::{Fold, RunListing};

use crate::find::workspace_of;
use crate::records::{ALL, ReadError};
use crate::run_dir::{RunDir, Summary};
use crate::store::{Listed, Store};

const NO_START: &str = "its journal does not begin with a start";

/// What a list shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Listings {
    pub runs: Vec<RunListing>,
    /// How many runs of other workspaces need a person.
    pub elsewhere: usize,
}

impl Store {
    /// The runs of the workspace that `here` is or belongs to, or all runs: those that need a person, then those that are alive,
    /// then those that something was last heard of. A run whose workspace cannot be told is shown only where all are.
    pub fn listings(&self, here: Option<&Path>, now: Timestamp) -> Listings {
        self.with_index(|found, index| {
            let workspace = here.map(|here| workspace_of(&found, here).unwrap_or_else(|| here.to_owned()));
            let (mut runs, mut elsewhere) = (Vec::with_capacity(found.len()), 0);
            let mut newest = Newest::default();
            for one in found {
                let is_newest = newest.is_first(&one);
                let is_here = workspace.as_ref().is_none_or(|workspace| one.is_of(workspace));
                let may_count = is_newest && may_need(&one);
                if !is_here && !may_count {
                    continue;
                }
                let known = index.entries.get_mut(&one.run.id).map(|entry| &mut entry.whole);
                let (mut listing, is_new) = listing(&one, is_newest, known, now);
                index.changed |= is_new;
                if !is_newest {
                    listing.needs_person = None;
                }
                match is_here {
                    true => runs.push(listing),
                    false => elsewhere += usize::from(listing.needs_person.is_some()),
                }
            }
            runs.sort_by_key(|run| run.needs_person.is_none());
            Listings { runs, elsewhere }
        })
    }
}

/// Tells of which workspaces a run was seen already. A run that is over needs nobody once another one came after it.
#[derive(Debug, Default)]
struct Newest(HashSet<PathBuf>);

impl Newest {
    fn is_first(&mut self, run: &Listed) -> bool {
        run.summary.as_ref().is_some_and(|summary| self.0.insert(summary.workspace.clone()))
    }
}

/// Whether it can be that a person must act: nobody is needed by a run that came to its end.
fn may_need(run: &Listed) -> bool {
    let stopped = run.summary.as_ref().and_then(|summary| summary.stopped.as_ref());
    stopped.is_none_or(|stopped| stopped.kind == StopKind::Blocked)
}

/// A run that has stopped says it all in its last record, unless a person is asked for something. Of any other all records are
/// read, once: `known` keeps what they say of a run that nobody works on. Answers also whether `known` is new.
fn listing(
    found: &Listed,
    is_newest: bool,
    known: Option<&mut Option<RunListing>>,
    now: Timestamp,
) -> (RunListing, bool) {
    let damaged = |why: &str| (RunListing::damaged(found.run.id.clone(), why), false);
    let Some(summary) = &found.summary else {
        return damaged(&found.run.trouble().unwrap_or_else(|| NO_START.to_owned()));
    };
    let stopped = summary.stopped.as_ref().map(|stopped| {
        let mut listing = described(summary);
        listing.stop(stopped);
        listing
    });
    if let Some(listing) = stopped.clone().filter(|_| !(is_newest && may_need(found))) {
        return (listing, false);
    }
    if let Some(whole) = known.as_deref().cloned().flatten() {
        return (whole, false);
    }
    let fold = match folded(&found.run) {
        Ok(fold) => fold,
        Err(error) => return stopped.map_or_else(|| damaged(&error.to_string()), |listing| (listing, false)),
    };
    let Some(snapshot) = fold.snapshot(now, found.live) else { return damaged(NO_START) };
    let listing = RunListing::of(&snapshot, summary.task.clone());
    let is_new = known.is_some();
    if let Some(known) = known {
        *known = Some(listing.clone());
    }
    (listing, is_new)
}

/// What both ends of a journal say.
fn described(summary: &Summary) -> RunListing {
    RunListing {
        started_at: Some(summary.started_at),
        last_at: Some(summary.last_at),
        name: summary.name.clone(),
        task: summary.task.clone(),
        workspace: summary.workspace.to_string_lossy().into_owned(),
        ..RunListing::named(summary.id.clone())
    }
}

fn folded(run: &RunDir) -> Result<Fold, ReadError> {
    let mut fold = Fold::default();
    run.each_record::<ReadError>(ALL, &mut |record| {
        fold.apply(&record);
        Ok(())
    })?;
    Ok(fold)
}
