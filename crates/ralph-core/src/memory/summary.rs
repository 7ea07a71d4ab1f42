//! `ralph-summary.md`: what happened so far, the newest in full, the oldest shortest.

use super::quote::{block_end, block_start, cut_end, inline};
use super::{Claim, IterationNote, Memory, OldNote, Tally};
use crate::event::{FilesChanged, Outcome};

/// Bytes for the line about the iterations that not even a line is left of.
const TALLY_ROOM: usize = 120;
/// Of the summary, at most this part is the objective.
const OBJECTIVE_SHARE: usize = 6;

/// `told`: of so many of the last iterations the output stands elsewhere. With an objective it is a file of its own.
pub(super) fn render(memory: &Memory, objective: &str, budget: usize, told: usize) -> String {
    let Some((newest, others)) = split_newest(memory) else { return String::new() };
    let is_file = !objective.trim().is_empty();
    let mut out = if is_file { FILE_TITLE } else { "## Ralph Summary\n\n" }.to_owned();
    let mut told = told;
    let mut tail = |note: &IterationNote| {
        let elsewhere = told > 0 && note.says_something();
        told -= usize::from(elsewhere);
        (!elsewhere).then_some(memory.tail)
    };
    if is_file {
        out.push_str("### Objective\n\n");
        out.push_str(&block_start(objective, budget / OBJECTIVE_SHARE));
        out.push('\n');
    }
    let room = budget - out.len() - TALLY_ROOM;
    out.push_str(&full(newest, room, tail(newest)));
    let mut room = (budget - TALLY_ROOM).saturating_sub(out.len());

    // The others as long as they fit: in full, then in a line each, then as a number.
    let mut tally = memory.oldest.clone();
    let mut lines = String::new();
    let mut in_full = true;
    let mut in_lines = true;
    for note in others {
        if in_full {
            let text = full(note, usize::MAX, tail(note));
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

const BEFORE: &str = "### Previous summary\n\n";
pub(crate) const FILE_TITLE: &str = "# Ralph Loop Summary\n\n";

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

/// One iteration in full, in at most so many bytes: the end of the output gives way first. `tail`: so many characters of it,
/// or nothing where the output stands elsewhere.
fn full(note: &IterationNote, room: usize, tail: Option<usize>) -> String {
    let mut out = format!("### Iteration {}\n\n- Outcome: {}", note.number, word(note.outcome));
    let seconds = note.duration.as_secs();
    if seconds > 0 {
        out.push_str(&format!(" after {seconds} s"));
    }
    out.push('\n');
    let mut add = |text: String| {
        // Two bytes for the blank line at the end, and enough to say that something is missing.
        if out.len() + text.len() + 2 <= room {
            out.push_str(&text);
        }
    };
    let key = note.stop.as_ref().map_or("none", |stop| stop.key.as_str());
    add(format!("- Stop candidate: {}\n", inline(key, 80)));
    add(claim_line(&note.claim));
    if let Some(message) = stop_message(note) {
        add(format!("- Stop message: {}\n", inline(message, (room / 8).min(300))));
    }
    if let Some(stuck) = &note.stuck {
        add(format!("- Going in circles: {}\n", inline(stuck, 400)));
    }
    if let Some(files) = &note.files {
        let line = files_line(files);
        // Without the names rather than not at all.
        add(if line.len() > room / 3 {
            format!("- Files changed: {}\n", files_word(files.count))
        } else {
            line
        });
    }
    tool_lines(note).into_iter().for_each(add);
    let left = |out: &str, heading: &str| room.saturating_sub(out.len() + heading.len() + 2);
    match tail {
        None if left(&out, ELSEWHERE) > 0 => out.push_str(ELSEWHERE),
        None => {}
        Some(chars) => {
            let tail = block_end(&cut_end(&note.tail, chars), left(&out, LAST_OUTPUT));
            if !tail.is_empty() {
                out.push_str(LAST_OUTPUT);
                out.push_str(&tail);
            }
        }
    }
    out.push('\n');
    out
}

const LAST_OUTPUT: &str = "- Last output, its end:\n\n";
const ELSEWHERE: &str = "- Last output: see \"Last outputs\"\n";

fn files_line(files: &FilesChanged) -> String {
    let names: Vec<String> =
        files.paths.iter().map(|path| format!("`{}`", inline(path, 120).replace('`', "'"))).collect();
    let more = usize::try_from(files.count).unwrap_or(usize::MAX).saturating_sub(names.len());
    let more = if more > 0 && !names.is_empty() { format!(" and {more} more") } else { String::new() };
    let named = if names.is_empty() { String::new() } else { format!(": {}{more}", names.join(", ")) };
    format!("- Files changed: {}{named}\n", files_word(files.count))
}

/// What went wrong, or why the claim was not believed.
fn stop_message(note: &IterationNote) -> Option<&str> {
    let of_claim = match &note.claim {
        Claim::Rejected { why } => Some(why.as_str()),
        _ => None,
    };
    let of_stop = note.stop.as_ref().and_then(|stop| stop.message.as_deref());
    of_stop.or(of_claim).or(note.error.as_deref())
}

/// Each command that matters, then what was left failing, in the tool's own words.
fn tool_lines(note: &IterationNote) -> Vec<String> {
    let mut lines = Vec::new();
    if note.tool_calls > 0 {
        let failed =
            if note.failed_calls > 0 { format!(", {} failed", note.failed_calls) } else { String::new() };
        lines.push(format!("- Tool calls: {}{failed}\n", note.tool_calls));
    }
    for one in &note.tools.results {
        let command = inline(&one.command, 160).replace('`', "'");
        lines.push(format!("- Tool result: {} (`{command}`): {}\n", one.tool, one.result));
    }
    for one in &note.tools.failures {
        let what = inline(&one.what, 160).replace('`', "'");
        let message = inline(&one.message, 300);
        let message = if message.is_empty() { String::new() } else { format!(": {message}") };
        lines.push(format!("- Error: `{what}` {}{message}\n", one.how()));
    }
    lines
}

fn claim_line(claim: &Claim) -> String {
    match claim {
        Claim::None => "- Completion marker: not found\n".to_owned(),
        Claim::Claimed => "- Completion marker: matched\n".to_owned(),
        Claim::Waits { hats } => {
            format!("- Completion marker: matched; first comes {}\n", inline(&hats.join(", "), 200))
        }
        Claim::Inferred => "- Completion marker: not found; what is required was published\n".to_owned(),
        Claim::Rejected { .. } => "- Completion marker: matched, and rejected\n".to_owned(),
        Claim::Accepted => "- Completion marker: matched, and accepted\n".to_owned(),
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

/// The outputs, newest first in `notes`, oldest first in the text.
pub(super) fn outputs<'a>(notes: impl Iterator<Item = &'a IterationNote>, budget: usize) -> String {
    let heading = "## Last outputs\n\n";
    let whole = |note: &'a IterationNote| {
        let text = block_end(&note.tail, usize::MAX / 2);
        (format!("### Iteration {}\n\n", note.number), note, text)
    };
    let all: Vec<_> = notes.map(whole).filter(|(_, _, text)| !text.is_empty()).collect();
    let sizes: Vec<usize> = all.iter().map(|(title, _, text)| title.len() + text.len() + 1).collect();
    let mut parts: Vec<String> = Vec::new();
    for ((title, note, text), share) in all.iter().zip(shares(&sizes, budget.saturating_sub(heading.len()))) {
        let room = share.saturating_sub(title.len() + 1);
        let text = if text.len() <= room { text.clone() } else { block_end(&note.tail, room) };
        if !text.is_empty() {
            parts.push(format!("{title}{text}\n"));
        }
    }
    if parts.is_empty() {
        return String::new();
    }
    parts.reverse();
    format!("{heading}{}", parts.concat())
}

/// What each may have of the room: who needs less than an equal share leaves the rest to the others.
fn shares(sizes: &[usize], room: usize) -> Vec<usize> {
    let mut by_size: Vec<usize> = (0..sizes.len()).collect();
    by_size.sort_by_key(|at| sizes[*at]);
    let mut given = vec![0; sizes.len()];
    let mut left = room;
    for (done, at) in by_size.iter().enumerate() {
        given[*at] = sizes[*at].min(left / (sizes.len() - done));
        left -= given[*at];
    }
    given
}
