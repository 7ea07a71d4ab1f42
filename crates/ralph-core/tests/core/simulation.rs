//! A bounded part of the simulation with every `cargo test`; `--example sim` runs the whole.

use super::sim::{Totals, simulate};

#[test]
fn sim_of_crashes_loses_nothing_and_always_ends() {
    let mut totals = Totals::default();
    if let Some(seed) = std::env::var("RALPH_SIM_SEED").ok().and_then(|seed| seed.parse().ok()) {
        simulate(seed, &mut totals, true).unwrap();
        return;
    }
    for seed in 0.. {
        if let Err(why) = simulate(seed, &mut totals, false) {
            panic!("{why}");
        }
        if totals.crashes >= 8_000 && totals.runs >= 500 {
            break;
        }
    }
    assert_eq!((totals.lost, totals.duplicated, totals.unended, totals.max_live), (0, 0, 0, 1));
    // A simulation that never meets a reason proves nothing about it.
    for reason in [
        "agent_missing",
        "blocked",
        "complete",
        "consecutive_failures",
        "error",
        "interrupted",
        "journal_error",
        "max_cost",
        "max_iterations",
        "max_runtime",
        "max_wall_time",
        "once",
        "stop_on_error",
    ] {
        assert!(totals.stops.contains_key(reason), "no run ended with {reason}: {:?}", totals.stops);
    }
}
