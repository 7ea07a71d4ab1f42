//! The one place that reads the wall clock.
//!
//! A clock that is set by years while a run is at work must end neither the run nor its resumes: limits count the time between two
//! records. So the time of day is held against a clock that only ever goes forward, and where the two come apart by more than any
//! correction does, the one that nobody can set counts.

use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ralph_core::time::Timestamp;

/// Daylight saving sets no clock; what keeps clocks right sets them by less.
const STEP: Duration = Duration::from_secs(3600);

/// Both clocks at the same moment: the time of day, and the time since the machine was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Both {
    wall: Duration,
    up: Duration,
}

static FIRST: OnceLock<Both> = OnceLock::new();

pub fn now() -> Timestamp {
    let both = read();
    timestamp(seen_from(*FIRST.get_or_init(|| both), both))
}

/// What the system's own clock shows at this time.
pub(crate) fn of_system(at: Timestamp) -> Timestamp {
    let both = read();
    let seen = seen_from(*FIRST.get_or_init(|| both), both);
    let moved = timestamp(both.wall).as_millis() - timestamp(seen).as_millis();
    Timestamp::from_millis(at.as_millis().saturating_add(moved))
}

fn read() -> Both {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // It goes on while the machine sleeps, where there is such a clock.
    #[cfg(target_os = "linux")]
    let id = rustix::time::ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let id = rustix::time::ClockId::Monotonic;
    let up = rustix::time::clock_gettime(id);
    let nanos = u32::try_from(up.tv_nsec).unwrap_or(0);
    Both { wall, up: Duration::new(u64::try_from(up.tv_sec).unwrap_or(0), nanos) }
}

fn seen_from(first: Both, now: Both) -> Duration {
    let expected = first.wall.saturating_add(now.up.saturating_sub(first.up));
    if expected.abs_diff(now.wall) > STEP { expected } else { now.wall }
}

fn timestamp(since: Duration) -> Timestamp {
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const YEARS: u64 = 10 * 365 * 24 * 3600;

    fn both(wall: u64, up: u64) -> Both {
        Both { wall: Duration::from_secs(wall), up: Duration::from_secs(up) }
    }

    #[test]
    fn a_clock_that_is_set_by_years_counts_for_no_time_at_all() {
        let first = both(2 * YEARS, 1000);
        for (wall, up, seen) in [
            (2 * YEARS + 60, 1060, 2 * YEARS + 60),
            (2 * YEARS + 90, 1060, 2 * YEARS + 90),
            (3 * YEARS + 60, 1060, 2 * YEARS + 60),
            (YEARS, 1060, 2 * YEARS + 60),
        ] {
            assert_eq!(seen_from(first, both(wall, up)), Duration::from_secs(seen), "{wall}");
        }
    }

    #[test]
    fn where_nobody_set_it_the_systems_clock_counts() {
        let (before, now) = (SystemTime::now(), now());
        let shown = of_system(now).as_millis() - now.as_millis();
        assert!(before.elapsed().is_ok() && shown.abs() < 1000, "{shown}");
    }
}
