//! How much of the windows of the agent's plan is used, as far as the agent has told. What it has not told is not known.

use super::RunState;
use crate::event::QuotaSeen;
use crate::time::Timestamp;

/// Windows that are remembered; no plan has so many.
const MOST: usize = 8;

impl RunState {
    pub(super) fn learn_quotas(&mut self, seen: &[QuotaSeen]) {
        for one in seen.iter().filter(|one| one.used.is_finite()) {
            self.quotas.retain(|known| known.window != one.window);
            self.quotas.push(one.clone());
        }
        let spare = self.quotas.len().saturating_sub(MOST);
        self.quotas.drain(..spare);
    }

    /// The window that is used up to its mark, the one that is full for the longest. A window of which nobody knows when it
    /// ends holds nothing back.
    pub fn quota_full(&self, now: Timestamp) -> Option<(&QuotaSeen, Timestamp)> {
        let full = self.quotas.iter().filter_map(|one| {
            let mark = self.plan.quota.mark(&one.window)?;
            let until = one.resets_at.filter(|until| *until > now && one.used >= mark)?;
            Some((one, until))
        });
        full.max_by_key(|(_, until)| *until)
    }
}
