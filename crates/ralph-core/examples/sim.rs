//! Simulates runs until a number of crashes is reached, and prints what came of them.
//!
//! `cargo run --release -p ralph-core --example sim -- --crashes 1000000`
//! `cargo run --release -p ralph-core --example sim -- --seed 42`

#[path = "../tests/core/sim/mod.rs"]
mod sim;

use std::process::ExitCode;
use std::time::Instant;

use sim::{Totals, simulate};

const USAGE: &str = "usage: sim [--crashes N] [--from SEED] | --seed SEED";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (mut crashes, mut from, mut only) = (1_000_000, 0, None);
    for pair in args.chunks(2) {
        match pair {
            [key, value] => match (key.as_str(), value.parse::<u64>()) {
                ("--crashes", Ok(n)) => crashes = n,
                ("--from", Ok(n)) => from = n,
                ("--seed", Ok(n)) => only = Some(n),
                _ => return usage(),
            },
            _ => return usage(),
        }
    }
    let mut totals = Totals::default();
    let start = Instant::now();
    let failed = match only {
        Some(seed) => simulate(seed, &mut totals, true).err(),
        None => {
            let enough = |totals: &Totals| totals.crashes >= crashes;
            (from..).find_map(|seed| match simulate(seed, &mut totals, false) {
                Ok(()) => enough(&totals).then_some(None),
                Err(why) => Some(Some(why)),
            })
        }
        .flatten(),
    };
    print(&totals, start.elapsed().as_secs_f64());
    match failed {
        Some(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
        None => ExitCode::SUCCESS,
    }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}

fn print(totals: &Totals, seconds: f64) {
    println!("runs             {}", totals.runs);
    println!("crashes          {}", totals.crashes);
    println!("inputs           {}", totals.inputs);
    println!("decisions        {} (each derived again by replay)", totals.decisions);
    println!("iterations       {}", totals.iterations);
    println!("lost             {}", totals.lost);
    println!("duplicated       {}", totals.duplicated);
    println!("max live agents  {}", totals.max_live);
    println!("unended          {}", totals.unended);
    for (reason, count) in &totals.stops {
        println!("  {reason:<22} {count}");
    }
    for (met, count) in totals.patience.iter().chain(&totals.proof).chain(&totals.hats) {
        println!("  {met:<40} {count}");
    }
    println!("seconds          {seconds:.1}");
}
