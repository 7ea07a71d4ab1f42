//! `ralph list`: runs as a table.

use ralph_model::text::clean;
use ralph_model::time::Timestamp;
use ralph_model::{RunListing, RunWord};
use unicode_width::UnicodeWidthStr;

use crate::Style;
use crate::format::{ago, money};
use crate::paint::{Paint, Tone};
use crate::text::{COLUMNS, fit, fit_end, wrap};
use crate::waits;

/// Columns of a state in a table; a longer one is cut.
const STATE: usize = 22;

/// `needs you`, `running`, `max_iterations`
fn state(run: &RunListing) -> (Tone, String) {
    let word = || run.state.as_str().to_owned();
    if run.needs_person.is_some() {
        return (Tone::Notice, "needs you".to_owned());
    }
    match (run.state, &run.reason) {
        (RunWord::Running, _) => (Tone::Strong, word()),
        (RunWord::Waiting | RunWord::Paused, _) => (Tone::Notice, word()),
        (RunWord::Stopped, Some(reason)) if run.proved == Some(false) => {
            (Tone::Notice, fit(&format!("{}, unproved", clean(reason)), STATE))
        }
        (RunWord::Stopped, Some(reason)) => {
            (run.kind.map_or(Tone::Plain, Tone::of_stop), fit(&clean(reason), STATE))
        }
        (RunWord::Stopped, None) => (Tone::Plain, word()),
        (RunWord::Crashed | RunWord::Damaged, _) => (Tone::Bad, word()),
    }
}

/// A row and the lines below it for each run, in the order given. `elsewhere`: runs of other workspaces that need a person;
/// nothing where all runs are shown, each with where it works.
pub fn render(runs: &[RunListing], elsewhere: Option<usize>, now: Timestamp, style: &Style) -> String {
    let paint = Paint { color: style.color };
    let mut out = match (runs.is_empty(), elsewhere) {
        (true, None | Some(0)) => "no runs yet; start one with: ralph run\n".to_owned(),
        (true, Some(_)) => "no runs of this workspace\n".to_owned(),
        (false, _) => String::new(),
    };
    if !runs.is_empty() {
        let title = |title: &str| (Tone::Dim, title.to_owned());
        let mut rows = vec![["RUN", "STATE", "ITERATIONS", "STARTED", "COST"].map(title)];
        rows.extend(runs.iter().map(|run| row(run, now)));
        let lines = table(&rows, paint);
        let mut lines = lines.lines();
        out.extend(lines.next().map(|header| format!("{header}\n")));
        for (line, run) in lines.zip(runs) {
            out.push_str(&format!("{line}\n{}", below(run, elsewhere.is_none(), now, style, paint)));
        }
    }
    if let Some(n @ 1..) = elsewhere {
        let runs = if n == 1 {
            "1 run of another workspace needs"
        } else {
            &format!("{n} runs of other workspaces need")
        };
        out.push_str(&format!("{}\n", paint.paint(Tone::Notice, &format!("{runs} you: ralph list --all"))));
    }
    out
}

/// What the run is about, and what it waits for or needs.
fn below(run: &RunListing, workspaces: bool, now: Timestamp, style: &Style, paint: Paint) -> String {
    let mut lines = String::new();
    let mut dim = |text: &str| lines.push_str(&format!("  {}\n", paint.dim(&fit(text, COLUMNS - 2))));
    let workspace = Some(clean(&run.workspace)).filter(|workspace| workspaces && !workspace.is_empty());
    match (workspace, clean(&run.task)) {
        (Some(workspace), task) if task.is_empty() => dim(&workspace),
        // The end of a path says more than its beginning.
        (Some(workspace), task) => dim(&format!("{}: {task}", fit_end(&workspace, COLUMNS / 2))),
        (None, task) if task.is_empty() => {}
        (None, task) => dim(&task),
    }
    if let Some(why) = &run.damage {
        dim(&clean(why));
    }
    if let Some(wait) = &run.wait {
        dim(&waits::counting(wait, now, style));
    }
    // It ends with a command that is to be typed: never cut.
    if let Some(need) = &run.needs_person {
        for line in wrap(&need.sentence(), COLUMNS - 2) {
            lines.push_str(&format!("  {}\n", paint.paint(Tone::Notice, &line)));
        }
    }
    lines
}

fn row(run: &RunListing, now: Timestamp) -> [(Tone, String); 5] {
    let plain = |text: String| (Tone::Plain, text);
    let failed = if run.failures > 0 { format!(" ({} failed)", run.failures) } else { String::new() };
    [
        plain(clean(&run.run.0)),
        state(run),
        plain(format!("{}{failed}", run.iterations)),
        plain(run.started_at.map_or("-".to_owned(), |at| ago(at, now))),
        plain(run.cost_usd.map_or("-".to_owned(), money)),
    ]
}

fn table(rows: &[[(Tone, String); 5]], paint: Paint) -> String {
    let mut widths = [0; 5];
    for row in rows {
        widths.iter_mut().zip(row).for_each(|(width, (_, text))| *width = text.width().max(*width));
    }
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
