//! Checkpoints in words.

use ralph_model::NetNow;
use ralph_model::event::{CheckpointFailed, CheckpointReason, CheckpointRestored, CheckpointSaved, Event};
use ralph_model::text::clean;

use super::foreign;
use crate::format::count;

/// These events in a line of `ralph events`.
pub(crate) fn details(event: &Event) -> Option<String> {
    match event {
        Event::CheckpointSaved(e) => Some(saved(e)),
        Event::CheckpointFailed(e) => Some(failed(e)),
        Event::CheckpointRestored(e) => Some(restored(e)),
        _ => None,
    }
}

/// `3 after #3: commit 0a1b2c3, 120 files, 4 read`
fn saved(saved: &CheckpointSaved) -> String {
    let commit = saved.commit.get(..7).unwrap_or(&saved.commit);
    let files = count(saved.files, "file", "files");
    let left_out = match saved.left_out.len() {
        0 => String::new(),
        n => format!(", {n} left out: {}", foreign(&saved.left_out[0])),
    };
    let when = moment(saved.why, saved.iteration.0);
    format!("{} {when}: commit {}, {files}, {} read{left_out}", clean(&saved.name), clean(commit), saved.read)
}

fn failed(failed: &CheckpointFailed) -> String {
    let when = moment(failed.why, failed.iteration.0);
    format!("no checkpoint {when}, so `ralph undo` cannot come back here: {}", foreign(&failed.message))
}

fn restored(restored: &CheckpointRestored) -> String {
    let files = count(restored.written.saturating_add(restored.removed), "file", "files");
    let hard = if restored.hard { ", the branch and the index too" } else { "" };
    format!(
        "the tree is that of checkpoint {} again: {files} changed{hard}; what was there before is {}",
        clean(&restored.name),
        clean(&restored.before)
    )
}

fn moment(why: CheckpointReason, iteration: u32) -> String {
    match why {
        CheckpointReason::Start => "before the first iteration".to_owned(),
        CheckpointReason::Resume => "before the run went on".to_owned(),
        CheckpointReason::Iteration => format!("after #{iteration}"),
        CheckpointReason::Restored => format!("after #{iteration}, with protected files put back"),
        CheckpointReason::Undo => "before an undo".to_owned(),
    }
}

/// `iteration 7 passed 3 of 4 gates, the tree now passes 2: ralph undo ID --to 7`
pub(crate) fn best(net: &NetNow, run: &str) -> Option<String> {
    let best = net.best.as_ref()?;
    let now = match best.is_now {
        true => format!("the tree now passes {}", best.last_passed),
        false => {
            format!("iteration {}, the last that gates ran after, passed {}", best.last, best.last_passed)
        }
    };
    let (iteration, passed, of) = (best.iteration, best.passed, best.of);
    Some(format!(
        "iteration {iteration} passed {passed} of {of} gates, {now}: ralph undo {run} --to {iteration}"
    ))
}
