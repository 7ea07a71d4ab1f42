//! Waits in words: why, how long, and until when.

use std::path::Path;

use ralph_model::event::{DelayReason, DelayStarted, WakeCause, WakeTriggered};
use ralph_model::text::clean;
use ralph_model::time::Timestamp;
use ralph_model::{RunSnapshot, SavedByWaiting};

use crate::Style;
use crate::format::{clock_from, count, countdown, duration};
use crate::words::foreign;

/// `waiting 4s after a failure, next try at 10:00:04`
pub(crate) fn line(delay: &DelayStarted, run: Option<&RunSnapshot>, at: Timestamp, style: &Style) -> String {
    let until = clock_from(delay.until, at, &style.zone);
    let wait = duration(delay.wait);
    match delay.reason {
        DelayReason::Delay => format!("waiting {wait} between iterations, next one at {until}"),
        DelayReason::Failure => format!("waiting {wait} after a failure, next try at {until}"),
        DelayReason::Limit => format!("waiting {wait} for the usage limit to end, next try at {until}"),
        DelayReason::Outage => format!("waiting {wait} for the agent's service, next try at {until}"),
        DelayReason::Idle => format!("waiting {wait} while there is nothing to do, next look at {until}"),
        DelayReason::Review => format!("waiting {wait} for a review, next look at {until}"),
        DelayReason::Blocked => format!("waiting {wait} while the agent is blocked, next look at {until}"),
        DelayReason::Agent => format!("waiting {wait} as the agent asked, next iteration at {until}"),
        DelayReason::Question => {
            let why = why(run).map(|why| format!(" to: {why}")).unwrap_or_default();
            let run = run.map(|run| format!(" --run {}", clean(&run.run.0))).unwrap_or_default();
            format!("waiting until {until} for an answer (ralph say 'ANSWER'{run}){why}")
        }
    }
}

/// `idle (3 in a row): next look in 29s, at 10:00:30`
pub(crate) fn counting(
    (reason, until): (DelayReason, Timestamp),
    run: &RunSnapshot,
    now: Timestamp,
    style: &Style,
) -> String {
    let left = countdown(until.since(now));
    let until = clock_from(until, now, &style.zone);
    let next = |what: &str| format!("{what} in {left}, at {until}");
    match reason {
        DelayReason::Failure => format!("{}, after a failure", next("next try")),
        DelayReason::Delay => next("next iteration"),
        DelayReason::Limit => format!("usage limit: {}", next("next try")),
        DelayReason::Outage => format!("the agent's service does not work: {}", next("next try")),
        DelayReason::Idle => format!("idle{}: {}", streak(run), next("next look")),
        DelayReason::Review => format!("waiting for review{}: {}", streak(run), next("next look")),
        DelayReason::Blocked => format!("blocked{}: {}", streak(run), next("next look")),
        DelayReason::Agent => format!("as the agent asked: {}", next("next iteration")),
        DelayReason::Question => {
            let why = why(Some(run)).unwrap_or_else(|| "the agent needs a person".to_owned());
            format!("ralph say 'ANSWER' ({left} left): {why}")
        }
    }
}

/// `new work: inbox.md has changed`
pub(crate) fn woken(woken: &WakeTriggered, run: Option<&RunSnapshot>) -> String {
    match &woken.by {
        WakeCause::File { path } => {
            let below = run.and_then(|run| Path::new(path).strip_prefix(&run.workspace).ok());
            let shown = below.map_or(path.into(), Path::to_string_lossy);
            format!("new work: {} has changed", foreign(&shown))
        }
        WakeCause::Command => "new work: the wake command says so".to_owned(),
    }
}

fn streak(run: &RunSnapshot) -> String {
    match run.idle.streak {
        0 | 1 => String::new(),
        n => format!(" ({n} in a row)"),
    }
}

/// What the agent wants to know.
fn why(run: Option<&RunSnapshot>) -> Option<String> {
    run.and_then(|run| run.idle.why.as_deref()).map(foreign)
}

/// `about 96 iterations and $4.20, by waiting 3h12m for work`
pub(crate) fn saved(saved: &SavedByWaiting) -> Option<String> {
    let saved = Some(saved).filter(|saved| saved.iterations > 0)?;
    let iterations = u32::try_from(saved.iterations).unwrap_or(u32::MAX);
    let cost = saved.cost_usd.map(|cost| format!(" and {}", crate::format::money(cost))).unwrap_or_default();
    let iterations = count(iterations, "iteration", "iterations");
    Some(format!("about {iterations}{cost}, by waiting {} for work", duration(saved.waited)))
}
