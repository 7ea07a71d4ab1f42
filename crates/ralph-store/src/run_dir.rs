//! The folder of one run: the names of its files, and what both ends of its journal say.

use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ralph_core::event::Event;
use ralph_core::ids::{IterationNumber, RunId};
use ralph_core::plan::{Task, WorktreePlan};
use ralph_core::prompt;
use ralph_core::record::{Record, json_of, type_of};
use ralph_core::time::Timestamp;
use ralph_model::text::{clean, first_words};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::mark::JOURNAL;
use crate::plain::{self, Links};
use crate::read::{Line, Lines, last_lines};

/// The beginning of a prompt that has the first words of its task.
const TASK_HEAD: u64 = 4096;

/// The folder of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunDir {
    pub id: RunId,
    pub path: PathBuf,
}

/// What a run is, without reading all of its journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub id: RunId,
    pub name: String,
    /// The first words of the task; empty if nobody knows them yet.
    pub task: String,
    pub workspace: PathBuf,
    /// The worktree it works in, where it was given one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<WorktreePlan>,
    pub started_at: Timestamp,
    pub last_at: Timestamp,
    #[serde(skip)]
    pub live: bool,
    /// How it stopped, unless it goes on or was cut off.
    pub stopped: Option<ralph_core::event::RunStopped>,
}

impl Summary {
    /// Whether it is a run of this workspace: it works there, or in a worktree that was made for it there.
    pub fn is_of(&self, workspace: &Path) -> bool {
        self.workspace == workspace || self.worktree.as_ref().is_some_and(|tree| tree.main == workspace)
    }

    /// The workspace as the person knows it.
    pub fn home(&self) -> &Path {
        self.worktree.as_ref().map_or(&self.workspace, |tree| &tree.main)
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

    /// What a gate printed. Two gates never have the same: a name that does not fit into a file's is told apart by a number.
    pub fn gate_log(&self, iteration: IterationNumber, round: u32, gate: &str) -> PathBuf {
        let mut name: String =
            gate.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(40).collect();
        if name != gate {
            name.push_str(&format!("-{:08x}", crc32fast::hash(gate.as_bytes())));
        }
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

    pub(crate) fn has_begun(&self) -> bool {
        self.begun_journal().is_some()
    }

    /// The journal, if there is a record in it.
    pub(crate) fn begun_journal(&self) -> Option<fs::Metadata> {
        fs::metadata(self.journal()).ok().filter(|meta| meta.is_file() && meta.len() > 0)
    }

    /// Whether a process of ralph works on it now. Its lock on the journal dies with it.
    pub fn is_live(&self) -> bool {
        let Ok(file) = plain::open(&self.journal(), Links::Refuse) else { return false };
        matches!(flock(&file, FlockOperation::NonBlockingLockShared), Err(rustix::io::Errno::WOULDBLOCK))
    }

    pub(crate) fn is_of(&self, workspace: &Path) -> bool {
        self.first().is_some_and(|(_, started)| started.plan.workspace == workspace)
    }

    /// Where it works.
    pub(crate) fn workspace(&self) -> Option<PathBuf> {
        self.first().map(|(_, started)| started.plan.workspace)
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
    pub(crate) fn last_at(&self) -> Option<Timestamp> {
        let lines = last_lines(&self.journal(), 1, &|line| time_of(line).is_some()).ok()?;
        time_of(lines.first()?)
    }

    /// A look at both ends of the journal. Nothing if it does not begin with a start.
    pub fn summary(&self) -> Option<Summary> {
        let (started_at, started) = self.first()?;
        let last = |keep: &dyn Fn(&[u8]) -> bool| {
            let lines = last_lines(&self.journal(), 1, keep).ok()?;
            parse(lines.first()?)
        };
        let boundary =
            |line: &[u8]| matches!(type_of(line), Some("run.started" | "run.resumed" | "run.stopped"));
        Some(Summary {
            id: self.id.clone(),
            name: started.plan.name.clone(),
            task: self.task_words(&started.plan.task),
            workspace: started.plan.workspace.clone(),
            worktree: started.plan.worktree.clone(),
            started_at,
            last_at: self.last_at().unwrap_or(started_at),
            live: self.is_live(),
            stopped: last(&boundary).and_then(|record| match record.event {
                Event::RunStopped(stopped) => Some(stopped),
                _ => None,
            }),
        })
    }

    /// Of a task in a file: as the first prompt had it, for the file may say something else by now.
    fn task_words(&self, task: &Task) -> String {
        let head = || {
            let prompt = plain::open(&self.prompt(IterationNumber(1), 1), Links::Refuse).ok()?;
            let mut bytes = Vec::new();
            prompt.take(TASK_HEAD).read_to_end(&mut bytes).ok()?;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            Some(text.strip_prefix(prompt::TASK_TITLE).map(str::to_owned).unwrap_or(text))
        };
        match task {
            Task::Text(text) => first_words(text),
            Task::File(path) | Task::RalphMd(path) => {
                head().map(|text| first_words(&text)).filter(|words| !words.is_empty()).unwrap_or_else(|| {
                    path.file_name().map(|name| clean(&name.to_string_lossy())).unwrap_or_default()
                })
            }
        }
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
    Record::from_json(json_of(line)?.as_bytes()).ok()
}

/// When it was recorded, also where this version does not know the event.
fn time_of(line: &[u8]) -> Option<Timestamp> {
    #[derive(serde::Deserialize)]
    struct Head {
        at: Timestamp,
    }
    serde_json::from_str::<Head>(&json_of(line)?).ok().map(|head| head.at)
}
