//! The log of the program itself: what `tracing` tells, into a file, where `RUST_LOG` asks for it.
//!
//! Without that variable nothing is opened, and an event costs the reading of one number. The subscriber is small and our own: the usual
//! one is larger than a screen of ralph, and starts slower than a run.

mod directives;

use std::fmt::{self, Write as _};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use ralph_core::event::{Event, LoopDetected, LoopSuspected};
use ralph_core::record::Record;
use ralph_store::plain;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id};
use tracing::{Metadata, Subscriber};

use crate::lock;
use directives::Directives;

/// From this size on the log is laid aside as `ralph.log.old`, and what was there before goes.
const LARGEST: u64 = 16 << 20;
/// Bytes of one line.
const LONGEST: usize = 4096;

/// Writes the log into this folder, if `RUST_LOG` asks for anything that ralph tells.
pub fn start(folder: &Path) {
    let asked = std::env::var("RUST_LOG").unwrap_or_default();
    let directives = Directives::of(&asked);
    if directives.most() == LevelFilter::OFF {
        return;
    }
    let log =
        Log { directives, file: Mutex::new(LogFile { path: folder.join("ralph.log"), open: None, size: 0 }) };
    // Whoever links this as a library may have one.
    let _ = tracing::subscriber::set_global_default(log);
}

/// Tells what a record says.
pub(crate) fn tell(record: &Record) {
    match &record.event {
        Event::LoopSuspected(LoopSuspected { iteration, ratio: Some(ratio), .. }) => {
            alike(iteration.0, *ratio)
        }
        Event::LoopDetected(detected) => stuck(detected),
        Event::RunStarted(_) | Event::RunResumed(_) | Event::IterationFinished(_) | Event::RunStopped(_) => {
            tracing::info!(target: "ralph::event", seq = record.seq.0, "{}", record.event.name());
        }
        event => tracing::debug!(target: "ralph::event", seq = record.seq.0, "{}", event.name()),
    }
}

fn alike(iteration: u32, ratio: f64) {
    tracing::warn!(
        target: "ralph::stuck",
        iteration,
        similarity = %format!("{:.1}%", ratio * 100.0),
        "Loop detected: output too similar to previous iteration"
    );
}

fn stuck(detected: &LoopDetected) {
    // Where it is evidence it has been told as a suspicion.
    if let Some(ratio) = detected.similarity.filter(|_| detected.detector.as_str() == "similarity") {
        alike(detected.iteration.0, ratio);
    }
    tracing::warn!(
        target: "ralph::stuck",
        iteration = detected.iteration.0,
        detector = %detected.detector,
        alarm = detected.alarm,
        "Loop detected: {}",
        detected.pattern
    );
}

struct Log {
    directives: Directives,
    file: Mutex<LogFile>,
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.directives.of_target(metadata.target())
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.directives.most())
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut words = Words::default();
        event.record(&mut words);
        let metadata = event.metadata();
        let at = crate::clock::now();
        let mut line =
            format!("{at} {:>5} {}: {}{}", metadata.level(), metadata.target(), words.message, words.fields);
        // A line is one line, whatever an agent printed.
        line.retain(|c| !c.is_control());
        let longest = (0..=LONGEST.min(line.len())).rev().find(|at| line.is_char_boundary(*at));
        line.truncate(longest.unwrap_or(0));
        line.push('\n');
        lock(&self.file).write(line.as_bytes());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// An event in words: what it says, and ` name=value` for what it carries.
#[derive(Default)]
struct Words {
    message: String,
    fields: String,
}

impl Visit for Words {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing into a text cannot fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}

/// Opened with the first line. What cannot be written is dropped: a log must not end a run.
struct LogFile {
    path: PathBuf,
    open: Option<File>,
    size: u64,
}

impl LogFile {
    fn write(&mut self, line: &[u8]) {
        if self.open.is_none() {
            self.open();
        }
        let Some(file) = &mut self.open else { return };
        if file.write_all(line).is_ok() {
            self.size += line.len() as u64;
        }
        if self.size >= LARGEST {
            self.open = None;
        }
    }

    fn open(&mut self) {
        let size = |path: &Path| fs::symlink_metadata(path).map_or(0, |seen| seen.len());
        if size(&self.path) >= LARGEST {
            let _ = fs::rename(&self.path, self.path.with_extension("log.old"));
        }
        if let Some(folder) = self.path.parent() {
            let _ = plain::make_folders(folder);
        }
        self.open = plain::append(&self.path).ok();
        self.size = size(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_is_full_is_laid_aside_and_one_that_cannot_be_written_is_no_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ralph.log");
        fs::write(&path, vec![b'x'; LARGEST as usize]).unwrap();
        let mut file = LogFile { path: path.clone(), open: None, size: 0 };
        file.write(b"one\n");
        assert_eq!(fs::read(&path).unwrap(), b"one\n");
        assert_eq!(fs::metadata(folder.path().join("ralph.log.old")).unwrap().len(), LARGEST);
        let mut nowhere = LogFile { path: PathBuf::from("/dev/null/ralph.log"), open: None, size: 0 };
        nowhere.write(b"one\n");
    }
}
