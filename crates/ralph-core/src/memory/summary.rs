//! `ralph-summary.md`: what happened so far, the newest in full, the oldest shortest.

use super::quote::{block_end, block_start, inline};
use super::{Claim, IterationNote, Memory, OldNote, Tally};
use crate::event::Outcome;

/// Bytes for the line about the iterations that not even a line is left of.
const TALLY_ROOM: usize = 120;
/// Of the summary, at most this part is the objective.
const OBJECTIVE_SHARE: usize = 6;

pub(super) fn render(memory: &Memory, objective: &str, budget: usize) -> String {
    let Some((newest, others)) = split_newest(memory) else { return String::new() };
    let mut out = "## Ralph Summary\n\n".to_owned();
    if !objective.trim().is_empty() {
        out.push_str("### Objective\n\n");
        out.push_str(&block_start(objective, budget / OBJECTIVE_SHARE));
        out.push('\n');
    }
    let room = budget - out.len() - TALLY_ROOM;
    out.push_str(&full(newest, room));
    let mut room = (budget - TALLY_ROOM).saturating_sub(out.len());

    // The others as long as they fit: in full, then in a line each, then as a number.
    let mut tally = memory.oldest.clone();
    let mut lines = String::new();
    let mut in_full = true;
    let mut in_lines = true;
    for note in others {
        if in_full {
            let text = full(note, usize::MAX);
            // What is older should not be crowded out by it.
            in_full = text.len() < room / 2;
            if in_full {
                room -= text.len();
                out.push_str(&text);
                continue;
            }
        }
        (room, in_lines) = push_line(&mut lines, &OldNote::of(note), room, in_lines, &mut tally);
    }
    for note in memory.older.iter().rev() {
        (room, in_lines) = push_line(&mut lines, note, room, in_lines, &mut tally);
    }
    if !lines.is_empty() {
        out.push_str(BEFORE);
        out.push_str(&lines);
    }
    out.push_str(&tally.line(lines.is_empty()));
    out
}

const BEFORE: &str = "### Before that\n\n";

fn split_newest(memory: &Memory) -> Option<(&IterationNote, impl Iterator<Item = &IterationNote>)> {
    let mut notes = memory.recent.iter().rev();
    Some((notes.next()?, notes))
}

fn push_line(
    lines: &mut String,
    note: &OldNote,
    room: usize,
    fits: bool,
    tally: &mut Tally,
) -> (usize, bool) {
    let heading = if lines.is_empty() { BEFORE.len() } else { 0 };
    let line = note.line();
    if fits && line.len() + heading <= room {
        lines.push_str(&line);
        return (room - line.len() - heading, true);
    }
    tally.add(note);
    (room, false)
}

impl Tally {
    fn line(&self, alone: bool) -> String {
        let (Some(first), Some(last)) = (self.first, self.last) else { return String::new() };
        let range =
            if first == last { format!("Iteration {first}") } else { format!("Iterations {first}-{last}") };
        let rejected = match self.rejected {
            0 => String::new(),
            count => format!(", {count} claims rejected"),
        };
        let start = if alone { "" } else { "- " };
        format!("{start}{range}: {} ok, {} failed{rejected}.\n", self.ok, self.failed)
    }
}

impl OldNote {
    fn line(&self) -> String {
        let mut line = format!("- Iteration {}: {}", self.number, word(self.outcome));
        if let Some(count) = self.files {
            line.push_str(&format!(", {}", files_word(count)));
        }
        if self.rejected {
            line.push_str(", claim rejected");
        }
        if let Some(error) = &self.error {
            line.push_str(&format!(": {error}"));
        }
        line.push('\n');
        line
    }
}

/// One iteration in full, in at most so many bytes: the end of the output gives way first.
fn full(note: &IterationNote, room: usize) -> String {
    let mut out = format!("### Iteration {}\n\n- Outcome: {}", note.number, word(note.outcome));
    let seconds = note.duration.as_secs();
    if seconds > 0 {
        out.push_str(&format!(" after {seconds} s"));
    }
    if let Some(error) = &note.error {
        out.push_str(&format!(": {}", inline(error, (room / 8).min(300))));
    }
    out.push('\n');
    let mut add = |text: String| {
        // Two bytes for the blank line at the end, and enough to say that something is missing.
        if out.len() + text.len() + 2 <= room {
            out.push_str(&text);
        }
    };
    add(claim_line(&note.claim));
    if let Some(stuck) = &note.stuck {
        add(format!("- Going in circles: {}\n", inline(stuck, 400)));
    }
    if let Some(files) = &note.files {
        let names: Vec<String> =
            files.paths.iter().map(|path| format!("`{}`", inline(path, 120).replace('`', "'"))).collect();
        let more = usize::try_from(files.count).unwrap_or(usize::MAX).saturating_sub(names.len());
        let more = if more > 0 && !names.is_empty() { format!(" and {more} more") } else { String::new() };
        let named = if names.is_empty() { String::new() } else { format!(": {}{more}", names.join(", ")) };
        let line = format!("- Changed: {}{named}\n", files_word(files.count));
        // Without the names rather than not at all.
        add(if line.len() > room / 3 { format!("- Changed: {}\n", files_word(files.count)) } else { line });
    }
    if note.tool_calls > 0 {
        let failed =
            if note.failed_calls > 0 { format!(", {} failed", note.failed_calls) } else { String::new() };
        add(format!("- Tool calls: {}{failed}\n", note.tool_calls));
    }
    for check in &note.checks {
        add(format!("- Check: `{}` {}\n", inline(&check.command, 160).replace('`', "'"), check.result));
    }
    for error in &note.errors {
        add(format!("- Error: {}\n", inline(error, 240)));
    }
    let heading = "- Last words:\n\n";
    let left = room.saturating_sub(out.len() + heading.len() + 2);
    let tail = block_end(&note.tail, left);
    if !tail.is_empty() {
        out.push_str(heading);
        out.push_str(&tail);
    }
    out.push('\n');
    out
}

fn claim_line(claim: &Claim) -> String {
    match claim {
        Claim::None => "- Completion marker: not found\n".to_owned(),
        Claim::Claimed => "- Completion marker: found\n".to_owned(),
        Claim::Rejected { why } => {
            format!("- Completion marker: found, and rejected: {}\n", inline(why, 300))
        }
        Claim::Accepted => "- Completion marker: found, and accepted\n".to_owned(),
    }
}

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "ok",
        Outcome::Failed => "failed",
        Outcome::TimedOut => "timed out",
        Outcome::Silent => "ended for its silence",
        Outcome::Hung => "did not end after its last word",
    }
}

fn files_word(count: u32) -> String {
    match count {
        0 => "no files".to_owned(),
        1 => "1 file".to_owned(),
        count => format!("{count} files"),
    }
}

/// The ends of outputs, newest first in `notes`, oldest first in the text.
pub(super) fn outputs<'a>(notes: impl Iterator<Item = &'a IterationNote>, budget: usize) -> String {
    let heading = "## Last outputs\n\n";
    let mut parts: Vec<String> = Vec::new();
    let mut room = budget.saturating_sub(heading.len());
    for note in notes {
        let title = format!("### Iteration {}\n\n", note.number);
        let text = block_end(&note.tail, room.saturating_sub(title.len() + 1));
        if text.is_empty() {
            continue;
        }
        let part = format!("{title}{text}\n");
        room = room.saturating_sub(part.len());
        parts.push(part);
    }
    if parts.is_empty() {
        return String::new();
    }
    parts.reverse();
    format!("{heading}{}", parts.concat())
}
