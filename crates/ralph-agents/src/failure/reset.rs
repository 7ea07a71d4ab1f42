//! When a limit ends, from the words of a message.
//!
//! Understood, in this order: seconds or milliseconds since 1970, ISO 8601 and HTTP dates, days with a clock time
//! ("Nov 16th, 2026 12:14 AM"), clock times ("resets 1pm (Asia/Seoul)"), and durations ("in 2h 15m", "after 3600s",
//! "retry-after: 30"). A clock time is the next one to come.

use std::sync::LazyLock;

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};
use regex::{Captures, Regex};

/// A message that says "resets 1pm" may be read a moment after 1pm. That is not tomorrow's.
const JUST_NOW: SignedDuration = SignedDuration::from_secs(120);
/// Nobody limits for longer; a number that says so is not a time.
const FARTHEST: SignedDuration = SignedDuration::from_hours(24 * 40);

/// The time a message names, or None. May be in the past if the message says a full date.
pub fn parse(message: &str, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let text = message.to_lowercase();
    let found = epoch(&text)
        .or_else(|| iso(&text))
        .or_else(|| http_date(message))
        .or_else(|| dated(&text, now, zone))
        .or_else(|| clock(&text, now, zone))
        .or_else(|| duration(&text, now))?;
    (found.duration_since(now).abs() <= FARTHEST).then_some(found)
}

/// `now` and some milliseconds.
pub fn after_ms(now: Timestamp, ms: u64) -> Option<Timestamp> {
    now.checked_add(SignedDuration::from_millis(i64::try_from(ms).ok()?)).ok()
}

macro_rules! pattern {
    ($text:expr) => {{
        static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new($text).ok());
        PATTERN.as_ref()
    }};
}

/// "…limit reached|1760000400", `"resets_at":1760000400`, "X-RateLimit-Reset: 1741305600000".
fn epoch(text: &str) -> Option<Timestamp> {
    let found = pattern!(r#"(?:\||reset(?:s|_at|s_at|sat|_time|time)?\\?["']?\s*[:=]?\s*\\?["']?(?:at\s+)?)(1\d{9}(?:\d{3})?)\b"#)?
        .captures(text)?;
    let digits = found.get(1)?.as_str();
    let number: i64 = digits.parse().ok()?;
    if digits.len() == 13 {
        Timestamp::from_millisecond(number).ok()
    } else {
        Timestamp::from_second(number).ok()
    }
}

/// "resets at 2026-04-20T02:00:00Z".
fn iso(text: &str) -> Option<Timestamp> {
    let found = pattern!(r"\b(\d{4}-\d\d-\d\d)[t ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?) ?(z|utc|[+-]\d\d:?\d\d)")?
        .captures(text)?;
    let (date, time, offset) = (found.get(1)?.as_str(), found.get(2)?.as_str(), found.get(3)?.as_str());
    let seconds = if time.len() == 5 { ":00" } else { "" };
    let offset = if offset == "utc" { "z" } else { offset };
    format!("{date}T{time}{seconds}{offset}").to_uppercase().parse().ok()
}

/// "Wed, 21 Oct 2026 07:28:00 GMT".
fn http_date(message: &str) -> Option<Timestamp> {
    let found = pattern!(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT")?.find(message)?;
    jiff::fmt::rfc2822::parse(&found.as_str().replace("GMT", "+0000")).ok().map(|zoned| zoned.timestamp())
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// "Nov 16th, 2026 12:14 AM", "Jan 30, 11:30am (Asia/Calcutta)", "April 20, 2026 at 2:00 AM", "Oct 31, 9am", "Oct 24",
/// "10 de jul. de 2026, 11:52".
fn dated(text: &str, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let month_first = pattern!(
        r"(?:resets?|again|until|available)(?: (?:at|on))? (?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? (?P<day>\d{1,2})(?:st|nd|rd|th)?\b(?:,? (?P<year>20\d\d)\b)?(?:(?:,? at |, | )(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?(?: ?(?P<half>[ap])\.?m\b)?)?(?: ?\((?P<zone>[a-z0-9_/+-]+)\)| (?P<abbr>utc|gmt|p[sd]?t|e[sd]?t)\b)?"
    )?;
    let day_first = pattern!(
        r"(?:resets?|again|until|available)(?: (?:at|on))? (?P<day>\d{1,2})\.? (?:de )?(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?(?: (?:de )?(?P<year>20\d\d))?(?:(?:,? at |, | )(?P<hour>\d{1,2}):(?P<minute>\d\d)(?: ?(?P<half>[ap])\.?m\b)?)?(?: ?\((?P<zone>[a-z0-9_/+-]+)\)| (?P<abbr>utc|gmt|p[sd]?t|e[sd]?t)\b)?"
    )?;
    let found = month_first.captures(text).or_else(|| day_first.captures(text))?;
    let zone = zone_of(&found, zone);
    let month =
        MONTHS.iter().position(|month| found.name("month").is_some_and(|name| name.as_str() == *month))?;
    let month = i8::try_from(month + 1).ok()?;
    let day: i8 = number(&found, "day")?;
    let time = match number::<i8>(&found, "hour") {
        Some(hour) => time_of(&found, hour)?,
        None => Time::midnight(),
    };
    let today = now.to_zoned(zone.clone()).date();
    let on = |year| resolve(Date::new(year, month, day).ok()?.to_datetime(time), &zone);
    match number::<i16>(&found, "year") {
        Some(year) => on(year),
        // Around New Year the next one is meant.
        None => {
            on(today.year()).filter(|at| *at > now - JUST_NOW - 24.hours()).or_else(|| on(today.year() + 1))
        }
    }
}

/// "resets 1pm (Asia/Seoul)", "reset at 10am (America/Los_Angeles)", "try again at 11:58 PM", "resets at 6am tomorrow".
fn clock(text: &str, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let found = pattern!(
        r"(?:resets?|again|until|available)(?: (?:at|by|around|after))? (?P<hour>\d{1,2})(?:(?::(?P<minute>\d\d))(?::\d\d)? ?(?:(?P<half>[ap])\.?m\b)?| ?(?P<half2>[ap])\.?m\b)(?: ?\((?P<zone>[a-z0-9_/+-]+)\)| (?P<abbr>utc|gmt|p[sd]?t|e[sd]?t)\b)?"
    )?
    .captures(text)?;
    let zone = zone_of(&found, zone);
    let time = time_of(&found, number(&found, "hour")?)?;
    let today = now.to_zoned(zone.clone()).date();
    // Yesterday: shortly after midnight, a time shortly before it is just past.
    [today.yesterday().ok()?, today, today.tomorrow().ok()?]
        .into_iter()
        .filter_map(|date| resolve(date.to_datetime(time), &zone))
        .find(|at| *at >= now - JUST_NOW)
}

/// "in 2h 15m", "after 8h44m7s", "in 5 days 22 hours 11 minutes", "retry-after: 30", "wait 2 minutes",
/// `"retrydelay":"34s"`, "resets_in_seconds":18000.
fn duration(text: &str, now: Timestamp) -> Option<Timestamp> {
    if let Some(found) = pattern!(r#"(?:retry[-_ ]after(?:[-_ ]seconds)?|resets?_in_seconds|reset_after_seconds)\\?["']?\s*[:=]\s*\\?["']?(\d{1,9}(?:\.\d+)?)(?:\s*(ms|s|seconds)?\b)"#)?
        .captures(text)
    {
        let scale = if found.get(2).is_some_and(|unit| unit.as_str() == "ms") { 1.0 } else { 1000.0 };
        return after(now, found.get(1)?.as_str().parse::<f64>().ok()? * scale);
    }
    let found = pattern!(
        r#"(?:\bin|\bafter|\bwait|retry_?delay\\?["']?:\s*\\?["']?)[: ]*(?:about |another |approximately )?((?:\d+(?:\.\d+)?\s*(?:milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d|weeks?|w)\b?(?:,? (?:and )?|,)?)+)"#
    )?
    .captures(text)?;
    let mut total = 0.0;
    for part in pattern!(r"(\d+(?:\.\d+)?)\s*(ms|milli|s|mi|m|h|d|w)")?.captures_iter(found.get(1)?.as_str())
    {
        let value: f64 = part.get(1)?.as_str().parse().ok()?;
        total += value
            * match part.get(2)?.as_str() {
                "ms" | "milli" => 1.0,
                "s" => 1e3,
                "m" | "mi" => 60e3,
                "h" => 3600e3,
                "d" => 86400e3,
                _ => 7.0 * 86400e3,
            };
    }
    after(now, total)
}

fn after(now: Timestamp, ms: f64) -> Option<Timestamp> {
    // Rounded up: waiting a moment too long does no harm.
    (ms.is_finite() && (0.0..1e13).contains(&ms)).then(|| after_ms(now, ms.ceil() as u64)).flatten()
}

fn time_of(found: &Captures<'_>, hour: i8) -> Option<Time> {
    let half = found.name("half").or_else(|| found.name("half2")).map(|half| half.as_str());
    let hour = match half {
        Some("a") if hour == 12 => 0,
        Some("p") if hour < 12 => hour + 12,
        _ => hour,
    };
    Time::new(hour, number(found, "minute").unwrap_or(0), 0, 0).ok()
}

fn number<T: std::str::FromStr>(found: &Captures<'_>, name: &str) -> Option<T> {
    found.name(name)?.as_str().parse().ok()
}

/// The zone a message names, or else the default.
fn zone_of(found: &Captures<'_>, default: &TimeZone) -> TimeZone {
    let name = found.name("zone").or(found.name("abbr")).map_or("", |zone| zone.as_str());
    let name = match name {
        "utc" | "gmt" => "UTC",
        "pt" | "pst" | "pdt" => "America/Los_Angeles",
        "et" | "est" | "edt" => "America/New_York",
        other => other,
    };
    if name.is_empty() { default.clone() } else { TimeZone::get(name).unwrap_or_else(|_| default.clone()) }
}

fn resolve(datetime: DateTime, zone: &TimeZone) -> Option<Timestamp> {
    zone.to_timestamp(datetime).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, now: &str, zone: &str) -> Option<String> {
        let zone = TimeZone::get(zone).unwrap();
        parse(text, now.parse().unwrap(), &zone).map(|at| at.to_string())
    }

    fn some(time: &str) -> Option<String> {
        Some(time.to_string())
    }

    #[test]
    fn a_clock_time_is_the_next_one_in_its_zone() {
        let text = "resets 1pm (Asia/Seoul)";
        assert_eq!(at(text, "2026-11-16T03:00:00Z", "UTC"), some("2026-11-16T04:00:00Z"));
        assert_eq!(at(text, "2026-11-16T04:10:00Z", "UTC"), some("2026-11-17T04:00:00Z"));
        // Read a moment late: it is over, not a day away. Both sides of that moment.
        assert_eq!(at(text, "2026-11-16T04:02:00Z", "UTC"), some("2026-11-16T04:00:00Z"));
        assert_eq!(at(text, "2026-11-16T04:02:01Z", "UTC"), some("2026-11-17T04:00:00Z"));
        assert_eq!(at("try again at 11:58 PM.", "2026-11-16T23:59:00Z", "UTC"), some("2026-11-16T23:58:00Z"));
        assert_eq!(at("try again at 11:58 PM.", "2026-11-17T00:00:00Z", "UTC"), some("2026-11-16T23:58:00Z"));
    }

    #[test]
    fn the_default_zone_is_used_when_none_is_named() {
        let text = "try again at 11:58 PM.";
        assert_eq!(at(text, "2026-11-16T12:00:00Z", "America/New_York"), some("2026-11-17T04:58:00Z"));
        assert_eq!(at("resets 12am", "2026-11-16T12:00:00Z", "Europe/Berlin"), some("2026-11-16T23:00:00Z"));
        assert_eq!(at("resets 12pm", "2026-11-16T12:00:00Z", "Europe/Berlin"), some("2026-11-17T11:00:00Z"));
    }

    #[test]
    fn clocks_that_change_are_followed() {
        // 2026-11-01 in New York: 2am comes twice, the day has 25 hours.
        let text = "resets 3am (America/New_York)";
        assert_eq!(at(text, "2026-10-31T22:00:00Z", "UTC"), some("2026-11-01T08:00:00Z"));
        assert_eq!(at(text, "2026-10-30T22:00:00Z", "UTC"), some("2026-10-31T07:00:00Z"));
        // 2026-03-08: 2:30am does not exist.
        let text = "resets 2:30am (America/New_York)";
        assert_eq!(at(text, "2026-03-08T05:00:00Z", "UTC"), some("2026-03-08T07:30:00Z"));
    }

    #[test]
    fn dates_without_a_year_are_the_coming_ones() {
        let text = "resets Jan 2, 9am (UTC)";
        assert_eq!(at(text, "2026-12-30T00:00:00Z", "UTC"), some("2027-01-02T09:00:00Z"));
        assert_eq!(at(text, "2027-01-01T00:00:00Z", "UTC"), some("2027-01-02T09:00:00Z"));
        assert_eq!(at("resets Oct 24", "2026-10-20T10:00:00Z", "Asia/Tokyo"), some("2026-10-23T15:00:00Z"));
    }

    #[test]
    fn nonsense_is_no_time() {
        for text in [
            "resets 25:99",
            "try again later",
            "resets Feb 31, 9am",
            "limits reset every 5h and every week",
            "reset at 99999999999999999999",
            "in 99999999999 days",
            "try again in a moment",
            "resets at 10",
            "",
        ] {
            assert_eq!(at(text, "2026-11-16T12:00:00Z", "UTC"), None, "{text}");
        }
    }

    #[test]
    fn durations_in_words_and_letters() {
        for (text, seconds) in [
            ("try again in 2h 15m", 8100),
            ("reset after 3600s", 3600),
            ("reset after 8h44m7s.", 31447),
            ("in 5 days 22 hours 11 minutes.", 511_860),
            ("Please try again in 6.034s.", 7),
            ("try again in 28ms", 1),
            ("wait 2 minutes before trying again", 120),
            ("retry-after: 30", 30),
            ("\"retryDelay\": \"34s\"", 34),
            ("in 1 day, 2 hours and 3 minutes", 93_780),
            ("in 3 weeks", 1_814_400),
            ("\"resets_in_seconds\":18000", 18000),
        ] {
            let now: Timestamp = "2026-11-16T12:00:00Z".parse().unwrap();
            let got = parse(text, now, &TimeZone::UTC).map(|at| at.duration_since(now).as_millis());
            let got = got.map(|ms| (ms + 999) / 1000);
            assert_eq!(got, Some(seconds), "{text}");
        }
    }
}
