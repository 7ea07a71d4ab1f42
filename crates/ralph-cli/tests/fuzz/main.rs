//! Bytes from outside, damaged at random: no reader of them panics, takes long, swells, or says two things about one input.
//!
//! `cargo test` tries each target a little, always with the same seed; `cargo xtask fuzz` tries each two
//! million times. What fails is printed with the seed that makes it again.

mod corpus;
mod mutate;
mod targets;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use mutate::Mutator;
use targets::{TARGETS, Target};

/// What `cargo test` tries of each target.
const SHORT: u64 = 4_000;
/// No input that is this short takes this long, on any machine that is not busy with something else.
const SLOW: Duration = Duration::from_secs(2);
/// What the process may grow by, whatever it reads.
const MAX_GROWTH: u64 = 512 << 20;

#[test]
fn no_reader_breaks_in_a_short_run() {
    for target in TARGETS {
        fuzz(target, SHORT, 1, false);
    }
}

/// `RALPH_FUZZ_TARGET`, `RALPH_FUZZ_EXECUTIONS` and `RALPH_FUZZ_SEED` say what.
#[test]
fn no_reader_breaks_in_a_long_run() {
    // `cargo xtask fuzz` asks for it; any other test run has the short one.
    if std::env::var_os("RALPH_FUZZ").is_none() {
        return;
    }
    let number = |name: &str, usual: u64| match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")),
        Err(_) => usual,
    };
    let (executions, seed) = (number("RALPH_FUZZ_EXECUTIONS", 2_000_000), number("RALPH_FUZZ_SEED", 1));
    let wanted = std::env::var("RALPH_FUZZ_TARGET").ok();
    let known: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    let chosen: Vec<&Target> = TARGETS
        .iter()
        .filter(|target| wanted.as_deref().is_none_or(|wanted| wanted == target.name))
        .collect();
    assert!(!chosen.is_empty(), "there is no target {wanted:?}; known are {known:?}");
    for target in chosen {
        let begun = Instant::now();
        let slowest = fuzz(target, executions, seed, true);
        let took = begun.elapsed().as_secs_f64();
        println!(
            "{:<12} {executions} executions, seed {seed}, {took:.0} s, slowest {slowest:.0?}",
            target.name
        );
    }
}

/// Each execution has a seed of its own, so that one alone makes it again.
fn fuzz(target: &Target, executions: u64, seed: u64, timed: bool) -> Duration {
    let corpus = (target.corpus)();
    assert!(!corpus.is_empty(), "{} has nothing to begin with", target.name);
    let (before, mut slowest) = (memory(), Duration::ZERO);
    for n in 0..executions {
        let own = seed.wrapping_add(n);
        let input = Mutator::new(own).input(&corpus);
        let begun = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| (target.run)(&input)));
        let again = || {
            let name = target.name;
            format!(
                "`cargo xtask fuzz {name} --executions 1 --seed {own}` makes it again: {}",
                input.escape_ascii()
            )
        };
        assert!(result.is_ok(), "{}", again());
        slowest = slowest.max(begun.elapsed());
        assert!(!timed || slowest < SLOW, "a slow unit of {slowest:?}: {}", again());
        if n % 4096 == 0 {
            assert!(memory() < before + MAX_GROWTH, "it swells: {}", again());
        }
    }
    slowest
}

/// Bytes of memory in use.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) * 1024
}
