//! What the run knows of its programs and of the files that must stay as they are.

use std::collections::{BTreeMap, BTreeSet};

use crate::event::{
    AgentExited, Event, FilesProtected, GateFinished, PinnedProgram, ProofNarrowed, ProtectedChange,
    ProtectedFile, TestCount, TestReview,
};
use crate::ids::IterationNumber;
use crate::tampering::Finding;

/// Names of left-out files that are remembered, so that each is told once.
const MAX_NAMED: usize = 200;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trust {
    /// The programs as they were found at the start.
    pub pinned: Vec<PinnedProgram>,
    pub protected: Vec<ProtectedFile>,
    /// The protected files that are not what they were.
    pub changed: Vec<ChangedFile>,
    /// What the changes so far did to the tests.
    pub findings: Vec<Found>,
    /// Tests went for a reason that can be seen.
    pub fewer_expected: bool,
    /// The most tests that each gate has counted, by its name.
    pub counted: BTreeMap<String, TestCount>,
    /// The commit of the last checkpoint.
    pub checkpoint: Option<String>,
    /// The left-out files that were named.
    named: BTreeSet<String>,
}

/// A protected file that is not what it was, and the iteration since which it is not.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangedFile {
    pub change: ProtectedChange,
    pub since: IterationNumber,
}

/// What looks like tampering with tests, and the iteration since which it does.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub finding: Finding,
    pub since: IterationNumber,
}

impl Trust {
    /// The most that was ever counted is what later counts are held against.
    pub(super) fn apply_counted(&mut self, gate: &GateFinished) {
        let Some(tests) = gate.tests else { return };
        let most = self.counted.entry(gate.name.clone()).or_default();
        if tests.ran >= most.ran {
            *most = tests;
        }
    }

    fn apply_review(&mut self, iteration: IterationNumber, review: &TestReview) {
        let before = std::mem::take(&mut self.findings);
        // A line may move while the finding stays.
        let same = |a: &Finding, b: &Finding| (a.kind, &a.file, &a.detail) == (b.kind, &b.file, &b.detail);
        let since = |finding: &Finding| {
            before.iter().find(|known| same(&known.finding, finding)).map_or(iteration, |known| known.since)
        };
        self.findings = review
            .findings
            .iter()
            .map(|finding| Found { finding: finding.clone(), since: since(finding) })
            .collect();
        self.fewer_expected = review.fewer_expected;
    }

    pub(super) fn apply(&mut self, event: &Event) {
        match event {
            Event::ProgramsPinned(pinned) => self.apply_pinned(&pinned.programs),
            Event::FilesProtected(protected) => self.apply_protected(protected),
            Event::ProofNarrowed(narrowed) => self.apply_narrowed(narrowed),
            Event::CheckpointSaved(saved) => self.checkpoint = Some(saved.commit.clone()),
            _ => {}
        }
    }

    fn apply_pinned(&mut self, programs: &[PinnedProgram]) {
        self.pinned = programs.to_vec();
    }

    fn apply_protected(&mut self, protected: &FilesProtected) {
        self.protected = protected.files.clone();
        let is_protected = |path: &str, part: &Option<String>| {
            self.protected.iter().any(|file| file.path == path && file.part == *part)
        };
        self.changed.retain(|changed| is_protected(&changed.change.path, &changed.change.part));
    }

    /// The list is complete: a file that is not in it any more is as it was.
    pub(super) fn apply_exited(&mut self, exited: &AgentExited) {
        if let Some(review) = &exited.tampering {
            self.apply_review(exited.iteration, review);
        }
        let Some(protected) = &exited.protected else { return };
        let before = std::mem::take(&mut self.changed);
        let same = |a: &ProtectedChange, b: &ProtectedChange| (&a.path, &a.part) == (&b.path, &b.part);
        let since = |change: &ProtectedChange| {
            let known = before.iter().find(|known| !known.change.restored && same(&known.change, change));
            known.map_or(exited.iteration, |known| known.since)
        };
        self.changed = protected
            .iter()
            .map(|change| ChangedFile { change: change.clone(), since: since(change) })
            .collect();
    }

    fn apply_narrowed(&mut self, narrowed: &ProofNarrowed) {
        let room = MAX_NAMED.saturating_sub(self.named.len());
        self.named.extend(narrowed.paths.iter().take(room).cloned());
    }

    /// Those of the left-out files that have not been named in this run.
    pub fn unnamed<'a>(&self, left_out: &'a [String]) -> Vec<&'a String> {
        let full = self.named.len() >= MAX_NAMED;
        left_out.iter().filter(|path| !full && !self.named.contains(*path)).collect()
    }

    /// The protected files that differ now; one that was put back does not.
    pub fn differing(&self) -> impl Iterator<Item = &ChangedFile> {
        self.changed.iter().filter(|changed| !changed.change.restored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Exit;

    fn exited(iteration: u32, paths: &[&str]) -> AgentExited {
        let change = |path: &&str| ProtectedChange {
            path: (*path).to_owned(),
            part: None,
            diff: Vec::new(),
            restored: false,
        };
        let protected = Some(paths.iter().map(change).collect());
        AgentExited { protected, ..AgentExited::new(IterationNumber(iteration), 1, Exit::Code(0)) }
    }

    #[test]
    fn a_change_belongs_to_the_iteration_that_made_it_until_it_is_undone() {
        let mut trust = Trust::default();
        let seen = |trust: &Trust| -> Vec<(String, u32)> {
            trust.differing().map(|it| (it.change.path.clone(), it.since.0)).collect()
        };
        trust.apply_exited(&exited(1, &["a"]));
        trust.apply_exited(&exited(2, &["a", "b"]));
        assert_eq!(seen(&trust), [("a".to_owned(), 1), ("b".to_owned(), 2)]);
        trust.apply_exited(&exited(3, &["b"]));
        trust.apply_exited(&exited(4, &["a", "b"]));
        assert_eq!(seen(&trust), [("a".to_owned(), 4), ("b".to_owned(), 2)]);
    }

    #[test]
    fn a_left_out_file_is_named_once() {
        let mut trust = Trust::default();
        let left_out = ["a".to_owned(), "b".to_owned()];
        let paths = vec!["a".to_owned()];
        trust.apply_narrowed(&ProofNarrowed { iteration: IterationNumber(1), paths });
        assert_eq!(trust.unnamed(&left_out), ["b"]);
    }
}
