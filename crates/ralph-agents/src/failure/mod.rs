//! Why a run failed and what cures it.
//!
//! Read from what the CLI reports as errors, limits and retries. What the agent says and what its tools print never
//! comes here: a text that merely mentions limits triggers nothing.

pub mod class;
#[cfg(test)]
mod corpus;
pub mod reset;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use ralph_core::failure::Failure;

use crate::signal::FailureClass;
use crate::summary::RunSummary;

/// The failure of a run that did not go well. None: nothing in its output says why.
///
/// `now` is when the output came, `zone` the zone of clock times that name none. A limit may end in the past.
pub fn failure(run: &RunSummary, now: Timestamp, zone: &TimeZone) -> Option<Failure> {
    let (class, message, resets_at) = explained(run, now, zone)?;
    let at = |at: Timestamp| ralph_core::time::Timestamp::from_millis(at.as_millisecond());
    Some(Failure { class, message, resets_at: resets_at.map(at) })
}

/// Class and message, and when a limit ends.
fn explained(
    run: &RunSummary,
    now: Timestamp,
    zone: &TimeZone,
) -> Option<(FailureClass, String, Option<Timestamp>)> {
    let limit = run.limit.as_ref();
    if let Some(error) = &run.error {
        // A rejected limit explains the error that follows it, unless that one is about something else.
        let limited = limit.is_some() && matches!(error.class, FailureClass::Limit | FailureClass::Other);
        let class = if limited { FailureClass::Limit } else { error.class };
        let resets_at = (class == FailureClass::Limit)
            .then(|| {
                // Some services send a `retry-after` of a second with a message that says tomorrow: the later one counts.
                let header = error.retry_after_ms.and_then(|ms| reset::after_ms(now, ms));
                let words = reset::parse(&error.message, now, zone);
                limit
                    .and_then(|limit| limit.resets_at)
                    .and_then(|seconds| Timestamp::from_second(seconds).ok())
                    .or_else(|| header.max(words))
            })
            .flatten();
        return Some((class, error.message.clone(), resets_at));
    }
    if let Some(limit) = limit {
        let resets_at = limit.resets_at.and_then(|seconds| Timestamp::from_second(seconds).ok());
        let window = limit.window.as_deref().unwrap_or("usage");
        return Some((FailureClass::Limit, format!("{window} limit reached"), resets_at));
    }
    // It never gave up by itself, but was trying again and again.
    let retry = run.retrying.as_ref()?;
    let class = class::class_of(retry.http, "", &retry.reason);
    let resets_at = (class == FailureClass::Limit).then(|| reset::parse(&retry.reason, now, zone)).flatten();
    Some((class, format!("kept trying again: {}", retry.reason), resets_at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::AgentSignal;

    #[test]
    fn the_later_one_of_header_and_words_is_when_a_limit_ends() {
        let now: Timestamp = "2026-11-16T12:00:00Z".parse().unwrap();
        let resets = |header: Option<u64>, message: &str| {
            let mut run = RunSummary::default();
            run.observe(&AgentSignal::Error {
                fatal: true,
                class: FailureClass::Limit,
                http: Some(429),
                retry_after_ms: header.map(|seconds| seconds * 1000),
                message: message.to_string(),
            });
            failure(&run, now, &TimeZone::UTC)
                .unwrap()
                .resets_at
                .map(|at| at.as_millis() / 1000 - now.as_second())
        };
        assert_eq!(resets(Some(1), "try again in 34 seconds"), Some(34));
        assert_eq!(resets(Some(3600), "try again in 34 seconds"), Some(3600));
        assert_eq!(resets(Some(1), "usage limit reached"), Some(1));
        assert_eq!(resets(None, "usage limit reached, try again in 1h"), Some(3600));
        assert_eq!(resets(None, "usage limit reached"), None);
    }
}
