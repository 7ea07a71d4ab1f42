//! `ralph list`: runs as a table.

use std::path::PathBuf;

use ralph_core::ids::RunId;
use ralph_core::state::{Phase, RunState};
use ralph_core::stop::StopKind;
use ralph_core::time::Timestamp;
use ralph_core::view::clean;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use crate::Style;
use crate::format::{ago, money};
use crate::paint::{Paint, Tone};

/// A run as a row.
#[derive(Debug, Clone, PartialEq)]
pub struct RunListing {
    pub run: RunId,
    pub state: ListedState,
    pub iterations: u32,
    pub failures: u32,
    pub started_at: Option<Timestamp>,
    pub last_at: Option<Timestamp>,
    pub cost_usd: Option<f64>,
    pub name: String,
    pub workspace: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListedState {
    Running,
    Waiting,
    Paused,
    Stopped {
        reason: String,
        kind: StopKind,
    },
    Crashed,
    /// The journal cannot be read; why.
    Damaged(String),
}

impl RunListing {
    /// `alive`: whether a process still works on the run.
    pub fn of(state: &RunState, alive: bool) -> RunListing {
        RunListing {
            run: state.run.clone(),
            state: ListedState::of(state, alive),
            iterations: state.iterations_finished,
            failures: state.total_failures,
            started_at: Some(state.started_at),
            last_at: Some(state.last_at),
            cost_usd: state.cost_now(),
            name: state.plan.name.clone(),
            workspace: state.plan.workspace.clone(),
        }
    }

    /// A run whose journal tells nothing.
    pub fn damaged(run: RunId, why: impl Into<String>) -> RunListing {
        RunListing {
            run,
            state: ListedState::Damaged(why.into()),
            iterations: 0,
            failures: 0,
            started_at: None,
            last_at: None,
            cost_usd: None,
            name: String::new(),
            workspace: PathBuf::new(),
        }
    }
}

impl ListedState {
    pub fn of(state: &RunState, alive: bool) -> ListedState {
        match (&state.stopped, &state.phase) {
            (Some(stopped), _) => {
                ListedState::Stopped { reason: stopped.reason.to_string(), kind: stopped.kind }
            }
            (None, _) if !alive => ListedState::Crashed,
            (None, Phase::Waiting(_)) => ListedState::Waiting,
            (None, Phase::Paused) => ListedState::Paused,
            (None, Phase::Running(_) | Phase::Checking(_) | Phase::Ready | Phase::Stopped) => {
                ListedState::Running
            }
        }
    }

    /// One word for scripts.
    pub fn key(&self) -> &'static str {
        match self {
            ListedState::Running => "running",
            ListedState::Waiting => "waiting",
            ListedState::Paused => "paused",
            ListedState::Stopped { .. } => "stopped",
            ListedState::Crashed => "crashed",
            ListedState::Damaged(_) => "damaged",
        }
    }

    fn words(&self) -> (Tone, String) {
        match self {
            ListedState::Running => (Tone::Strong, "running".to_owned()),
            ListedState::Waiting | ListedState::Paused => (Tone::Notice, self.key().to_owned()),
            ListedState::Stopped { reason, kind } => {
                (Tone::of_stop(*kind), format!("stopped: {}", clean(reason)))
            }
            ListedState::Crashed | ListedState::Damaged(_) => (Tone::Bad, self.key().to_owned()),
        }
    }
}

/// One row a run, in the order given. `workspaces`: also where each one works.
pub fn render(runs: &[RunListing], now: Timestamp, workspaces: bool, style: &Style) -> String {
    if runs.is_empty() {
        return "no runs yet; start one with: ralph run\n".to_owned();
    }
    let mut header = vec!["RUN", "STATE", "ITERATIONS", "STARTED", "COST", "NAME"];
    if workspaces {
        header.push("WORKSPACE");
    }
    let mut rows: Vec<Vec<(Tone, String)>> =
        vec![header.into_iter().map(|title| (Tone::Dim, title.to_owned())).collect()];
    rows.extend(runs.iter().map(|run| row(run, now, workspaces)));
    table(&rows, Paint { color: style.color })
}

fn row(run: &RunListing, now: Timestamp, workspaces: bool) -> Vec<(Tone, String)> {
    let plain = |text: String| (Tone::Plain, text);
    let failed = if run.failures > 0 { format!(" ({} failed)", run.failures) } else { String::new() };
    let mut cells = vec![
        plain(clean(&run.run.0)),
        run.state.words(),
        plain(format!("{}{failed}", run.iterations)),
        plain(run.started_at.map_or("-".to_owned(), |at| ago(at, now))),
        plain(run.cost_usd.map_or("-".to_owned(), money)),
        plain(clean(&run.name)),
    ];
    if workspaces {
        cells.push(plain(clean(&run.workspace.to_string_lossy())));
    }
    // Behind everything else, where a long text moves no column.
    if let (ListedState::Damaged(why), Some((_, last))) = (&run.state, cells.last_mut()) {
        *last = clean(why);
    }
    cells
}

fn table(rows: &[Vec<(Tone, String)>], paint: Paint) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|(_, text)| text.width()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in rows {
        for (at, (tone, text)) in row.iter().enumerate() {
            out.push_str(&paint.paint(*tone, text));
            // Padded by what is seen, and not behind the last column.
            if at + 1 < row.len() {
                out.push_str(&" ".repeat(widths[at].saturating_sub(text.width()) + 2));
            }
        }
        out.push('\n');
    }
    out
}

pub fn to_json(runs: &[RunListing]) -> Value {
    let one = |run: &RunListing| {
        let (reason, kind) = match &run.state {
            ListedState::Stopped { reason, kind } => (Some(reason.as_str()), Some(*kind)),
            _ => (None, None),
        };
        json!({
            "run": run.run,
            "state": run.state.key(),
            "reason": reason,
            "kind": kind,
            "damage": match &run.state {
                ListedState::Damaged(why) => Some(why.as_str()),
                _ => None,
            },
            "iterations": run.iterations,
            "failures": run.failures,
            "started_at": run.started_at,
            "last_at": run.last_at,
            "cost_usd": run.cost_usd,
            "name": run.name,
            "workspace": run.workspace.to_string_lossy(),
        })
    };
    Value::Array(runs.iter().map(one).collect())
}
