//! Waits in words: why, how long, and until when.

use std::path::Path;

use ralph_model::event::{DelayReason, DelayStarted, WakeCause, WakeTriggered};
use ralph_model::time::Timestamp;
use ralph_model::{DefaultWait, RunSnapshot, SavedByWaiting, WaitNow};

use crate::Style;
use crate::format::{clock_from, count, countdown, duration};
use crate::words::foreign;

/// `waiting: after a failure: next try in 4s, at 10:00:04`
pub(crate) fn line(delay: &DelayStarted, run: Option<&RunSnapshot>, at: Timestamp, style: &Style) -> String {
    let (reason, until) = (delay.reason, delay.until);
    let (streak, why) = run.map(|run| (run.idle.streak, run.idle.why.clone())).unwrap_or_default();
    let wait = WaitNow { reason, until, streak, why };
    let words = words(&wait, &duration(delay.wait), &clock_from(until, at, &style.zone()));
    format!("waiting: {words}")
}

/// `idle (3 in a row): next look in 29s, at 10:00:30`
pub(crate) fn counting(wait: &WaitNow, now: Timestamp, style: &Style) -> String {
    let left = countdown(wait.until.since(now));
    words(wait, &left, &clock_from(wait.until, now, &style.zone()))
}

/// Why, what comes next, in how long, and at what time of day: the same on every screen.
fn words(wait: &WaitNow, left: &str, until: &str) -> String {
    let streak = match wait.streak {
        0 | 1 => String::new(),
        n => format!(" ({n} in a row)"),
    };
    let (why, next) = match wait.reason {
        DelayReason::Delay => ("between iterations".to_owned(), "next iteration"),
        DelayReason::Failure => ("after a failure".to_owned(), "next try"),
        DelayReason::Limit => ("usage limit".to_owned(), "next try"),
        DelayReason::Quota => ("the plan's quota is used up to its mark".to_owned(), "next iteration"),
        DelayReason::Budget => ("the budget is spent".to_owned(), "next iteration"),
        DelayReason::Outage => ("the agent's service does not work".to_owned(), "next try"),
        DelayReason::Idle => (format!("idle{streak}"), "next look"),
        DelayReason::Review => (format!("for a review{streak}"), "next look"),
        DelayReason::Blocked => (format!("blocked{streak}"), "next look"),
        DelayReason::Agent => ("as the agent asked".to_owned(), "next iteration"),
        DelayReason::Question => ("for an answer".to_owned(), "gives up"),
    };
    format!("{why}: {next} in {left}, at {until}")
}

/// `nothing is set for an idle agent: …`, once, where the defaults are at work.
pub(crate) fn by_default(run: &RunSnapshot) -> Option<String> {
    let DefaultWait { first, longest } = run.idle.default_wait?;
    let (first, longest) = (duration(first), duration(longest));
    let cure = "change it with `idle: {delay: 5m}`, or `idle: false`";
    Some(format!("  no `idle` is set: {first} at first, {longest} at most; {cure}"))
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

/// `about 96 iterations and $4.20, by waiting 3h12m for work`
pub(crate) fn saved(saved: &SavedByWaiting) -> Option<String> {
    let saved = Some(saved).filter(|saved| saved.iterations > 0)?;
    let iterations = u32::try_from(saved.iterations).unwrap_or(u32::MAX);
    let cost = saved.cost_usd.map(|cost| format!(" and {}", crate::format::money(cost))).unwrap_or_default();
    let iterations = count(iterations, "iteration", "iterations");
    Some(format!("about {iterations}{cost}, by waiting {} for work", duration(saved.waited)))
}
