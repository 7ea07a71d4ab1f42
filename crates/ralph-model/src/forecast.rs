//! What a run is likely to come to: the mean of its iterations so far, and how many more of them each limit has room for.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::row::{IterationRow, RowOutcome};
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
        // The newest that are over: the one that runs says nothing yet.
        let done =
            |row: &&Arc<IterationRow>| !matches!(row.outcome, RowOutcome::Running | RowOutcome::Interrupted);
        let rows: Vec<&IterationRow> = self.rows.iter().filter(done).map(Arc::as_ref).collect();
        let count = u32::try_from(rows.len()).unwrap_or(u32::MAX);
        if count < ENOUGH || self.definition.once || self.stopped.is_some() {
            return None;
        }
        let time = rows.iter().filter_map(|row| row.duration).sum::<Duration>() / count;
        // One without a price would make the others look cheaper than they are.
        let cost = rows.iter().map(|row| row.cost_usd).sum::<Option<f64>>();
        let cost_usd = cost.map(|cost| cost / f64::from(count));
        let tokens = rows.iter().map(|row| row.usage.total()).sum::<u64>() as f64 / f64::from(count);
        let wall = self.totals.wall_time.as_secs_f64() / f64::from(self.totals.iterations.max(count));
        let per_iteration = |key: &str, unit: LimitUnit| match (key, unit) {
            ("max_iterations", _) => Some(1.0),
            ("max_runtime", _) => Some(time.as_secs_f64()),
            ("max_wall_time", _) => Some(wall),
            ("max_tokens", _) => Some(tokens),
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
        Some(Forecast { time, cost_usd, left })
    }
}
