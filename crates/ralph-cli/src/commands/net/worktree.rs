//! `ralph run --worktree`: a git worktree of its own for a run, on a branch of its own.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Component, Path, PathBuf};

use ralph_core::plan::{Plan, WorktreeLists, WorktreePlan};
use ralph_model::text::clean;
use ralph_runtime::checkpoint::Git;
use ralph_store::Store;

use crate::error::CliError;

/// Makes the worktree and moves the plan into it. Answers with what is to be said about it. The definition and the prompt stay
/// where they are: they are the person's.
pub fn enter(
    store: &Store,
    plan: &mut Plan,
    name: &str,
    lists: &WorktreeLists,
) -> Result<Vec<String>, CliError> {
    let main = plan.workspace.clone();
    let git = Git::open(&main).map_err(|error| CliError::Usage(format!("--worktree: {error}")))?;
    let name = match name {
        "" => default_name(),
        given => checked(given)?,
    };
    let branch = format!("ralph/{name}");
    let Some(base) = git.head().0 else {
        return Err(CliError::Usage(
            "--worktree: there is no commit yet that a worktree could begin with".to_owned(),
        ));
    };
    let top = git.repository().work_tree.clone();
    let folder = top.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let path = store.worktrees_dir().join(format!("{folder}-{name}"));
    if git.line(["rev-parse", "--quiet", "--verify", &format!("refs/heads/{branch}")]).is_ok()
        || path.exists()
    {
        return Err(CliError::Usage(format!(
            "--worktree: there is a branch or a worktree called {branch} already; choose another name, or be rid of it: \
             git worktree remove {}; git branch -d {branch}",
            path.display()
        )));
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(store.worktrees_dir())?;
    let args = ["worktree", "add", "--quiet", "-b", &branch, &path.to_string_lossy(), &base];
    git.run_as_user(&top, args)?;
    let inside = git.prefix().to_owned();
    plan.workspace = if inside.as_os_str().is_empty() { path.clone() } else { path.join(&inside) };
    fs::create_dir_all(&plan.workspace)?;
    for command in &mut plan.commands {
        let moved = command.cwd.strip_prefix(&main).ok().map(|inside| plan.workspace.join(inside));
        command.cwd = match moved {
            Some(moved) if moved.is_dir() => moved,
            Some(_) => plan.workspace.clone(),
            None => command.cwd.clone(),
        };
    }
    let mut notes = vec![format!("works in a worktree of its own, {} on branch {branch}", path.display())];
    if let Ok(changed) = git.uncommitted(&main, None)
        && !changed.is_empty()
    {
        let base = base.get(..7).unwrap_or(&base);
        notes.push(format!(
            "{} of the checkout {} not in it: it begins at commit {base}",
            if changed.len() == 1 {
                "1 changed file".to_owned()
            } else {
                format!("{} changed files", changed.len())
            },
            if changed.len() == 1 { "is" } else { "are" }
        ));
    }
    notes.extend(furnish(&main, &plan.workspace, lists));
    plan.worktree = Some(WorktreePlan { name, branch, main, path, base });
    Ok(notes)
}

/// The time to the second.
fn default_name() -> String {
    let now = ralph_runtime::clock::now().to_string();
    now.chars().filter(|c| c.is_ascii_digit()).take(14).collect()
}

fn checked(name: &str) -> Result<String, CliError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_fine = name.chars().all(is_plain)
        && !name.starts_with(['-', '.'])
        && !name.ends_with('.')
        && !name.contains("..")
        && !name.ends_with(".lock");
    match is_fine {
        true => Ok(name.to_owned()),
        false => Err(CliError::Usage(format!(
            "--worktree: `{}` is no name: letters, digits, `-`, `_` and `.` make one",
            clean(name)
        ))),
    }
}

/// Copies and links what a build needs. Names what is not there.
fn furnish(main: &Path, workspace: &Path, lists: &WorktreeLists) -> Vec<String> {
    let mut notes = Vec::new();
    let mut each = |paths: &[String], how: &str, work: &dyn Fn(&Path, &Path) -> io::Result<()>| {
        for path in paths {
            let relative = Path::new(path);
            if !relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
                notes.push(format!("worktree.{how}: {} does not lie in the workspace", clean(path)));
                continue;
            }
            let (from, to) = (main.join(relative), workspace.join(relative));
            if fs::symlink_metadata(&from).is_err() {
                notes.push(format!("worktree.{how}: there is no {} to {how}", clean(path)));
            } else if fs::symlink_metadata(&to).is_ok() {
                notes.push(format!(
                    "worktree.{how}: {} is in the worktree already, from its commit",
                    clean(path)
                ));
            } else if let Err(error) = prepare(&to).and_then(|()| work(&from, &to)) {
                notes.push(format!("worktree.{how}: {}: {error}", clean(path)));
            }
        }
    };
    each(&lists.copy, "copy", &copy);
    each(&lists.link, "link", &|from, to| symlink(from, to));
    notes
}

fn prepare(to: &Path) -> io::Result<()> {
    to.parent().map_or(Ok(()), fs::create_dir_all)
}

/// Links are copied as links.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let meta = fs::symlink_metadata(from)?;
    if meta.is_symlink() {
        return symlink(fs::read_link(from)?, to);
    }
    if meta.is_file() {
        return fs::copy(from, to).map(drop);
    }
    if !meta.is_dir() {
        return Ok(());
    }
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    fs::set_permissions(to, meta.permissions())
}

/// Removes the worktree of a run if nothing in it would be lost; else says what would be.
pub fn remove(tree: &WorktreePlan, dry: bool) -> Result<(), String> {
    let text = |error: ralph_runtime::checkpoint::GitError| error.to_string();
    if !tree.path.exists() {
        return Ok(());
    }
    let inside = Git::open(&tree.path).map_err(text)?;
    let changed = inside.uncommitted(&tree.path, None).map_err(text)?;
    // What was linked for the run is where it was. A rule such as `vendor/` does not match a link.
    let is_link = |path: &&PathBuf| {
        fs::read_link(tree.path.join(path)).is_ok_and(|target| target.starts_with(&tree.main))
    };
    let (links, lost): (Vec<&PathBuf>, Vec<&PathBuf>) = changed.iter().partition(is_link);
    if let Some(first) = lost.first() {
        let (more, it) = match lost.len() {
            1 => (String::new(), "it"),
            many => (format!(" and {} more", many - 1), "them"),
        };
        return Err(format!("{}{more} would be lost: no commit has {it}", clean(&first.to_string_lossy())));
    }
    let branch = format!("refs/heads/{}", tree.branch);
    // git takes the pattern as it stands behind `refs/heads/`.
    let exclude = format!("--exclude={}", tree.branch);
    let own =
        ["rev-list", "--count", "HEAD", &branch, "--not", &exclude, "--branches", "--remotes", "--tags"];
    let own = inside.line(own).map_err(text)?;
    if own != "0" {
        return Err(format!("{own} commits are on no branch but {}", tree.branch));
    }
    if dry {
        return Ok(());
    }
    for link in links {
        fs::remove_file(tree.path.join(link)).map_err(|error| error.to_string())?;
    }
    let main = Git::open(&tree.main).map_err(text)?;
    // git refuses by itself where there is something that we have not seen. Ignored files go with it.
    main.run_as_user(&tree.main, ["worktree", "remove", &tree.path.to_string_lossy()]).map_err(text)?;
    main.run(["update-ref", "-d", &branch], &[]).map(drop).map_err(text)
}
