//! `ralph undo`: the tree as it was.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ralph_core::event::{CheckpointReason, CheckpointRestored, CheckpointSaved};
use ralph_core::input::{Input, Report};
use ralph_model::TreeUndone;
use ralph_model::text::clean;
use ralph_runtime::checkpoint::{Git, Label, Saved, Saver, Undone, at_risk, undo as bring_back};
use ralph_runtime::session::OpenRun;

use super::super::pick;
use super::{Book, moment};
use crate::args::UndoArgs;
use crate::error::CliError;

/// Commits and files that are named.
const NAMED: usize = 10;

pub fn undo(args: UndoArgs) -> Result<u8, CliError> {
    let (store, run) = pick(&args.pick)?;
    let book = Book::read(run.clone())?;
    let to = book.find(args.to.as_deref().unwrap_or("0"))?.clone();
    // From here on nobody else works in the workspace, nor on the run.
    let mut session = OpenRun::open(&store, run)?;
    let (git, workspace) = (book.git()?, book.plan.workspace.clone());
    if args.hard && to.head.is_none() {
        return Err(CliError::Usage(
            "no commit was checked out then, so there is none to go back to".to_owned(),
        ));
    }
    let before = save(&book, &git, &to)?;
    session.note(Input::Report(Report::CheckpointSaved(before.clone())))?;
    let done = bring_back(&git, &workspace, &before.commit, &to.commit)?;
    let commits = commits_since(&git, &book, &to)?;
    if args.hard {
        set_back(&git, &to)?;
    }
    let count = |all: &[PathBuf]| u32::try_from(all.len()).unwrap_or(u32::MAX);
    let restored = CheckpointRestored {
        name: to.name.clone(),
        iteration: to.iteration,
        commit: to.commit.clone(),
        before: before.name.clone(),
        written: count(&done.written),
        removed: count(&done.removed),
        hard: args.hard,
    };
    session.note(Input::Report(Report::CheckpointRestored(restored)))?;
    let told =
        Told { book: &book, to: &to, before: &before, done: &done, commits: &commits, hard: args.hard };
    match args.json {
        true => crate::io::print_json(&told.report())?,
        false => crate::io::print(&told.text())?,
    }
    Ok(u8::from(!done.problems.is_empty()))
}

/// What is there now, so that an undo can be undone.
fn save(book: &Book, git: &Git, to: &CheckpointSaved) -> Result<CheckpointSaved, CliError> {
    let begun = Instant::now();
    let number = 1 + book.saved.iter().filter(|one| one.why == CheckpointReason::Undo).count();
    let name = format!("undo-{number}");
    let mut saver =
        Saver::new(git.clone(), &book.plan.workspace, book.saved.last().map(|one| one.commit.clone()));
    let label = Label { run: &book.run.id.0, name: &name, what: "before an undo" };
    let also = at_risk(git, &to.commit)?;
    let Saved { commit, tree, head, branch, files, read, left_out, nested } =
        saver.save(label, own(&book.plan.workspace, book.plan.log_dir.as_deref()), &also)?;
    let (why, iteration) = (CheckpointReason::Undo, book.last().iteration);
    let duration = Duration::from_millis(u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX));
    Ok(CheckpointSaved {
        name,
        why,
        iteration,
        commit,
        tree,
        head,
        branch,
        files,
        read,
        left_out,
        nested,
        duration,
    })
}

/// The logs that ralph copied into the workspace are no part of it.
pub fn own(workspace: &Path, log_dir: Option<&Path>) -> Vec<PathBuf> {
    let inside = log_dir.and_then(|dir| dir.strip_prefix(workspace).ok()).map(Path::to_owned);
    inside.into_iter().filter(|path| !path.as_os_str().is_empty()).collect()
}

/// The commits that were made since the checkpoint, wherever they are now.
fn commits_since(git: &Git, book: &Book, to: &CheckpointSaved) -> Result<Vec<String>, CliError> {
    let at = book.saved.iter().rposition(|one| one.commit == to.commit).unwrap_or(0);
    let later = book.saved[at..].iter().filter_map(|one| one.head.clone());
    let mut heads: Vec<String> = later.chain(git.head().0).collect();
    heads.sort_unstable();
    heads.dedup();
    heads.retain(|head| to.head.as_ref() != Some(head));
    if heads.is_empty() {
        return Ok(Vec::new());
    }
    let mut args: Vec<String> =
        ["rev-list", "--no-commit-header", "--ignore-missing", "--max-count=1000", "--format=%h %s"]
            .map(str::to_owned)
            .to_vec();
    args.extend(heads);
    args.extend(to.head.iter().map(|head| format!("^{head}")));
    Ok(git.line(args)?.lines().map(clean).collect())
}

/// The branch, HEAD and the index as they were: `git reset` without touching files.
fn set_back(git: &Git, to: &CheckpointSaved) -> Result<(), CliError> {
    let Some(head) = &to.head else { return Ok(()) };
    // Here the user's own books are meant, so they keep a log of it.
    let logged = |args: &[&str]| {
        let all = ["-c", "core.logAllRefUpdates=true"].iter().chain(args).copied();
        git.run(all, &[]).map(drop)
    };
    let why = "ralph undo --hard";
    match &to.branch {
        Some(branch) => {
            logged(&["update-ref", "-m", why, "--no-deref", branch, head])?;
            if git.head().1.as_ref() != Some(branch) {
                logged(&["symbolic-ref", "-m", why, "HEAD", branch])?;
            }
        }
        None => logged(&["update-ref", "-m", why, "--no-deref", "HEAD", head])?,
    }
    logged(&["read-tree", head])?;
    Ok(())
}

struct Told<'a> {
    book: &'a Book,
    to: &'a CheckpointSaved,
    before: &'a CheckpointSaved,
    done: &'a Undone,
    commits: &'a [String],
    hard: bool,
}

impl Told<'_> {
    fn back(&self) -> String {
        format!("ralph undo {} --to {}", self.book.run.id, self.before.name)
    }

    fn text(&self) -> String {
        let Undone { written, removed, kept, problems } = self.done;
        let what = match (written.len(), removed.len()) {
            (0, 0) => "nothing had to be changed".to_owned(),
            (written, removed) => format!("{} written, {} removed", files(written), files(removed)),
        };
        let mut lines = vec![format!("the tree is as it was {}: {what}", moment(self.to))];
        lines.extend(list("kept, because git ignores them or did then:", &names(kept)));
        if !self.commits.is_empty() {
            let count = self.commits.len();
            let (commits, stay) = match count {
                1 => ("1 commit".to_owned(), "stays"),
                _ => (format!("{count} commits"), "stay"),
            };
            let where_ = match (self.hard, self.to.branch.as_deref()) {
                (true, branch) => format!(
                    "{} again at {}; git keeps {commits} made since then:",
                    branch.map_or("HEAD is".to_owned(), |name| format!("{} is", clean(short(name)))),
                    self.to.head.as_deref().and_then(|head| head.get(..7)).unwrap_or_default()
                ),
                (false, _) => format!("{commits} made since then {stay}, and no branch is moved:"),
            };
            lines.extend(list(&where_, self.commits));
        }
        lines.extend(list(
            "could not be brought back:",
            &problems.iter().map(|one| clean(one)).collect::<Vec<_>>(),
        ));
        let left_out: Vec<String> = self.before.left_out.iter().map(|one| clean(one)).collect();
        lines.extend(list("not in the checkpoint of what was there:", &left_out));
        lines.push(format!("to undo this: {}", self.back()));
        lines.join("\n")
    }

    fn report(&self) -> TreeUndone {
        let Undone { written, removed, kept, problems } = self.done;
        TreeUndone {
            run: self.book.run.id.clone(),
            checkpoint: self.to.name.clone(),
            commit: self.to.commit.clone(),
            written: names(written),
            removed: names(removed),
            kept: names(kept),
            problems: problems.clone(),
            commits: self.commits.to_vec(),
            hard: self.hard,
            before: self.before.name.clone(),
            back: self.back(),
        }
    }
}

fn short(branch: &str) -> &str {
    branch.strip_prefix("refs/heads/").unwrap_or(branch)
}

fn names(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| clean(&path.to_string_lossy())).collect()
}

fn files(count: usize) -> String {
    if count == 1 { "1 file".to_owned() } else { format!("{count} files") }
}

/// A line, and up to so many things below it.
fn list(title: &str, all: &[String]) -> Vec<String> {
    if all.is_empty() {
        return Vec::new();
    }
    let more = all.len().saturating_sub(NAMED);
    let more = (more > 0).then(|| format!("  and {more} more"));
    let named = all.iter().take(NAMED).map(|one| format!("  {one}"));
    std::iter::once(title.to_owned()).chain(named).chain(more).collect()
}
