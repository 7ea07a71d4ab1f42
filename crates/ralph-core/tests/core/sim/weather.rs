//! What the agents' services are like: limits that last, outages in a row, accounts that do not work.

use std::time::Duration;

use ralph_core::failure::{Failure, FailureClass};
use ralph_core::time::Timestamp;

use super::rng::Rng;

/// Survives crashes of ralph: the services do not notice them.
#[derive(Default)]
pub struct Weather {
    /// By agent.
    limits: [Option<Limit>; 4],
    outages: [u64; 4],
}

#[derive(Clone, Copy)]
struct Limit {
    ends: Timestamp,
    tells: Tells,
}

/// What an agent says about the end of its limit.
#[derive(Clone, Copy)]
enum Tells {
    Truth,
    Nothing,
    /// A time that has passed, as often as it is asked.
    Past,
    /// Longer than anybody waits.
    Far,
}

impl Weather {
    /// Why an attempt that starts now fails, if its service does not let it work.
    pub fn failure(&mut self, agent: usize, now: Timestamp, rng: &mut Rng) -> Option<Failure> {
        let agent = agent.min(self.limits.len() - 1);
        if rng.one_in(14) {
            let tells = rng.pick(&[Tells::Truth, Tells::Truth, Tells::Nothing, Tells::Past, Tells::Far]);
            let lasts = rng.pick(&[5_000, 100_000, 3_600_000, 18_000_000]);
            let ends = now.plus(Duration::from_millis(rng.below(lasts)));
            self.limits[agent] = Some(Limit { ends, tells });
        }
        if rng.one_in(14) {
            self.outages[agent] = rng.between(1, 6);
        }
        if let Some(limit) = self.limits[agent].filter(|limit| limit.ends > now) {
            return Some(limit.failure(now, rng));
        }
        if self.outages[agent] > 0 {
            self.outages[agent] -= 1;
            return Some(failure(FailureClass::Outage));
        }
        let class = match rng.below(60) {
            0 => FailureClass::SignIn,
            1 => FailureClass::Billing,
            2 => FailureClass::ModelNotFound,
            3..=5 => FailureClass::ContextTooLong,
            6 | 7 => FailureClass::Other,
            _ => return None,
        };
        Some(failure(class))
    }
}

impl Limit {
    fn failure(&self, now: Timestamp, rng: &mut Rng) -> Failure {
        let resets_at = match self.tells {
            Tells::Truth => Some(self.ends),
            Tells::Nothing => None,
            Tells::Past => Some(Timestamp::from_millis(now.as_millis() - rng.below(90_000_000) as i64)),
            Tells::Far if rng.one_in(2) => Some(Timestamp::from_millis(i64::MAX)),
            Tells::Far => Some(now.plus(Duration::from_secs(30 * 24 * 3600))),
        };
        Failure { resets_at, ..failure(FailureClass::Limit) }
    }
}

fn failure(class: FailureClass) -> Failure {
    Failure { class, message: format!("it failed: {}", class.name()), resets_at: None }
}
