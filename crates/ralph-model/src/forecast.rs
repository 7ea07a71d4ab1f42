//! What a run is likely to come to: the mean of its iterations so far, and how many more of them each limit has room for.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::snapshot::{LimitUnit, RunSnapshot};

/// One iteration says little, two may be the first and an odd one.
const ENOUGH: u32 = 3;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    /// The work of one iteration.
    pub time: Duration,
    /// What one costs, where all of it is known.
    pub cost_usd: Option<f64>,
    /// Iterations that there is room for until each limit, the nearest limit first.
    pub left: Vec<Left>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Left {
    /// The key of the limit.
    pub key: String,
    pub iterations: u64,
}

impl RunSnapshot {
    /// Nothing before three iterations are done, of a single pass, and of a run that has stopped.
    pub fn forecast(&self) -> Option<Forecast> {
        let done = self.totals.iterations;
        if done < ENOUGH || self.definition.once || self.stopped.is_some() {
            return None;
        }
        let each = |total: f64| total / f64::from(done);
        let cost_usd = self.totals.cost_usd.filter(|_| self.totals.unpriced_tokens == 0).map(each);
        let per_iteration = |key: &str, unit: LimitUnit| match (key, unit) {
            ("max_iterations", _) => Some(1.0),
            ("max_runtime", _) => Some(each(self.totals.runtime.as_secs_f64())),
            ("max_wall_time", _) => Some(each(self.totals.wall_time.as_secs_f64())),
            ("max_tokens", _) => Some(each(self.totals.tokens as f64)),
            (_, LimitUnit::Usd) => cost_usd,
            _ => None,
        };
        let room = |used: f64, limit: f64, step: f64| ((limit - used).max(0.0) / step).floor() as u64;
        let left = self.limits.iter().filter_map(|limit| {
            let step = per_iteration(&limit.key, limit.unit).filter(|step| *step > 0.0)?;
            Some(Left { key: limit.key.to_string(), iterations: room(limit.used, limit.limit, step) })
        });
        let mut left: Vec<Left> = left.collect();
        left.sort_by_key(|left| left.iterations);
        Some(Forecast { time: self.totals.runtime / done, cost_usd, left })
    }
}
