//! The tests of the workspace, and what they are built and run by, as they were when the run began: copies beside the journal,
//! against which every iteration is held.
//!
//! One file holds all copies, one after the other, each behind a line of JSON that names it. A run that was cut off while the
//! copies were made takes them anew only if no agent had started; else what is there is used as far as it goes.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use ralph_evidence::tamper::{SourceFile, holds_tests, matters};
use ralph_store::plain::{self, Links};
use serde::{Deserialize, Serialize};

use super::plain_file::{self, Found};
use crate::workspace::Trees;

/// Larger files hold no tests.
const MAX_FILE: u64 = 1 << 20;
/// Of the tests that did not change, for what still stands in them.
const MAX_STANDING: (usize, u64) = (500, 8 << 20);
/// What is copied of one workspace.
const MAX_BYTES: u64 = 128 << 20;
const MAX_FILES: usize = 50_000;

pub(crate) struct Baseline {
    workspace: PathBuf,
    copies: Option<File>,
    files: HashMap<String, Copied>,
}

/// A file as it was.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Copied {
    path: String,
    status: Status,
    /// Nothing: it was too large, or there was no room left.
    bytes: Option<u64>,
    #[serde(skip)]
    offset: u64,
}

/// Everything that changes when a file does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Status(u64, i64, i64, i64, i64, u64);

impl Status {
    fn of(path: &Path) -> Option<Self> {
        let meta = std::fs::symlink_metadata(path).ok().filter(|meta| meta.is_file())?;
        Some(Self(meta.len(), meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec(), meta.ino()))
    }
}

impl Baseline {
    /// Nobody looks.
    pub(crate) fn none(workspace: &Path) -> Self {
        Self { workspace: workspace.to_owned(), copies: None, files: HashMap::new() }
    }

    /// The copies of this run; made now if there are none and `is_new` says that no agent has worked yet.
    pub(crate) fn of(workspace: &Path, run: &Path, is_new: bool) -> io::Result<Self> {
        let file = run.join("baseline");
        if is_new {
            take(workspace, &file)?;
        }
        match plain::open(&file, Links::Refuse) {
            Ok(copies) => read(workspace, copies),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::none(workspace)),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn is_none(&self) -> bool {
        self.copies.is_none()
    }

    /// All files that matter and are not what they were.
    pub(crate) fn changed(&self) -> Vec<SourceFile> {
        let mut changed = Vec::new();
        for copied in self.files.values() {
            let full = self.workspace.join(&copied.path);
            if Status::of(&full) == Some(copied.status) {
                continue;
            }
            let (before, after) = (self.before(copied), after(&full));
            if before.is_none() || before != after {
                // Of a file whose text was not kept nothing can be said but that it changed.
                let after = after.filter(|_| before.is_some());
                changed.push(SourceFile { path: copied.path.clone(), before, after });
            }
        }
        let is_new = |path: &&str| matters(path) && !self.files.contains_key(*path);
        let paths = Trees::new(&self.workspace, []).list().unwrap_or_default();
        for path in paths.iter().filter_map(|path| path.to_str()).filter(is_new) {
            let after = after(&self.workspace.join(path));
            changed.extend(after.map(|after| SourceFile {
                path: path.to_owned(),
                before: None,
                after: Some(after),
            }));
        }
        changed.sort_by(|a, b| a.path.cmp(&b.path));
        changed
    }

    /// The tests that are what they were: what is gone elsewhere may still stand there.
    pub(crate) fn standing(&self, changed: &[SourceFile]) -> Vec<SourceFile> {
        let lost = |file: &SourceFile| holds_tests(&file.path) && file.before.is_some();
        if !changed.iter().any(lost) {
            return Vec::new();
        }
        let is_changed = |path: &str| changed.iter().any(|file| file.path == path);
        let mut room = MAX_STANDING.1;
        let still =
            self.files.values().filter(|copied| holds_tests(&copied.path) && !is_changed(&copied.path));
        let small = still.filter(|copied| {
            let bytes = copied.bytes.unwrap_or(u64::MAX);
            let fits = bytes <= room;
            room = if fits { room - bytes } else { room };
            fits
        });
        let texts =
            small.take(MAX_STANDING.0).filter_map(|copied| Some((copied.path.clone(), self.before(copied)?)));
        texts.map(|(path, text)| SourceFile { path, before: Some(text.clone()), after: Some(text) }).collect()
    }

    fn before(&self, copied: &Copied) -> Option<String> {
        let length = usize::try_from(copied.bytes?).ok()?;
        let mut bytes = vec![0; length];
        self.copies.as_ref()?.read_exact_at(&mut bytes, copied.offset).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn after(path: &Path) -> Option<String> {
    match plain_file::look(path) {
        Found::File { bytes, .. } => Some(String::from_utf8_lossy(&bytes).into_owned()),
        _ => None,
    }
}

fn take(workspace: &Path, file: &Path) -> io::Result<()> {
    let mut out = BufWriter::new(plain::create(file)?);
    let mut room = MAX_BYTES;
    // A tree that cannot be listed has no tests that could be watched.
    let paths = Trees::new(workspace, []).list().unwrap_or_default();
    let paths = paths.iter().filter_map(|path| path.to_str()).filter(|path| matters(path));
    for path in paths.take(MAX_FILES) {
        let full = workspace.join(path);
        let Some(status) = Status::of(&full) else { continue };
        let bytes = match plain_file::look(&full) {
            Found::File { bytes, .. } if status.0 <= MAX_FILE.min(room) => Some(bytes),
            _ => None,
        };
        let length = bytes.as_ref().map(|bytes| u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        room = room.saturating_sub(length.unwrap_or(0));
        let line = Copied { path: path.to_owned(), status, bytes: length, offset: 0 };
        serde_json::to_writer(&mut out, &line)?;
        out.write_all(b"\n")?;
        out.write_all(&bytes.unwrap_or_default())?;
    }
    out.flush()
}

fn read(workspace: &Path, copies: File) -> io::Result<Baseline> {
    let mut files = HashMap::new();
    let mut reader = BufReader::new(&copies);
    let mut offset = 0;
    loop {
        let mut line = Vec::new();
        let read = (&mut reader).take(64 << 10).read_until(b'\n', &mut line)?;
        // The end, or what is left of a copy that was cut off.
        let Ok(mut copied) = serde_json::from_slice::<Copied>(&line) else { break };
        offset += u64::try_from(read).unwrap_or(u64::MAX);
        copied.offset = offset;
        let length = copied.bytes.unwrap_or(0);
        offset = offset.saturating_add(length);
        reader.seek(SeekFrom::Start(offset))?;
        files.insert(copied.path.clone(), copied);
    }
    drop(reader);
    Ok(Baseline { workspace: workspace.to_owned(), copies: Some(copies), files })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_changed_is_told_with_both_texts_also_after_a_resume() {
        let (place, run) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let write = |name: &str, text: &str| fs::write(place.path().join(name), text).expect("write");
        write("test_a.py", "def test_a():\n    assert f() == 1\n");
        write("test_b.py", "def test_b():\n    assert g() == 1\n");
        write("notes.txt", "nothing");
        let baseline = Baseline::of(place.path(), run.path(), true).expect("copies");
        assert_eq!(baseline.changed(), []);
        write("test_a.py", "def test_a():\n    pass\n");
        fs::remove_file(place.path().join("test_b.py")).expect("removed");
        write("test_c.py", "def test_c():\n    pass\n");
        let again = Baseline::of(place.path(), run.path(), false).expect("copies");
        for baseline in [baseline, again] {
            let changed = baseline.changed();
            let names: Vec<&str> = changed.iter().map(|file| file.path.as_str()).collect();
            assert_eq!(names, ["test_a.py", "test_b.py", "test_c.py"]);
            assert!(changed[0].before.as_ref().is_some_and(|text| text.contains("f() == 1")));
            assert!(changed[1].after.is_none() && changed[2].before.is_none());
        }
    }

    #[test]
    fn a_file_that_was_written_again_with_the_same_text_did_not_change() {
        let (place, run) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let path = place.path().join("test_a.py");
        fs::write(&path, "x").expect("write");
        let baseline = Baseline::of(place.path(), run.path(), true).expect("copies");
        fs::remove_file(&path).expect("removed");
        fs::write(&path, "x").expect("write");
        assert_eq!(baseline.changed(), []);
    }

    #[test]
    fn copies_that_are_cut_off_are_used_as_far_as_they_go() {
        let (place, run) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        for name in ["test_a.py", "test_b.py"] {
            fs::write(place.path().join(name), "def test(): pass\n").expect("write");
        }
        let whole = Baseline::of(place.path(), run.path(), true).expect("copies").files.len();
        let file = run.path().join("baseline");
        let bytes = fs::read(&file).expect("copies");
        for length in [0, 1, bytes.len() / 2, bytes.len() - 1] {
            fs::write(&file, &bytes[..length]).expect("cut");
            let cut = Baseline::of(place.path(), run.path(), false).expect("copies");
            assert!(cut.files.len() <= whole);
            cut.changed();
        }
    }
}
