//! `ralph list`

use ralph_runtime::store::{Store, Summary};
use ralph_ui::list::{self, ListedState, RunListing};

use super::workspace;
use crate::args::ListArgs;
use crate::error::CliError;

pub fn list(args: ListArgs) -> Result<u8, CliError> {
    let store = Store::from_env()?;
    let here = workspace(&args.at.workspace)?;
    let runs: Vec<RunListing> = store
        .runs()
        .iter()
        .filter_map(|run| match run.summary() {
            Some(summary) => (args.all || summary.workspace == here).then(|| listing(summary)),
            // Whose it is can not be told: it is shown where all are.
            None => args
                .all
                .then(|| RunListing::damaged(run.id.clone(), "its journal does not begin with a start")),
        })
        .collect();
    match args.json {
        true => crate::io::print_json(&list::to_json(&runs))?,
        false => crate::io::print(&list::render(
            &runs,
            ralph_runtime::clock::now(),
            args.all,
            &crate::io::style(),
        ))?,
    }
    Ok(0)
}

fn listing(summary: Summary) -> RunListing {
    RunListing {
        run: summary.id,
        state: match summary.stopped {
            Some(stopped) => ListedState::Stopped { reason: stopped.reason, kind: stopped.kind },
            None if summary.live => ListedState::Running,
            None => ListedState::Crashed,
        },
        iterations: summary.iterations,
        failures: 0,
        started_at: Some(summary.started_at),
        last_at: Some(summary.last_at),
        cost_usd: summary.cost_usd,
        name: summary.name,
        workspace: summary.workspace,
    }
}
