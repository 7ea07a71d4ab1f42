//! `ralph clean`, and the quota that ralph keeps by itself.

use std::collections::HashMap;
use std::time::Duration;

use ralph_runtime::store::{RunDir, Store, Summary};

use super::workspace;
use crate::args::CleanArgs;
use crate::error::CliError;

const DEFAULT_AGE: Duration = Duration::from_secs(30 * 24 * 3600);
/// What all runs may take together; `RALPH_STATE_QUOTA` in bytes, 0 for no limit.
const DEFAULT_QUOTA: u64 = 4 << 30;

pub fn clean(args: CleanArgs) -> Result<u8, CliError> {
    let store = Store::from_env()?;
    let here = workspace(&args.at.workspace)?;
    let older_than = match (&args.older_than, args.keep) {
        (Some(text), _) => Some(
            ralph_core::duration::parse(text)
                .map_err(|error| CliError::Usage(format!("--older-than {text}: {error}")))?,
        ),
        (None, Some(_)) => None,
        (None, None) => Some(DEFAULT_AGE),
    };
    let now = ralph_runtime::clock::now();
    let mut seen: HashMap<std::path::PathBuf, usize> = HashMap::new();
    let (mut removed, mut freed) = (Vec::new(), 0u64);
    if !args.dry_run {
        remove_husks(&store);
    }
    // The newest come first, so those to keep are counted first.
    for (run, summary) in finished(&store) {
        if !args.all && summary.workspace != here {
            continue;
        }
        let count = seen.entry(summary.workspace.clone()).or_default();
        *count += 1;
        let kept = args.keep.is_some_and(|keep| *count <= keep);
        let young = older_than.is_some_and(|age| now.since(summary.last_at) < age);
        if kept || young {
            continue;
        }
        freed += run.size();
        if !args.dry_run {
            remove(&run)?;
        }
        removed.push(run.id);
    }
    if args.json {
        let dry = args.dry_run;
        crate::io::print_json(&serde_json::json!({ "removed": removed, "bytes": freed, "dry_run": dry }))?;
        return Ok(0);
    }
    let verb = if args.dry_run { "would be removed" } else { "removed" };
    let runs = if removed.len() == 1 { "run" } else { "runs" };
    crate::io::print(&format!("{} {runs} {verb}, {:.1} MB", removed.len(), freed as f64 / 1e6))?;
    Ok(0)
}

/// They hold nothing, so nobody is asked and one that stays does no harm.
fn remove_husks(store: &Store) {
    for husk in store.husks() {
        let _ = std::fs::remove_dir_all(&husk.path);
    }
}

/// Runs that nobody works on, the newest first.
fn finished(store: &Store) -> Vec<(RunDir, Summary)> {
    let runs = store.runs().into_iter();
    runs.filter_map(|run| Some((run.clone(), run.summary()?))).filter(|(_, summary)| !summary.live).collect()
}

fn remove(run: &RunDir) -> Result<(), CliError> {
    std::fs::remove_dir_all(&run.path)
        .map_err(|error| CliError::Failed(format!("can not remove {}: {error}", run.path.display())))
}

/// Removes what is left of runs that never began, and the oldest stopped runs until all of them fit. The newest run of a workspace is kept: it may be resumed.
pub fn keep_quota(store: &Store) {
    remove_husks(store);
    let quota =
        std::env::var("RALPH_STATE_QUOTA").ok().and_then(|text| text.parse().ok()).unwrap_or(DEFAULT_QUOTA);
    if quota == 0 {
        return;
    }
    let mut newest = std::collections::HashSet::new();
    let mut used = 0;
    for (run, summary) in finished(store) {
        used += run.size();
        let is_newest = newest.insert(summary.workspace);
        if used > quota && !is_newest && summary.stopped.is_some() {
            // Room is only wanted, not needed: a run that can not be removed stays.
            let _ = std::fs::remove_dir_all(&run.path);
        }
    }
}
