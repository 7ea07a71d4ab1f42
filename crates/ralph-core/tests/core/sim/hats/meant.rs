//! Who is meant by a topic, and who may publish it: pattern by pattern.

use std::cmp::Reverse;

use ralph_core::hat::{HatPlan, Pattern};

use super::Hats;

impl Hats {
    /// The hats that an event is meant for.
    pub(super) fn rightful(&self, topic: &str) -> Vec<&str> {
        let closest = |hat: &HatPlan| {
            let fitting = hat.triggers.iter().map(|one| one.as_str()).filter(|one| fits(one, topic));
            fitting.map(closeness).max()
        };
        let best = self.plan.hats.iter().filter_map(closest).max();
        let hats = self.plan.hats.iter().filter(|hat| best.is_some() && closest(hat) == best);
        hats.map(|hat| hat.id.as_str()).collect()
    }

    pub(super) fn is_permitted(&self, hat: &str, topic: &str) -> bool {
        let word = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_alphanumeric());
        let owner = topic.strip_suffix(".exhausted");
        if !topic.split('.').all(word) || owner.is_some_and(|owner| self.hats.contains_key(owner)) {
            return false;
        }
        if self.is_promise(topic) {
            return self.of(hat).is_none_or(|hat| hat.completes);
        }
        let may = |one: &Pattern| fits(one.as_str(), topic);
        match self.of(hat) {
            Some(hat) => hat.publishes.iter().any(may),
            None => self.plan.hats.iter().flat_map(|hat| &hat.triggers).any(may),
        }
    }
}

/// Whether a pattern means a topic.
pub(super) fn fits(pattern: &str, topic: &str) -> bool {
    fn walk(pattern: &[&str], topic: &[&str]) -> bool {
        match (pattern, topic) {
            ([], []) => true,
            (["**", rest @ ..], _) => {
                walk(rest, topic) || topic.split_first().is_some_and(|(_, left)| walk(pattern, left))
            }
            ([first, rest @ ..], [word, left @ ..]) => (*first == "*" || first == word) && walk(rest, left),
            _ => false,
        }
    }
    let pattern = if pattern == "*" { "**" } else { pattern };
    walk(&pattern.split('.').collect::<Vec<_>>(), &topic.split('.').collect::<Vec<_>>())
}

/// More is closer: names, then few `**`, then `*`.
fn closeness(pattern: &str) -> (usize, Reverse<usize>, usize) {
    let pattern = if pattern == "*" { "**" } else { pattern };
    let count = |wanted: fn(&str) -> bool| pattern.split('.').filter(|word| wanted(word)).count();
    (count(|word| !word.starts_with('*')), Reverse(count(|word| word == "**")), count(|word| word == "*"))
}
