//! Opening a journal again, whatever happened to it.

use std::io;
use std::path::{Path, PathBuf};

use ralph_core::event::{Event, FORMAT};
use ralph_core::ids::Seq;
use ralph_core::record::{Damage, Record};
use ralph_store::plain::{self, Links};
use ralph_store::{JOURNAL, Line, Lines, MARK, Mark, Position, read_mark};

use super::{FileStorage, Journal, Storage};

/// What was dropped behind the last sound record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    pub bytes: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("cannot read the journal {}: {error}", path.display())]
    Io { path: PathBuf, error: io::Error },
    #[error("the journal {} is damaged at record {record} (byte {offset}): {damage}.\n{}", path.display(), advice(*.record, .sound))]
    Damaged { path: PathBuf, record: Seq, offset: u64, damage: String, sound: Option<u32> },
    #[error(
        "the journal {} has lost its mark ({MARK}), which tells how much of it had been stored: records may be missing at its end, \
         and their work would be done again. Records 1 to {} are sound{}.\n\
         `ralph resume --recover RUN` keeps a copy of the file and goes on from there.",
        path.display(), .records.0, describe(.sound)
    )]
    Unmarked { path: PathBuf, records: Seq, sound: Option<u32> },
    #[error("the journal {} was written by a newer ralph: {why}. Use that one, or a newer one.", path.display())]
    Newer { path: PathBuf, why: String },
    #[error("the journal {}: {why}", path.display())]
    Unreadable { path: PathBuf, why: String },
    #[error("the journal {} holds no record of a start, so there is nothing to go on with", path.display())]
    Empty { path: PathBuf },
}

fn advice(record: Seq, sound: &Option<u32>) -> String {
    let cause = "It had been stored safely, so the disk or a program changed it.";
    match record.0 {
        0 | 1 => {
            format!("{cause} Without its first record nothing of the run can be told, so it cannot go on.")
        }
        n => format!(
            "{cause} Records 1 to {} are sound{}.\n\
             `ralph resume --recover RUN` keeps a copy of the file and goes on from there.",
            n - 1,
            describe(sound)
        ),
    }
}

fn describe(finished: &Option<u32>) -> String {
    finished.map_or(String::new(), |n| format!(" and reach to the end of iteration {n}"))
}

/// Reads a journal, giving each sound record to `visit`; cuts what a crash left behind the last one. Records of types that only a
/// newer ralph knows stay where they are and are passed over.
pub fn open(dir: &Path, visit: &mut dyn FnMut(&Record)) -> Result<(Journal, Option<Cut>), OpenError> {
    let path = dir.join(JOURNAL);
    let io = |error| OpenError::Io { path: path.clone(), error };
    let mut storage = FileStorage::open(dir).map_err(io)?;
    let scan = Scan::run(&path, visit).map_err(io)?;
    if let Some(why) = scan.newer {
        return Err(OpenError::Newer { path, why });
    }
    let Scan { end, finished: sound, .. } = scan;
    let Some(mark) = read_mark(dir) else {
        return Err(match end.seq {
            Seq(0) => OpenError::Empty { path },
            records => OpenError::Unmarked { path, records, sound },
        });
    };
    if end.len < mark.len {
        let damage = scan.damage.map_or_else(|| "the file ends here".to_owned(), |damage| damage.to_string());
        return Err(OpenError::Damaged { path, record: end.seq.next(), offset: end.len, damage, sound });
    }
    if end.seq == Seq(0) {
        return Err(OpenError::Empty { path });
    }
    let len = storage.journal().metadata().map_err(io)?.len();
    let cut = (len > end.len).then_some(Cut { bytes: len - end.len });
    if cut.is_some() {
        storage.truncate(end.len).map_err(io)?;
    }
    Ok((Journal::new(Box::new(storage), end), cut))
}

/// Cuts a damaged journal behind its last sound record, after a copy of it was kept. Returns where the copy is.
pub fn recover(dir: &Path) -> Result<PathBuf, OpenError> {
    let path = dir.join(JOURNAL);
    let io = |error| OpenError::Io { path: path.clone(), error };
    let scan = Scan::run(&path, &mut |_| {}).map_err(io)?;
    let copy = (1..)
        .map(|n| dir.join(format!("journal.damaged-{n}.jsonl")))
        .find(|path| !path.exists())
        .unwrap_or_else(|| dir.join("journal.damaged.jsonl"));
    if let Some(why) = scan.newer {
        return Err(OpenError::Newer { path, why });
    }
    let mut from = plain::open(&path, Links::Refuse).map_err(io)?;
    let to = plain::create(&copy).map_err(io)?;
    io::copy(&mut from, &mut &to).and_then(|_| to.sync_all()).map_err(io)?;
    let mut storage = FileStorage::open(dir).map_err(io)?;
    storage.truncate(scan.end.len).map_err(io)?;
    // The old mark promises what is no longer there, or is gone itself.
    storage.renew_mark(dir).map_err(io)?;
    storage.sync(Mark::at(scan.end)).map_err(io)?;
    Ok(copy)
}

/// One pass over the file, up to the first damage.
struct Scan {
    end: Position,
    damage: Option<Damage>,
    /// The last iteration that is recorded as finished.
    finished: Option<u32>,
    /// Why it cannot be read here, though it is sound.
    newer: Option<String>,
}

impl Scan {
    fn run(path: &Path, visit: &mut dyn FnMut(&Record)) -> io::Result<Scan> {
        let mut scan = Scan { end: Position::default(), damage: None, finished: None, newer: None };
        let mut lines = Lines::open(path)?;
        while let Some(line) = lines.read()? {
            let Line::Whole(bytes) = line else {
                scan.damage = Some(Damage::Content("the line is not ended".to_owned()));
                break;
            };
            let expected = scan.end.seq.next();
            match Record::decode(bytes, &mut scan.end.chain, expected) {
                Ok(record) => {
                    scan.newer = newer_format(&record);
                    scan.passed(bytes);
                    if let Event::IterationFinished(finished) = &record.event {
                        scan.finished = Some(finished.iteration.0);
                    }
                    visit(&record);
                }
                Err(Damage::Unknown { chain, .. }) => {
                    scan.end.chain = chain;
                    scan.passed(bytes);
                }
                Err(Damage::Newer(why)) => scan.newer = Some(format!("record {expected}: {why}")),
                Err(damage) => {
                    scan.damage = Some(damage);
                    break;
                }
            }
            if scan.newer.is_some() {
                break;
            }
        }
        Ok(scan)
    }

    fn passed(&mut self, line: &[u8]) {
        self.end.seq = self.end.seq.next();
        self.end.len += line.len() as u64 + 1;
    }
}

fn newer_format(record: &Record) -> Option<String> {
    match &record.event {
        Event::RunStarted(started) if started.format > FORMAT => Some(format!(
            "ralph {} wrote format {}, and this one reads up to {FORMAT}",
            started.version, started.format
        )),
        _ => None,
    }
}
