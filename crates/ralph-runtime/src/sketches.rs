//! The sketches of a run's attempts, in its folder: what the detectors of stuck runs remember after a resume, and what
//! `ralph detect` looks at again.
//!
//! They are no part of the journal, and nothing but the detectors' memory hangs on them: they are not synced, and a line that is
//! lost or damaged is passed over. A line is a checksum and an object; it begins with its line break, so that a line that was
//! cut short by a crash spoils no other.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use ralph_core::event::AgentExited;
use ralph_core::ids::IterationNumber;
use ralph_evidence::DETECTORS_VERSION;
use ralph_evidence::detector::Sketch;
use ralph_store::plain::{self, Links};
use serde::{Deserialize, Serialize};

/// When the file is larger than this it becomes the older part, and the one before is gone.
const PART: u64 = 32 << 20;
/// A longer line is none of ours.
const MAX_LINE: u64 = 1 << 20;
/// The older part, and the one that is written to.
const PARTS: [&str; 2] = ["evidence.old.jsonl", "evidence.jsonl"];

#[derive(Serialize)]
struct NewLine<'a> {
    iteration: IterationNumber,
    attempt: u32,
    version: u32,
    sketch: &'a Sketch,
}

#[derive(Deserialize)]
struct Line {
    iteration: IterationNumber,
    attempt: u32,
    version: u32,
    sketch: Box<Sketch>,
}

impl Line {
    fn of(bytes: &[u8]) -> Option<Line> {
        let (crc, object) = bytes.split_at_checked(8)?;
        let object = object.strip_prefix(b" ")?.trim_ascii_end();
        let sound = std::str::from_utf8(crc).ok() == Some(&checksum(object));
        serde_json::from_slice(object).ok().filter(|_| sound)
    }
}

fn checksum(object: &[u8]) -> String {
    format!("{:08x}", crc32fast::hash(object))
}

/// Keeps the sketch of an attempt. `run` is the run's folder.
pub(crate) fn keep(run: &Path, exited: &AgentExited, sketch: &Sketch) -> io::Result<()> {
    let [old, new] = PARTS.map(|part| run.join(part));
    if fs::metadata(&new).is_ok_and(|file| file.len() > PART) {
        fs::rename(&new, old)?;
    }
    let (iteration, attempt, version) = (exited.iteration, exited.attempt, DETECTORS_VERSION);
    let object = serde_json::to_vec(&NewLine { iteration, attempt, version, sketch })?;
    let mut line = format!("\n{} ", checksum(&object)).into_bytes();
    line.extend(object);
    plain::append(&new)?.write_all(&line)
}

/// Reads the sketches of a run in the order of its attempts.
pub struct Sketches {
    run: PathBuf,
    file: Option<BufReader<File>>,
    /// Which part is read, and how far.
    part: usize,
    at: u64,
    /// A line that has been read and not been asked for yet.
    next: Option<Line>,
    /// The end of the last line that was asked for.
    taken: (usize, u64),
}

impl Sketches {
    /// `run` is the run's folder.
    pub fn of(run: &Path) -> Self {
        let file = open(&run.join(PARTS[0]));
        Self { run: run.to_owned(), file, part: 0, at: 0, next: None, taken: (0, 0) }
    }

    /// The sketch of this attempt. Attempts have to be asked for in their order.
    pub fn of_attempt(&mut self, exited: &AgentExited) -> Option<Box<Sketch>> {
        let wanted = (exited.iteration, exited.attempt);
        loop {
            let line = match self.next.take() {
                Some(line) => line,
                None => self.read()?,
            };
            let found = (line.iteration, line.attempt);
            if found > wanted {
                self.next = Some(line);
                return None;
            }
            self.taken = (self.part, self.at);
            if found == wanted {
                return Some(line.sketch).filter(|_| line.version == DETECTORS_VERSION);
            }
        }
    }

    /// The next line that is sound.
    fn read(&mut self) -> Option<Line> {
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            let count = self.file.as_mut().and_then(|file| {
                let count = file.by_ref().take(MAX_LINE).read_until(b'\n', &mut bytes).ok()?;
                Some(count as u64).filter(|count| (1..MAX_LINE).contains(count))
            });
            match count {
                Some(count) => self.at += count,
                None if self.part + 1 < PARTS.len() => {
                    (self.part, self.at) = (self.part + 1, 0);
                    self.file = open(&self.run.join(PARTS[self.part]));
                }
                None => return None,
            }
            if let Some(line) = Line::of(&bytes) {
                return Some(line);
            }
        }
    }

    /// Drops the lines that were not asked for: they belong to attempts that the journal does not know.
    pub(crate) fn drop_rest(self) -> io::Result<()> {
        let (part, at) = self.taken;
        for (n, name) in PARTS.iter().enumerate().skip(part) {
            let path = self.run.join(name);
            if plain::is_file(&path) {
                plain::open_to_change(&path)?.set_len(if n == part { at } else { 0 })?;
            }
        }
        Ok(())
    }
}

fn open(path: &Path) -> Option<BufReader<File>> {
    plain::open(path, Links::Refuse).ok().map(BufReader::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::event::Exit;
    use ralph_evidence::detector::Sketcher;

    fn attempt(iteration: u32, attempt: u32) -> AgentExited {
        AgentExited::new(IterationNumber(iteration), attempt, Exit::Code(0))
    }

    fn sketch(text: &str) -> Sketch {
        let mut sketcher = Sketcher::new();
        sketcher.push(text.as_bytes());
        sketcher.finish()
    }

    /// What is read of the attempts 1 to 4: the first line that was shown.
    fn read(run: &Path) -> Vec<Option<String>> {
        let mut sketches = Sketches::of(run);
        let read = (1..=4).map(|n| sketches.of_attempt(&attempt(n, 1)));
        read.map(|sketch| Some(sketch?.shown[0].clone())).collect()
    }

    fn kept(run: &Path) -> PathBuf {
        for (n, text) in [(1, "one"), (2, "two"), (4, "four")] {
            keep(run, &attempt(n, 1), &sketch(text)).unwrap();
        }
        run.join(PARTS[1])
    }

    fn expected(words: [Option<&str>; 4]) -> Vec<Option<String>> {
        words.map(|word| word.map(str::to_owned)).to_vec()
    }

    #[test]
    fn sketches_come_back_for_their_own_attempts() {
        let run = tempfile::tempdir().unwrap();
        assert_eq!(read(run.path()), expected([None; 4]), "there is no file");
        let file = kept(run.path());
        assert_eq!(read(run.path()), expected([Some("one"), Some("two"), None, Some("four")]));
        fs::rename(file, run.path().join(PARTS[0])).unwrap();
        assert_eq!(read(run.path()), expected([Some("one"), Some("two"), None, Some("four")]));
        keep(run.path(), &attempt(5, 1), &sketch("five")).unwrap();
        let mut both = Sketches::of(run.path());
        assert!(both.of_attempt(&attempt(4, 1)).is_some() && both.of_attempt(&attempt(5, 1)).is_some());
    }

    #[test]
    fn damage_costs_the_line_that_it_hits() {
        let run = tempfile::tempdir().unwrap();
        let file = kept(run.path());
        let sound = fs::read(&file).unwrap();
        let second = sound.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(1).unwrap().0;
        let mut flipped = sound.clone();
        flipped[second + 40] ^= 1;
        fs::write(&file, &flipped).unwrap();
        assert_eq!(read(run.path()), expected([Some("one"), None, None, Some("four")]));
        // Cut short by a crash, then written to again.
        fs::write(&file, &sound[..second + 40]).unwrap();
        keep(run.path(), &attempt(4, 1), &sketch("four")).unwrap();
        assert_eq!(read(run.path()), expected([Some("one"), None, None, Some("four")]));
        for garbage in [vec![0xff; 3 << 20], vec![b'\n'; 4096], b"\n00000000 {}".to_vec()] {
            fs::write(&file, &garbage).unwrap();
            assert_eq!(read(run.path()), expected([None; 4]));
        }
    }

    #[test]
    fn what_the_journal_does_not_know_is_dropped() {
        let run = tempfile::tempdir().unwrap();
        kept(run.path());
        let mut sketches = Sketches::of(run.path());
        assert!(sketches.of_attempt(&attempt(1, 1)).is_some());
        sketches.drop_rest().unwrap();
        keep(run.path(), &attempt(1, 2), &sketch("again")).unwrap();
        let mut sketches = Sketches::of(run.path());
        let again = sketches.of_attempt(&attempt(1, 2)).unwrap();
        assert_eq!(again.shown[0], "again");
        assert_eq!(read(run.path())[1..], expected([None; 4])[1..]);
    }
}
