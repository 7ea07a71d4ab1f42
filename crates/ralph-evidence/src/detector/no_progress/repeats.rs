//! Whether an iteration repeats the one some iterations back, and how often in a row.
//!
//! Apart from the counting of iterations that say nothing: here two iterations are held against each other.

use super::{NoProgress, Novelty, Overlap, Sample, Sketch, share};

/// Two iterations share their substance if so much of the shorter one is in the other one,
const SAME_TEXT: f64 = 0.5;
/// or so many of its facts, with a few words around them.
const SAME_FACTS: f64 = 0.7;
const FEW_SHINGLES: usize = 6;
/// or so many of its errors.
const SAME_ERRORS: f64 = 0.5;
/// With fewer of its changes never made before, an iteration that changed something only did so again.
const FRESH: f64 = 0.5;

impl NoProgress {
    pub(super) fn count_repeats(&self, now: &Sketch, novelty: Novelty) -> Vec<u32> {
        let quiet = now.tokens > 0 && novelty.is_quiet();
        let fresh = self.makes_fresh_changes(now);
        let count = |period: usize| {
            let then = self.past.iter().rev().filter(|past| !past.tells_outage()).nth(period - 1);
            let repeats = quiet && then.is_some_and(|then| self.repeats(now, then));
            let before = self.streaks.repeats.get(period - 1).copied().unwrap_or(0);
            match (repeats, fresh) {
                (true, false) => before + 1,
                // The calls are new and the text is not, to the last word: the arguments may be noise.
                (true, true) if novelty.shingles == 0.0 => before,
                _ => 0,
            }
        };
        (1..=self.settings.window).map(count).collect()
    }

    /// Whether an iteration changed the tree as it was never changed before, and did not fail.
    pub(super) fn makes_fresh_changes(&self, now: &Sketch) -> bool {
        let changes = &now.calls.changes;
        let fresh = changes.iter().filter(|call| !self.calls.knows(**call)).count();
        let new_state = now.state.is_some() && self.past.iter().all(|past| past.state != now.state);
        share(fresh, changes.len()) > FRESH && new_state && now.failed != Some(true)
    }

    /// Whether two iterations share their substance.
    fn repeats(&self, now: &Sketch, then: &Sketch) -> bool {
        let shingles = self.shared(&now.shingles, &then.shingles);
        let facts = self.shared(&now.facts, &then.facts);
        let errors = now.errors.shared(&then.errors);
        let fail = |sketch: &Sketch| sketch.failed != Some(false);
        (shingles.of_smaller() >= SAME_TEXT || (shingles.here == 0 && shingles.there == 0))
            || (facts.here > 0 && facts.of_this() >= SAME_FACTS && shingles.both >= FEW_SHINGLES)
            || (now.calls.count > 0 && now.calls.alike(&then.calls) == 1.0)
            || (fail(now) && fail(then) && errors.of_smaller() >= SAME_ERRORS)
            || (now.failed == Some(true) && then.failed == Some(true) && now.calls.same_checks(&then.calls))
    }

    /// What two iterations share besides boilerplate.
    pub(super) fn shared(&self, now: &Sample, then: &Sample) -> Overlap {
        let level = now.level().max(then.level());
        let mut shared = Overlap { both: 0, here: 0, there: 0 };
        for hash in now.at(level).filter(|hash| !self.is_boilerplate(*hash)) {
            shared.here += 1;
            shared.both += usize::from(then.contains(hash));
        }
        shared.there = then.at(level).filter(|hash| !self.is_boilerplate(*hash)).count();
        shared
    }
}
