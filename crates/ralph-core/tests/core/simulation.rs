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
        if totals.crashes >= 16_000 && totals.runs >= 1_200 {
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
        "hat_exhausted",
        "interrupted",
        "journal_error",
        "loop_detected",
        "loop_thrashing",
        "max_cost",
        "billing",
        "max_iterations",
        "max_runtime",
        "max_tokens",
        "max_wall_time",
        "model_not_found",
        "no_handoff",
        "no_subscriber",
        "once",
        "output_similarity",
        "rejected_completions",
        "sign_in",
        "stop_on_error",
        "usage_limit",
    ] {
        assert!(totals.stops.contains_key(reason), "no run ended with {reason}: {:?}", totals.stops);
    }
    for met in [
        "hung agents",
        "limits with a known end",
        "limits with an unknown end",
        "outages",
        "outages too many",
        "returns to the first agent",
        "switches to a fallback",
    ] {
        assert!(totals.patience.contains_key(met), "no run met {met}: {:?}", totals.patience);
    }
    for met in [
        "claims believed after gates",
        "claims believed without gates",
        "claims by what is required",
        "claims of a hat that may not make them",
        "claims refused by a gate",
        "claims refused for a lost result",
        "claims refused for a moving tree",
        "claims refused for a topic",
        "claims refused for an unseen tree",
        "claims refused for the agent's own tools",
        "claims that have waited",
        "claims that wait for a hat",
        "gates ended by a limit",
        "gates ended by a person",
        "gates on a moving tree",
        "gates that died with ralph",
        "gates when the disk was full",
    ] {
        assert!(totals.proof.contains_key(met), "no run met {met}: {:?}", totals.proof);
    }
    for met in [
        "crashes with staged topics",
        "hats asked once more",
        "hats exhausted",
        "hats reset",
        "hats with several events at once",
        "topics by default",
        "topics dropped for an exhausted hat",
        "topics for several hats",
        "topics refused",
        "turns of the coordinator",
    ] {
        assert!(totals.hats.contains_key(met), "no run met {met}: {:?}", totals.hats);
    }
}
