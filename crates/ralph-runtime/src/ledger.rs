//! What all runs of the state folder have spent, today and this week.

use jiff::tz::TimeZone;
use jiff::{ToSpan, Zoned};
use ralph_core::event::LedgerRead;
use ralph_core::time::Timestamp;
use ralph_store::{RunDir, Store};

/// Read from the journals. A journal that cannot be read to its end counts as far as it can.
pub(crate) fn read(run: &RunDir) -> Option<LedgerRead> {
    let root = run.path.parent()?.parent()?;
    let store = Store::at(root.to_owned()).ok()?;
    let now = jiff::Timestamp::from_millisecond(crate::clock::now().as_millis()).ok()?;
    let windows = Windows::of(&now.to_zoned(TimeZone::system()))?;
    let mut read = LedgerRead {
        day_usd: 0.0,
        week_usd: 0.0,
        day_ends: windows.day_ends,
        week_ends: windows.week_ends,
        unpriced_tokens: 0,
    };
    store.each_spent(Some(windows.week_begins), &mut |spent| match spent.cost_usd {
        Some(cost) if cost.is_finite() && cost >= 0.0 => {
            read.week_usd += cost;
            if spent.at >= windows.day_begins {
                read.day_usd += cost;
            }
        }
        _ => read.unpriced_tokens = read.unpriced_tokens.saturating_add(spent.tokens),
    });
    Some(read)
}

/// For when there is nothing to read.
pub(crate) fn unknown() -> LedgerRead {
    let never = Timestamp::default();
    LedgerRead { day_usd: -1.0, week_usd: -1.0, day_ends: never, week_ends: never, unpriced_tokens: 0 }
}

struct Windows {
    day_begins: Timestamp,
    day_ends: Timestamp,
    week_begins: Timestamp,
    week_ends: Timestamp,
}

impl Windows {
    fn of(now: &Zoned) -> Option<Windows> {
        let stamp = |at: &Zoned| Timestamp::from_millis(at.timestamp().as_millisecond());
        let today = now.start_of_day().ok()?;
        let since_monday = i64::from(today.weekday().to_monday_zero_offset());
        let monday = today.checked_sub(since_monday.days()).ok()?.start_of_day().ok()?;
        let day_ends = today.checked_add(1.day()).ok()?.start_of_day().ok()?;
        let week_ends = monday.checked_add(1.week()).ok()?.start_of_day().ok()?;
        Some(Windows {
            day_begins: stamp(&today),
            day_ends: stamp(&day_ends),
            week_begins: stamp(&monday),
            week_ends: stamp(&week_ends),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_week_begins_on_monday_and_a_day_may_have_25_hours() {
        let at = |text: &str| text.parse::<Zoned>().expect("a time");
        let windows = Windows::of(&at("2026-10-25T12:00:00[Europe/Berlin]")).expect("windows");
        let shown = [windows.week_begins, windows.day_begins, windows.day_ends, windows.week_ends];
        let shown = shown.map(|at| at.to_string());
        assert_eq!(
            shown,
            [
                "2026-10-18T22:00:00.000Z",
                "2026-10-24T22:00:00.000Z",
                "2026-10-25T23:00:00.000Z",
                "2026-10-25T23:00:00.000Z"
            ]
        );
    }
}
