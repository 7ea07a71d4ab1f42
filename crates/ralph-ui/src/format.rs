//! How people read amounts: durations, money, counts, times of day.

use std::time::Duration;

use jiff::tz::TimeZone;
use ralph_model::text::clean;
use ralph_model::time::Timestamp;
use ralph_model::{LimitReading, LimitUnit};

/// `350ms`, `41s`, `1m12s`, `2h03m`, `1d02h`: two units at most, rounded down, the second one left out when it is zero.
pub fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    if seconds == 0 {
        return match duration.as_millis() {
            0 => "0s".to_owned(),
            millis => format!("{millis}ms"),
        };
    }
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let (large, small) = match (days, hours, minutes) {
        (0, 0, 0) => return format!("{seconds}s"),
        (0, 0, _) => (format!("{minutes}m"), (seconds % 60, 's')),
        (0, _, _) => (format!("{hours}h"), (minutes % 60, 'm')),
        _ => (format!("{days}d"), (hours % 24, 'h')),
    };
    match small {
        (0, _) => large,
        (rest, unit) => format!("{large}{rest:02}{unit}"),
    }
}

/// A time that is a mean: to the second, or to the millisecond below one.
pub fn duration_short(mean: Duration) -> String {
    match mean.as_secs() {
        0 => duration(Duration::from_millis(u64::try_from(mean.as_millis()).unwrap_or(u64::MAX))),
        seconds => duration(Duration::from_secs(seconds)),
    }
}

/// A time that counts down: rounded up, so that it never shows zero before its end.
pub fn countdown(left: Duration) -> String {
    let up = if left.subsec_nanos() > 0 { left.as_secs().saturating_add(1) } else { left.as_secs() };
    duration(Duration::from_secs(up))
}

/// A time that counts up: whole seconds from the start, so that it does not flicker.
pub fn elapsed(since: Duration) -> String {
    duration(Duration::from_secs(since.as_secs()))
}

/// `$0.12`; below a cent `$0.004`.
pub fn money(usd: f64) -> String {
    if !usd.is_finite() {
        return "$?".to_owned();
    }
    let (sign, amount) = if usd < 0.0 { ("-", -usd) } else { ("", usd) };
    if amount == 0.0 || amount >= 0.00995 {
        format!("{sign}${amount:.2}")
    } else if amount >= 0.0005 {
        format!("{sign}${amount:.3}")
    } else {
        format!("{sign}<$0.001")
    }
}

/// `1 file`, `2 files`.
pub fn count(n: impl Into<u64>, one: &str, many: &str) -> String {
    let n = n.into();
    format!("{n} {}", if n == 1 { one } else { many })
}

/// `850`, `12.4k`, `1.2M`.
pub fn thousands(n: u64) -> String {
    let short = |value: f64, unit: &str| format!("{value:.1}{unit}").replace(".0", "");
    match n {
        0..1000 => n.to_string(),
        // Up to where one decimal would round to 1000k.
        1000..999_950 => short(n as f64 / 1e3, "k"),
        999_950..999_950_000 => short(n as f64 / 1e6, "M"),
        _ => short(n as f64 / 1e9, "G"),
    }
}

/// `10:00:04`
pub fn clock(at: Timestamp, zone: &TimeZone) -> String {
    zoned(at, zone).strftime("%H:%M:%S").to_string()
}

/// `10:00:04`, with its date when that is not the day of `seen`.
pub fn clock_from(at: Timestamp, seen: Timestamp, zone: &TimeZone) -> String {
    if zoned(at, zone).date() == zoned(seen, zone).date() { clock(at, zone) } else { date_time(at, zone) }
}

/// `2026-01-18 10:00:04`
pub fn date_time(at: Timestamp, zone: &TimeZone) -> String {
    zoned(at, zone).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// `2026-01-18`
pub fn date(at: Timestamp, zone: &TimeZone) -> String {
    zoned(at, zone).strftime("%Y-%m-%d").to_string()
}

/// `10:00:04.123`
pub fn clock_millis(at: Timestamp, zone: &TimeZone) -> String {
    zoned(at, zone).strftime("%H:%M:%S%.3f").to_string()
}

fn zoned(at: Timestamp, zone: &TimeZone) -> jiff::Zoned {
    jiff::Timestamp::from_millisecond(at.as_millis()).unwrap_or_default().to_zoned(zone.clone())
}

/// `13m ago`
pub fn ago(at: Timestamp, now: Timestamp) -> String {
    match now.since(at) {
        age if age < Duration::from_secs(1) => "just now".to_owned(),
        age => format!("{} ago", elapsed(age)),
    }
}

/// `3`, `1m24s`, `$0.12`: one side of a reading.
pub fn amount(value: f64, unit: LimitUnit) -> String {
    match unit {
        LimitUnit::Count => format!("{value:.0}"),
        LimitUnit::Seconds => {
            let time = Duration::try_from_secs_f64(value).unwrap_or_default();
            if time < Duration::from_secs(1) { "0s".to_owned() } else { duration(time) }
        }
        LimitUnit::Usd => money(value),
    }
}

/// `iterations`, `wall time`: a limit as it is called in a sentence, by its key.
pub fn limit_name(key: &str) -> String {
    clean(key.strip_prefix("max_").unwrap_or(key)).replace('_', " ")
}

/// `iterations 3/100`
pub fn closeness(reading: &LimitReading) -> String {
    let amount = |value| amount(value, reading.unit);
    format!("{} {}/{}", limit_name(&reading.key), amount(reading.used), amount(reading.limit))
}

/// `iterations 100`; a limit that is only on or off has no number.
pub fn limit(reading: &LimitReading) -> String {
    match reading.key.starts_with("stop_") {
        true => limit_name(&reading.key),
        false => format!("{} {}", limit_name(&reading.key), amount(reading.limit, reading.unit)),
    }
}

/// `[####      ]`
pub fn bar(fraction: f64) -> String {
    const CELLS: usize = 10;
    let fraction = if fraction.is_finite() { fraction.clamp(0.0, 1.0) } else { 0.0 };
    // Rounded down: only a limit that is used up looks full.
    let full = ((fraction * CELLS as f64) as usize).min(CELLS);
    format!("[{}{}]", "#".repeat(full), " ".repeat(CELLS - full))
}

/// ` 41%`: only a limit that is used up is at 100.
pub fn percent(fraction: f64) -> String {
    let fraction = if fraction.is_finite() { fraction.clamp(0.0, 1.0) } else { 0.0 };
    format!("{:>3}%", (fraction * 100.0) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_at_most_two_units() {
        let show = |millis| duration(Duration::from_millis(millis));
        assert_eq!(show(0), "0s");
        assert_eq!(show(999), "999ms");
        assert_eq!(show(1000), "1s");
        assert_eq!(show(41_900), "41s");
        assert_eq!(show(59_999), "59s");
        assert_eq!(show(60_000), "1m");
        assert_eq!(show(72_000), "1m12s");
        assert_eq!(show(65_000), "1m05s");
        assert_eq!(show(3_599_999), "59m59s");
        assert_eq!(show(7_200_000), "2h");
        assert_eq!(show(7_380_000), "2h03m");
        assert_eq!(show(86_400_000), "1d");
        assert_eq!(show(93_600_000), "1d02h");
        assert_eq!(show(7 * 86_400_000), "7d");
        assert!(duration(Duration::MAX).ends_with('h'));
    }

    #[test]
    fn a_countdown_shows_zero_only_at_the_end() {
        assert_eq!(countdown(Duration::from_millis(1)), "1s");
        assert_eq!(countdown(Duration::from_millis(4000)), "4s");
        assert_eq!(countdown(Duration::ZERO), "0s");
        assert_eq!(elapsed(Duration::from_millis(999)), "0s");
    }

    #[test]
    fn money_shows_what_a_small_amount_is() {
        assert_eq!(money(0.0), "$0.00");
        assert_eq!(money(0.0001), "<$0.001");
        assert_eq!(money(0.004), "$0.004");
        assert_eq!(money(0.0099), "$0.010");
        assert_eq!(money(0.01), "$0.01");
        assert_eq!(money(0.124), "$0.12");
        assert_eq!(money(1234.5), "$1234.50");
        assert_eq!(money(-1.5), "-$1.50");
        assert_eq!(money(f64::NAN), "$?");
    }

    #[test]
    fn counts_know_the_singular() {
        assert_eq!(count(1u32, "file", "files"), "1 file");
        assert_eq!(count(0u32, "file", "files"), "0 files");
        assert_eq!(count(2u32, "file", "files"), "2 files");
        assert_eq!([thousands(999), thousands(1000), thousands(12_440)], ["999", "1k", "12.4k"]);
        assert_eq!([thousands(999_949), thousands(999_950), thousands(1_250_000)], ["999.9k", "1M", "1.2M"]);
    }

    #[test]
    fn a_bar_is_full_only_when_the_limit_is_used_up() {
        assert_eq!(bar(0.0), "[          ]");
        assert_eq!(bar(0.999), "[######### ]");
        assert_eq!(bar(1.0), "[##########]");
        assert_eq!(bar(f64::NAN), "[          ]");
        assert_eq!([percent(0.999), percent(1.0)], [" 99%", "100%"]);
    }

    #[test]
    fn times_of_day_follow_the_zone_and_tell_another_day() {
        let at = Timestamp::from_millis(1_768_730_404_123);
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        assert_eq!(clock(at, &TimeZone::UTC), "10:00:04");
        assert_eq!(clock(at, &zone), "12:00:04");
        assert_eq!(clock_millis(at, &zone), "12:00:04.123");
        let later = at.plus(Duration::from_secs(14 * 3600));
        assert_eq!(clock_from(at, at, &zone), "12:00:04");
        assert_eq!(clock_from(later, at, &TimeZone::UTC), "2026-01-19 00:00:04");
        assert_eq!(ago(at, at), "just now");
        assert_eq!(ago(at, later), "14h ago");
    }
}
