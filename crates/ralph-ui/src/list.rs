//! `ralph list`: runs as a table.

use ralph_model::text::clean;
use ralph_model::time::Timestamp;
use ralph_model::{RunListing, RunWord};
use unicode_width::UnicodeWidthStr;

use crate::Style;
use crate::format::{ago, money};
use crate::paint::{Paint, Tone};
use crate::text::{COLUMNS, fit};
use crate::waits;

/// `running`, `stopped: max_iterations`
fn state(run: &RunListing) -> (Tone, String) {
    let word = run.state.as_str().to_owned();
    match (run.state, &run.reason) {
        (RunWord::Running, _) => (Tone::Strong, word),
        (RunWord::Waiting | RunWord::Paused, _) => (Tone::Notice, word),
        (RunWord::Stopped, Some(reason)) if run.proved == Some(false) => {
            (Tone::Notice, format!("{word}: {}, unproved", clean(reason)))
        }
        (RunWord::Stopped, Some(reason)) => {
            (run.kind.map_or(Tone::Plain, Tone::of_stop), format!("{word}: {}", clean(reason)))
        }
        (RunWord::Stopped, None) => (Tone::Plain, word),
        (RunWord::Crashed | RunWord::Damaged, _) => (Tone::Bad, word),
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
    let paint = Paint { color: style.color };
    let lines = table(&rows, paint);
    let mut lines = lines.lines();
    let mut out: String = lines.next().map(|header| format!("{header}\n")).unwrap_or_default();
    for (line, run) in lines.zip(runs) {
        out.push_str(line);
        out.push('\n');
        if let Some(wait) = &run.wait {
            let words = fit(&waits::counting(wait, now, style), COLUMNS - 2);
            out.push_str(&format!("  {}\n", paint.dim(&words)));
        }
    }
    out
}

fn row(run: &RunListing, now: Timestamp, workspaces: bool) -> Vec<(Tone, String)> {
    let plain = |text: String| (Tone::Plain, text);
    let failed = if run.failures > 0 { format!(" ({} failed)", run.failures) } else { String::new() };
    let mut cells = vec![
        plain(clean(&run.run.0)),
        state(run),
        plain(format!("{}{failed}", run.iterations)),
        plain(run.started_at.map_or("-".to_owned(), |at| ago(at, now))),
        plain(run.cost_usd.map_or("-".to_owned(), money)),
        plain(clean(&run.name)),
    ];
    if workspaces {
        cells.push(plain(clean(&run.workspace)));
    }
    // Behind everything else, where a long text moves no column.
    if let (Some(why), Some((_, last))) = (&run.damage, cells.last_mut()) {
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
