//! What is looked at before a run starts: where it works, what git knows of it, and what could be lost.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::plan::Plan;
use ralph_model::text::clean;
use ralph_runtime::checkpoint::{self, Git, GitError};

use crate::error::CliError;

/// So long the start waits for what git says about files without a commit.
const ADVICE_PATIENCE: Duration = Duration::from_secs(5);

/// Folders that belong to the system as a whole: nobody wants an agent to work in all of them.
const SYSTEM: [&str; 17] = [
    "/etc",
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib64",
    "/boot",
    "/dev",
    "/proc",
    "/sys",
    "/run",
    "/var/lib",
    "/System",
    "/Library",
    "/Applications",
    "/snap",
    "/nix",
];
/// Folders that only hold those of others.
const HOLDERS: [&str; 10] =
    ["/", "/home", "/root", "/Users", "/var", "/opt", "/srv", "/mnt", "/media", "/tmp"];
/// Changed files that are named.
const NAMED: usize = 3;

/// Refuses a workspace that is too much to be meant.
pub fn check_place(workspace: &Path, here: bool) -> Result<(), CliError> {
    let Some(what) = danger(workspace, home().as_deref()).filter(|_| !here) else { return Ok(()) };
    Err(CliError::Usage(format!(
        "the workspace {} is {what}: an agent could change everything in it\n\
         go to the folder of your project, or name it with -C DIR; --here works here all the same",
        clean(&workspace.to_string_lossy())
    )))
}

fn home() -> Option<PathBuf> {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty())?;
    PathBuf::from(home).canonicalize().ok()
}

fn danger(workspace: &Path, home: Option<&Path>) -> Option<&'static str> {
    if workspace == Path::new("/") {
        return Some("the whole machine");
    }
    if home.is_some_and(|home| home == workspace) {
        return Some("your home folder");
    }
    if home.is_some_and(|home| home.starts_with(workspace))
        || HOLDERS.iter().any(|it| workspace == Path::new(it))
    {
        return Some("a folder that holds those of others");
    }
    SYSTEM.iter().any(|it| workspace.starts_with(it)).then_some("a folder of the system")
}

/// What is to be said about the net, a sentence each. With `init` a repository is made where there is none.
pub fn notes(plan: &Plan, init: bool) -> Result<Vec<String>, CliError> {
    let workspace = &plan.workspace;
    let git = match Git::open(workspace) {
        Err(GitError::NoRepository) if init => {
            checkpoint::init(workspace)?;
            return Ok(vec![format!("made a git repository in {}", clean(&workspace.to_string_lossy()))]);
        }
        other => other,
    };
    let is_on = plan.checkpoints.is_on();
    Ok(match git {
        Ok(git) => dirty(&git, workspace, is_on).into_iter().collect(),
        Err(GitError::NoRepository) if is_on => vec![
            "this is no git repository, so nothing brings back what an agent breaks; --git-init makes one"
                .to_owned(),
        ],
        Err(GitError::NoRepository) => Vec::new(),
        Err(error) if is_on => vec![format!("there will be no checkpoints: {error}")],
        Err(_) => Vec::new(),
    })
}

/// What no commit has.
fn dirty(git: &Git, workspace: &Path, is_on: bool) -> Option<String> {
    let changed = git.uncommitted(workspace, Some(ADVICE_PATIENCE)).ok()?;
    let (first, count) = (changed.first()?, changed.len());
    let named: Vec<String> = std::iter::once(first)
        .chain(&changed[1..])
        .take(NAMED)
        .map(|path| clean(&path.to_string_lossy()))
        .collect();
    let more = if count > NAMED { ", …" } else { "" };
    let (files, verb) = if count == 1 { ("1 file", "has") } else { ("files", "have") };
    let number = if count == 1 { String::new() } else { format!("{count} ") };
    let what = format!("{number}{files} {verb} changes that no commit has ({}{more})", named.join(", "));
    Some(match is_on {
        true => format!("{what}; `ralph undo` brings them back"),
        false => format!("{what}: they are at risk, for checkpoints are off"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_are_too_much_are_told_from_projects() {
        let home = Path::new("/people/ada");
        let is = |path: &str| danger(Path::new(path), Some(home)).is_some();
        for path in ["/", "/people", "/people/ada", "/etc", "/usr/lib/x", "/tmp", "/var", "/proc/1"] {
            assert!(is(path), "{path}");
        }
        for path in
            ["/people/ada/project", "/people/bob/x", "/tmp/x", "/srv/app", "/opt/app", "/data/x", "/etcetera"]
        {
            assert!(!is(path), "{path}");
        }
    }
}
