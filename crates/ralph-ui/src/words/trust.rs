//! Protected files, and what is no part of a proof, in words.

use ralph_model::ProtectedNow;
use ralph_model::event::{
    AgentExited, BinCleaned, Event, FilesProtected, KeeperStopped, ProofNarrowed, ProtectedChange,
    SurvivorsSwept,
};
use ralph_model::marker::Misheard;
use ralph_model::text::clean;

use super::foreign;
use crate::format::count;
use crate::paint::{Paint, Tone};

/// Names that fit into a line.
const NAMED: usize = 5;

/// These events in a line of `ralph events`.
pub(crate) fn details(event: &Event) -> Option<String> {
    match event {
        Event::FilesProtected(e) => protected(e),
        Event::ProofNarrowed(e) => Some(narrowed(e)),
        Event::BinCleaned(e) => Some(cleaned(e)),
        Event::SurvivorsSwept(e) => Some(swept(e)),
        Event::KeeperStopped(e) => Some(stopped(e)),
        _ => None,
    }
}

/// The lines of these events on a screen.
pub(crate) fn lines(event: &Event, paint: Paint) -> Vec<String> {
    match event {
        Event::FilesProtected(e) => protected(e).map(|text| paint.dim(&text)).into_iter().collect(),
        Event::ProofNarrowed(e) => vec![paint.paint(Tone::Notice, &narrowed(e))],
        Event::BinCleaned(e) => vec![paint.paint(Tone::Notice, &cleaned(e))],
        Event::KeeperStopped(e) => vec![paint.paint(Tone::Notice, &stopped(e))],
        Event::SurvivorsSwept(e) => vec![paint.paint(Tone::Notice, &swept(e))],
        _ => Vec::new(),
    }
}

/// `protected: check.sh, Makefile (target test) and 3 more`; nothing where nothing is.
pub(crate) fn protected(protected: &FilesProtected) -> Option<String> {
    let place = |path: &str, part: &Option<String>| match part {
        Some(part) => format!("{path} ({part})"),
        None => path.to_owned(),
    };
    let names = protected
        .files
        .iter()
        .filter(|file| file.hash.is_some())
        .map(|file| place(&file.path, &file.part))
        .collect::<Vec<_>>();
    (!names.is_empty()).then(|| format!("protected: no iteration may change {}", some_of(&names)))
}

/// `junit.xml changed while the gates ran, …`
pub(crate) fn narrowed(narrowed: &ProofNarrowed) -> String {
    format!(
        "{} changed while the gates ran, and is no part of the proof; name it in .gitignore or in proof_ignore",
        some_of(&narrowed.paths)
    )
}

/// `somebody stopped a keeper process (4711); it was set going again`
fn stopped(stopped: &KeeperStopped) -> String {
    let then = match stopped.ended {
        true => "again and again: everything below it was ended",
        false => "it was set going again",
    };
    format!("somebody stopped a keeper process ({}); {then}", stopped.pid)
}

/// `ended 2 processes that an earlier session had left`
fn swept(swept: &SurvivorsSwept) -> String {
    format!("ended {} that an earlier session had left", count(swept.count, "process", "processes"))
}

pub(crate) fn cleaned(cleaned: &BinCleaned) -> String {
    format!("removed from the folder that offers ralph to agents: {}", some_of(&cleaned.removed))
}

/// What is worth a line after an attempt: what it left behind, and what it did to files that prove its work.
pub(crate) fn after_attempt(exited: &AgentExited, paint: Paint) -> Vec<String> {
    let leftovers = super::leftovers(exited).map(|text| paint.dim(&text));
    let notices = changed(exited).into_iter().chain(tampering(exited)).chain(misheard(exited));
    leftovers.into_iter().chain(notices.map(|text| paint.paint(Tone::Notice, &text))).collect()
}

/// What an attempt did to protected files.
pub(crate) fn changed(exited: &AgentExited) -> Option<String> {
    let changes = exited.protected.as_ref().filter(|changes| !changes.is_empty())?;
    let names: Vec<String> = changes.iter().map(ProtectedChange::place).collect();
    // One that changed nothing finds what an earlier one left.
    if exited.files.as_ref().is_some_and(|files| files.count == 0)
        && changes.iter().all(|change| !change.restored)
    {
        return None;
    }
    let restored = changes.iter().filter(|change| change.restored).count();
    let restored = match restored {
        0 => String::new(),
        all if all == changes.len() => "; put back as it was".to_owned(),
        some => format!(
            "; {} put back as it was",
            count(u32::try_from(some).unwrap_or(u32::MAX), "file", "files")
        ),
    };
    Some(format!("#{} changed what is protected: {}{restored}", exited.iteration, some_of(&names)))
}

/// What an attempt did to the tests, as far as it looks like tampering.
pub(crate) fn tampering(exited: &AgentExited) -> Option<String> {
    let findings = &exited.tampering.as_ref()?.findings;
    let first = clean(&findings.first()?.to_string());
    let more = match findings.len() - 1 {
        0 => String::new(),
        1 => "; one more finding is told at the end".to_owned(),
        more => format!("; {more} more findings are told at the end"),
    };
    Some(format!("tests after #{}: {first}{more}", exited.iteration))
}

/// What an attempt perhaps meant as a signal.
fn misheard(exited: &AgentExited) -> impl Iterator<Item = String> {
    let words = |heard: &Misheard| {
        format!(
            "#{} wrote \"{}\", which was not heard: {}",
            exited.iteration,
            foreign(&heard.text),
            heard.cure()
        )
    };
    exited.misheard.iter().map(words).collect::<Vec<_>>().into_iter()
}

/// `check.sh was changed by #2: -exit 1, +exit 0`
pub(crate) fn change(changed: &ProtectedNow) -> String {
    let lines: Vec<String> = changed.change.diff.iter().map(|line| clean(line)).collect();
    let lines = if lines.is_empty() { String::new() } else { format!(": {}", lines.join(", ")) };
    let back = if changed.change.restored { " and put back" } else { "" };
    format!("{} was changed by #{}{back}{lines}", clean(&changed.change.place()), changed.iteration)
}

fn some_of(names: &[String]) -> String {
    let more = names.len().saturating_sub(NAMED);
    let named: Vec<String> = names.iter().take(NAMED).map(|name| foreign(name)).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", named.join(", "))
}
