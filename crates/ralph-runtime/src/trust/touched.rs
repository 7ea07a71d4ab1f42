//! The paths that iterations of this run have changed, as numbers, kept beside the journal so that a resume knows them.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use ralph_store::plain::{self, Links};

/// Paths that are remembered.
const MAX_PATHS: usize = 1_000_000;

#[derive(Debug)]
pub(crate) struct Touched {
    file: PathBuf,
    paths: HashSet<u64>,
    /// What changed in the round of gates before this one.
    moved: HashSet<u64>,
}

impl Touched {
    pub(crate) fn of(run: &Path) -> Self {
        let file = run.join("touched");
        let mut bytes = Vec::new();
        let limit = u64::try_from(MAX_PATHS * 8).unwrap_or(u64::MAX);
        // A file that cannot be read is one that knows nothing.
        let _ = plain::open(&file, Links::Refuse).and_then(|file| file.take(limit).read_to_end(&mut bytes));
        let paths = bytes.as_chunks::<8>().0.iter().map(|chunk| u64::from_le_bytes(*chunk)).collect();
        Self { file, paths, moved: HashSet::new() }
    }

    pub(crate) fn add(&mut self, touched: &[u64]) {
        let room = MAX_PATHS.saturating_sub(self.paths.len());
        let new: Vec<u64> =
            touched.iter().copied().filter(|path| self.paths.insert(*path)).take(room).collect();
        if new.is_empty() {
            return;
        }
        let bytes: Vec<u8> = new.iter().flat_map(|path| path.to_le_bytes()).collect();
        // Without it only a resumed run knows less.
        let _ = plain::append(&self.file).and_then(|mut file| file.write_all(&bytes));
    }

    pub(crate) fn holds(&self, path: u64) -> bool {
        self.paths.contains(&path)
    }

    /// Whether this path changed in the round before, too.
    pub(crate) fn moved_before(&self, path: u64) -> bool {
        self.moved.contains(&path)
    }

    /// A round of gates is over, and these paths changed in it.
    pub(crate) fn moved_now(&mut self, paths: impl Iterator<Item = u64>) {
        self.moved = paths.collect();
    }

    /// A claim's first round has none before it.
    pub(crate) fn new_claim(&mut self) {
        self.moved.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_touched_is_known_after_a_resume() {
        let dir = tempfile::tempdir().expect("a folder");
        let mut touched = Touched::of(dir.path());
        touched.add(&[1, 2]);
        touched.add(&[2, 3]);
        let again = Touched::of(dir.path());
        assert!([1, 2, 3].iter().all(|path| again.holds(*path)) && !again.holds(4));
        assert_eq!(std::fs::metadata(dir.path().join("touched")).expect("a file").len(), 24);
    }
}
