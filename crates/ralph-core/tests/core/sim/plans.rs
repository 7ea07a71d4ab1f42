//! Random plans: everything small, so that every limit is met.

use std::time::Duration;

use ralph_core::check::Kind;
use ralph_core::event::{FORMAT, RunResumed, RunStarted};
use ralph_core::ids::RunId;
use ralph_core::plan::{
    Act, AgentPlan, Backoff, EventLoop, GATE_TIMEOUT, Gate, GateWhen, Idle, IdleWait, NoErrors, OnState,
    Pace, Plan, Reaction, Stop, StuckPlan, Task, Wake,
};

use super::hats;
use super::rng::Rng;
use super::stuck;

fn millis(rng: &mut Rng, low: u64, high: u64) -> Duration {
    Duration::from_millis(rng.between(low, high))
}

fn maybe<T>(rng: &mut Rng, n: u64, value: impl FnOnce(&mut Rng) -> T) -> Option<T> {
    rng.one_in(n).then(|| value(rng))
}

pub fn limits(rng: &mut Rng) -> EventLoop {
    let max_runtime = maybe(rng, 2, |rng| millis(rng, 1, 30_000));
    let max_iterations = match max_runtime {
        Some(_) if rng.one_in(4) => None,
        _ => Some(rng.between(1, 8) as u32),
    };
    EventLoop {
        max_iterations,
        max_runtime,
        max_wall_time: if rng.one_in(3) {
            millis(rng, 1, 60_000)
        } else {
            Duration::from_secs(7 * 24 * 3600)
        },
        max_cost_usd: maybe(rng, 3, |rng| rng.fraction() * 3.0),
        max_consecutive_failures: rng.between(1, 4) as u32,
        stop_on_error: rng.one_in(8),
        iteration_timeout: maybe(rng, 2, |rng| millis(rng, 1, 8_000)).unwrap_or(Duration::from_secs(7200)),
        silence_timeout: Some(maybe(rng, 3, |rng| millis(rng, 1, 4_000))),
        max_attempts: rng.between(1, 4) as u32,
        max_tokens: maybe(rng, 4, |rng| rng.between(1, 200)),
        max_wait: if rng.one_in(2) { Duration::from_secs(24 * 3600) } else { millis(rng, 1, 7_200_000) },
        max_outages: rng.between(1, 5) as u32,
        delay: if rng.one_in(3) { millis(rng, 1, 3_000) } else { Duration::ZERO },
        failure_backoff: backoff(rng, 1_500, 6_000),
        ..EventLoop::default()
    }
}

/// What a person raises before going on.
pub fn raised(rng: &mut Rng, old: &EventLoop) -> EventLoop {
    let mut new = old.clone();
    if rng.one_in(2) {
        new.max_iterations = old.max_iterations.map(|n| n + rng.below(4) as u32);
        new.max_runtime = old.max_runtime.map(|d| d + millis(rng, 0, 20_000));
        new.max_wall_time = old.max_wall_time + millis(rng, 0, 60_000);
        new.max_cost_usd = old.max_cost_usd.map(|c| c + rng.fraction() * 2.0);
        new.max_tokens = old.max_tokens.map(|n| n + rng.below(100));
        new.max_wait = old.max_wait + millis(rng, 0, 3_600_000);
        new.max_outages = old.max_outages + rng.below(2) as u32;
        new.max_consecutive_failures = old.max_consecutive_failures + rng.below(2) as u32;
    }
    new
}

fn backoff(rng: &mut Rng, initial: u64, max: u64) -> Backoff {
    Backoff { initial: millis(rng, 1, initial), factor: 1.0 + rng.fraction() * 2.0, max: millis(rng, 1, max) }
}

/// How long, how much longer each time, and how long in all.
fn wait(rng: &mut Rng) -> (Backoff, Option<Duration>) {
    (backoff(rng, 2_000, 8_000), maybe(rng, 2, |rng| millis(rng, 1, 5_000)))
}

fn reaction(rng: &mut Rng) -> Reaction {
    match rng.below(3) {
        0 => Reaction::stop(),
        1 => Reaction::ask(),
        _ => {
            let (Backoff { initial: delay, factor: backoff, max: max_delay }, max) = wait(rng);
            Reaction { r#do: Act::Wait, delay, backoff, max_delay: Some(max_delay), max }
        }
    }
}

fn idle(rng: &mut Rng) -> Idle {
    if rng.one_in(3) {
        return Idle::Off;
    }
    let (Backoff { initial: delay, factor: backoff, max: max_delay }, max) = wait(rng);
    Idle::Waits(IdleWait { delay, backoff, max_delay: Some(max_delay), max })
}

fn on_state(rng: &mut Rng) -> OnState {
    let blocked = if rng.one_in(2) { Reaction::stop() } else { reaction(rng) };
    OnState { blocked, waiting_for_review: reaction(rng) }
}

fn wake(rng: &mut Rng) -> Wake {
    let files = if rng.one_in(2) { vec!["inbox".to_owned()] } else { Vec::new() };
    Wake { files, ..Wake::default() }
}

fn agent(n: u64) -> AgentPlan {
    // It tells of its tools.
    let output = "stream".to_owned();
    AgentPlan { name: format!("agent{n}"), output, ..AgentPlan::command("agent") }
}

fn gate(n: u64, rng: &mut Rng) -> Gate {
    Gate {
        kind: maybe(rng, 4, |_| Kind::Test),
        timeout: if rng.one_in(2) { GATE_TIMEOUT } else { millis(rng, 1, 8_000) },
        required: !rng.one_in(4),
        when: if rng.one_in(3) { GateWhen::Iteration } else { GateWhen::Completion },
        ..Gate::new(format!("gate{n}"), &["make"])
    }
}

fn gates(rng: &mut Rng) -> Vec<Gate> {
    let gates = if rng.one_in(2) { rng.between(1, 3) } else { 0 };
    (0..gates).map(|n| gate(n, rng)).collect()
}

fn stop(rng: &mut Rng) -> Stop {
    Stop {
        require_passing_tests: rng.one_in(8),
        require_no_errors: rng.pick(&[NoErrors::Checks, NoErrors::Strict, NoErrors::Off, NoErrors::Off]),
        max_rejected_completions: rng.between(1, 4) as u32,
        ..Stop::default()
    }
}

pub fn started(rng: &mut Rng) -> RunStarted {
    let pace = Pace {
        outage_backoff: if rng.one_in(3) { Backoff::outage() } else { backoff(rng, 3_000, 60_000) },
        limit_backoff: if rng.one_in(2) { Backoff::limit() } else { backoff(rng, 60_000, 3_600_000) },
        fallback_after: rng.below(4) as u32,
        fallback_wait: Duration::from_secs(rng.pick(&[0, 1, 20, 300])),
    };
    let mut agents = (0..=rng.below(4)).map(agent);
    let (first, fallback) = (agents.next().unwrap_or_else(|| agent(0)), agents.collect());
    let (mut limits, gates, stop) = (limits(rng), gates(rng), stop(rng));
    let names: Vec<String> = gates.iter().map(|gate| gate.name.clone()).collect();
    let hats = rng.one_in(2).then(|| Box::new(hats::hats(rng, &names)));
    if hats.is_some() {
        // Some of what hats come to takes more iterations than anything else.
        limits.max_iterations = limits.max_iterations.map(|max| max + rng.below(16) as u32);
        limits.max_consecutive_failures += rng.below(3) as u32;
        limits.stop_on_error = false;
    }
    let plan = Plan {
        fallback,
        event_loop: limits,
        pace,
        idle: idle(rng),
        on_state: on_state(rng),
        wake: wake(rng),
        once: rng.one_in(12),
        stop,
        gates,
        // What hats do about it has tests of its own.
        stuck: if hats.is_some() { StuckPlan::off() } else { stuck::plan(rng) },
        hats,
        ..Plan::new("sim", "/w", Task::Text("t".into()), first)
    };
    RunStarted {
        run: RunId("run".into()),
        format: FORMAT,
        version: "0".into(),
        pid: 1,
        plan,
        containment: None,
    }
}

pub fn resumed(limits: EventLoop) -> RunResumed {
    RunResumed::new("0", 2, limits)
}
