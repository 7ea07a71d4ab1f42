//! A seeded simulation of whole runs with a virtual clock, disk and executor around the real engine.
//!
//! Every seed is one run with a random plan, random agents and random crashes. A failing seed repeats:
//! `RALPH_SIM_SEED=<seed> cargo test -p ralph-core sim`, or
//! `cargo run --release -p ralph-core --example sim -- --seed <seed>`, which prints every record and crash.

mod disk;
mod gates;
mod hats;
mod idle;
mod model;
mod patience;
pub mod plans;
mod proof;
pub mod rng;
mod run;
mod stuck;
mod weather;
mod world;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[derive(Default)]
pub struct Totals {
    pub runs: u64,
    pub crashes: u64,
    pub inputs: u64,
    pub decisions: u64,
    pub iterations: u64,
    pub lost: u64,
    pub duplicated: u64,
    pub unended: u64,
    pub max_live: usize,
    /// How often each reason ended a run.
    pub stops: BTreeMap<String, u64>,
    /// How often the services made a run wait, and who took over.
    pub patience: BTreeMap<&'static str, u64>,
    /// What claims met.
    pub proof: BTreeMap<&'static str, u64>,
    /// What became of topics and hats.
    pub hats: BTreeMap<&'static str, u64>,
}

/// Simulates the run of one seed.
pub fn simulate(seed: u64, totals: &mut Totals, trace: bool) -> Result<(), String> {
    let run = AssertUnwindSafe(|| run::Sim::new(seed, totals, trace).run());
    let result = catch_unwind(run).unwrap_or_else(|_| Err("panicked".into()));
    result.map_err(|why| {
        format!(
            "seed {seed}: {why}\nrepeat it: cargo run --release -p ralph-core --example sim -- --seed {seed}\n\
             or: RALPH_SIM_SEED={seed} cargo test -p ralph-core sim"
        )
    })
}
