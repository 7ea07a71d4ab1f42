//! What may change while gates run, and what may not.
//!
//! A file that the gates themselves write, such as a report or a cache, is no part of the work. A file that the agent works on
//! is, and a proof holds only for a tree in which it stands still. A file that git tracks is what will be committed, whoever
//! changes it: the tree that is left would be one that no gate saw.

/// A file that changed while gates ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MovedFile {
    pub is_tracked: bool,
    /// An iteration of this run has changed it, too.
    pub is_touched: bool,
    /// It changed in the round before, too.
    pub moved_before: bool,
    /// Processes that the agent left behind may be at work.
    pub is_anyones: bool,
}

impl MovedFile {
    /// Whether the gates have to run again because of it. What git does not track and what moves each time, such as a report
    /// of tests that the agent runs as well, is left out.
    pub fn binds(self) -> bool {
        self.is_tracked || self.is_anyones || self.is_touched && !self.moved_before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_left_out_work_has_to_stand_still_once_and_tracked_files_always() {
        let binds = |is_tracked, is_touched, moved_before| {
            MovedFile { is_tracked, is_touched, moved_before, is_anyones: false }.binds()
        };
        assert!(!binds(false, false, false), "a report of the gates");
        let report = MovedFile { is_tracked: false, is_touched: false, moved_before: true, is_anyones: true };
        assert!(report.binds(), "a process of the agent may have written it");
        assert!(binds(false, true, false), "a new file of the agent");
        assert!(!binds(false, true, true), "a report that the agent's own tests write, too");
        for (is_touched, moved_before) in [(false, false), (false, true), (true, false), (true, true)] {
            assert!(binds(true, is_touched, moved_before), "a tracked file");
        }
    }
}
