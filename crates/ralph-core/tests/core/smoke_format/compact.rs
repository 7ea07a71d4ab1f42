//! How a fixture writes the decisions of the engine: one short text each.
//!
//! Apart from the settings and attempts, which fixtures are read from.

use ralph_core::duration;
use ralph_core::event::{DelayReason, Event, Inference, InterruptCause, KillCause, Outcome};
use ralph_core::time::Timestamp;

/// A decision in a few words.
pub fn compact(event: &Event, now: Timestamp) -> String {
    let name = event.name();
    match event {
        Event::IterationStarted(e) if e.agent > 0 => {
            format!("{name} {}.{} by {}", e.iteration, e.attempt, e.agent)
        }
        Event::IterationStarted(e) => {
            let hat = e.hat.as_ref().map_or(String::new(), |hat| format!(" {hat}"));
            format!("{name} {}.{}{hat}", e.iteration, e.attempt)
        }
        Event::HatActivated(e) => format!("{name} {} {:?}", e.activation, e.events),
        Event::HatExhausted(e) => format!("{name} {} {:?}", e.hat, e.undelivered),
        Event::TopicRejected(e) => format!("{name} {}", e.topic),
        Event::TopicPublished(e) => {
            let dropped = e.dropped.iter().map(|hat| format!(" !{hat}")).collect::<String>();
            format!("{name} {} {} {}>{}{dropped}", e.id, e.topic, e.from, e.to.join(","))
        }
        Event::GuidanceDelivered { iteration, count } => format!("{name} {iteration} {count}"),
        Event::AgentKilled(e) => format!("{name} {} {}", killed_by(&e.why), duration::format(e.grace)),
        Event::IterationFinished(e) => {
            let class = e.class.map_or(String::new(), |class| format!(" {}", class.name()));
            format!("{name} {} {}{class}", e.iteration, outcome(e.outcome))
        }
        Event::IterationInterrupted(e) => format!("{name} {} {}", e.iteration, interrupted_by(&e.why)),
        Event::LimitHit(e) => {
            let known = if e.known { "known" } else { "unknown" };
            format!("{name} {} {known} {}", e.iteration, duration::format(e.until.since(now)))
        }
        Event::AgentSwitched(e) => format!("{name} {} to {} {}", e.from, e.to, e.name),
        Event::DelayStarted(e) => {
            let reason = match e.reason {
                DelayReason::Delay => "delay",
                DelayReason::Failure => "failure",
                DelayReason::Limit => "limit",
                DelayReason::Outage => "outage",
                DelayReason::Budget => "budget",
                DelayReason::Quota => "quota",
                DelayReason::Idle => "idle",
                DelayReason::Review => "review",
                DelayReason::Blocked => "blocked",
                DelayReason::Question => "question",
                DelayReason::Agent => "agent",
            };
            format!("{name} {reason} {}", duration::format(e.wait))
        }
        Event::GatesStarted(e) => format!("{name} {} {}", e.round, e.gates.join(",")),
        Event::GatesKilled(e) => format!("{name} {} {}", killed_by(&e.why), duration::format(e.grace)),
        Event::CompletionDeferred(e) => format!("{name} {}", e.hats.join(",")),
        Event::CompletionInferred(e) => match e.from {
            Inference::RequiredEvents => format!("{name} required_events"),
            Inference::WaitingClaim => format!("{name} waiting_claim"),
        },
        Event::CompletionRejected(e) => {
            let names: Vec<&str> = e.missing.iter().map(|missing| missing.name.as_str()).collect();
            format!("{name} {}", names.join(","))
        }
        Event::DelayEnded { early: true } => format!("{name} early"),
        Event::IterationIdle(e) => format!("{name} {} {}", e.iteration, e.streak),
        Event::LoopSuspected(e) => format!("{name} {}", e.detector),
        Event::LoopDetected(e) => {
            let numbers: Vec<String> = e.iterations.iter().map(|one| one.iteration.to_string()).collect();
            format!("{name} {} {:?} {}", e.detector, e.action, numbers.join(","))
        }
        Event::RunStopped(e) => format!("{name} {}", e.reason),
        _ => name.to_owned(),
    }
}

fn killed_by(why: &KillCause) -> &str {
    match why {
        KillCause::Timeout => "timeout",
        KillCause::Silence => "silence",
        KillCause::Hung => "hung",
        KillCause::Stranded => "stranded",
        KillCause::Guard(key) => key.as_str(),
        KillCause::Stop => "stop",
        KillCause::Person => "person",
        KillCause::Escalated => "escalated",
    }
}

fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "ok",
        Outcome::Failed => "failed",
        Outcome::TimedOut => "timed_out",
        Outcome::Silent => "silent",
        Outcome::Hung => "hung",
    }
}

fn interrupted_by(why: &InterruptCause) -> &str {
    match why {
        InterruptCause::Crash => "crash",
        InterruptCause::Stop => "stop",
        InterruptCause::Guard(key) => key.as_str(),
        InterruptCause::NotStarted => "not_started",
        InterruptCause::Limit => "limit",
        InterruptCause::Outage => "outage",
        InterruptCause::Person => "person",
    }
}
