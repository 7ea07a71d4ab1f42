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
use crate::summary::{RetrySeen, RunSummary};

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
    let (class, resets_at) = of_retry(retry, now, zone);
    Some((class, format!("kept trying again: {}", retry.reason), resets_at))
}

/// What an agent that tries again met, and when the limit ends: as it is told, or when it tries again, if that is later.
fn of_retry(retry: &RetrySeen, now: Timestamp, zone: &TimeZone) -> (FailureClass, Option<Timestamp>) {
    let class = class::class_of(retry.http, "", &retry.reason);
    let delay = || retry.delay_ms.filter(|ms| *ms >= NOT_SAT_OUT_MS).and_then(|ms| reset::after_ms(now, ms));
    let resets_at = || reset::parse(&retry.reason, now, zone).max(delay());
    (class, (class == FailureClass::Limit).then(resets_at).flatten())
}

/// Overflows in a row that no compaction cures any more.
const OVERFLOWS: u32 = 3;
/// A limit that lasts longer is not left to the agent, which can wait for nothing but its own patience to end.
const NOT_SAT_OUT_MS: u64 = 300_000;

/// Why an agent that still runs is better ended now: whatever it does, it comes to no good end.
pub fn stranded(run: &RunSummary, now: Timestamp, zone: &TimeZone) -> Option<Failure> {
    if run.result.is_some() {
        return None;
    }
    if run.overflows >= OVERFLOWS {
        let message = run.error.as_ref().map_or_else(String::new, |error| error.message.clone());
        return Some(Failure { class: FailureClass::ContextTooLong, message, resets_at: None });
    }
    let (class, resets_at) = of_retry(run.retrying.as_ref()?, now, zone);
    let left = resets_at?.duration_since(now).as_millis();
    let long = class == FailureClass::Limit && left >= i128::from(NOT_SAT_OUT_MS);
    long.then(|| failure(run, now, zone)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::by_name;
    use crate::dialogue::Stream;
    use crate::signal::AgentSignal;

    const NOW: &str = "2026-11-16T12:00:00Z";

    /// What an agent that printed this is ended for, while it still runs: the class and the seconds until it is over.
    fn ended_for(agent: &str, stream: Stream, text: &str) -> Option<(&'static str, Option<i64>)> {
        let now: Timestamp = NOW.parse().unwrap();
        let mut signals = Vec::new();
        by_name(agent).unwrap().dialogue().take(stream, text.as_bytes(), &mut signals);
        let mut run = RunSummary::default();
        signals.iter().for_each(|signal| drop(run.observe(signal)));
        let found = stranded(&run, now, &TimeZone::UTC)?;
        let left = found.resets_at.map(|at| at.as_millis() / 1000 - now.as_second());
        Some((found.class.name(), left))
    }

    #[test]
    fn a_compaction_without_end_is_ended_and_one_that_helps_is_not() {
        let error = r#"{"type":"error","error":{"name":"ContextOverflowError","data":{"message":"prompt is too long"}}}"#;
        let step = "{\"type\":\"step_start\"}\n{\"type\":\"step_finish\",\"part\":{\"reason\":\"stop\"}}";
        let tool =
            r#"{"type":"tool_use","part":{"tool":"bash","callID":"1","state":{"status":"completed"}}}"#;
        let told = |lines: &[&str]| ended_for("opencode", Stream::Stdout, &(lines.join("\n") + "\n"));
        assert_eq!(told(&[error, step, error, step]), None);
        assert_eq!(told(&[error, step, error, step, error]), Some(("context_too_long", None)));
        assert_eq!(told(&[error, step, error, tool, error, step, error]), None, "it works again in between");
        let other = r#"{"type":"error","error":{"name":"X","data":{"message":"overloaded"}}}"#;
        assert_eq!(told(&[error, error, other, error]), None);
    }

    #[test]
    fn a_long_limit_is_not_sat_out() {
        let gemini = |seconds: u32| {
            let text = format!(
                "Attempt 1 failed: You exceeded your current quota.\n* Quota exceeded for metric: x\n\
                 Please retry in {seconds}s.\nSuggested retry after {seconds}s.. Retrying after 5209ms...\n"
            );
            ended_for("gemini", Stream::Stderr, &text)
        };
        assert_eq!([gemini(34), gemini(299)], [None; 2]);
        assert_eq!(gemini(3600), Some(("limit", Some(3600))));
        // Only its delay tells; and a long delay of an outage is none of a limit.
        let qwen = |reason: &str, delay: u32| {
            let text = format!("Retrying in {delay}s (attempt 1/10): [API Error: {reason}]\n");
            ended_for("qwen", Stream::Stderr, &text)
        };
        assert_eq!(qwen("429 rate limit", 3600), Some(("limit", Some(3600))));
        assert_eq!([qwen("429 rate limit", 60), qwen("503 overloaded", 3600)], [None; 2]);
        let waiting = |seconds: u32| {
            let text = format!("[qwen-code] Waiting for API capacity... attempt 1, retry in {seconds}s\n");
            ended_for("qwen", Stream::Stderr, &text)
        };
        assert_eq!([waiting(3570), waiting(90)], [Some(("limit", Some(3570))), None]);
    }

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
