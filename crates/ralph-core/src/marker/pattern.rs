//! The user's own rules for complete and blocked: regular expressions, applied as written to the agent's final words.

use regex::{Regex, RegexBuilder};

use super::as_reason;
use crate::plan::SignalPlan;

/// A rule that needs more memory than this to match is refused.
const SIZE_LIMIT: usize = 1 << 20;

#[derive(Debug, Clone, Default)]
pub(super) struct Patterns {
    pub(super) success: Option<Regex>,
    pub(super) blocked: Option<Regex>,
}

/// Compiles a rule: in any letter case, `.` matches a line break too.
pub fn pattern(text: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(text).case_insensitive(true).dot_matches_new_line(true).size_limit(SIZE_LIMIT).build()
}

impl Patterns {
    /// A rule that does not compile matches nothing; definitions are checked before they are run.
    pub(super) fn of(signals: &SignalPlan) -> Self {
        let compiled = |text: &Option<String>| text.as_deref().and_then(|text| pattern(text).ok());
        Self { success: compiled(&signals.success_regex), blocked: compiled(&signals.blocked_regex) }
    }

    pub(super) fn any(&self) -> bool {
        self.success.is_some() || self.blocked.is_some()
    }

    pub(super) fn is_in(&self, line: &str) -> bool {
        [&self.success, &self.blocked].into_iter().flatten().any(|regex| regex.is_match(line))
    }

    pub(super) fn claims(&self, text: &str) -> bool {
        self.success.as_ref().is_some_and(|regex| regex.is_match(text))
    }

    pub(super) fn blocked_reason(&self, text: &str) -> Option<String> {
        let found = self.blocked.as_ref()?.captures(text)?;
        Some(as_reason(found.get(1).map_or("", |group| group.as_str())))
    }
}
