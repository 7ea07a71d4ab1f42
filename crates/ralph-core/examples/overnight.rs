//! Prints what a recorded night of an agent that has little to do costs, with and without idle settings.
//!
//! `cargo run -p ralph-core --example overnight`

#[path = "../tests/core/overnight.rs"]
mod overnight;

fn main() {
    let (about, nights) = overnight::nights();
    println!("{about}\n");
    println!("| settings | agent launches | of them idle | work done | slowest start | cost |");
    println!("|---|---|---|---|---|---|");
    for night in nights {
        println!(
            "| `{}` | {} | {} | {} of {} | {:.1} s | ${:.2} |",
            night.settings,
            night.launches,
            night.idle,
            night.done.0,
            night.done.1,
            night.slowest.as_secs_f64(),
            night.cost_usd
        );
    }
}
