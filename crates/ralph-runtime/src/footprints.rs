//! ralph's own footprints in the workspace: what it writes there is never work, and never a change.

use std::path::{Path, PathBuf};

use ralph_core::plan::Plan;

use crate::echo::is_echo;
use crate::platform::OwnOutput;
use crate::workspace::Repository;

/// Finds the paths again before each look, for a reader of ralph's output may come late and its log may be moved.
#[derive(Debug)]
pub(crate) struct Footprints {
    workspace: PathBuf,
    /// Written for as long as the run lasts, relative to the workspace.
    fixed: Vec<PathBuf>,
    output: OwnOutput,
    /// Logs of ralph's output that nobody holds open, known by what stands in them.
    logs: Vec<PathBuf>,
}

impl Footprints {
    pub(crate) fn of(plan: &Plan) -> Self {
        let workspace = plan.workspace.canonicalize().unwrap_or_else(|_| plan.workspace.clone());
        let logs = plan.log_dir.as_ref().and_then(|dir| inside(&workspace, &plan.workspace.join(dir)));
        let fixed = std::iter::once(PathBuf::from(".ralph")).chain(logs).collect();
        Self { workspace, fixed, output: OwnOutput::default(), logs: Vec::new() }
    }

    /// Files and folders, relative to the workspace.
    pub(crate) fn paths(&mut self) -> Vec<PathBuf> {
        let written = self.output.files();
        let written = written.iter().filter_map(|file| inside(&self.workspace, file));
        // One that somebody has written something else into is a file as any other.
        let logs = self.logs.iter().filter(|log| is_echo(&self.workspace.join(log), true));
        self.fixed.iter().cloned().chain(written).chain(logs.cloned()).collect()
    }

    /// Looks for logs of ralph's output among files that have changed, and says whether there is a new one. A file that git
    /// tracks is none: what is to be committed is work.
    pub(crate) fn learn<'a>(&mut self, changed: impl Iterator<Item = &'a Path>) -> bool {
        let is_new = |path: &&Path| !self.logs.iter().any(|log| log == path);
        let mut found: Vec<PathBuf> = changed
            .filter(is_new)
            .filter(|path| is_echo(&self.workspace.join(path), false))
            .map(Path::to_owned)
            .collect();
        if !found.is_empty()
            && let Some(repository) = Repository::find(&self.workspace)
        {
            let Ok(tracked) = repository.tracked() else { return false };
            found.retain(|path| {
                !tracked.iter().any(|one| repository.work_tree.join(one) == self.workspace.join(path))
            });
        }
        let learned = !found.is_empty();
        self.logs.append(&mut found);
        learned
    }
}

/// The path below the workspace; nothing for the workspace itself, which as an exclusion would mean everything.
fn inside(workspace: &Path, path: &Path) -> Option<PathBuf> {
    let full = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let inside = full.strip_prefix(workspace).ok()?;
    (!inside.as_os_str().is_empty()).then(|| inside.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::plan::{AgentPlan, Task};

    #[test]
    fn the_log_folder_counts_wherever_it_is_named_from_and_the_workspace_itself_never_does() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().canonicalize().expect("a path");
        let paths = |log_dir: Option<PathBuf>| {
            let task = Task::Text("work".to_owned());
            let plan = Plan { log_dir, ..Plan::new("x", &root, task, AgentPlan::command("true")) };
            Footprints::of(&plan).paths()
        };
        let own = PathBuf::from(".ralph");
        let logs = PathBuf::from("logs");
        assert!(paths(Some(root.join("logs"))).contains(&logs));
        assert!(paths(Some(logs.clone())).contains(&logs));
        assert!(paths(None).contains(&own));
        assert!(!paths(Some(root.clone())).contains(&PathBuf::new()));
    }
}
