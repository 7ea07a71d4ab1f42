//! Where runs live: outside the workspace, where the agent has no business.
//!
//! `$RALPH_STATE_DIR`, else `$XDG_STATE_HOME/ralph`, else `~/.local/state/ralph`; in it `runs/<run-id>/` with the journal,
//! the prompts and what the agents printed. Folders are 0700, files 0600.

use std::cmp::Reverse;
use std::fs::{self, DirBuilder, File};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::event::Event;
use ralph_core::ids::{IterationNumber, RunId};
use ralph_core::record::{Record, json_of, type_of};
use ralph_core::time::Timestamp;
use rustix::fs::{FlockOperation, flock};

use crate::journal::{self, JOURNAL, Line, Lines};

/// A start takes milliseconds: a folder that has no record after this long will never have one.
const HUSK_AGE: Duration = Duration::from_secs(60);

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
    #[error("no run is called `{0}`; `ralph list --all` shows them all")]
    Unknown(String),
    #[error("`{prefix}` could be {}; give more of it", matches.join(", "))]
    Ambiguous { prefix: String, matches: Vec<String> },
}

/// The folder of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunDir {
    pub id: RunId,
    pub path: PathBuf,
}

/// What a run is, without reading all of its journal.
#[derive(Debug, Clone)]
pub struct Summary {
    pub id: RunId,
    pub name: String,
    pub workspace: PathBuf,
    pub started_at: Timestamp,
    pub last_at: Timestamp,
    pub live: bool,
    /// How it stopped, unless it goes on or was cut off.
    pub stopped: Option<ralph_core::event::RunStopped>,
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
        DirBuilder::new().recursive(true).mode(0o700).create(&runs).map_err(io(&runs))?;
        loop {
            let id = new_id(now, RandomState::new().hash_one(0));
            let path = runs.join(&id.0);
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {
                    for sub in ["prompts", "logs", "bin"] {
                        let sub = path.join(sub);
                        DirBuilder::new().mode(0o700).create(&sub).map_err(io(&sub))?;
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
    pub fn runs(&self) -> Vec<RunDir> {
        let mut runs: Vec<RunDir> = self.begun().collect();
        runs.sort_by_cached_key(|run| Reverse((run.is_live(), run.last_at(), run.id.clone())));
        runs
    }

    fn begun(&self) -> impl Iterator<Item = RunDir> {
        self.folders().filter(RunDir::has_begun)
    }

    /// What is left of runs that ended before their first record, killed or without room for it.
    pub fn husks(&self) -> Vec<RunDir> {
        let is_old = |run: &RunDir| {
            let changed = fs::metadata(&run.path).and_then(|meta| meta.modified());
            changed.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > HUSK_AGE))
        };
        self.folders().filter(|run| !run.has_begun() && is_old(run) && !run.is_live()).collect()
    }

    fn folders(&self) -> impl Iterator<Item = RunDir> {
        let entries = fs::read_dir(self.runs_dir()).into_iter().flatten().flatten();
        entries.filter_map(|entry| {
            Some(RunDir { id: RunId(entry.file_name().to_str()?.to_owned()), path: entry.path() })
        })
    }

    /// The run that a person means: an id, the beginning of one, or nothing for the live or else the last one of this
    /// workspace.
    pub fn find(&self, name: Option<&str>, workspace: &Path) -> Result<RunDir, StoreError> {
        let Some(name) = name else {
            return self.runs().into_iter().find(|run| run.is_of(workspace)).ok_or(StoreError::NoRuns);
        };
        let mut runs: Vec<RunDir> = self.begun().collect();
        runs.sort_by(|a, b| b.id.cmp(&a.id));
        if let Some(run) = runs.iter().find(|run| run.id.0 == name) {
            return Ok(run.clone());
        }
        let mut matches: Vec<RunDir> = runs.into_iter().filter(|run| run.id.0.starts_with(name)).collect();
        match (matches.len(), matches.pop()) {
            (1, Some(run)) => Ok(run),
            (0, _) | (_, None) => Err(StoreError::Unknown(name.to_owned())),
            (_, Some(last)) => {
                let mut matches: Vec<String> = matches.into_iter().map(|run| run.id.0).collect();
                matches.push(last.id.0);
                matches.truncate(8);
                Err(StoreError::Ambiguous { prefix: name.to_owned(), matches })
            }
        }
    }

    /// The live run of a workspace.
    pub fn live_run(&self, workspace: &Path) -> Option<RunDir> {
        self.begun().find(|run| run.is_live() && run.is_of(workspace))
    }
}

impl RunDir {
    pub fn journal(&self) -> PathBuf {
        self.path.join(JOURNAL)
    }

    pub fn prompt(&self, iteration: IterationNumber, attempt: u32) -> PathBuf {
        self.path.join("prompts").join(format!("{:04}-{attempt}.md", iteration.0))
    }

    /// What the agent printed; the spool puts its other parts beside it.
    pub fn log(&self, iteration: IterationNumber, attempt: u32) -> PathBuf {
        self.path.join("logs").join(format!("{:04}-{attempt}.log", iteration.0))
    }

    /// What a gate printed. Gates of one name never run at the same time.
    pub fn gate_log(&self, iteration: IterationNumber, round: u32, gate: &str) -> PathBuf {
        let name: String =
            gate.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(40).collect();
        self.path.join("logs").join(format!("{:04}-gate-{name}-{round}.log", iteration.0))
    }

    /// A folder with nothing but this `ralph` in it, for the agent's PATH.
    pub fn bin(&self) -> PathBuf {
        self.path.join("bin")
    }

    /// This `ralph`, for the agent.
    pub fn ralph(&self) -> PathBuf {
        self.bin().join("ralph")
    }

    fn has_begun(&self) -> bool {
        fs::metadata(self.journal()).is_ok_and(|meta| meta.is_file() && meta.len() > 0)
    }

    /// Whether a process of ralph works on it now. Its lock on the journal dies with it.
    pub fn is_live(&self) -> bool {
        let Ok(file) = File::open(self.journal()) else { return false };
        matches!(flock(&file, FlockOperation::NonBlockingLockShared), Err(rustix::io::Errno::WOULDBLOCK))
    }

    fn is_of(&self, workspace: &Path) -> bool {
        self.first().is_some_and(|(_, started)| started.plan.workspace == workspace)
    }

    fn first(&self) -> Option<(Timestamp, Box<ralph_core::event::RunStarted>)> {
        let mut lines = Lines::open(&self.journal()).ok()?;
        let Some(Line::Whole(line)) = lines.read().ok()? else { return None };
        match parse(line)? {
            Record { at, event: Event::RunStarted(started), .. } => Some((at, started)),
            _ => None,
        }
    }

    /// When the last thing happened that can be read.
    fn last_at(&self) -> Option<Timestamp> {
        let lines = journal::last_lines(&self.journal(), 1, &|line| time_of(line).is_some()).ok()?;
        time_of(lines.first()?)
    }

    /// A look at both ends of the journal. Nothing if it does not begin with a start.
    pub fn summary(&self) -> Option<Summary> {
        let (started_at, started) = self.first()?;
        let last = |keep: &dyn Fn(&[u8]) -> bool| {
            let lines = journal::last_lines(&self.journal(), 1, keep).ok()?;
            parse(lines.first()?)
        };
        let boundary =
            |line: &[u8]| matches!(type_of(line), Some("run.started" | "run.resumed" | "run.stopped"));
        Some(Summary {
            id: self.id.clone(),
            name: started.plan.name.clone(),
            workspace: started.plan.workspace.clone(),
            started_at,
            last_at: self.last_at().unwrap_or(started_at),
            live: self.is_live(),
            stopped: last(&boundary).and_then(|record| match record.event {
                Event::RunStopped(stopped) => Some(stopped),
                _ => None,
            }),
        })
    }

    /// Bytes on disk.
    pub fn size(&self) -> u64 {
        fn of(path: &Path) -> u64 {
            let Ok(entries) = fs::read_dir(path) else { return 0 };
            entries
                .flatten()
                .map(|entry| match entry.metadata() {
                    Ok(meta) if meta.is_dir() => of(&entry.path()),
                    Ok(meta) => meta.blocks() * 512,
                    Err(_) => 0,
                })
                .sum()
        }
        of(&self.path)
    }
}

fn parse(line: &[u8]) -> Option<Record> {
    serde_json::from_str(&json_of(line)?).ok()
}

/// When it was recorded, also where this version does not know the event.
fn time_of(line: &[u8]) -> Option<Timestamp> {
    #[derive(serde::Deserialize)]
    struct Head {
        at: Timestamp,
    }
    serde_json::from_str::<Head>(&json_of(line)?).ok().map(|head| head.at)
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
    use super::*;

    #[test]
    fn a_folder_without_a_record_is_no_run_and_a_husk_once_it_is_old() {
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
        let ids = |runs: Vec<RunDir>| {
            let mut ids: Vec<RunId> = runs.into_iter().map(|run| run.id).collect();
            ids.sort();
            ids
        };
        assert_eq!(ids(store.runs()), [begun]);
        let mut husks = [old, missing];
        husks.sort();
        assert_eq!(ids(store.husks()), husks);
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
        assert_eq!(store.runs(), [live, resumed, damaged, young, garbage]);
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
