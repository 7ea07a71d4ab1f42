//! Opening a journal again, whatever happened to it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ralph_core::event::Event;
use ralph_core::ids::Seq;
use ralph_core::record::{Chain, Damage, Record};
use ralph_store::{JOURNAL, Line, Lines, Mark, Position, read_mark};

use super::{FileStorage, Journal};

/// What was dropped behind the last sound record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    pub bytes: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("cannot read the journal {}: {error}", path.display())]
    Io { path: PathBuf, error: io::Error },
    #[error(
        "the journal {} is damaged at record {record} (byte {offset}): {damage}.\n\
         It had been stored safely, so the disk or a program changed it. Records 1 to {} are sound{}.\n\
         `ralph resume --recover RUN` keeps a copy of the file and goes on from there.",
        path.display(), record.0 - 1, describe(.sound)
    )]
    Damaged { path: PathBuf, record: Seq, offset: u64, damage: String, sound: Option<u32> },
    #[error("the journal {} holds no record of a start, so there is nothing to go on with", path.display())]
    Empty { path: PathBuf },
}

fn describe(finished: &Option<u32>) -> String {
    finished.map_or(String::new(), |n| format!(" and reach to the end of iteration {n}"))
}

/// Reads a journal, giving each sound record to `visit`; cuts what a crash left behind the last one.
pub fn open(dir: &Path, visit: &mut dyn FnMut(&Record)) -> Result<(Journal, Option<Cut>), OpenError> {
    let path = dir.join(JOURNAL);
    let io = |error| OpenError::Io { path: path.clone(), error };
    let storage = FileStorage::open(dir).map_err(io)?;
    let scan = Scan::run(&path, visit).map_err(io)?;
    if let Some((offset, damage)) = scan.fatal(dir, &path).map_err(io)? {
        let record = scan.end.seq.next();
        return Err(OpenError::Damaged { path, record, offset, damage, sound: scan.finished });
    }
    if scan.end.seq == Seq(0) {
        return Err(OpenError::Empty { path });
    }
    let len = storage.journal().metadata().map_err(io)?.len();
    let cut = (len > scan.end.len).then_some(Cut { bytes: len - scan.end.len });
    if cut.is_some() {
        storage.journal().set_len(scan.end.len).map_err(io)?;
    }
    Ok((Journal::new(Box::new(storage), scan.end), cut))
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
    let mut from = File::open(&path).map_err(io)?;
    let to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&copy).map_err(io)?;
    io::copy(&mut from, &mut &to).and_then(|_| to.sync_all()).map_err(io)?;
    let storage = FileStorage::open(dir).map_err(io)?;
    storage.journal().set_len(scan.end.len).map_err(io)?;
    // The old mark promises what is no longer there.
    let mut storage: Box<dyn super::Storage> = Box::new(storage);
    storage.sync(Mark::at(scan.end)).map_err(io)?;
    Ok(copy)
}

/// One pass over the file, up to the first damage.
struct Scan {
    end: Position,
    damage: Option<Damage>,
    /// The last iteration that is recorded as finished.
    finished: Option<u32>,
}

impl Scan {
    fn run(path: &Path, visit: &mut dyn FnMut(&Record)) -> io::Result<Scan> {
        let mut scan = Scan { end: Position::default(), damage: None, finished: None };
        let mut lines = Lines::open(path)?;
        while let Some(line) = lines.read()? {
            let Line::Whole(bytes) = line else {
                scan.damage = Some(Damage::Content("the line is not ended".to_owned()));
                break;
            };
            match Record::decode(bytes, &mut scan.end.chain, scan.end.seq.next()) {
                Ok(record) => {
                    scan.end.seq = record.seq;
                    scan.end.len += bytes.len() as u64 + 1;
                    if let Event::IterationFinished(finished) = &record.event {
                        scan.finished = Some(finished.iteration.0);
                    }
                    visit(&record);
                }
                Err(damage) => {
                    scan.damage = Some(damage);
                    break;
                }
            }
        }
        Ok(scan)
    }

    /// Damage that is not the tail of a crash, with its place.
    fn fatal(&self, dir: &Path, path: &Path) -> io::Result<Option<(u64, String)>> {
        let at = self.end.len;
        let what = || match &self.damage {
            Some(damage) => damage.to_string(),
            None => "the file ends here".to_owned(),
        };
        if let Some(mark) = read_mark(dir) {
            return Ok((at < mark.len).then(|| (at, what())));
        }
        // No mark to go by. A record that only follows a completed sync proves that everything before it was stored.
        Ok((self.damage.is_some() && synced_after(path, at)?).then(|| (at, what())))
    }
}

/// Whether a record that needs a sync stands behind this place with a sound one after it: that one was only written once
/// the sync was done.
fn synced_after(path: &Path, offset: u64) -> io::Result<bool> {
    let mut lines = Lines::open_at(path, offset)?;
    let mut synced: Option<Chain> = None;
    while let Some(Line::Whole(bytes)) = lines.read()? {
        if synced.is_some_and(|chain| chain.accepts(bytes)) {
            return Ok(true);
        }
        synced = Chain::after(bytes).ok().filter(|_| needs_sync(bytes));
    }
    Ok(false)
}

fn needs_sync(line: &[u8]) -> bool {
    ralph_core::record::json_of(line)
        .and_then(|json| Record::from_json(json.as_bytes()).ok())
        .is_some_and(|record| record.event.needs_sync())
}
