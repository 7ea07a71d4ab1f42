//! Guards: reasons to stop that are counted against a limit. One file each, one line in [`GUARDS`].
//!
//! Help, the schema, the docs table and `ralph explain` come from what a file declares.

mod budget;
mod consecutive_failures;
pub(crate) mod loop_detected;
mod max_cost;
mod max_idle;
mod max_iterations;
mod max_runtime;
mod max_tokens;
mod max_wall_time;
pub(crate) mod output_similarity;
mod rejected_completions;
pub(crate) mod repeated_signature;
#[cfg(test)]
mod sample;
mod stop_on_error;

use crate::effect::When;
use crate::plan::Plan;
use crate::state::RunState;
use crate::stop::{StopDef, StopKey, StopReason};
use crate::time::Timestamp;

/// In the order they are asked.
pub const GUARDS: &[GuardDef] = &[
    max_iterations::DEF,
    max_runtime::DEF,
    max_wall_time::DEF,
    max_cost::DEF,
    budget::DAY,
    budget::WEEK,
    max_tokens::DEF,
    max_idle::DEF,
    stop_on_error::DEF,
    rejected_completions::DEF,
    loop_detected::DEF,
    output_similarity::DEF,
    repeated_signature::DEF,
    consecutive_failures::DEF,
    #[cfg(test)]
    sample::DEF,
];

/// The stop that is no failure and no limit in the ordinary sense: the agent had nothing to do for long enough.
pub const MAX_IDLE: StopDef = max_idle::DEF.stop;

pub struct GuardDef {
    /// The reason in `run.stopped`; its key is the guard's as well.
    pub stop: StopDef,
    /// The setting that sets its limit.
    pub setting: &'static str,
    /// Nothing for a guard that only tells how close the run is: the engine stops it when it decides about a circle.
    pub asked: &'static [Asked],
    pub(crate) build: fn(&Plan) -> Option<Box<dyn Guard>>,
}

/// The moments at which guards are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    BeforeIteration,
    /// Whenever the agent says what it has used.
    OnUsage,
    AfterFailure,
    /// When a claim of completion has been refused.
    AfterRejection,
}

pub(crate) trait Guard: Send {
    fn reading(&self, state: &RunState, now: Timestamp) -> Reading;

    fn is_spent(&self, state: &RunState, now: Timestamp) -> bool {
        self.reading(state, now).is_spent()
    }

    /// The sentence of the stop.
    fn message(&self, state: &RunState) -> String;

    /// When to look at this guard again although nothing happened.
    fn alarm(&self, _state: &RunState, _now: Timestamp) -> Option<Alarm> {
        None
    }
}

/// An alarm that goes off means the guard is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alarm {
    pub scope: Scope,
    pub when: When,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Started with every iteration, void when it ends.
    Iteration,
    /// Started with the run and every resume.
    Session,
}

/// A value against its limit: what `ralph explain` and the screens show.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    pub used: f64,
    pub limit: f64,
    pub unit: Unit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Count,
    Seconds,
    Dollars,
}

impl Reading {
    pub fn count(used: u32, limit: u32) -> Self {
        Self { used: f64::from(used), limit: f64::from(limit), unit: Unit::Count }
    }

    pub fn time(used: std::time::Duration, limit: std::time::Duration) -> Self {
        Self { used: used.as_secs_f64(), limit: limit.as_secs_f64(), unit: Unit::Seconds }
    }

    pub fn is_spent(&self) -> bool {
        self.used >= self.limit
    }

    /// How much of the limit is used, from 0 to 1.
    pub fn fraction(&self) -> f64 {
        if self.limit > 0.0 { (self.used / self.limit).clamp(0.0, 1.0) } else { 1.0 }
    }
}

/// The guards that a plan switches on.
pub(crate) struct Guards(Vec<(&'static GuardDef, Box<dyn Guard>)>);

impl Guards {
    pub fn of(plan: &Plan) -> Self {
        Self(GUARDS.iter().filter_map(|def| Some((def, (def.build)(plan)?))).collect())
    }

    /// The first guard, in order, that is asked at this moment and is spent.
    pub fn first_spent(&self, asked: Asked, state: &RunState, now: Timestamp) -> Option<StopReason> {
        self.0
            .iter()
            .filter(|(def, _)| def.asked.contains(&asked))
            .find(|(_, guard)| guard.is_spent(state, now))
            .map(|(def, guard)| def.stop.because(guard.message(state)))
    }

    /// What the guard with this key says when its alarm went off.
    pub fn stop_by_key(&self, key: &StopKey, state: &RunState) -> Option<StopReason> {
        let (def, guard) = self.0.iter().find(|(def, _)| key.is(&[def.stop]))?;
        Some(def.stop.because(guard.message(state)))
    }

    pub fn alarms<'a>(
        &'a self,
        scope: Scope,
        state: &'a RunState,
        now: Timestamp,
    ) -> impl Iterator<Item = (StopKey, When)> + 'a {
        self.0.iter().filter_map(move |(def, guard)| {
            let alarm = guard.alarm(state, now)?;
            (alarm.scope == scope).then(|| (StopKey::from(&def.stop), alarm.when))
        })
    }

    pub fn readings<'a>(
        &'a self,
        state: &'a RunState,
        now: Timestamp,
    ) -> impl Iterator<Item = (&'static GuardDef, Reading)> + 'a {
        self.0.iter().map(move |(def, guard)| (*def, guard.reading(state, now)))
    }
}
