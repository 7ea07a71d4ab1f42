//! `ralph list`

use ralph_core::observe::Folder;
use ralph_model::RunListing;
use ralph_store::{RunDir, Store, Summary, workspace_of};
use ralph_ui::list;

use super::{each_record, workspace};
use crate::args::ListArgs;
use crate::error::CliError;

pub fn list(args: ListArgs) -> Result<u8, CliError> {
    let store = Store::from_env()?;
    let here = workspace(&args.at.workspace)?;
    let found = store.list();
    let here = workspace_of(&found, &here).unwrap_or(here);
    let runs: Vec<RunListing> = found
        .into_iter()
        .filter_map(|found| match found.summary {
            Some(summary) => (args.all || summary.workspace == here).then(|| listing(&found.run, summary)),
            // Whose it is cannot be told: it is shown where all are.
            None => {
                args.all.then(|| RunListing::damaged(found.run.id, "its journal does not begin with a start"))
            }
        })
        .collect();
    match args.json {
        true => crate::io::print_json(&runs)?,
        false => {
            crate::io::print(&list::render(
                &runs,
                ralph_runtime::clock::now(),
                args.all,
                &crate::io::style(),
            ))?;
        }
    }
    Ok(0)
}

/// A run that has stopped says it all in its last record; of any other, all of them are read.
fn listing(run: &RunDir, summary: Summary) -> RunListing {
    let Some(stopped) = &summary.stopped else { return unfinished(run, summary.live) };
    let mut listing = RunListing {
        started_at: Some(summary.started_at),
        last_at: Some(summary.last_at),
        name: summary.name,
        workspace: summary.workspace.to_string_lossy().into_owned(),
        ..RunListing::named(summary.id)
    };
    listing.stop(stopped);
    listing
}

fn unfinished(run: &RunDir, live: bool) -> RunListing {
    let mut folder = Folder::default();
    let read = each_record(run, &mut |record| {
        folder.push(&record);
        Ok(())
    });
    match (folder.observe(), read) {
        (Some(seen), Ok(())) => RunListing::of(seen, live),
        (_, Err(error)) => RunListing::damaged(run.id.clone(), error.to_string()),
        (None, _) => RunListing::damaged(run.id.clone(), "its journal does not begin with a start"),
    }
}
