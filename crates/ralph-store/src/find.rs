//! Which run a person means.

use std::path::{Path, PathBuf};

use ralph_core::ids::RunId;

use crate::run_dir::RunDir;
use crate::store::{Listed, Store, StoreError};

/// Candidates that an error lists.
const CANDIDATES: usize = 8;

impl Store {
    /// The run that a person in the folder `here` means by `name`: its id, the beginning or the end of its id, its name, or the
    /// folder it worked in. Without a name: the live or else the last one of this workspace.
    pub fn find(&self, name: Option<&str>, here: &Path) -> Result<RunDir, StoreError> {
        let Some(name) = name else {
            let runs = self.list();
            let workspace = workspace_of(&runs, here).ok_or_else(|| self.none_here())?;
            let found = runs.into_iter().find(|run| run.is_of(&workspace));
            return found.map(|found| found.run).ok_or(StoreError::NoRuns);
        };
        match self.exact(name) {
            Some(run) => Ok(run),
            None => choose(self.list(), name, here, folder(name, here).as_deref()),
        }
    }

    /// Nothing of this workspace was found; perhaps because something is in the way.
    fn none_here(&self) -> StoreError {
        let troubled: Vec<String> =
            self.troubled().take(CANDIDATES).map(|(run, why)| format!("  {}: {why}", run.id)).collect();
        match troubled.is_empty() {
            true => StoreError::NoRuns,
            false => StoreError::Unreadable(troubled),
        }
    }

    /// The run with this very id, without a look at the others.
    fn exact(&self, id: &str) -> Option<RunDir> {
        let is_id = !id.is_empty() && !id.starts_with('.') && !id.contains('/');
        let run = RunDir { id: RunId(id.to_owned()), path: self.runs_dir().join(id) };
        Some(run).filter(|run| is_id && (run.has_begun() || run.trouble().is_some()))
    }
}

/// The workspace of runs that this folder is or belongs to: the nearest one above it.
pub fn workspace_of(runs: &[Listed], here: &Path) -> Option<PathBuf> {
    here.ancestors().find(|folder| runs.iter().any(|run| run.is_of(folder))).map(Path::to_owned)
}

/// A name that is the path of a folder.
fn folder(name: &str, here: &Path) -> Option<PathBuf> {
    let path = here.join(name).canonicalize().ok()?;
    (path.is_dir() && !name.is_empty()).then_some(path)
}

/// By the id, then by the name, then by the folder. `runs` are in the order in which they are meant.
fn choose(runs: Vec<Listed>, name: &str, here: &Path, folder: Option<&Path>) -> Result<RunDir, StoreError> {
    let is_part = |run: &&Listed| run.run.id.0.starts_with(name) || run.run.id.0.ends_with(name);
    let is_named = |run: &&Listed| run.summary.as_ref().is_some_and(|summary| summary.name == name);
    let mut found: Vec<&Listed> = runs.iter().filter(is_part).collect();
    if name.is_empty() {
        found.clear();
    }
    found.extend(one_per_workspace(runs.iter().filter(is_named).filter(|run| !is_part(run)).collect(), here));
    if let (true, Some(folder)) = (found.is_empty(), folder) {
        let workspace = workspace_of(&runs, folder);
        found.extend(workspace.and_then(|workspace| runs.iter().find(|run| run.is_of(&workspace))));
    }
    match found.as_slice() {
        [] => Err(StoreError::Unknown(name.to_owned())),
        [run] => Ok(run.run.clone()),
        many => {
            let candidates = many.iter().take(CANDIDATES).map(|run| described(run));
            let rest = many.len().saturating_sub(CANDIDATES);
            let rest = (rest > 0).then(|| format!("  and {rest} more"));
            let candidates = candidates.chain(rest).collect();
            Err(StoreError::Ambiguous { name: name.to_owned(), candidates })
        }
    }
}

/// A name is used again and again: of each workspace the live or else the last run is meant, and this one's before others.
fn one_per_workspace<'a>(runs: Vec<&'a Listed>, here: &Path) -> Vec<&'a Listed> {
    let mut first: Vec<&Listed> = Vec::new();
    for run in runs {
        let workspace = run.summary.as_ref().map(|summary| &summary.workspace);
        if !first.iter().any(|other| other.summary.as_ref().map(|summary| &summary.workspace) == workspace) {
            first.push(run);
        }
    }
    let nearest = here.ancestors().find_map(|folder| first.iter().find(|run| run.is_of(folder)).copied());
    nearest.map_or(first, |nearest| vec![nearest])
}

fn described(run: &Listed) -> String {
    match &run.summary {
        Some(summary) => {
            let workspace = summary.workspace.to_string_lossy();
            format!("  {} `{}` in {}", run.run.id, summary.name.escape_debug(), workspace.escape_debug())
        }
        None => format!("  {}", run.run.id),
    }
}
