//! `ralph clean`, and the quota that ralph keeps by itself.

use std::collections::HashMap;
use std::time::Duration;

use ralph_core::ids::RunId;
use ralph_model::text::clean as clean_text;
use ralph_runtime::checkpoint::{Git, forget};
use ralph_store::{RunDir, Store, Summary};
use serde::Serialize;

use super::net::worktree;
use super::workspace;
use crate::args::CleanArgs;
use crate::error::CliError;

const DEFAULT_AGE: Duration = Duration::from_secs(30 * 24 * 3600);
/// What all runs may take together; `RALPH_STATE_QUOTA` in bytes, 0 for no limit.
const DEFAULT_QUOTA: u64 = 4 << 30;

/// What was removed, or would be.
#[derive(Serialize)]
struct Cleaned {
    removed: Vec<RunId>,
    bytes: u64,
    dry_run: bool,
}

pub fn clean(args: CleanArgs) -> Result<u8, CliError> {
    let store = Store::from_env()?;
    super::control::refuse_inside_of_any(&store, "clean")?;
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
        remove_abandoned(&store);
    }
    // Those that worked last come first, so those to keep are counted first.
    for (run, summary, size) in finished(&store) {
        if !args.all && !summary.is_of(&here) {
            continue;
        }
        let count = seen.entry(summary.home().to_owned()).or_default();
        *count += 1;
        let kept = args.keep.is_some_and(|keep| *count <= keep);
        let young = older_than.is_some_and(|age| now.since(summary.last_at) < age);
        if kept || young {
            continue;
        }
        if let Some(tree) = &summary.worktree
            && let Err(why) = worktree::remove(tree, args.dry_run)
        {
            crate::io::complain(&format!(
                "note: kept run {} and its worktree {}: {why}",
                run.id,
                tree.path.display()
            ));
            continue;
        }
        let failed = |error| CliError::Failed(format!("cannot remove {}: {error}", run.path.display()));
        if args.dry_run || remove(&store, &run, &summary).map_err(failed)? {
            freed += size;
            removed.push((run.id, summary.workspace));
        }
    }
    if args.json {
        let dry = args.dry_run;
        let removed: Vec<_> = removed.into_iter().map(|(id, _)| id).collect();
        crate::io::print_json(&Cleaned { removed, bytes: freed, dry_run: dry })?;
        return Ok(0);
    }
    let verb = if args.dry_run { "would be removed" } else { "removed" };
    let runs = if removed.len() == 1 { "run" } else { "runs" };
    let mut text = String::new();
    for (id, workspace) in &removed {
        text.push_str(&match args.all {
            true => format!("{id}  {}\n", clean_text(&workspace.to_string_lossy())),
            false => format!("{id}\n"),
        });
    }
    text.push_str(&format!("{} {runs} {verb}, {:.1} MB", removed.len(), freed as f64 / 1e6));
    crate::io::print(&text)?;
    Ok(0)
}

/// They hold nothing, so nobody is asked and one that stays does no harm.
fn remove_abandoned(store: &Store) {
    store.empty_trash();
    for run in store.abandoned() {
        let _ = store.discard(&run);
    }
}

/// Runs that nobody works on, each with its bytes on disk; those that worked last come first.
fn finished(store: &Store) -> Vec<(RunDir, Summary, u64)> {
    store.sized().into_iter().filter_map(|(found, size)| Some((found.run, found.summary?, size))).collect()
}

/// Removes a run, unless somebody resumed it since it was looked at.
fn remove(store: &Store, run: &RunDir, summary: &Summary) -> std::io::Result<bool> {
    if run.is_live() {
        return Ok(false);
    }
    // Where the repository is gone, its checkpoints are too.
    if let Ok(git) = Git::open(summary.home()) {
        let _ = forget(&git, &run.id.0);
    }
    store.discard(run)
}

/// Removes what is left of runs that never began, and the stopped runs that worked the longest ago until all of them fit.
/// The last run of a workspace is kept: it may be resumed.
pub fn keep_quota(store: &Store) {
    remove_abandoned(store);
    let quota =
        std::env::var("RALPH_STATE_QUOTA").ok().and_then(|text| text.parse().ok()).unwrap_or(DEFAULT_QUOTA);
    if quota == 0 {
        return;
    }
    let mut seen = std::collections::HashSet::new();
    let mut used = 0;
    for (run, summary, size) in finished(store) {
        used += size;
        let is_last = seen.insert(summary.home().to_owned());
        // A worktree is only removed by `ralph clean`.
        let is_bare = summary.worktree.as_ref().is_none_or(|tree| !tree.path.exists());
        if used > quota && !is_last && summary.stopped.is_some() && is_bare {
            // Room is only wanted, not needed: a run that cannot be removed stays.
            let _ = remove(store, &run, &summary);
        }
    }
}
