//! `budget`: what all runs of a state folder may spend together.

use schemars::JsonSchema;
use serde::{Deserialize as DeriveDeserialize, Serialize};

use super::section::section;
use super::value::{Limit, Rule, Usd, leaf};

section! {
    pub struct Budget, changed by BudgetChange {
        /// What all runs of this state folder together may spend on one day, in US dollars. The day begins at midnight here.
        day: Limit<Usd> = None,
        /// The same for a week, which begins on Monday.
        week: Limit<Usd> = None,
        /// What to do when it is spent. `stop`: stop as a limit, also in the middle of an iteration. `wait`: start no iteration
        /// before the next day or week, and stop only if that is further away than `event_loop.max_wait`.
        then: WhenSpent = WhenSpent::Stop,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, DeriveDeserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhenSpent {
    Stop,
    Wait,
}

leaf!(WhenSpent, WhenSpent, |it| it, |it| *it);

impl Budget {
    pub fn is_set(&self) -> bool {
        self.day.is_some() || self.week.is_some()
    }
}
