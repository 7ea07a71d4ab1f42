//! Where runs live: outside the workspace, where the agent has no business.
//!
//! `$RALPH_STATE_DIR`, else `$XDG_STATE_HOME/ralph`, else `~/.local/state/ralph`; in it `runs/<run-id>/` with the journal,
//! the prompts and what the agents printed. Folders are 0700, files 0600.

use std::collections::HashMap;
use std::fs::{self, DirBuilder};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::ids::RunId;
use ralph_core::time::Timestamp;

use crate::index::{Entry, Index, Stamp};
use crate::plain;
use crate::run_dir::{RunDir, Summary};

/// Beside the runs. It can be removed at any time.
pub(crate) const INDEX: &str = "runs.index";

/// A start takes milliseconds: a folder that has no record after this long will never have one.
const ABANDONED_AGE: Duration = Duration::from_secs(60);

/// A run that was cut off is looked for among so many.
const RECENT: usize = 32;

#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("no place for ralph's state: neither RALPH_STATE_DIR, XDG_STATE_HOME nor HOME is set")]
    NoPlace,
    #[error("cannot use the state folder {}: {error}", path.display())]
    Io { path: PathBuf, error: io::Error },
    #[error("there is no run here yet; `ralph list --all` shows those of other workspaces")]
    NoRuns,
    #[error("there is no run here that can be read. Of these nobody can tell:\n{}", .0.join("\n"))]
    Unreadable(Vec<String>),
    #[error("no run is called `{0}`; `ralph list --all` shows them all")]
    Unknown(String),
    #[error("`{name}` could be\n{}\ngive more of the id", candidates.join("\n"))]
    Ambiguous { name: String, candidates: Vec<String> },
}

impl Store {
    /// The state folder that the environment names.
    pub fn from_env() -> Result<Self, StoreError> {
        let dir = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let root = dir("RALPH_STATE_DIR")
            .or_else(|| {
                dir("XDG_STATE_HOME").filter(|path| path.is_absolute()).map(|path| path.join("ralph"))
            })
            .or_else(|| dir("HOME").map(|home| home.join(".local/state/ralph")))
            .ok_or(StoreError::NoPlace)?;
        Self::at(root)
    }

    pub fn at(root: PathBuf) -> Result<Self, StoreError> {
        let root = std::path::absolute(&root).map_err(|error| StoreError::Io { path: root, error })?;
        Ok(Self { root })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Where the log of the program is written, if it is asked for.
    pub fn log_dir(&self) -> &Path {
        &self.root
    }

    /// Where the files are that stand for workspaces in use.
    pub fn locks_dir(&self) -> PathBuf {
        self.root.join("locks")
    }

    /// Where copies of workspaces are made.
    pub fn scratch_dir(&self) -> PathBuf {
        self.root.join("scratch")
    }

    /// Where runs that were given a worktree have it.
    pub fn worktrees_dir(&self) -> PathBuf {
        self.root.join("worktrees")
    }

    pub fn runs_dir(&self) -> PathBuf {
        self.root.join("runs")
    }

    /// Makes the folder of a new run. Its name begins with the time to the millisecond, so runs sort by their start.
    pub fn create_run(&self, now: Timestamp) -> Result<RunDir, StoreError> {
        let runs = self.runs_dir();
        let io = |path: &Path| {
            let path = path.to_owned();
            move |error| StoreError::Io { path, error }
        };
        plain::make_folders(&runs).map_err(io(&runs))?;
        loop {
            let id = new_id(now, RandomState::new().hash_one(0));
            let path = runs.join(&id.0);
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {
                    for sub in ["prompts", "logs", "bin"] {
                        let sub = path.join(sub);
                        plain::make_folder(&sub).map_err(io(&sub))?;
                    }
                    return Ok(RunDir { id, path });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(io(&path)(error)),
            }
        }
    }

    /// All runs: those that are alive, then those that something was last heard of. An old run may have been resumed, so
    /// the start says little.
    pub fn list(&self) -> Vec<Listed> {
        self.with_index(|runs, _| runs)
    }

    /// The runs that nobody works on, in the order of [`Store::list`], each with its bytes on disk.
    pub fn sized(&self) -> Vec<(Listed, u64)> {
        self.with_index(|runs, index| {
            let idle = runs.into_iter().filter(|found| !found.live);
            let counted = idle.map(|found| {
                let entry = index.entries.get_mut(&found.run.id);
                let known = entry.as_ref().and_then(|entry| entry.size);
                let size = known.unwrap_or_else(|| found.run.size());
                if let (None, Some(entry)) = (known, entry) {
                    entry.size = Some(size);
                    index.changed = true;
                }
                (found, size)
            });
            counted.collect()
        })
    }

    /// All runs in the order of [`Store::list`], and the index as it should be, to which more may be added.
    pub(crate) fn with_index<T>(&self, visit: impl FnOnce(Vec<Listed>, &mut Index) -> T) -> T {
        let path = self.root.join(INDEX);
        let (runs, mut index) = self.look(Index::read(&path));
        let answer = visit(runs, &mut index);
        if index.changed {
            // It only saves time; whoever lists next may have more luck.
            let _ = index.write(&path);
        }
        answer
    }

    /// Looks at every run as far as the index does not know it; gives the index as it should be.
    fn look(&self, mut old: Index) -> (Vec<Listed>, Index) {
        let entries = HashMap::with_capacity(old.entries.len());
        let mut new = Index { entries, changed: false };
        let mut runs = Vec::with_capacity(old.entries.len());
        for run in self.folders() {
            let Some(journal) = run.begun_journal() else { continue };
            let stamp = Stamp::of(&journal);
            let known = old.entries.remove(&run.id);
            let in_file = known.is_some();
            let known = known.filter(|entry| entry.stamp == stamp);
            let is_known = known.is_some();
            let summary = known.as_ref().and_then(|entry| entry.summary.as_ref());
            let is_stopped = summary.is_some_and(|it| it.stopped.is_some());
            // A run that goes on after its stop writes that down first of all, so it would have another stamp.
            let live = !is_stopped && run.is_live();
            let entry = match known.filter(|_| !live) {
                Some(entry) => entry,
                None => {
                    Entry { stamp, last_at: run.last_at(), summary: run.summary(), whole: None, size: None }
                }
            };
            let (last_at, summary) = (entry.last_at, entry.summary.clone());
            let live = live || summary.as_ref().is_some_and(|summary| summary.live);
            let is_kept = !live && (is_known || Stamp::is_settled(&journal));
            new.changed |= if is_kept { !is_known } else { in_file };
            if is_kept {
                new.entries.insert(run.id.clone(), entry);
            }
            runs.push(Listed { run, live, last_at, summary });
        }
        // What is left belongs to runs that are gone.
        new.changed |= !old.entries.is_empty();
        runs.sort_by(|a, b| (b.live, b.last_at, &b.run.id).cmp(&(a.live, a.last_at, &a.run.id)));
        (runs, new)
    }

    pub(crate) fn begun(&self) -> impl Iterator<Item = RunDir> {
        self.folders().filter(RunDir::has_begun)
    }

    /// What is left of runs that ended before their first record, killed or without room for it.
    pub fn abandoned(&self) -> Vec<RunDir> {
        let is_old = |run: &RunDir| {
            let changed = fs::metadata(&run.path).and_then(|meta| meta.modified());
            changed.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > ABANDONED_AGE))
        };
        self.folders().filter(|run| !run.has_begun() && is_old(run) && !run.is_live()).collect()
    }

    pub(crate) fn folders(&self) -> impl Iterator<Item = RunDir> {
        let entries = fs::read_dir(self.runs_dir()).into_iter().flatten().flatten();
        entries.filter_map(|entry| {
            Some(RunDir { id: RunId(entry.file_name().to_str()?.to_owned()), path: entry.path() })
        })
    }

    /// The last run of a workspace, if it was cut off: its ralph died without a word. Only the newest runs are looked at: whoever
    /// started something here since is the last one.
    pub fn cut_off_run(&self, workspace: &Path) -> Option<RunDir> {
        let mut runs: Vec<RunDir> = self.folders().collect();
        runs.sort_unstable_by(|a, b| b.id.0.cmp(&a.id.0));
        let last = runs.into_iter().take(RECENT).find(|run| run.has_begun() && run.is_of(workspace))?;
        let is_cut_off = |summary: Summary| !summary.live && summary.stopped.is_none();
        last.summary().is_some_and(is_cut_off).then_some(last)
    }

    /// The folders that a workspace is in, the nearest first. A worktree that was made for a run is in none: where the state folder
    /// lies says nothing about it.
    pub fn folders_around<'a>(&self, workspace: &'a Path) -> impl Iterator<Item = &'a Path> {
        let is_apart = workspace.starts_with(self.worktrees_dir());
        workspace.ancestors().skip(1).filter(move |_| !is_apart)
    }

    /// A live run that works in a workspace, in a folder around it or in one inside of it, and where that is.
    pub fn live_run_around(&self, workspace: &Path) -> Option<(RunDir, PathBuf)> {
        let is_near = |at: &Path| {
            at == workspace
                || self.folders_around(workspace).any(|folder| folder == at)
                || self.folders_around(at).any(|folder| folder == workspace)
        };
        self.begun().filter(RunDir::is_live).find_map(|run| {
            let at = run.workspace().filter(|at| is_near(at))?;
            Some((run, at))
        })
    }
}

/// One of all runs.
#[derive(Debug, Clone)]
pub struct Listed {
    pub run: RunDir,
    pub live: bool,
    /// When the last thing happened that can be read.
    pub last_at: Option<Timestamp>,
    /// Nothing if the journal does not begin with a start.
    pub summary: Option<Summary>,
}

impl Listed {
    pub(crate) fn is_of(&self, workspace: &Path) -> bool {
        self.summary.as_ref().is_some_and(|summary| summary.is_of(workspace))
    }
}

/// `20260118-100000-1ec0a7`: ten bits of milliseconds and fourteen of chance behind the second.
fn new_id(now: Timestamp, chance: u64) -> RunId {
    let millis = now.as_millis().rem_euclid(1000) as u64;
    RunId(format!("{}-{:06x}", compact(now), millis << 14 | chance & 0x3fff))
}

/// `20260118-100000`
fn compact(at: Timestamp) -> String {
    let text = at.to_string();
    let digits = |range: std::ops::Range<usize>| text.get(range).unwrap_or_default().replace([':', '-'], "");
    format!("{}-{}", digits(0..10), digits(11..19))
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use rustix::fs::{FlockOperation, flock};

    use super::*;
    use crate::mark::JOURNAL;

    #[test]
    fn a_folder_without_a_record_is_no_run_and_abandoned_once_it_is_old() {
        let dir = tempfile::tempdir().expect("a folder");
        let store = Store::at(dir.path().to_owned()).expect("a store");
        let make = |journal: Option<&str>, age: u64| {
            let run = store.create_run(Timestamp::default()).expect("a run");
            journal.iter().for_each(|text| fs::write(run.journal(), text).expect("write"));
            let then = std::time::SystemTime::now() - Duration::from_secs(age);
            File::open(&run.path).and_then(|folder| folder.set_modified(then)).expect("a time");
            run.id
        };
        let begun = make(Some("{\"seq\":1"), 3600);
        let (old, missing, _starting) = (make(Some(""), 3600), make(None, 3600), make(Some(""), 0));
        let held = make(Some(""), 3600);
        let journal = File::open(store.runs_dir().join(&held.0).join(JOURNAL)).expect("open");
        flock(&journal, FlockOperation::LockExclusive).expect("lock");
        let listed = || store.list().into_iter().map(|listed| listed.run).collect();
        let ids = |runs: Vec<RunDir>| {
            let mut ids: Vec<RunId> = runs.into_iter().map(|run| run.id).collect();
            ids.sort();
            ids
        };
        assert_eq!(ids(listed()), [begun]);
        let mut abandoned = [old, missing];
        abandoned.sort();
        assert_eq!(ids(store.abandoned()), abandoned);
    }

    #[test]
    fn the_living_come_first_then_those_that_were_last_heard_of() {
        let dir = tempfile::tempdir().expect("a folder");
        let store = Store::at(dir.path().to_owned()).expect("a store");
        let make = |started: i64, journal: &str| {
            let run = store.create_run(Timestamp::from_millis(started)).expect("a run");
            fs::write(run.journal(), journal).expect("write");
            run
        };
        let line = |second: u8| {
            format!(
                "{{\"seq\":1,\"at\":\"2026-01-18T10:00:0{second}.000Z\",\"type\":\"x\",\"crc\":\"00000000\"}}\n"
            )
        };
        let resumed = make(1000, &(line(1) + &line(7)));
        let damaged = make(2000, &(line(5) + "garbage\n"));
        let young = make(3000, &line(3));
        let garbage = make(4000, "garbage\n");
        let live = make(0, &line(0));
        let journal = File::open(live.journal()).expect("open");
        flock(&journal, FlockOperation::LockExclusive).expect("lock");
        let listed: Vec<RunDir> = store.list().into_iter().map(|listed| listed.run).collect();
        assert_eq!(listed, [live, resumed, damaged, young, garbage]);
    }

    #[test]
    fn ids_sort_by_the_millisecond_of_the_start_whatever_chance_adds() {
        let id = |millis, chance| new_id(Timestamp::from_millis(millis), chance).0;
        assert_eq!(id(1_768_730_400_123, u64::MAX), "20260118-100000-1effff");
        let starts = [0, 1, 998, 999, 1000, 1_768_730_400_000];
        for pair in starts.windows(2) {
            assert!(id(pair[0], u64::MAX) < id(pair[1], 0), "{pair:?}");
        }
    }
}
