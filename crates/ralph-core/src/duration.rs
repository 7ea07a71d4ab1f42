//! Durations as people write them: `30s`, `1h30m`, `0.5`, and back.
//!
//! Everything is kept in whole milliseconds and bounded by [`MAX`], so that sums of durations never overflow.

use std::time::Duration;

/// The longest duration that is accepted: one hundred years.
pub const MAX: Duration = Duration::from_secs(36_500 * 24 * 3600);

/// Largest unit first: parts have to be written in this order.
const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    #[error("a duration is missing")]
    Empty,
    #[error("a duration cannot be negative")]
    Negative,
    #[error("a duration must be finite")]
    NotFinite,
    #[error("a duration can be at most 36500d")]
    TooLong,
    #[error("a duration shorter than 1ms cannot be told from 0")]
    TooShort,
    #[error("`{0}` is not a unit of time; known units: ms, s, m, h, d")]
    UnknownUnit(String),
    #[error("`{0}` is not a duration; write 30s, 5m, 6h, 1d, 1h30m, 500ms or a number of seconds")]
    NotADuration(String),
    #[error("`{0}` is out of order; write larger units first, each once: 1d12h, 1h30m")]
    Order(String),
}

/// Reads a number of seconds. Fractions are fine, down to a millisecond.
pub fn from_seconds(seconds: f64) -> Result<Duration, DurationError> {
    if !seconds.is_finite() {
        return Err(DurationError::NotFinite);
    }
    if seconds < 0.0 {
        return Err(DurationError::Negative);
    }
    from_millis(seconds * 1000.0)
}

/// Reads `30s`, `1h30m`, `1.5h`, `1h 30m`, or a bare number of seconds.
pub fn parse(text: &str) -> Result<Duration, DurationError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(DurationError::Empty);
    }
    if let Some(rest) = text.strip_prefix('-')
        && rest.starts_with(|c: char| c.is_ascii_digit() || c == '.')
    {
        return Err(DurationError::Negative);
    }
    if text.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return from_seconds(number(text, text)?);
    }
    let mut rest = text;
    let mut next_unit = 0;
    let mut millis = 0.0;
    while !rest.is_empty() {
        let (digits, tail) = split_where(rest, |c| !(c.is_ascii_digit() || c == '.'));
        let value = number(digits, text)?;
        let (unit, tail) = split_where(tail, |c| !c.is_alphabetic());
        let Some(index) = UNITS.iter().position(|(name, _)| *name == unit) else {
            return Err(match unit {
                "" => DurationError::NotADuration(text.to_owned()),
                _ => DurationError::UnknownUnit(unit.to_owned()),
            });
        };
        if index < next_unit {
            return Err(DurationError::Order(text.to_owned()));
        }
        next_unit = index + 1;
        millis += value * UNITS[index].1 as f64;
        rest = tail.trim_start();
    }
    from_millis(millis)
}

/// Writes a duration so that [`parse`] reads the same one: `1h30m`, `500ms`, `0s`. Parts of a millisecond
/// are dropped.
pub fn format(duration: Duration) -> String {
    let mut millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    if millis == 0 {
        return "0s".to_owned();
    }
    let mut out = String::new();
    for (name, size) in UNITS {
        if millis >= size {
            out.push_str(&format!("{}{name}", millis / size));
            millis %= size;
        }
    }
    out
}

fn number(digits: &str, whole: &str) -> Result<f64, DurationError> {
    digits.parse::<f64>().map_err(|_| DurationError::NotADuration(whole.to_owned()))
}

fn split_where(text: &str, stop: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(stop).unwrap_or(text.len()))
}

fn from_millis(millis: f64) -> Result<Duration, DurationError> {
    if millis > MAX.as_millis() as f64 {
        return Err(DurationError::TooLong);
    }
    let rounded = millis.round();
    if rounded == 0.0 && millis > 0.0 {
        return Err(DurationError::TooShort);
    }
    // In range: checked above, and not negative by construction.
    Ok(Duration::from_millis(rounded as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(text: &str) -> u128 {
        parse(text).unwrap().as_millis()
    }

    #[test]
    fn reads_every_documented_form() {
        assert_eq!(ms("30s"), 30_000);
        assert_eq!(ms("5m"), 300_000);
        assert_eq!(ms("6h"), 21_600_000);
        assert_eq!(ms("1d"), 86_400_000);
        assert_eq!(ms("1h30m"), 5_400_000);
        assert_eq!(ms("500ms"), 500);
        assert_eq!(ms("1.5h"), 5_400_000);
        assert_eq!(ms(" 1h 30m "), 5_400_000);
        assert_eq!(ms("90"), 90_000);
        assert_eq!(ms("0.25"), 250);
        assert_eq!(ms("0"), 0);
        assert_eq!(ms("0s"), 0);
    }

    #[test]
    fn refuses_what_is_no_duration() {
        assert_eq!(parse(" "), Err(DurationError::Empty));
        assert_eq!(parse("-5s"), Err(DurationError::Negative));
        assert_eq!(parse("5 parsecs"), Err(DurationError::NotADuration("5 parsecs".into())));
        assert_eq!(parse("5min"), Err(DurationError::UnknownUnit("min".into())));
        assert_eq!(parse("5H"), Err(DurationError::UnknownUnit("H".into())));
        assert_eq!(parse("soon"), Err(DurationError::NotADuration("soon".into())));
        assert_eq!(parse("1h30"), Err(DurationError::NotADuration("1h30".into())));
        assert_eq!(parse("1.2.3s"), Err(DurationError::NotADuration("1.2.3s".into())));
        assert_eq!(parse("."), Err(DurationError::NotADuration(".".into())));
        assert_eq!(parse("30m1h"), Err(DurationError::Order("30m1h".into())));
        assert_eq!(parse("1s1s"), Err(DurationError::Order("1s1s".into())));
        assert_eq!(parse("5µs"), Err(DurationError::UnknownUnit("µs".into())));
    }

    #[test]
    fn bounds_are_exact() {
        assert_eq!(parse("36500d"), Ok(MAX));
        assert_eq!(parse("36500d1ms"), Err(DurationError::TooLong));
        assert_eq!(parse(&"9".repeat(400)), Err(DurationError::NotFinite));
        assert_eq!(parse(&format!("{}h", "9".repeat(400))), Err(DurationError::TooLong));
        assert_eq!(from_seconds(0.001).unwrap().as_millis(), 1);
        assert_eq!(from_seconds(0.0004), Err(DurationError::TooShort));
        assert_eq!(from_seconds(-0.1), Err(DurationError::Negative));
        assert_eq!(from_seconds(f64::NAN), Err(DurationError::NotFinite));
        assert_eq!(from_seconds(f64::INFINITY), Err(DurationError::NotFinite));
    }

    #[test]
    fn writes_what_it_reads() {
        for text in ["0s", "1ms", "500ms", "1s500ms", "30s", "1h30m", "4h", "7d", "1d2h3m4s5ms", "36500d"] {
            assert_eq!(format(parse(text).unwrap()), text);
        }
        assert_eq!(format(Duration::from_micros(1500)), "1ms");
        assert_eq!(format(Duration::from_secs(7200)), "2h");
        // Saturates instead of failing.
        assert!(format(Duration::MAX).ends_with("ms"));
    }
}
